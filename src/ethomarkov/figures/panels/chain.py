"""Panels of the Markov chain: its modes, and how well it is sampled."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from ethomarkov.figures.chain import draw_probabilities, draw_successors, draw_visits
from ethomarkov.figures.maps import draw_chain_on_map, draw_map_panels, mode_panels
from ethomarkov.figures.panel import panel
from ethomarkov.figures.scan import draw_spectrum
from ethomarkov.markov import MarkovChain, Spectrum
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.markov.slow_modes import SlowModes
from ethomarkov.states import Symbols
from ethomarkov.states.projection import SequenceMap


@panel(
    caption="The chain at a lag of one frame on the map; areas are shares of time, widths probabilities.", height=3.8
)
def chain_on_map(axes: Axes, sequence_map: SequenceMap, frame_chain: MarkovChain) -> None:
    """Draw microstates and likely transitions (Fig. 4a)."""
    draw_chain_on_map(axes, sequence_map, frame_chain)


@panel(caption="Relaxation times of the chain, above what shuffled state sequences reach (band).")
def relaxation_times(axes: Axes, spectrum: Spectrum, noise_floor: NoiseFloor | None) -> None:
    """Draw relaxation times by mode (Fig. 4a)."""
    draw_spectrum(axes, spectrum, noise_floor)


@panel(caption="The slowest mode of the reversibilised chain on the map.", height=3.3)
def slowest_mode_on_map(axes: Axes, sequence_map: SequenceMap, slow_modes: SlowModes) -> None:
    """Draw φ₂ on the map (Fig. 4b)."""
    draw_map_panels([axes], sequence_map, mode_panels(slow_modes.values[:, :1], slow_modes.relaxation_times[:1]))


def _no_further_mode(slow_modes: SlowModes) -> str | None:
    return None if slow_modes.relaxation_times.size > 1 else "the chain has no further mode"


@panel(
    caption=lambda sequence_map: (
        f"Further eigenfunctions of the reversibilised chain on the map ({sequence_map.source.rstrip('.')})."
    ),
    unless=_no_further_mode,
    n_axes=lambda slow_modes: slow_modes.relaxation_times.size - 1,
    height=3.3,
)
def further_modes_on_map(axes: Sequence[Axes], sequence_map: SequenceMap, slow_modes: SlowModes) -> None:
    """Draw φ₃ and those after it on the map (Fig. S6)."""
    times = slow_modes.relaxation_times[1:]
    draw_map_panels(axes, sequence_map, mode_panels(slow_modes.values[:, 1:], times, first=3))


@panel(caption="Microstates reached from a microstate within the lag.")
def successors(axes: Axes, animal_chains: Sequence[MarkovChain], chain: MarkovChain) -> None:
    """Draw how many microstates follow a microstate (Fig. S4d)."""
    draw_successors(axes, animal_chains, chain)


@panel(caption="Frames in the microstates.")
def visits(axes: Axes, symbols: Symbols) -> None:
    """Draw how many frames the microstates hold (Fig. S4e)."""
    draw_visits(axes, symbols.visits())


@panel(caption="Cumulative distribution of the transition probabilities that are not zero.")
def transition_probabilities(axes: Axes, animal_chains: Sequence[MarkovChain], chain: MarkovChain) -> None:
    """Draw the distribution of transition probabilities (Fig. S4f)."""
    draw_probabilities(axes, animal_chains, chain)
