"""Figures of the scan: entropy rates, the gain of each frame, relaxation times against the lag."""

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.words import count_of
from ethomarkov.figures.style import DATA, MISSING
from ethomarkov.markov.lag_scan import LagScan
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.selection import EntropyTable, gain_intervals
from ethomarkov.markov.spectrum import Spectrum


def draw_entropy_rates(axes: Axes, table: EntropyTable) -> None:
    """Draw the entropy rate against the number of microstates, one line per sequence length (Fig. 1b)."""
    mean = table.mean_rate()
    counted = np.sum(np.isfinite(table.entropy_rate), axis=2)
    spread = np.nansum(np.square(table.entropy_rate - mean[..., None]), axis=2) / np.maximum(counted, 1)
    error = np.sqrt(spread / np.maximum(counted, 1))
    colours = mpl.colormaps["viridis"](np.linspace(0, 0.92, len(table.n_delays)))
    for k, n_delays in enumerate(table.n_delays):
        shown = np.isfinite(mean[k])
        label = f"{n_delays * table.interval:.2g} s" if _labelled(k, len(table.n_delays)) else None
        axes.errorbar(
            table.n_states[shown],
            mean[k, shown],
            error[k, shown],
            color=colours[k],
            lw=1,
            ms=2.5,
            marker="o",
            label=label,
        )
    axes.set(xscale="log", xlabel="microstates N", ylabel="entropy rate (nat/s)", ylim=(0, None))
    axes.legend(title="sequence", fontsize="small", ncols=2)
    axes.set_title(f"Entropy rate, {count_of(table.entropy_rate.shape[2], 'animal')} (bars: standard error)")


def _labelled(k: int, n: int) -> bool:
    """Label about six lines, the first and the last among them."""
    return k in set(np.linspace(0, n - 1, min(n, 6)).round().astype(int).tolist())


def draw_gains(axes: Axes, table: EntropyTable, n_states: int, chosen: int | None = None) -> None:
    """Draw how much each further frame lowers the entropy rate, with its interval over animals (Fig. S1a)."""
    gains = gain_intervals(table, n_states)
    time = table.n_delays[:-1] * table.interval
    centre = np.array([gain.estimate for gain in gains])
    limits = np.array([[gain.estimate - gain.low, gain.high - gain.estimate] for gain in gains]).T
    axes.errorbar(time, centre, np.maximum(limits, 0), fmt="o", color=DATA, ms=3.5, lw=1)
    axes.axhline(0, color="#888888", lw=0.8)
    if chosen is not None:
        axes.axvline(chosen * table.interval, color="#D55E00", lw=1, ls="--", label=f"K = {chosen} frames")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.15 * (high - low))  # room for the legend above all bars
        axes.legend(loc="upper left" if 2 * chosen > table.n_delays.max() else "upper right")
    axes.set(xlabel="sequence length (s)", ylabel="gain −Δh/ΔK (nat/s²)", xlim=(0, None))
    axes.set_title(f"Gain per further frame, N = {n_states} (95 % over animals)")


def draw_lag_scan(axes: Axes, scan: LagScan, chosen: float | None = None, n_modes: int = 10) -> None:
    """Draw relaxation times against the lag, with the interval of the slowest over animals (Fig. S1b).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> from ethomarkov.synthetic import hopping_chain
    >>> states = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 2000, n_walks=2, rate=10.0, rng=1)
    >>> from ethomarkov.markov.lag_scan import scan_lags
    >>> draw_lag_scan(axes, scan_lags(states, np.array([0.1, 0.2, 0.4])), chosen=0.2)
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('lag τ (s)', 'relaxation time (s)')
    """
    n_lags, n_found, _ = scan.relaxation_times.shape
    mean = np.full((n_lags, n_found), np.nan)
    present = np.isfinite(scan.relaxation_times).any(axis=2)
    mean[present] = np.nanmean(scan.relaxation_times[present], axis=-1)
    colours = mpl.colormaps["viridis"](np.linspace(0, 0.9, n_modes))
    for mode in range(min(n_modes, n_found)):
        axes.plot(scan.lags, mean[:, mode], color=colours[mode], lw=1.2, label=f"mode {mode + 2}" if mode < 3 else None)
    intervals = scan.slowest().intervals()
    axes.fill_between(
        scan.lags, [i.low for i in intervals], [i.high for i in intervals], color=colours[0], alpha=0.2, lw=0
    )
    axes.plot(scan.lags, scan.lags, color=MISSING, lw=1, ls="--", label="time = lag")
    if chosen is not None:
        axes.axvline(chosen, color="#D55E00", lw=1, ls="--", label=f"τ = {chosen:.3g} s")
    axes.set(xscale="log", yscale="log", xlabel="lag τ (s)", ylabel="relaxation time (s)")
    axes.legend(fontsize="small")
    kind = "reversibilised chain" if scan.of == "reversibilized" else "chain"
    axes.set_title(f"Relaxation times of the {kind}, mean over animals")


def draw_spectrum(axes: Axes, spectrum: Spectrum, floor: NoiseFloor | None = None) -> None:
    """Draw relaxation times by mode above the noise floor (Fig. 4a); oscillating modes have open diamonds.

    Modes that alternate in sign have no relaxation time and are left out.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> from ethomarkov.synthetic import hopping_chain
    >>> states = hopping_chain([[0.9, 0.1], [0.2, 0.8]], 2000, n_walks=2, rate=10.0, rng=1)
    >>> from ethomarkov.markov import MarkovChain, slow_spectrum
    >>> draw_spectrum(axes, slow_spectrum(MarkovChain.from_symbols(states, lag=0.1), 1))
    >>> axes.get_ylabel(), len(axes.lines)
    ('relaxation time (s)', 1)
    """
    mode = np.arange(2, spectrum.relaxation_times.size + 2)
    kinds = np.array(spectrum.kinds)
    for kind, marker, face in (("relaxing", "o", DATA), ("oscillating", "D", "none")):
        which = (kinds == kind) & np.isfinite(spectrum.relaxation_times)
        if which.any():
            axes.plot(mode[which], spectrum.relaxation_times[which], marker, color=DATA, mfc=face, ms=5, label=kind)
    if floor is not None:
        label = f"shuffled (95 % of {floor.eigenvalues.size})"
        axes.axhspan(floor.time(0.025), floor.time(0.975), color=MISSING, alpha=0.6, lw=0, label=label)
    axes.set(xlabel="mode of the chain", ylabel="relaxation time (s)", ylim=(0, None))
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="upper right")
    axes.set_title(f"Relaxation times at a lag of {spectrum.lag:.3g} s")
