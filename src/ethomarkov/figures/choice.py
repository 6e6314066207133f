"""Figures of the choice of sequence length, number of microstates and lag."""

import numpy as np
from matplotlib.axes import Axes

from ethomarkov.figures.style import DATA
from ethomarkov.selection import ModelChoice

CHOSEN, SECOND = "#D55E00", "#009E73"


def draw_memory(axes: Axes, choice: ModelChoice, interval: float) -> None:
    """Draw the memory of the slow modes against the sequence length.

    Parameters
    ----------
    axes
        To draw on.
    choice
        Choice of sequence length, number of microstates and lag.
    interval
        Seconds per frame.
    """
    axes.errorbar(choice.delays * interval, choice.memory, choice.memory_error, color=DATA, marker="o", ms=3.5, lw=1)
    lowest = min(0.0, float(np.nanmin(choice.memory, initial=0)))
    axes.set(xscale="log", xlabel="sequence length (s)", ylabel="memory of slow modes", ylim=(lowest, None))
    slow = f"slow modes: {choice.slow_delays} frames" if choice.is_slow else "no slow mode"
    _mark(axes, choice, interval, choice.slow_delays, slow)
    axes.set_title(f"Slow modes, on held-out {choice.over}")


def draw_information(axes: Axes, choice: ModelChoice, interval: float) -> None:
    """Draw the information about a fixed block of the future against the sequence length; see `draw_memory`."""
    seconds = choice.delays * interval
    axes.errorbar(seconds, choice.information, choice.information_error, color=SECOND, marker="s", ms=3.5, lw=1)
    axes.set(xscale="log", xlabel="sequence length (s)", ylabel="information (nat)", ylim=(0, None))
    _mark(axes, choice, interval, choice.predictive_delays, f"prediction: {choice.predictive_delays} frames")
    axes.set_title(f"Information about the future, on held-out {choice.over}")


def _mark(axes: Axes, choice: ModelChoice, interval: float, asked: int, label: str) -> None:
    """Mark the sequence length that one of the two asks for, and the one in use."""
    if asked:
        axes.axvline(asked * interval, color="#888888", lw=1, ls=":", label=label)
    axes.axvline(choice.n_delays * interval, color=CHOSEN, lw=1, ls="--", label=f"used: K = {choice.n_delays} frames")
    axes.legend(fontsize="small", loc="lower left")


def draw_numbers(axes: Axes, choice: ModelChoice) -> None:
    """Draw memory and information, each as a share of its best value, against the number of microstates."""
    for values, colour, marker, label in (
        (choice.states_memory, DATA, "o", "memory of the slowest mode"),
        (choice.states_information, SECOND, "s", "information about the future"),
    ):
        best = np.nanmax(values, initial=0)
        if best > 0:
            axes.plot(choice.states, values / best, color=colour, marker=marker, ms=3.5, lw=1, label=label)
    axes.axvline(choice.n_states, color=CHOSEN, lw=1, ls="--", label=f"N = {choice.n_states}")
    axes.set(xscale="log", xlabel="microstates N", ylabel="share of the best", ylim=(0, 1.05))
    axes.legend(fontsize="small", loc="lower right")
    axes.set_title(f"Microstates, on held-out {choice.over}")


def draw_times(axes: Axes, choice: ModelChoice, noise: float | None = None) -> None:
    """Draw the slowest relaxation time of the chain of all animals against the lag, with its interval.

    Parameters
    ----------
    axes
        To draw on.
    choice
        Choice of sequence length, number of microstates and lag.
    noise
        Relaxation time of shuffled state sequences at the chosen lag in seconds, if known.
    """
    axes.fill_between(choice.lags, choice.times_low, choice.times_high, color=DATA, alpha=0.2, lw=0)
    axes.plot(choice.lags, choice.times, color=DATA, marker="o", ms=3.5, lw=1, label="slowest relaxation time")
    axes.plot(choice.lags, choice.lags, color="#888888", lw=0.8, ls=":", label="time = lag")
    if noise is not None and np.isfinite(noise):
        axes.plot([choice.lag], [noise], color="#888888", marker="_", ms=12, ls="", label="shuffled state sequences")
    plateau = "" if choice.is_flat else ", no plateau"
    axes.axvline(choice.lag, color=CHOSEN, lw=1, ls="--", label=f"τ = {choice.lag:.3g} s{plateau}")
    axes.set(xscale="log", yscale="log", xlabel="lag (s)", ylabel="relaxation time (s)")
    axes.legend(fontsize="small")
    axes.set_title(f"Lag (95 % over {choice.over})")
