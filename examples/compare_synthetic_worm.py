# %% [markdown]
# # How real is the synthetic worm?
#
# Sets statistics of a synthetic worm beside those of a real one, and draws them.
#
# `python examples/compare_synthetic_worm.py worm6.npz EigenWorms.csv synthetic_worm.png`

# %%
import sys
from pathlib import Path

import numpy as np

import ethomarkov as em
from ethomarkov._core.series import Series
from ethomarkov.coarse import best_cut
from ethomarkov.coarse.kinetics import dwell_times
from ethomarkov.figures.style import DATA, SIMULATION, figure_style, new_figure
from ethomarkov.markov import entropy_rate
from ethomarkov.posture import phase_velocity
from ethomarkov.validation.correlation import autocorrelation


def two_states(postures: Series, n_states: int = 1000) -> dict[str, float]:
    sequences = em.DelayEmbedding(11).transform(postures)
    symbols = em.Partition(n_states).fit(sequences).label(sequences)
    chain = em.MarkovChain.from_symbols(symbols, 0.75)
    cut = best_cut(chain)
    group = np.full(chain.n_states, -1)
    group[chain.states] = cut.upper
    macro = symbols.relabel(group)
    state, duration = dwell_times(macro, 0.75)
    return {
        "entropy rate (nat/s)": entropy_rate(em.MarkovChain.from_symbols(symbols, 1 / 16)),
        "successors per microstate at 0.75 s": chain.transition.nnz / chain.states.size,
        "slowest relaxation of P (s)": em.slow_spectrum(chain, 1).relaxation_times[0],
        "slowest relaxation of P_r (s)": -0.75 / np.log(cut.eigenvalue),
        "share of time in pirouettes": float((macro.labels == 1).sum() / (macro.labels >= 0).sum()),
        "mean run (s)": duration[state == 0].mean(),
        "mean pirouette (s)": duration[state == 1].mean(),
    }


def one_second_speed(track: np.ndarray) -> float:
    return float(np.nanmean(np.linalg.norm(track[16:] - track[:-16], axis=1)))


def describe(postures: Series, track: np.ndarray) -> dict[str, float]:
    values = postures.values[postures.segments.valid]
    omega = phase_velocity(postures)[postures.segments.valid]
    correlation = autocorrelation(postures, 4.0).values[0, 0]
    first_zero = np.argmax(correlation < 0) / 16
    return {
        **{f"standard deviation of a{k + 1}": float(values[:, k].std()) for k in range(5)},
        "phase velocity, 5 % quantile (1/s)": float(np.quantile(omega, 0.05)),
        "phase velocity, median (1/s)": float(np.median(omega)),
        "phase velocity, 95 % quantile (1/s)": float(np.quantile(omega, 0.95)),
        "first zero of the autocorrelation of a1 (s)": float(first_zero),
        "second peak of the autocorrelation of a1": float(correlation[20:].max()),
        "speed over one second (mm/s)": one_second_speed(track),
        "missing frames (%)": 100 * (1 - postures.segments.lengths.sum() / postures.segments.n_rows),
        **two_states(postures),
    }


def draw(real: Series, synthetic: Series, tracks: tuple[np.ndarray, np.ndarray], target: Path) -> None:
    limits = (14, 14, 28, 10, 5)
    with figure_style():
        figure = new_figure(11, 8.2)
        axes = figure.subplots(4, 5, height_ratios=[1.25, 1, 1, 1.6])
        for k in range(5):
            for series, colour, label in ((real, DATA, "worm 6"), (synthetic, SIMULATION, "synthetic")):
                correlation = autocorrelation(series, 6.0)
                below = 2 * limits[k] if colour == SIMULATION else 0
                axes[0, k].plot(np.arange(480) / 16, series.values[6000:6480, k] - below, color=colour, lw=0.8)
                values = series.values[series.segments.valid, k]
                edges = np.linspace(-limits[k], limits[k], 41)
                axes[1, k].hist(values, edges, density=True, histtype="step", color=colour, label=label)
                axes[2, k].plot(correlation.lags, correlation.values[0, k], color=colour)
            axes[0, k].set(title=f"$a_{k + 1}$, 30 s", xlabel="time (s)", yticks=[])
            axes[1, k].set(xlabel=f"$a_{k + 1}$", yticks=[])
            axes[2, k].set(xlabel="lag (s)", ylim=(-0.6, 1.05))
            axes[2, k].axhline(0, color="#888888", lw=0.6)
        axes[1, 0].set_ylabel("density")
        axes[1, 0].legend(fontsize=7, loc="lower center")
        axes[2, 0].set_ylabel("autocorrelation")
        for panel in axes[3]:
            panel.remove()
        grid = axes[3, 0].get_gridspec()
        left, right = figure.add_subplot(grid[3, :2]), figure.add_subplot(grid[3, 2:])
        bins = np.linspace(-1.2, 1.4, 66)
        for series, colour in ((real, DATA), (synthetic, SIMULATION)):
            left.hist(phase_velocity(series)[series.segments.valid], bins, density=True, histtype="step", color=colour)
        left.set(xlabel="phase velocity ω (cycles/s)", ylabel="density")
        for track, colour in zip(tracks, (DATA, SIMULATION), strict=True):
            shown = track - np.nanmean(track, axis=0) + (0 if colour == DATA else np.array([32.0, 0.0]))
            right.plot(*shown.T, color=colour, lw=0.6)
        right.set_aspect("equal", adjustable="datalim")
        right.set(xlabel="path over 35 min (mm)", ylabel="mm")
        figure.savefig(target, dpi=110)


def main(worm_file: str, basis_file: str, target: str) -> None:
    recording = em.read(worm_file)
    real = em.PostureBasis.from_file(basis_file).project(recording)
    made = em.simulate_worms(1, 2100, seed=1)
    synthetic = made.basis.project(made.recording)
    tracks = (np.asarray(recording.centroid), np.asarray(made.recording.centroid))
    left, right = describe(real, tracks[0]), describe(synthetic, tracks[1])
    print("| quantity | worm 6 | synthetic |\n|---|---|---|")
    for name, value in left.items():
        print(f"| {name} | {value:.3g} | {right[name]:.3g} |")
    draw(real, synthetic, tracks, Path(target))


if __name__ == "__main__":
    main(*sys.argv[1:])
