"""The numbers behind the figures of validation."""

import io
from dataclasses import dataclass, replace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from ethomarkov._core.interval import Interval
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import DATA, MODES, SIMULATION, state_colours
from ethomarkov.figures.validation import (
    draw_agreement,
    draw_autocorrelation,
    draw_cross_validation,
    draw_entry_rate,
    draw_held_out,
    draw_held_out_correlation,
    draw_mode_density,
    draw_prediction_error,
    draw_rates,
)
from ethomarkov.validation.correlation import Autocorrelation
from ethomarkov.validation.distribution import ModeDensity, compare_densities
from ethomarkov.validation.drifting import EntryRate, drift
from ethomarkov.validation.held_out import HeldOut
from ethomarkov.validation.held_out_correlation import CORRELATION, HeldOutCorrelation, summarise_correlation
from ethomarkov.validation.prediction import PredictionError
from ethomarkov.validation.splits import Comparison, CrossValidation, FitSettings

HOSTILE = r"w$_1$ \frac{ ^_ %"


@pytest.fixture
def axes():
    return Figure(layout="constrained").subplots()


@pytest.fixture(autouse=True)
def rendered(axes):
    """Render what each test drew: a bad formula or a warning shows only then."""
    yield
    render(axes.figure)


def render(figure: Figure) -> None:
    figure.savefig(io.BytesIO(), format="png", dpi=40)


def names_of(n: int) -> tuple[str, ...]:
    return tuple(str(k) for k in range(n))


def words_of(axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def line_with(axes, word: str):
    (line,) = [line for line in axes.lines if word in str(line.get_label())]
    return line


def band_of(axes, colour: str):
    """Lower and upper edge of the only band of a colour, None if there is none."""
    filled = [one for one in axes.collections if len(one.get_facecolor())]
    found = [one for one in filled if to_hex(one.get_facecolor()) == colour.lower()]
    if not found:
        return None
    (band,) = found
    ((low, high),) = [(p.vertices[:, 1].min(), p.vertices[:, 1].max()) for p in band.get_paths()]
    return low, high


def bars_of(axes) -> list[ErrorbarContainer]:
    return [one for one in axes.containers if isinstance(one, ErrorbarContainer)]


def interval(estimate: float, low: float = np.nan, high: float = np.nan, over: str = "animals") -> Interval:
    return Interval(estimate=estimate, low=low, high=high, level=0.95, over=over, n=5)


# --- curves ----------------------------------------------------------------------------------------------------------


def correlation(n_units: int, over: str, seed: int = 0, n_modes: int = 2, n_lags: int = 6) -> Autocorrelation:
    values = np.random.default_rng(seed).normal(size=(n_units, n_modes, n_lags))
    return Autocorrelation(
        lags=np.arange(n_lags) / 2,
        values=values,
        n_pairs=np.full((n_units, n_lags), 9),
        individuals=names_of(n_units),
        over=over,
    )


def test_autocorrelations_are_means_of_the_chosen_mode(axes):
    data, simulated = correlation(4, "animals"), correlation(9, "runs", 1)
    draw_autocorrelation(axes, data, simulated, 1)
    for word, found in (("data", data), ("simulation", simulated)):
        line = line_with(axes, word)
        np.testing.assert_array_equal(line.get_xdata(), found.lags)
        np.testing.assert_allclose(line.get_ydata(), found.values[:, 1].mean(axis=0))
    assert words_of(axes) == [
        "data, mean of 4 animals\n(band: its 95 % interval)",
        "simulation, mean of 9 runs\n(band: 95 % of means of 4)",
    ]


def test_one_animal_is_compared_with_single_runs(axes):
    """Runs that are ±1 in equal numbers: means of several lie between, 95 % of single ones reach from −1 to 1."""
    data, simulated = correlation(1, "animals"), correlation(200, "runs")
    signs = np.where(np.arange(200) % 2, 1.0, -1.0)
    simulated = replace(simulated, values=np.broadcast_to(signs[:, None, None], simulated.values.shape))
    draw_autocorrelation(axes, data, simulated, 0)
    assert band_of(axes, DATA) is None
    assert band_of(axes, SIMULATION) == (-1.0, 1.0)
    assert words_of(axes) == ["data, 1 animal", "simulation, mean of 200 runs\n(band: 95 % of them)"]


def test_the_band_of_runs_is_as_wide_as_that_of_as_many_animals(axes):
    """The mean of n runs that scatter by s has a 95 % interval of 1.96 s / √n on either side."""
    data, simulated = correlation(25, "animals"), correlation(4000, "runs", 1, n_lags=2)
    draw_autocorrelation(axes, data, simulated, 0)
    low, high = band_of(axes, SIMULATION)
    assert (high - low) / 2 == pytest.approx(1.96 / 5, rel=0.15)


def test_unknown_animals_and_lags_are_left_out(axes):
    data = correlation(4, "animals")
    values = data.values.copy()
    values[0], values[:, :, -1] = np.nan, np.nan
    draw_autocorrelation(axes, replace(data, values=values), correlation(1, "runs"), 0)
    drawn = line_with(axes, "data").get_ydata()
    np.testing.assert_allclose(drawn[:-1], values[1:, 0, :-1].mean(axis=0))
    assert np.isnan(drawn[-1])
    assert words_of(axes)[0].startswith("data, mean of 3 animals")
    assert words_of(axes)[1] == "simulation, 1 run"


def test_a_mode_that_does_not_exist_is_refused(axes):
    with pytest.raises(InputFormatError, match="component=2, but there are 2 modes"):
        draw_autocorrelation(axes, correlation(2, "animals"), correlation(2, "runs", n_modes=3), 2)


def comparison(test, simulated) -> Comparison:
    return Comparison(test=np.asarray(test, dtype=float), simulated=np.asarray(simulated, dtype=float))


def summary(test, simulated) -> HeldOutCorrelation:
    n_splits, n_animals = np.shape(test)[:2]
    return summarise_correlation(
        CrossValidation(
            comparisons={CORRELATION: comparison(test, simulated)},
            unassigned=np.zeros(n_splits),
            fit=FitSettings(n_delays=3, n_states=4, lag=0.75),
            individuals=names_of(n_animals),
        )
    )


def test_held_out_correlation_of_one_animal_over_splits(axes):
    rng = np.random.default_rng(0)
    found = comparison(rng.normal(size=(3, 2, 2, 5)), rng.normal(size=(3, 2, 4, 2, 5)))
    draw_held_out_correlation(axes, summary(found.test, found.simulated), component=1, individual=1)
    mean = found.test[:, 1, 1].mean(axis=0)
    np.testing.assert_allclose(line_with(axes, "held-out").get_ydata(), mean, rtol=1e-5, atol=1e-6)
    runs = found.simulated[:, 1, :, 1].reshape(12, 5)
    np.testing.assert_allclose(line_with(axes, "simulation").get_ydata(), runs.mean(axis=0), rtol=1e-5, atol=1e-6)
    low, high = np.percentile(runs, [2.5, 97.5], axis=0)
    np.testing.assert_allclose(band_of(axes, SIMULATION), [low.min(), high.max()], rtol=1e-5)
    axes.legend()
    assert "mean of 12 runs" in words_of(axes)[1]


def test_a_single_split_has_no_band(axes):
    draw_held_out_correlation(axes, summary(np.ones((1, 1, 1, 5)), np.ones((1, 1, 4, 1, 5))), 0)
    assert band_of(axes, DATA) is None
    axes.legend()
    assert words_of(axes)[0] == "held-out data, 1 split"


def test_a_statistic_that_is_no_correlation_is_refused():
    with pytest.raises(InputFormatError, match="one row per mode"):
        summary(np.ones((3, 2, 5)), np.ones((3, 2, 4, 5)))


def density(shares, over: str) -> ModeDensity:
    shares = np.asarray(shares, dtype=float)[:, None]
    return ModeDensity(edges=np.array([[0.0, 1.0, 3.0]]), share=shares, individuals=names_of(len(shares)), over=over)


def test_densities_are_shares_per_width(axes):
    data = density([[0.0, 0.5, 0.5, 0.0], [0.2, 0.1, 0.7, 0.0], [np.nan] * 4], "animals")
    simulated = density([[0.0, 0.2, 0.8, 0.0]] * 3, "runs")
    draw_mode_density(axes, data, simulated, 0, distance=compare_densities(data, simulated, n_splits=20))
    np.testing.assert_array_equal(line_with(axes, "data").get_xdata(), [0.5, 2.0])
    np.testing.assert_allclose(line_with(axes, "data").get_ydata(), [0.3, 0.3])
    np.testing.assert_allclose(line_with(axes, "simulation").get_ydata(), [0.2, 0.4])
    assert "mean of 2 animals" in words_of(axes)[0]


def test_the_divergence_stands_beside_that_of_halves(axes):
    data = density([[0, 1, 0, 0], [0, 0, 1, 0]], "animals")
    distance = compare_densities(data, density([[0, 0, 0, 1]], "runs"))
    draw_mode_density(axes, data, density([[0, 0, 0, 1]], "runs"), 0, distance=distance)
    assert axes.get_title(loc="center") + axes.get_title(loc="left") == "Mode $a_{1}$\ndivergence 1 bit\nof halves < 1"
    assert axes.get_legend().get_title().get_text() == "halves: 95 % of random halves of the animals"


def test_one_animal_has_no_halves(axes):
    data, simulated = density([[0, 1, 0, 0]], "animals"), density([[0, 1, 0, 0]], "runs")
    draw_mode_density(axes, data, simulated, 0, distance=compare_densities(data, simulated))
    assert "halves" not in axes.get_title(loc="left") + axes.get_title()
    assert axes.get_legend().get_title().get_text() == ""


def test_densities_on_different_edges_are_refused(axes):
    data = density([[0, 1, 0, 0]], "animals")
    with pytest.raises(InputFormatError, match="different edges"):
        draw_mode_density(axes, data, replace(data, edges=data.edges + 1), 0)


def prediction(error, random_error, predictor: str = "data", over: str = "animals") -> PredictionError:
    error = np.asarray(error, dtype=float)
    return PredictionError(
        times=np.arange(error.shape[1], dtype=float),
        error=error,
        n_pairs=np.full(error.shape, 9),
        random_error=np.asarray(random_error, dtype=float),
        predictor=predictor,
        individuals=names_of(len(error)),
        over=over,
    )


def test_mixing_times_are_where_curves_come_to_the_threshold(axes):
    """Errors of t and of t/2 exceed 0.95 · 4 for the first time at 4 and at 8 s."""
    t = np.arange(11.0)
    data, simulated = prediction([t, t], [4.0, 4.0]), prediction([t / 2, t / 2], [4.0, 4.0], "simulation")
    draw_prediction_error(axes, data, simulated)
    np.testing.assert_array_equal(line_with(axes, "data").get_ydata(), t)
    assert line_with(axes, "e∞ = 4 rad").get_ydata()[0] == 4.0
    assert line_with(axes, "0.95 e∞").get_ydata()[0] == pytest.approx(3.8)
    assert [one.lines[0].get_xdata()[0] for one in bars_of(axes)] == [4.0, 8.0]
    assert [word for word in words_of(axes) if "mixed" in word] == ["mixed after 4 (4, 4) s", "mixed after 8 (8, 8) s"]


def test_an_error_that_does_not_mix_says_so(axes):
    flat, unknown = prediction(np.ones((2, 6)), [9.0, 9.0]), prediction(np.full((1, 6), np.nan), [np.nan])
    draw_prediction_error(axes, flat, unknown)
    assert {"not mixed within 5 s", "mixing time unknown"} <= set(words_of(axes))
    assert bars_of(axes) == []


def test_a_mixing_time_without_upper_limit_reaches_the_edge(axes):
    error = np.array([[0.0, 9, 9, 9], [0.0, 1, 1, 1]])
    draw_prediction_error(axes, prediction(error, [5.0, 5.0]), prediction(error, [5.0, 5.0], "simulation"))
    assert any("∞" in word for word in words_of(axes))
    ends = bars_of(axes)[0].lines[2][0].get_segments()[0][:, 0]
    assert ends.max() == 3.0


def entries(counts, over: str = "animals", window: float = 60.0) -> EntryRate:
    counts = np.asarray(counts)
    return EntryRate(
        starts=window * np.arange(counts.shape[1]),
        window=window,
        counts=counts,
        observed=np.full(counts.shape, window),
        state=1,
        individuals=names_of(len(counts)),
        over=over,
    )


def test_entry_rates_and_the_line_of_their_drift(axes):
    """Rates of 9, 8, ... per minute in windows of a minute fall by 60 per minute per hour."""
    data = entries([np.arange(9, 1, -1), np.arange(11, 3, -1)])
    draw_entry_rate(axes, data, entries(np.full((5, 8), 6), "runs"), HOSTILE, drift(data, n_shuffles=50))
    points = line_with(axes, "data")
    np.testing.assert_allclose(points.get_xdata(), np.arange(8) + 0.5)
    np.testing.assert_allclose(points.get_ydata(), np.arange(10, 2, -1))
    line = line_with(axes, "line")
    np.testing.assert_allclose(line.get_xdata(), [0.5, 7.5])
    np.testing.assert_allclose(line.get_ydata(), [10, 3])
    assert "-60 (-60, -60) per minute" in line.get_label()
    np.testing.assert_allclose(line_with(axes, "simulation").get_ydata(), 6.0)
    assert words_of(axes)[0].startswith("data")
    assert axes.get_ylim()[0] == 0


def test_entry_rates_of_one_animal_with_a_window_that_was_not_seen(axes):
    data = entries([[3, 2, 1, 0]])
    observed = np.array([[60.0, 60.0, 1.0, 60.0]])
    data = replace(data, observed=observed)
    draw_entry_rate(axes, data, entries([[1, 2]], "runs"), "turn", drift(entries([[3, 2]])))
    np.testing.assert_array_equal(line_with(axes, "data").get_ydata(), [3, 2, np.nan, 0])
    assert words_of(axes) == ["data, 1 animal", "simulation, 1 run"]  # two windows have no line


# --- one against the other -------------------------------------------------------------------------------------------


def test_rates_have_their_bars_and_one_scale(axes):
    data = {
        "turn": [interval(2.0, 1.5, 2.5, "events"), interval(4.0, 3.0, 6.0, "events")],
        HOSTILE: [interval(1.0)] * 2,
    }
    runs = {HOSTILE: [interval(1.5)] * 2, "turn": [interval(2.2, 2.1, 2.3, "runs"), interval(np.nan)]}
    draw_rates(axes, data, runs, title=HOSTILE, unit="1/min")
    turn, hostile = bars_of(axes)
    np.testing.assert_array_equal(turn.lines[0].get_xydata(), [[2.0, 2.2]])
    horizontal, vertical = (bar.get_segments()[0] for bar in turn.lines[2])
    np.testing.assert_allclose(horizontal, [[1.5, 2.2], [2.5, 2.2]])
    np.testing.assert_allclose(vertical, [[2.0, 2.1], [2.0, 2.3]])
    np.testing.assert_array_equal(hostile.lines[0].get_xydata(), [[1.0, 1.5]] * 2)
    assert turn.lines[0].get_color() == state_colours(2)[0]
    assert axes.get_xlim() == axes.get_ylim() == pytest.approx((0, 1.08 * 2.5))
    assert words_of(axes)[1] == "turn, 1 animal"
    assert "95 % over events for data, 95 % over runs for simulation" in axes.get_title()


def test_rates_of_one_animal_without_intervals(axes):
    draw_rates(axes, {"turn": [interval(0.0)]}, {"turn": [interval(0.0)]}, unit="1/s")
    assert "no interval for data, no interval for simulation" in axes.get_title()
    assert axes.get_xlim() == (0, 1)
    assert axes.get_xlabel() == "data (1/s)"


@pytest.mark.parametrize(
    ("data", "runs", "message"),
    [
        ({}, {}, "no kind"),
        ({"a": [interval(1)]}, {"b": [interval(1)]}, "same kinds"),
        ({"a": [interval(1)]}, {"a": []}, "1 recorded animal, 0 simulated"),
    ],
)
def test_rates_that_do_not_match_are_refused(axes, data, runs, message):
    with pytest.raises(InputFormatError, match=message):
        draw_rates(axes, data, runs)


def validation(found: Comparison, *, as_published: bool = False) -> CrossValidation:
    return CrossValidation(
        comparisons={"rates": found},
        unassigned=np.zeros(len(found.test)),
        fit=FitSettings(as_published=as_published),
        individuals=names_of(found.test.shape[1]),
    )


def test_cross_validation_sets_means_over_splits_against_all_runs(axes):
    rng = np.random.default_rng(0)
    held_out = comparison(rng.random((4, 3, 2)), rng.random((4, 3, 5, 2)))
    as_published = comparison(held_out.test, held_out.simulated + 1)
    draw_cross_validation(
        axes, [validation(as_published, as_published=True), validation(held_out)], "rates", ["turn", HOSTILE]
    )
    drawn = bars_of(axes)
    assert len(drawn) == 4
    for bars, (found, k) in zip(
        drawn, [(held_out, 0), (held_out, 1), (as_published, 0), (as_published, 1)], strict=True
    ):
        np.testing.assert_allclose(bars.lines[0].get_xdata(), found.test[..., k].mean(axis=0))
        np.testing.assert_allclose(bars.lines[0].get_ydata(), found.simulated[..., k].mean(axis=(0, 2)))
        horizontal, vertical = [part.get_segments()[1] for part in bars.lines[2]]
        np.testing.assert_allclose(horizontal[:, 0], np.percentile(found.test[:, 1, k], [2.5, 97.5]))
        np.testing.assert_allclose(vertical[:, 1], np.percentile(found.simulated[:, 1, :, k], [2.5, 97.5]))
    assert [bars.lines[0].get_markerfacecolor() for bars in drawn[2:]] == ["none", "none"]
    inside = held_out.inside().mean(axis=0)
    assert words_of(axes)[1] == f"turn: {100 * inside[0]:.0f} %"
    assert words_of(axes)[3] == "turn, as published: 0 %"
    assert axes.get_legend().get_title().get_text() == "splits within 67 % of 5 runs"


def test_cross_validation_of_one_animal_split_and_number(axes):
    """A statistic without entries of its own; unknown in the second animal."""
    found = comparison([[1.0, np.nan]], [[[1.0, 3.0, np.nan], [1.0, 2.0, 3.0]]])
    draw_cross_validation(axes, [validation(found)], "rates", ["speed"], unit="mm/s")
    (bars,) = bars_of(axes)
    np.testing.assert_array_equal(bars.lines[0].get_xydata(), [[1.0, 2.0]])
    assert words_of(axes)[1] == "speed: 100 %"


def test_cross_validations_that_cannot_be_drawn_are_refused(axes):
    one = validation(comparison(np.ones((2, 1, 2)), np.ones((2, 1, 3, 2))))
    with pytest.raises(InputFormatError, match="2 cross-validations"):
        draw_cross_validation(axes, [one, one], "rates", ["a", "b"])
    with pytest.raises(InputFormatError, match="'speed' is not among the statistics rates"):
        draw_cross_validation(axes, [one], "speed", ["a", "b"])
    with pytest.raises(InputFormatError, match="3 names"):
        draw_cross_validation(axes, [one], "rates", ["a", "b", "c"])


# --- rows ------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    name: str
    data: Interval
    simulation: Interval
    unit: str = "s"
    agrees: bool | None = True


def markers_of(axes, colour: str) -> list[tuple[float, float, str]]:
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]), line.get_marker())
        for line in axes.lines
        if line.get_color() == colour and line.get_marker() not in ("None", None)
    ]


def test_an_overview_gives_ratios_to_the_data(axes):
    rows = [
        Row("speed", interval(2.0, 1.0, 3.0), interval(2.5, 2.2, 2.8, "runs")),
        Row(HOSTILE, interval(-4.0, -6.0, -2.0), interval(-2.0, -3.0, 1.0, "runs"), agrees=False),
    ]
    draw_agreement(axes, rows)
    assert [x for x, _, _ in markers_of(axes, DATA)] == [1.0, 1.0]
    assert markers_of(axes, MODES[2]) == [(1.25, pytest.approx(0.17), "o")]
    assert markers_of(axes, SIMULATION) == [(0.5, pytest.approx(1.17), "X")]
    bars = [line.get_xdata() for line in axes.lines if line.get_marker() == "None" and len(line.get_xdata()) == 2]
    np.testing.assert_allclose(bars[1:], [[0.5, 1.5], [1.1, 1.4], [0.5, 1.5], [-0.25, 0.75]])
    texts = [text.get_text() for text in axes.texts]
    assert texts[0] == "data 2 (1, 3) s"
    assert texts[1] == "simulation 2.5 (2.2, 2.8) s, in agreement"
    title = axes.get_title()
    assert "1 in agreement, 1 different" in title
    assert "95 % over animals for data, 95 % over runs for simulation" in title


def test_what_has_no_ratio_is_written_only(axes):
    rows = [Row("none", interval(0.0), interval(1.0), agrees=None), Row("unknown", interval(np.nan), interval(1.0))]
    draw_agreement(axes, rows)
    assert np.isnan([x for colour in (DATA, MODES[2]) for x, _, _ in markers_of(axes, colour)]).all()
    assert axes.texts[1].get_text() == "simulation 1 s, not tested"
    assert axes.texts[2].get_text() == "data unknown s"


def test_what_is_far_out_is_an_arrow_at_the_edge(axes):
    rows = [
        Row("much", interval(1.0), interval(50.0, 40.0, 60.0), agrees=False),
        Row("never", interval(1.0), interval(np.inf), agrees=False),
        Row("less", interval(1.0), interval(-9.0), agrees=False),
    ]
    draw_agreement(axes, rows)
    assert [(x, marker) for x, _, marker in markers_of(axes, SIMULATION)] == [(3.0, ">"), (3.0, ">"), (-1.0, "<")]
    assert axes.get_xlim() == (-1.0, 3.0)
    assert "∞" in axes.texts[3].get_text()


def test_an_overview_of_nothing_is_refused(axes):
    with pytest.raises(InputFormatError, match="no statistic"):
        draw_agreement(axes, [])


def held_out(chain, memoryless, shuffled, over: str = "animals") -> HeldOut:
    n = len(chain)
    return HeldOut(
        chain=np.array(chain, dtype=float),
        memoryless=np.array(memoryless, dtype=float),
        shuffled=np.array(shuffled, dtype=float),
        trained=np.full(n, 3.5),
        unseen=np.zeros(n),
        n_pairs=np.full(n, 10),
        names=(HOSTILE, *names_of(n - 1)),
        over=over,
        lag=0.75,
        smoothing=1.0,
    )


def test_gains_over_both_nulls(axes):
    draw_held_out(axes, held_out([-5, -6, -7], [-7, -9, -8], [-8, -8, -8]))
    np.testing.assert_array_equal(line_with(axes, "over memoryless: 2 (").get_xdata(), [2, 3, 1])
    np.testing.assert_array_equal(line_with(axes, "over shuffled: 2 (").get_xdata(), [3, 2, 1])
    np.testing.assert_array_equal(line_with(axes, "where learned").get_xdata(), [3.5] * 3)
    assert [(one.lines[0].get_xdata()[0], one.lines[0].get_ydata()[0]) for one in bars_of(axes)] == [(2.0, 3)] * 2
    assert len(axes.get_yticklabels()) == 4
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top
    assert "95 % over animals" in axes.get_title()


def test_gains_of_one_unit_and_unknown_ones(axes):
    draw_held_out(axes, held_out([-5, np.nan], [-7, -7], [-8, -8], "blocks"))
    assert "over memoryless: 2" in words_of(axes)
    assert "no interval" in axes.get_title()
