"""Panels of foraging: what animals find that never leave a state."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from matplotlib.axes import Axes

from ethomarkov._core.words import count_of
from ethomarkov.figures.foraging import draw_example_paths, draw_food_curve, draw_matching
from ethomarkov.figures.panel import panel
from ethomarkov.locomotion import Trajectory

if TYPE_CHECKING:
    from ethomarkov.foraging.states import Foraging

HEIGHT = 4.4


@panel(caption="Ten minutes of animals that never leave a state.", height=HEIGHT)
def foraging_examples(axes: Axes, foraging_paths: Mapping[str, Trajectory]) -> None:
    """Draw a path in every state (Fig. 5a)."""
    draw_example_paths(axes, foraging_paths)


@panel(
    caption=lambda foraging: (
        f"Probability that food in a disc of radius r is found by each of "
        f"{count_of(len(foraging.curve.names), 'state')}, from {count_of(foraging.curve.n_runs, 'run')} each (bands: "
        "95 % intervals of the mean over runs), and by an animal that divides its time among them as recorded."
    ),
    height=HEIGHT,
)
def food_curve(axes: Axes, foraging: "Foraging") -> None:
    """Draw how likely each state is to find food (Fig. 5b)."""
    draw_food_curve(axes, foraging.curve)


@panel(
    caption=lambda foraging: (
        f"The same in a disc of {foraging.matching.radius:g} body lengths, against the share of time in the state "
        "(horizontal bars: 95 % over animals; vertical as the title says)."
    ),
    height=HEIGHT,
)
def time_and_food(axes: Axes, foraging: "Foraging") -> None:
    """Draw what states find against the time spent in them (Fig. 5c)."""
    draw_matching(axes, foraging.matching)
