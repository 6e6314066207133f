"""The numbers behind the figures of foraging."""

import io

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.foraging import draw_example_paths, draw_food_curve, draw_matching
from ethomarkov.figures.style import state_colours
from ethomarkov.foraging import StateCoverage, food_curve, match_time
from ethomarkov.locomotion import Trajectory

HOSTILE = r"w$_1$ \frac{ ^_ %"
NAMES = ("wide", "narrow", HOSTILE)


@pytest.fixture
def axes():
    return Figure(layout="constrained").subplots()


@pytest.fixture(autouse=True)
def rendered(axes):
    """Render what each test drew: a bad formula or a warning shows only then."""
    yield
    axes.figure.savefig(io.BytesIO(), format="png", dpi=40)


def coverage():
    random = np.random.default_rng(0)
    share = np.array([[0.2], [0.3], [0.5]])[:, None] * random.gamma(9, 1 / 9, (3, 50, 6))
    return StateCoverage(names=NAMES, radii=np.geomspace(0.5, 25, 6), share=share)


def path_of(points, unit="body lengths"):
    points = np.asarray(points, dtype=float)
    segments = Segments.from_valid(np.ones(len(points), dtype=bool), np.array([0, len(points) // 2, len(points)]))
    return Trajectory(
        centroid=points, heading=np.zeros(len(points)), segments=segments, sampling=Sampling(2.0), length_unit=unit
    )


def labelled(axes, label):
    return next(line for line in axes.lines if line.get_label() == label)


def test_example_paths_start_at_the_origin(axes):
    points = np.arange(40.0).reshape(20, 2)
    draw_example_paths(axes, {"one": path_of(points), "two": path_of(points)}, seconds=3.0)
    line = labelled(axes, "two")
    assert line.get_xydata() == pytest.approx(points[:6] - points[0])
    assert to_hex(line.get_color()) == to_hex(state_colours(2)[1])
    assert "3 s" in axes.get_title()


def test_example_paths_share_a_unit(axes):
    points = np.arange(40.0).reshape(20, 2)
    with pytest.raises(InputFormatError, match="2 units"):
        draw_example_paths(axes, {"one": path_of(points), "two": path_of(points, "mm")})
    with pytest.raises(InputFormatError, match="0 paths"):
        draw_example_paths(axes, {})


def test_food_curve_shows_states_and_the_average_animal(axes):
    curve = food_curve(coverage(), np.array([0.5, 0.3, 0.2]))
    draw_food_curve(axes, curve)
    assert axes.get_xscale() == "log"
    assert labelled(axes, "narrow").get_ydata() == pytest.approx(curve.probability[1])
    assert labelled(axes, "average animal").get_ydata() == pytest.approx(curve.average)
    assert labelled(axes, "average animal").get_linestyle() == "--"
    assert len(axes.collections) == 4


@pytest.mark.parametrize("spread", ["mean", "runs"])
def test_matching_has_bars_in_both_directions(axes, spread):
    animals = np.array([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3], [0.3, 0.3, 0.4]])
    found = match_time(coverage(), animals, spread=spread)
    draw_matching(axes, found)
    for k, container in enumerate(axes.containers):
        (x,), (y,) = container.lines[0].get_data()
        assert (x, y) == (found.time_share[k], found.efficiency[k])
        across, upright = (bars.get_segments()[0] for bars in container.lines[2])
        assert across[:, 0] == pytest.approx([found.time_low[k], found.time_high[k]])
        assert upright[:, 1] == pytest.approx([found.efficiency_low[k], found.efficiency_high[k]])
    assert axes.get_xlim() == axes.get_ylim()
    assert labelled(axes, "equal").get_xdata() == pytest.approx(labelled(axes, "equal").get_ydata())


def test_one_animal_has_no_horizontal_bars(axes):
    draw_matching(axes, match_time(coverage(), np.array([[0.5, 0.3, 0.2]])))
    across = axes.containers[0].lines[2][0].get_segments()[0]
    assert across[0, 0] == across[1, 0] == 0.5
