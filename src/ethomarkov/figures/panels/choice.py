"""Panels of the choice of sequence length, number of microstates and lag."""

from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from ethomarkov._core.series import Series
from ethomarkov.figures.choice import draw_information, draw_memory, draw_numbers, draw_times
from ethomarkov.figures.panel import panel
from ethomarkov.figures.scan import draw_entropy_rates, draw_gains, draw_lag_scan
from ethomarkov.markov import MarkovChain
from ethomarkov.markov.lag_scan import LagScan
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.selection import EntropyTable, choose_n_states
from ethomarkov.selection import ModelChoice

if TYPE_CHECKING:
    from ethomarkov.study.settings import CompleteSettings

HEIGHT = 2.9


def _nothing_compared(choice: ModelChoice) -> str | None:
    return None if choice.delays.size else "all was given, so nothing was compared"


@panel(caption="Memory of the slow modes against the sequence length.", unless=_nothing_compared, height=HEIGHT)
def memory(axes: Axes, choice: ModelChoice, postures: Series) -> None:
    """Draw the memory of the slow modes."""
    draw_memory(axes, choice, postures.sampling.interval)


@panel(
    caption="Information about a fixed block of the future against the sequence length.",
    unless=_nothing_compared,
    height=HEIGHT,
)
def information(axes: Axes, choice: ModelChoice, postures: Series) -> None:
    """Draw the information about the future."""
    draw_information(axes, choice, postures.sampling.interval)


@panel(caption="The same against the number of microstates.", unless=_nothing_compared, height=HEIGHT)
def microstate_numbers(axes: Axes, choice: ModelChoice) -> None:
    """Draw memory and information against the number of microstates."""
    draw_numbers(axes, choice)


@panel(caption="The slowest relaxation time against the lag.", unless=_nothing_compared, height=HEIGHT)
def lag_times(axes: Axes, choice: ModelChoice, noise_floor: NoiseFloor | None) -> None:
    """Draw the slowest relaxation time against the lag, and that of shuffled state sequences."""
    draw_times(axes, choice, None if noise_floor is None else noise_floor.time(0.975))


@panel(
    caption=(
        "Entropy rate against the number of microstates, for several lengths of sequences (bars: standard error)."
    ),
    height=3.3,
)
def entropy_rates(axes: Axes, scan: EntropyTable) -> None:
    """Draw entropy rates (Fig. 1b)."""
    draw_entropy_rates(axes, scan)


@panel(caption="How much each further frame lowers the entropy rate (bars: 95 % over animals).", height=3.3)
def entropy_gains(axes: Axes, scan: EntropyTable, settings: "CompleteSettings | None") -> None:
    """Draw the gain of each frame (Fig. S1a)."""
    draw_gains(axes, scan, int(choose_n_states(scan).value), None if settings is None else settings.n_delays)


@panel(caption="Relaxation times against the lag, mean over animals (band: 95 % over animals).", height=3.6)
def times_by_lag(axes: Axes, lag_scan: LagScan, chain: MarkovChain) -> None:
    """Draw relaxation times against the lag (Fig. S1b)."""
    draw_lag_scan(axes, lag_scan, chain.lag)
