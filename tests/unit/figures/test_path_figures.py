"""The numbers behind the figures of simulations and paths."""

import io
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ethomarkov._core.interval import bootstrap_interval
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.paths import (
    displacement_band,
    draw_bearing_spectrum,
    draw_diffusion,
    draw_displacement,
    draw_drag_cdf,
    draw_drag_loss,
    draw_path_reconstruction,
    draw_paths,
    draw_state_displacements,
    draw_state_path,
    octave_means,
)
from ethomarkov.figures.simulation import draw_kymograph, draw_kymographs, draw_posture_spectra
from ethomarkov.figures.style import DATA, MACROSTATES, MISSING, SIMULATION
from ethomarkov.locomotion import DragFit, DragSettings, Trajectory
from ethomarkov.locomotion.bearing import BearingSpectrum
from ethomarkov.locomotion.displacement import Displacement, diffusion, msd
from ethomarkov.locomotion.drag_example import DragExample
from ethomarkov.simulation.spectra import PostureSpectrum, posture_speed, welch_spectrum

HOSTILE = r"w$_1$ \frac{ ^_ %"


@pytest.fixture
def axes():
    return Figure(layout="constrained").subplots()


@pytest.fixture(autouse=True)
def rendered(axes):
    """Render what each test drew: a bad formula or a warning shows only then."""
    yield
    axes.figure.savefig(io.BytesIO(), format="png", dpi=40)


def make_path(centroid, offsets=None, names=None, unit="mm", rate=2.0) -> Trajectory:
    centroid = np.asarray(centroid, dtype=float)
    known = np.isfinite(centroid).all(axis=1)
    return Trajectory(
        centroid=centroid,
        heading=np.zeros(len(centroid)),
        segments=Segments.from_valid(known, offsets, names),
        sampling=Sampling(rate),
        length_unit=unit,
    )


def walks(n: int, n_frames: int = 400, seed: int = 0, **options) -> Trajectory:
    steps = np.random.default_rng(seed).normal(size=(n, n_frames, 2))
    steps[:, 0] = 0
    return make_path(np.cumsum(steps, axis=1).reshape(-1, 2), np.arange(n + 1) * n_frames, **options)


def long_lines(axes, colour: str) -> list:
    return [line for line in axes.lines if line.get_color() == colour and len(line.get_xdata()) > 1]


def words_of(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


# --- paths -----------------------------------------------------------------------------------------------------------


def test_measured_paths_start_where_the_computed_ones_do(axes):
    simulated, measured = walks(6), walks(3, seed=1)
    measured = replace(measured, centroid=measured.centroid + [30.0, -4.0])
    draw_paths(axes, simulated, 4, measured=measured)
    drawn = long_lines(axes, SIMULATION)
    assert len(drawn) == 4
    for i, line in enumerate(drawn):
        np.testing.assert_array_equal(line.get_xydata(), simulated.centroid[400 * i : 400 * (i + 1)])
    data = long_lines(axes, DATA)
    assert len(data) == 3
    for i, line in enumerate(data):
        rows = measured.centroid[400 * i : 400 * (i + 1)]
        np.testing.assert_array_equal(line.get_xydata(), rows - rows[0])
    assert any("4 of 6 runs" in word for word in words_of(axes))
    assert any("200 s" in word or "3.33 min" in word for word in words_of(axes))
    assert axes.get_xlabel() == "x (mm)"


def test_a_measured_path_goes_on_after_a_gap_where_the_animal_is(axes):
    centroid = np.stack([np.arange(20.0) + 7, np.zeros(20)], axis=1)
    centroid[:2] = centroid[8:12] = centroid[18:] = np.nan
    draw_paths(axes, walks(1), measured=make_path(centroid))
    (line,) = long_lines(axes, DATA)
    x = line.get_xdata()
    np.testing.assert_array_equal(x[:6], np.arange(6))
    assert np.isnan(x[6:10]).all()
    np.testing.assert_array_equal(x[10:], np.arange(10.0, 16.0))


def test_paths_may_be_cut_to_the_same_duration(axes):
    draw_paths(axes, walks(2), measured=walks(1, 900, seed=1), seconds=50.0)
    assert {len(line.get_xdata()) for line in long_lines(axes, DATA) + long_lines(axes, SIMULATION)} == {100}
    assert sum("50 s" in word for word in words_of(axes)) == 2


def test_a_gap_at_the_end_of_the_shown_time_is_no_end_mark(axes):
    centroid = np.stack([np.arange(20.0), np.zeros(20)], axis=1)
    centroid[6:15] = np.nan
    draw_paths(axes, walks(1), measured=make_path(centroid), seconds=5.0)
    ends = [line.get_xdata()[0] for line in axes.lines if line.get_color() == DATA and line.get_marker() == "o"]
    assert ends == [5.0]


def test_an_animal_that_was_never_seen_is_left_out(axes):
    measured = walks(2, 50)
    centroid = measured.centroid.copy()
    centroid[:50] = np.nan
    draw_paths(axes, walks(1), measured=make_path(centroid, [0, 50, 100]))
    assert len(long_lines(axes, DATA)) == 1


def test_paths_in_different_units_are_refused(axes):
    with pytest.raises(InputFormatError, match="different units"):
        draw_paths(axes, walks(1, unit="body lengths"), measured=walks(1))


def test_the_scale_bar_is_as_long_as_it_says(axes):
    draw_paths(axes, walks(3, unit=HOSTILE), scale_bar=True)
    bar = axes.lines[-1]
    length = float(np.diff(bar.get_xdata())[0])
    assert axes.texts[0].get_text().startswith(f"{length:g} ")
    lowest = min(np.nanmin(line.get_ydata()) for line in axes.lines[:-1])
    assert bar.get_ydata()[0] < lowest
    assert list(axes.get_xticks()) == []


@pytest.mark.parametrize("width", [2.0, 3.0, 4.5])
@pytest.mark.parametrize("seed", range(10))
def test_no_path_is_cut_off_whatever_the_shape_of_the_panel(width, seed):
    axes = Figure(figsize=(width, 2.4), layout="constrained").subplots()
    draw_paths(axes, walks(3, seed=seed), scale_bar=True)
    axes.set_autoscaley_on(True)  # as layouts do
    axes.figure.draw_without_rendering()
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    for x, y in (line.get_data() for line in axes.lines):
        assert left <= np.nanmin(x) <= np.nanmax(x) <= right
        assert bottom <= np.nanmin(y) <= np.nanmax(y) <= top
    text = axes.texts[0].get_window_extent()
    assert text.y0 >= axes.get_window_extent().y0 - 0.02 * axes.figure.bbox.height


def test_an_animal_at_rest_can_be_drawn(axes):
    draw_paths(axes, make_path(np.zeros((10, 2))), scale_bar=True)


def test_a_path_has_the_colours_of_its_states(axes):
    centroid = np.stack([np.arange(12.0), np.zeros(12)], axis=1)
    centroid[7] = np.nan
    labels = np.array([0, 0, 1, 1, -1, 0, 0, -1, 1, 1, 1, 1])
    draw_state_path(axes, make_path(centroid, names=(HOSTILE,)), labels, ["run", HOSTILE])
    runs = [item for item in axes.collections if isinstance(item, LineCollection)]
    pieces = [tuple(piece[[0, -1], 0]) for run in runs for piece in run.get_segments()]
    colours = [to_hex(colour).upper() for run in runs for colour in run.get_colors()]
    assert pieces == [(0, 2), (2, 4), (4, 5), (5, 6), (8, 11)]
    assert colours == [MACROSTATES[0], MACROSTATES[1], MISSING, MACROSTATES[0], MACROSTATES[1]]
    assert [line.get_xdata()[0] for line in axes.lines if line.get_label() in ("start", "end")] == [0, 11]


def test_labels_must_fit_the_path_and_the_names(axes):
    with pytest.raises(InputFormatError, match="one label per frame"):
        draw_state_path(axes, walks(1, 10), np.zeros(9, dtype=int), ["run"])
    with pytest.raises(InputFormatError, match="names"):
        draw_state_path(axes, walks(1, 10), np.full(10, 2), ["run", "turn"])


def test_the_legend_of_a_reconstruction_gives_the_distance(axes):
    measured = walks(1, 60).centroid
    computed = {5.0: 0.5 * measured, 30.0: measured}
    draw_path_reconstruction(axes, DragExample.from_paths(measured, computed, HOSTILE))
    half = 0.5 * np.sqrt(np.square(measured - measured.mean(axis=0)).sum(axis=1).mean())
    assert any(f"α = 5, rms {half:.2g}" in word for word in words_of(axes))
    np.testing.assert_allclose(axes.lines[2].get_xydata(), measured - measured[0], atol=1e-9)


def test_a_mirrored_path_is_mirrored_back(axes):
    measured = walks(1, 60).centroid
    mirrored = DragExample.from_paths(measured, {30.0: measured * [1, -1]}, "mm", mirrored=True)
    draw_path_reconstruction(axes, mirrored)
    np.testing.assert_allclose(axes.lines[1].get_xydata(), measured - measured[0], atol=1e-9)


def test_nothing_measured_is_refused(axes):
    with pytest.raises(InputFormatError, match="another stretch"):
        draw_path_reconstruction(axes, DragExample.from_paths(np.full((9, 2), np.nan), {}, "mm"))


# --- displacement ----------------------------------------------------------------------------------------------------

LAGS = np.arange(1.0, 101.0)


def test_the_drawn_displacement_is_the_mean_with_percentiles_of_the_runs(axes):
    data, simulated = msd(walks(1), LAGS), msd(walks(30, seed=2), LAGS, over="runs")
    draw_displacement(axes, data, simulated)
    np.testing.assert_array_equal(long_lines(axes, DATA)[0].get_ydata(), data.msd[0])
    np.testing.assert_allclose(long_lines(axes, SIMULATION)[0].get_ydata(), simulated.msd.mean(axis=0))
    (band,) = [item for item in axes.collections if to_hex(item.get_facecolor()[0]).upper() == SIMULATION]
    vertices = band.get_paths()[0].vertices
    at_last = vertices[vertices[:, 0] == LAGS[-1], 1]
    low, high = np.percentile(simulated.msd[:, -1], [2.5, 97.5])
    assert (at_last.min(), at_last.max()) == (pytest.approx(low), pytest.approx(high))
    assert words_of(axes) == ["data", "simulation,\nmean of 30 runs\n(band: 95 % of runs)", "fit, 60 to 100 s"]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_the_interval_of_the_mean_is_that_of_the_displacement(axes):
    simulated = msd(walks(10), LAGS[::20], over="runs")
    mean, low, high, words = displacement_band(simulated, "mean")
    for found, wanted in zip((mean, low, high), simulated.mean_band(), strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert "interval" in words
    draw_displacement(axes, None, simulated, band="mean", window=None)
    assert words_of(axes) == [f"simulation,\n{words}"]


def test_guides_have_slopes_two_and_one(axes):
    draw_displacement(axes, msd(walks(1), LAGS), None)
    slopes = [np.diff(np.log(line.get_xydata()), axis=0)[0] for line in axes.lines if line.get_linestyle() == ":"]
    assert [dy / dx for dx, dy in slopes] == [pytest.approx(2), pytest.approx(1)]


def test_lags_that_no_run_reaches_are_left_out(axes):
    full = msd(walks(3), LAGS, over="runs")
    values = full.msd.copy()
    values[:, -10:] = values[0, -20:] = np.nan
    draw_displacement(axes, None, replace(full, msd=values))
    drawn = long_lines(axes, SIMULATION)[0].get_ydata()
    assert np.isnan(drawn[-10:]).all()
    np.testing.assert_allclose(drawn[-20:-10], values[1:, -20:-10].mean(axis=0))


def test_animals_that_never_move_are_drawn_without_a_warning(axes):
    still = msd(make_path(np.zeros((300, 2))), LAGS)
    draw_displacement(axes, still, msd(walks(2), LAGS, over="runs"))


def test_displacements_of_states_have_their_names_and_one_unit(axes):
    parts = {HOSTILE: msd(walks(4), LAGS, over="runs"), "turn": msd(walks(4, seed=1), LAGS, over="runs")}
    draw_state_displacements(axes, parts)
    for colour, found in zip(MACROSTATES, parts.values(), strict=True):
        np.testing.assert_allclose(long_lines(axes, colour)[0].get_ydata(), found.msd.mean(axis=0))
    assert axes.get_legend().get_title().get_text() == "mean of 4 runs\n(band: 95 % of runs)"
    with pytest.raises(InputFormatError, match="different units"):
        draw_state_displacements(axes, parts | {"turn": msd(walks(1, unit="px"), LAGS)})
    with pytest.raises(InputFormatError, match="no displacement"):
        draw_state_displacements(axes, {})


def test_an_unknown_band_is_refused(axes):
    with pytest.raises(InputFormatError, match="band='sd'"):
        draw_displacement(axes, None, msd(walks(2), LAGS), band="sd")


# --- diffusion -------------------------------------------------------------------------------------------------------


def straight(slopes, over: str = "animals") -> Displacement:
    """Make animals that diffuse exactly."""
    rows = np.outer(slopes, LAGS)
    names = tuple(f"w{i}" for i in range(len(rows)))
    return Displacement(
        lags=LAGS, msd=rows, n_pairs=np.ones(rows.shape, dtype=int), names=names, over=over, length_unit="mm"
    )


def error_bars(container) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the vertical bars, low and high."""
    ends = np.array([piece[:, 1] for piece in container.lines[2][0].get_segments()])
    return ends[:, 0], ends[:, 1]


def test_diffusion_compares_every_animal_with_its_runs(axes):
    slopes = np.linspace(1, 3, 41)
    draw_diffusion(axes, diffusion(straight([4.0, 8.0])), [diffusion(straight(k * slopes, "runs")) for k in (1.0, 2.0)])
    (found,) = axes.containers
    np.testing.assert_allclose(found.lines[0].get_xydata(), [[1.0, 0.5], [2.0, 1.0]])
    low, high = error_bars(found)
    np.testing.assert_allclose(low, np.percentile(slopes, 2.5) * np.array([1, 2]) / 4)
    np.testing.assert_allclose(high, np.percentile(slopes, 97.5) * np.array([1, 2]) / 4)
    assert axes.get_xlabel() == "data: D = slope/4 (mm²/s)"
    assert "2 animals" in axes.get_title()
    assert "95 % of runs" in axes.get_title()


def test_the_published_slope_is_called_a_slope(axes):
    data, simulated = (diffusion(straight(s), convention="slope") for s in ([4.0], [3.0, 5.0]))
    draw_diffusion(axes, data, [simulated], band="mean")
    assert "slope of the MSD" in axes.get_ylabel()
    low, high = error_bars(axes.containers[0])
    assert (low[0], high[0]) == (pytest.approx(simulated.interval.low), pytest.approx(simulated.interval.high))
    assert "interval of the mean" in axes.get_title()


def test_a_single_run_has_no_error_bar(axes):
    draw_diffusion(axes, diffusion(straight([4.0])), [diffusion(straight([4.0], "runs"))])
    low, high = error_bars(axes.containers[0])
    np.testing.assert_allclose([low, high], 1.0)


def test_negative_coefficients_are_counted_and_open_circles_do_not_diffuse(axes):
    ballistic = replace(straight([4.0, 1.0, 1.0]), msd=np.stack([4 * LAGS, LAGS**2, 500 - LAGS]))
    draw_diffusion(axes, diffusion(ballistic), [diffusion(straight([3.0, 5.0], "runs"))] * 3)
    assert "1 not positive, left out" in axes.get_title()
    assert [to_hex(found.lines[0].get_markerfacecolor()).upper() for found in axes.containers] == [DATA, "#FFFFFF"]
    assert [len(found.lines[0].get_xdata()) for found in axes.containers] == [1, 1]


def test_no_positive_coefficient_leaves_an_empty_panel(axes):
    falling = replace(straight([1.0]), msd=500 - LAGS[None])
    draw_diffusion(axes, diffusion(falling), [diffusion(straight([3.0, 5.0], "runs"))])
    assert not axes.containers


def test_diffusions_must_match(axes):
    data, run = diffusion(straight([4.0, 8.0])), diffusion(straight([4.0, 3.0], "runs"))
    with pytest.raises(InputFormatError, match="2 animals, but 1 simulation"):
        draw_diffusion(axes, data, [run])
    with pytest.raises(InputFormatError, match="one convention"):
        draw_diffusion(axes, data, [run, diffusion(straight([4.0, 3.0], "runs"), convention="slope")])
    with pytest.raises(InputFormatError, match="different units"):
        draw_diffusion(axes, data, [run, replace(run, length_unit="px")])


# --- drag ratio ------------------------------------------------------------------------------------------------------


def make_fit(drag_ratio, status) -> DragFit:
    search = DragSettings(bounds=(2.0, 200.0))
    drag_ratio = np.asarray(drag_ratio, dtype=float)
    n = drag_ratio.size
    optimum = np.nan_to_num(drag_ratio, nan=20.0)
    curves = 1 + np.square(np.log(search.grid) - np.log(optimum)[:, None])
    median = bootstrap_interval(drag_ratio, "windows", statistic=np.median)
    return DragFit(
        starts=np.arange(n),
        individual=np.zeros(n, dtype=int),
        drag_ratio=drag_ratio,
        loss=np.ones(n),
        status=tuple(status),
        grid=search.grid,
        curves=curves,
        median=median,
        median_by_individual=(median,),
        is_mirrored=np.array([False]),
        mirror_losses=np.ones((1, 2)),
        settings=search,
    )


def test_the_distribution_of_drag_ratios_is_that_of_the_windows(axes):
    fit = make_fit([40, 10, 200, 20, np.nan], ["ok", "ok", "at upper bound", "ok", "flat"])
    draw_drag_cdf(axes, fit)
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [10, 10, 20, 40, 200])
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [0, 0.25, 0.5, 0.75, 1])
    assert axes.lines[1].get_xdata()[0] == 30
    assert "5 windows, 40 % without a best α" in axes.get_title()
    assert "1 at upper bound, 1 flat" in axes.get_title()
    assert words_of(axes) == [f"median {fit.median}\n(95 % over windows)"]


def test_windows_that_say_nothing_leave_an_empty_panel(axes):
    draw_drag_cdf(axes, make_fit([np.nan, np.nan], ["flat", "flat"]))
    assert "100 % without" in axes.get_title()
    assert len(axes.lines) == 0


def test_one_window_has_a_median_without_an_interval(axes):
    draw_drag_cdf(axes, make_fit([30.0], ["ok"]))
    assert words_of(axes) == ["median 30"]


def test_the_loss_is_drawn_for_windows_and_on_average(axes):
    fit = make_fit(np.geomspace(15, 60, 150), ["ok"] * 150)
    draw_drag_loss(axes, fit, HOSTILE)
    thin = long_lines(axes, MISSING)
    assert len(thin) == 50
    np.testing.assert_array_equal(thin[1].get_ydata(), fit.curves[3])
    np.testing.assert_allclose(long_lines(axes, DATA)[0].get_ydata(), fit.curves.mean(axis=0))
    (best,) = [line for line in axes.lines if line.get_marker() == "x"]
    assert best.get_xdata()[0] == fit.grid[np.abs(np.log(fit.grid / 30)).argmin()]
    assert any("50 of 150 windows of 100 s" in word for word in words_of(axes))


# --- bearing ---------------------------------------------------------------------------------------------------------


def make_spectrum(peak: float | None) -> BearingSpectrum:
    frequency = np.arange(2001) / 500
    power = 1 / (0.01 + frequency)
    if peak is not None:
        power += 1e4 * np.exp(-np.square((frequency - peak) / 0.004))
    rows = np.stack([power, 3 * power, np.full(power.size, np.nan)])
    return BearingSpectrum(frequency=frequency, power=rows, n_segments=np.array([2, 2, 0]), individuals=("a", "b", "c"))


def test_the_spectrum_of_the_bearing_marks_the_loops(axes):
    draw_bearing_spectrum(axes, {HOSTILE: make_spectrum(0.02), "turn": make_spectrum(None)}, body_wave={"turn": 0.5})
    marks = [line for line in axes.lines if line.get_marker() == "v"]
    assert [mark.get_xdata()[0] for mark in marks] == [pytest.approx(0.02, rel=0.02)]
    assert "loop 50 s" in words_of(axes)[0]
    assert words_of(axes)[1] == "turn"
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[0] for line in dashed] == [0.5]
    first = axes.lines[0].get_xydata()[0]
    np.testing.assert_allclose(first, [1 / 500, 2 * make_spectrum(0.02).power[0, 1]])


def test_a_state_without_a_stretch_long_enough_is_left_out(axes):
    empty = replace(make_spectrum(None), n_segments=np.zeros(3, dtype=int))
    draw_bearing_spectrum(axes, {"short": empty, "run": make_spectrum(None)})
    assert words_of(axes) == ["run"]
    with pytest.raises(InputFormatError, match="no spectrum"):
        draw_bearing_spectrum(axes, {})


def test_octave_means_keep_a_flat_spectrum_and_the_total():
    frequency = np.arange(1, 1001) / 100
    at, power = octave_means(frequency, np.full(1000, 7.0))
    np.testing.assert_allclose(power, 7.0)
    assert at.size < 12 * np.log2(1000) + 1
    assert (np.diff(at) > 0).all()
    np.testing.assert_allclose(octave_means(frequency, frequency)[1], at)


# --- spectra of postures ---------------------------------------------------------------------------------------------


def noisy(n: int = 4000, rate: float = 16.0) -> Series:
    return Series.from_rows(np.random.default_rng(0).normal(size=(n, 2)), rate)


def test_the_comb_stands_at_multiples_of_the_step(axes):
    series = noisy()
    found = PostureSpectrum.from_postures(series)
    draw_posture_spectra(axes, {"data": found, HOSTILE: found}, 0, lag=0.75)
    teeth = [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"]
    np.testing.assert_allclose(teeth, np.arange(1, 7) / 0.75)
    frequency, power = welch_spectrum(series, 0)
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.stack([frequency, power], axis=1)[1:-1])
    assert axes.get_ylabel() == "power (rad²/Hz)"


def test_the_spectrum_of_speed_is_drawn_on_request(axes):
    series = noisy()
    draw_posture_spectra(axes, {"data": PostureSpectrum.from_postures(series, 10.0)}, "speed", lag=0.75)
    power = welch_spectrum(posture_speed(series), 0, 10.0)[1]
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), power[1:-1])
    with pytest.raises(InputFormatError, match="no postures"):
        draw_posture_spectra(axes, {}, 0, lag=0.75)


# --- kymographs ------------------------------------------------------------------------------------------------------


def bent(n_frames: int = 64, n_segments: int = 40) -> Series:
    """Make bodies whose curvature is the number of the frame everywhere, in radians per body length."""
    place = (np.arange(n_segments) + 0.5) / n_segments - 0.5
    return Series.from_rows(np.outer(np.arange(n_frames), place), 16.0)


def test_a_kymograph_has_the_head_on_top_and_gaps_in_grey(axes):
    rows = bent().values.copy()
    rows[20:24] = np.nan
    draw_kymograph(axes, Series.from_rows(rows, 16.0), quantity="angle", start=1.0, seconds=2.0)
    (mesh,) = [item for item in axes.collections if isinstance(item, QuadMesh)]
    shown = mesh.get_array()
    assert shown.shape == (40, 32)
    np.testing.assert_array_equal(np.flatnonzero(shown.mask.all(axis=0)), [4, 5, 6, 7])
    np.testing.assert_allclose(shown[0, 0], rows[16, 0])
    assert mesh.norm.vmin == -mesh.norm.vmax
    assert to_hex(mesh.cmap.get_bad()).upper() == MISSING
    low, high = axes.get_ylim()
    assert low > high
    assert [label.get_text() for label in axes.get_yticklabels()] == ["head", "tail"]
    assert axes.get_xlim() == (1.0, 3.0)


def test_kymographs_share_their_colours():
    figure = Figure(layout="constrained")
    stretches = {HOSTILE: bent(), "simulation": bent(32)}
    draw_kymographs(figure.subplots(2, 1), stretches, seconds=1.0, starts={HOSTILE: 2.0})
    meshes = [item for one in figure.axes[:2] for item in one.collections if isinstance(item, QuadMesh)]
    assert len({mesh.norm.vmax for mesh in meshes}) == 1
    np.testing.assert_allclose(meshes[0].get_array()[3], np.arange(32, 48), rtol=1e-4)
    np.testing.assert_allclose(meshes[1].get_array()[3], np.arange(16), atol=1e-4)
    assert figure.axes[2].get_ylabel() == "curvature (rad per body length)"
    figure.savefig(io.BytesIO(), format="png", dpi=40)


def test_a_kymograph_needs_one_animal_and_some_posture(axes):
    two = Series.from_rows(bent().values, 16.0, np.array([0, 32, 64]))
    with pytest.raises(InputFormatError, match="2 animals"):
        draw_kymograph(axes, two)
    with pytest.raises(InputFormatError, match="no posture between 10 and 40 s"):
        draw_kymograph(axes, bent(), start=10.0)
    with pytest.raises(InputFormatError, match="no series"):
        draw_kymographs([axes], {})


def test_a_straight_body_has_a_kymograph(axes):
    draw_kymograph(axes, Series.from_rows(np.zeros((32, 10)), 16.0), seconds=2.0)
