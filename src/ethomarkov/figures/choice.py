"""Figures of the choice of sequence length, number of microstates and lag."""

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.types import FloatArray
from ethomarkov.figures.style import DATA
from ethomarkov.selection import ModelChoice

CHOSEN, SECOND = "#D55E00", "#009E73"


def draw_lengths(axes: Axes, choice: ModelChoice, interval: float) -> None:
    """Draw memory of the slow modes and information about the future against the sequence length.

    Parameters
    ----------
    axes
        To draw on; information has an axis of its own at the right.
    choice
        With what was tried.
    interval
        Seconds per frame.
    """
    seconds = choice.delays * interval
    _with_errors(axes, seconds, choice.memory, choice.memory_error, DATA)
    axes.set(xscale="log", xlabel="sequence length (s)", ylim=(min(0, np.nanmin(choice.memory, initial=0)), None))
    axes.set_ylabel("memory of slow modes", color=DATA)
    right = axes.twinx()
    _with_errors(right, seconds, choice.information, choice.information_error, SECOND, marker="s")
    right.set_ylabel("information about the future (nat)", color=SECOND)
    right.set_ylim(0, None)
    axes.axvline(choice.n_delays * interval, color=CHOSEN, lw=1, ls="--", label=f"K = {choice.n_delays}")
    axes.legend(fontsize="small", loc="lower right")
    axes.set_title(f"Sequence length, on {choice.over} left out")


def draw_numbers(axes: Axes, choice: ModelChoice) -> None:
    """Draw the same two numbers, each as a share of its best, against the number of microstates."""
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
    axes.set_title(f"Microstates, on {choice.over} left out")


def draw_times(axes: Axes, choice: ModelChoice, noise: float | None = None) -> None:
    """Draw the slowest relaxation time of the chain of all animals against the lag, with its interval.

    Parameters
    ----------
    axes
        To draw on.
    choice
        With what was tried.
    noise
        Seconds that shuffled states reach at the chosen lag, if known.
    """
    axes.fill_between(choice.lags, choice.times_low, choice.times_high, color=DATA, alpha=0.2, lw=0)
    axes.plot(choice.lags, choice.times, color=DATA, marker="o", ms=3.5, lw=1, label="slowest relaxation time")
    axes.plot(choice.lags, choice.lags, color="#888888", lw=0.8, ls=":", label="time = lag")
    if noise is not None and np.isfinite(noise):
        axes.plot([choice.lag], [noise], color="#888888", marker="_", ms=12, ls="", label="shuffled states")
    plateau = "" if choice.is_flat else ", no plateau"
    axes.axvline(choice.lag, color=CHOSEN, lw=1, ls="--", label=f"τ = {choice.lag:.3g} s{plateau}")
    axes.set(xscale="log", yscale="log", xlabel="lag (s)", ylabel="relaxation time (s)")
    axes.legend(fontsize="small")
    axes.set_title(f"Lag (95 % over {choice.over})")


def _with_errors(
    axes: Axes, x: FloatArray, y: FloatArray, error: FloatArray, colour: str, *, marker: str = "o"
) -> None:
    axes.errorbar(x, y, error, color=colour, marker=marker, ms=3.5, lw=1)
