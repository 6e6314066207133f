"""The numbers behind the figures."""

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import sparse

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.coarse import best_cut
from ethomarkov.figures.paths import draw_paths
from ethomarkov.figures.recording import draw_coverage, draw_recording, draw_traces
from ethomarkov.figures.scan import draw_spectrum
from ethomarkov.figures.states import draw_coherence
from ethomarkov.figures.style import DATA, MISSING, figure_style, new_figure
from ethomarkov.locomotion import Trajectory
from ethomarkov.markov import MarkovChain, Spectrum, slow_spectrum
from ethomarkov.markov.noise_floor import NoiseFloor
from ethomarkov.recording import Recording, Track


@pytest.fixture
def axes():
    return Figure().subplots()


def bars_of(collection) -> list[tuple[float, float]]:
    """Left edge and width of every bar of a broken_barh."""
    found = []
    for path in collection.get_paths():
        left, right = path.vertices[:, 0].min(), path.vertices[:, 0].max()
        found.append((left, right - left))
    return found


def colour_of(collection) -> str:
    return mpl.colors.to_hex(collection.get_facecolor()[0]).lower()


# --- recording -------------------------------------------------------------------------------------------------------


def test_coverage_bars_are_the_gap_free_runs(axes):
    valid = np.ones(120 + 60, dtype=bool)
    valid[30:60] = valid[100:110] = valid[170:] = False
    segments = Segments.from_valid(valid, np.array([0, 120, 180]), ("a", "b"))
    draw_coverage(axes, segments, rate=1.0)
    blue = [bar for one in axes.collections if colour_of(one) == DATA.lower() for bar in bars_of(one)]
    grey = [bar for one in axes.collections if colour_of(one) == MISSING.lower() for bar in bars_of(one)]
    wanted = [(0, 30), (60, 40), (110, 10), (0, 50)]  # seconds, each animal from its own start
    np.testing.assert_allclose(blue, np.array(wanted) / 60)
    np.testing.assert_allclose(grey, np.array([(0, 120), (0, 60)]) / 60)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_an_animal_without_posture_has_a_grey_bar_only(axes):
    segments = Segments.from_valid(np.zeros(20, dtype=bool))
    draw_coverage(axes, segments, rate=2.0)
    assert [bar for one in axes.collections if len(one.get_paths()) for bar in bars_of(one)] == [
        (0.0, pytest.approx(10 / 60))
    ]


def test_traces_are_the_columns_one_below_the_other(axes):
    rows = np.random.default_rng(0).normal(size=(80, 3))
    draw_traces(axes, rows, 16.0, ["x", "y", "z"], "")
    ticks = axes.get_yticks()
    for k, line in enumerate(axes.lines):
        np.testing.assert_allclose(line.get_xdata(), np.arange(80) / 16)
        np.testing.assert_allclose(line.get_ydata() - ticks[k], rows[:, k] - rows[:, k].mean(), atol=1e-12)
    assert np.all(np.diff(ticks) < -np.ptp(rows, axis=0).max())


@pytest.mark.parametrize(
    ("kind", "shape"), [("amplitude", (3,)), ("angle", (30,)), ("centerline", (7, 2)), ("position", (2, 2))]
)
def test_recordings_of_every_kind_are_drawn(kind, shape):
    values = np.random.default_rng(0).normal(size=(90, *shape))
    values[20:30] = np.nan
    recording = Recording.from_tracks([Track(individual="one", values=values)], kind=kind, sampling_rate=10.0)
    upper, lower = draw_recording(recording).axes
    assert len(lower.lines) == min(5, int(np.prod(shape)))
    np.testing.assert_allclose(lower.lines[0].get_xdata(), np.arange(60) / 10)  # the longest stretch
    first = recording.values[30:90].reshape(60, -1)[:, 0]
    np.testing.assert_allclose(lower.lines[0].get_ydata(), first - first.mean(), atol=1e-5)
    assert "one" in [label.get_text() for label in upper.get_yticklabels()]


# --- states ----------------------------------------------------------------------------------------------------------


def ring(n: int = 5) -> MarkovChain:
    counts = 6 * np.roll(np.eye(n), 1, axis=1) + 4 * np.eye(n) + 1
    return MarkovChain.from_counts(sparse.csr_array(counts), lag=0.5)


def two_wells(n: int = 8) -> MarkovChain:
    rng = np.random.default_rng(0)
    counts = rng.integers(5, 50, (n, n)).astype(float)
    counts[: n // 2, n // 2 :] = counts[n // 2 :, : n // 2] = 1
    return MarkovChain.from_counts(sparse.csr_array(counts), lag=0.5)


def test_relaxation_times_are_those_of_the_spectrum(axes):
    spectrum = slow_spectrum(two_wells())
    draw_spectrum(axes, spectrum)
    drawn = np.concatenate([line.get_xydata() for line in axes.lines if line.get_marker() in ("o", "D")])
    drawn = drawn[np.argsort(drawn[:, 0])]
    defined = np.isfinite(spectrum.relaxation_times)
    assert defined.sum() >= 2
    np.testing.assert_array_equal(drawn[:, 0], np.arange(2, defined.size + 2)[defined])
    np.testing.assert_array_equal(drawn[:, 1], spectrum.relaxation_times[defined])


def test_oscillations_have_a_marker_of_their_own(axes):
    spectrum = slow_spectrum(ring())
    draw_spectrum(axes, spectrum)
    diamonds = [line for line in axes.lines if line.get_marker() == "D"]
    assert len(diamonds) == 1
    turning = (np.abs(spectrum.eigenvalues.imag) > 1e-9) & (spectrum.eigenvalues.real > 0)
    assert len(diamonds[0].get_xdata()) == turning.sum() > 0


def test_the_noise_floor_is_a_band(axes):
    spectrum = slow_spectrum(ring())
    floor = NoiseFloor(eigenvalues=np.linspace(0.1, 0.2, 101), lag=0.5, of="chain")
    draw_spectrum(axes, spectrum, floor)
    (band,) = axes.patches
    assert band.get_y() == pytest.approx(-0.5 / np.log(0.1025))
    assert band.get_y() + band.get_height() == pytest.approx(-0.5 / np.log(0.1975))


def test_a_spectrum_without_relaxation_can_be_drawn(axes):
    spectrum = Spectrum(eigenvalues=np.array([-0.3 + 0j]), relaxation_times=np.array([np.nan]), lag=0.5)
    draw_spectrum(axes, spectrum)
    axes.figure.canvas.draw()


def test_coherence_is_drawn_against_the_share_of_time_below(axes):
    chain = two_wells()
    cut = best_cut(chain)
    draw_coherence(axes, cut, chain.stationary)
    share, curve = axes.lines[0].get_data()
    np.testing.assert_array_equal(curve, cut.curve)
    np.testing.assert_allclose(share, [chain.stationary[cut.phi < t].sum() for t in cut.thresholds])
    cross = next(line for line in axes.lines if line.get_marker() == "x")
    assert cross.get_ydata()[0] == cut.curve.max()
    assert cross.get_xdata()[0] == pytest.approx(chain.stationary[cut.upper == 0].sum())


# --- simulation ------------------------------------------------------------------------------------------------------


def test_paths_are_the_first_few(axes):
    rng = np.random.default_rng(0)
    centroid = np.cumsum(rng.normal(size=(80, 2)), axis=0)
    path = Trajectory(
        centroid=centroid,
        heading=np.zeros(80),
        segments=Segments.from_valid(np.ones(80, dtype=bool), np.arange(0, 81, 10)),
        sampling=Sampling(16.0),
    )
    draw_paths(axes, path, n_shown=3)
    drawn = [line for line in axes.lines if len(line.get_xdata()) > 1]
    assert len(drawn) == 3
    for i, line in enumerate(drawn):
        np.testing.assert_array_equal(line.get_xydata(), centroid[10 * i : 10 * i + 10])
    assert "3 of 8" in axes.get_title()
    assert axes.get_xlabel() == "x (body lengths)"


# --- style -----------------------------------------------------------------------------------------------------------


def test_the_style_touches_nothing_outside():
    before = dict(mpl.rcParams)
    with figure_style():
        new_figure(2, 2).subplots()
    assert dict(mpl.rcParams) == before


def test_figures_open_no_window():
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    new_figure(2, 2).subplots()
    assert plt.get_fignums() == before
