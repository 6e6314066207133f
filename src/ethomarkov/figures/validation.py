"""Data beside simulation: do the simulated animals behave as the recorded ones, and how far can they be predicted."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes

from ethomarkov._core.interval import Interval, Scale, mean_and_limits, mean_band
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.kinetics import BESIDE
from ethomarkov.figures.paths import GUIDE, INK
from ethomarkov.figures.states import name_rows
from ethomarkov.figures.style import (
    DATA,
    MODES,
    SIMULATION,
    plain_text,
    state_colours,
    state_labels,
)
from ethomarkov.validation.correlation import Autocorrelation
from ethomarkov.validation.distribution import Distance, ModeDensity
from ethomarkov.validation.drifting import Drift, EntryRate
from ethomarkov.validation.held_out import HeldOut, Null
from ethomarkov.validation.held_out_correlation import HeldOutCorrelation
from ethomarkov.validation.prediction import PredictionError
from ethomarkov.validation.splits import Comparison, CrossValidation

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DATA_WIDTH, SIMULATION_WIDTH = 2.4, 1.3
"""A broad line for data stays visible below that of the simulation."""
MIXING_HEIGHTS = (0.1, 0.05)  # of mixing times above the bottom, as shares of the height
ROOM = 1.08  # of axes, beyond the largest value
APART = 0.17  # from the middle of a row to the two things that are compared in it
NULLS: tuple[tuple[Null, str, str], ...] = (("memoryless", MODES[2], "o"), ("shuffled", MODES[3], "s"))
VERDICTS: dict[bool | None, tuple[str, str, str]] = {
    True: ("in agreement", MODES[2], "o"),
    False: ("different", SIMULATION, "X"),
    None: ("not tested", GUIDE, "s"),
}
RATIOS = (-1.0, 3.0)
"""Least and largest ratio to the data that an overview shows; what lies beyond is an arrow at the edge."""

Band = tuple[FloatArray, FloatArray, FloatArray]
"""A line, and the lower and upper limit around it."""


# --- curves ----------------------------------------------------------------------------------------------------------


def draw_autocorrelation(
    axes: Axes, data: Autocorrelation, simulated: Autocorrelation, component: int, *, legend: bool = True
) -> None:
    """Draw the autocorrelation of one mode in data and simulation.

    Parameters
    ----------
    axes
        To draw on.
    data, simulated
        From `autocorrelation` and `ensemble_autocorrelation`. Best let runs last as long as the recordings, since the
        estimates of short ones scatter more.
    component
        Index of the mode.
    legend
        Whether to draw one, which says what the bands are.

    Notes
    -----
    Fig. 2b. The band of the data is the 95 % interval of the mean over animals; that of the simulation holds 95 % of
    the means of as many runs as there are animals. A single animal has no band, and is to be compared with single runs.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> import numpy as np
    >>> from ethomarkov._core.series import Series
    >>> from ethomarkov.validation import autocorrelation
    >>> wave = Series.from_rows(np.cos(np.pi * np.arange(320) / 8)[:, None], 16.0)
    >>> draw_autocorrelation(axes, autocorrelation(wave, 2.0), autocorrelation(wave, 2.0, over="runs"), 0)
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('lag (s)', 'autocorrelation')
    """
    _check_component(component, data.values.shape[1], simulated.values.shape[1])
    _draw_pair(
        axes,
        (data.lags, data.values[:, component], data.over),
        (simulated.lags, simulated.values[:, component], simulated.over),
    )
    axes.axhline(0, color=GUIDE, lw=0.6, zorder=0)
    axes.set(xlabel="lag (s)", ylabel="autocorrelation", xlim=(0, max(data.lags[-1], simulated.lags[-1])))
    axes.set_title(f"Mode $a_{{{component + 1}}}$")
    if legend:
        axes.legend(loc="upper right", fontsize="small")


def draw_held_out_correlation(axes: Axes, correlation: HeldOutCorrelation, component: int, individual: int = 0) -> None:
    """Draw the autocorrelation of one mode in held-out data of an animal, and in runs learned from the rest.

    Parameters
    ----------
    axes
        To draw on.
    correlation
        From `summarise_correlation`.
    component, individual
        Indices of the mode and of the animal.

    Notes
    -----
    Fig. S4a. Bands hold 95 % of the splits, and 95 % of the runs of all splits: both are of single recordings as long
    as the held-out part. A single split or run has none.
    """
    _check_component(component, correlation.test.shape[2])
    sides = (
        ("held-out data", "split", correlation.test, correlation.n_splits, DATA, DATA_WIDTH),
        ("simulation", "run", correlation.simulated, correlation.n_runs, SIMULATION, SIMULATION_WIDTH),
    )
    for name, noun, table, n, colour, width in sides:
        mean, low, high = table[individual, :, component]
        band = (mean, low, high) if n > 1 else (mean, np.full_like(low, np.nan), np.full_like(high, np.nan))
        words = f"mean of {n} {noun}s\n(band: 95 % of them)" if n > 1 else count_of(n, noun)
        _draw_band(axes, correlation.lags, band, colour=colour, label=f"{name}, {words}", lw=width)
    axes.axhline(0, color=GUIDE, lw=0.6, zorder=0)
    axes.set(xlabel="lag (s)", ylabel="autocorrelation", xlim=(0, correlation.lags[-1]))
    axes.set_title(f"Mode $a_{{{component + 1}}}$")


def draw_mode_density(
    axes: Axes,
    data: ModeDensity,
    simulated: ModeDensity,
    component: int,
    *,
    distance: Distance | None = None,
    legend: bool = True,
) -> None:
    """Draw how often a mode has each amplitude, in data and simulation.

    Parameters
    ----------
    axes
        To draw on.
    data, simulated
        From `mode_density` and `ensemble_density`, on the same edges.
    component
        Index of the mode.
    distance
        Between them, for the title: their divergence, and what 95 % of random halves of the data stay below.
    legend
        Whether to draw one, which says what the bands are.

    Notes
    -----
    Fig. S3. Bands as in `draw_autocorrelation`.
    """
    _check_component(component, len(data.edges), len(simulated.edges))
    if not np.array_equal(data.edges, simulated.edges):
        raise InputFormatError("The densities are on different edges. Count both with the edges of the data.")
    centres = data.centres[component]
    _draw_pair(
        axes,
        (centres, data.density[:, component], data.over),
        (centres, simulated.density[:, component], simulated.over),
        "positive",
    )
    axes.set(xlabel=f"$a_{{{component + 1}}}$ (rad)", ylabel="density (1/rad)", ylim=(0, None))
    axes.set_title(
        f"Mode $a_{{{component + 1}}}$" + ("" if distance is None else f"\n{_distance_words(distance, component)}")
    )
    if legend:
        axes.legend(title=_halves_words(distance), fontsize="small", title_fontsize="small", **BESIDE)


def draw_prediction_error(axes: Axes, data: PredictionError, simulated: PredictionError, share: float = 0.95) -> None:
    """Draw how predictions of the posture go wrong with time, and when nothing is left to predict.

    Parameters
    ----------
    axes
        To draw on.
    data, simulated
        From `recorded_error` and `simulated_error`.
    share
        Of e∞, the distance of random postures, at which predictions count as mixed.

    Notes
    -----
    Fig. S2b. Bands are 95 % intervals of the mean over animals, or over parts of a single recording; so are the bars at
    the mixing times.
    """
    random_error = float(mean_band(data.random_error)[0])
    for k, (name, found, colour, width) in enumerate(_sides(data, simulated)):
        words = f"{name}, {_mean_words(_count_rows(found.error), found.over)}"
        _draw_band(axes, found.times, found.mean_band(), colour=colour, label=words, lw=width)
        _mark_mixing_time(axes, found, share, colour=colour, height=MIXING_HEIGHTS[k])
    axes.axhline(random_error, color=GUIDE, lw=1, ls="--", label=f"e∞ = {random_error:.3g} rad (random postures)")
    axes.axhline(share * random_error, color=GUIDE, lw=1, ls=":", label=f"{share:g} e∞")
    axes.set(xlabel="time τ (s)", ylabel="distance of postures E (rad)", xlim=(0, data.times[-1]), ylim=(0, None))
    axes.set_title("Prediction from the same microstate")
    axes.legend(fontsize="small", **BESIDE)


def draw_entry_rate(axes: Axes, data: EntryRate, simulated: EntryRate, name: str, drift: Drift | None = None) -> None:
    """Draw how often a state is entered as time goes by, in data and simulation.

    Parameters
    ----------
    axes
        To draw on.
    data, simulated
        From `entry_rate`.
    name
        Of the state.
    drift
        Of the data: its line is dashed, and the legend gives slope and p-value.

    Notes
    -----
    Fig. S10. Bands as in `draw_autocorrelation`, bars for the data. Neighbouring windows may overlap and are then not
    independent.
    """
    mean, low, high = data.mean_band()
    n_animals = _count_rows(data.rate)
    bars = _bars(np.stack([mean, low, high], axis=-1))
    axes.errorbar(data.centres / 60, mean, bars, fmt="none", color=DATA, lw=1.2, zorder=3)
    label = f"data, {_mean_words(n_animals, data.over, 'bars')}"
    axes.plot(data.centres / 60, mean, "o", color=DATA, ms=4, zorder=3, label=label)
    band, label = _simulated_band(simulated.rate, n_animals, simulated.over)
    _draw_band(axes, simulated.centres / 60, band, colour=SIMULATION, label=label, lw=SIMULATION_WIDTH)
    if drift is not None and np.isfinite(drift.first):
        minutes = data.centres[[0, -1]] / 60
        line = drift.first + drift.interval.estimate * (minutes - minutes[0]) / 60
        over = f"{100 * drift.interval.level:.0f} % over {drift.interval.over}"
        label = f"line: {drift.interval} per minute\nper hour ({over}),\np = {drift.p_value:.2g} (windows shuffled)"
        axes.plot(minutes, line, color=DATA, lw=1.2, ls="--", label=label)
    axes.set(xlabel=f"time (min), windows of {data.window / 60:g} min", ylabel="entries per minute", ylim=(0, None))
    axes.set_title(f"Entries into {plain_text(name)}")
    axes.legend(fontsize="small", **BESIDE)


def _draw_pair(
    axes: Axes,
    data: tuple[FloatArray, FloatArray, str],
    simulated: tuple[FloatArray, FloatArray, str],
    scale: Scale = "signed",
) -> None:
    """Draw mean and band of data, and of as many runs as there are animals; given are x, rows, and what they are."""
    x, values, over = data
    n_animals = _count_rows(values)
    label = f"data, {_mean_words(n_animals, over)}"
    _draw_band(axes, x, mean_band(values, scale=scale), colour=DATA, label=label, lw=DATA_WIDTH)
    x, values, over = simulated
    band, label = _simulated_band(values, n_animals, over)
    _draw_band(axes, x, band, colour=SIMULATION, label=label, lw=SIMULATION_WIDTH)


def _simulated_band(values: FloatArray, n_animals: int, over: str) -> tuple[Band, str]:
    """Average runs, with the band that holds 95 % of the means of as many as there are animals."""
    n_runs = _count_rows(values)
    words = "them" if n_animals < 2 else f"means of {n_animals}"
    label = (
        f"mean of {n_runs} {over}\n(band: 95 % of {words})" if n_runs > 1 else count_of(n_runs, over.removesuffix("s"))
    )
    return mean_band(values, size=max(n_animals, 1)), f"simulation, {label}"


def _mean_words(n_rows: int, over: str, what: str = "band") -> str:
    """Say what a line and its band are."""
    if n_rows > 1:
        return f"mean of {n_rows} {over}\n({what}: its 95 % interval)"
    return count_of(n_rows, over.removesuffix("s"))


def _sides(data: PredictionError, simulated: PredictionError) -> Iterable[tuple[str, PredictionError, str, float]]:
    return ("data", data, DATA, DATA_WIDTH), ("simulation", simulated, SIMULATION, SIMULATION_WIDTH)


def _mark_mixing_time(axes: Axes, error: PredictionError, share: float, *, colour: str, height: float) -> None:
    """Mark when a curve has come to a share of e∞, with its interval; an interval without end leads to the edge."""
    mixed, last = error.mixing_time(share), float(error.times[-1])
    if not np.isfinite(mixed.estimate):
        reason = "mixing time unknown" if np.isnan(mixed.estimate) else f"not mixed within {last:g} s"
        axes.plot([], [], "o", color=colour, ms=5, label=reason)
        return
    axes.vlines(mixed.estimate, 0, share * float(mean_band(error.random_error)[0]), color=colour, lw=0.8, ls=":")
    bars = _bars(np.array([[mixed.estimate, mixed.low, min(mixed.high, last)]]))
    style: dict[str, Any] = {"fmt": "o", "ms": 5, "lw": 1.4, "capsize": 3, "color": colour}
    place = axes.get_xaxis_transform()
    label = f"mixed after {_value_words(mixed)} s"
    axes.errorbar([mixed.estimate], [height], xerr=bars, transform=place, label=label, **style)


def _draw_band(axes: Axes, x: FloatArray, band: Band, *, colour: str, label: str, lw: float) -> None:
    mean, low, high = band
    axes.plot(x, mean, color=colour, lw=lw, label=label)
    if np.isfinite(low).any():
        axes.fill_between(x, low, high, color=colour, alpha=0.22, lw=0)


def _distance_words(distance: Distance, component: int) -> str:
    upper = float(distance.upper()[component])
    found = f"divergence {distance.jensen_shannon[component]:.2g} bit"
    return found if np.isnan(upper) else f"{found}\nof halves < {upper:.2g}"


def _halves_words(distance: Distance | None) -> str | None:
    if distance is None or len(distance.null_jensen_shannon) == 0:
        return None
    return f"halves: 95 % of random halves of the {distance.over}"


def _check_component(component: int, *n_components: int) -> None:
    if not 0 <= component < min(n_components):
        raise InputFormatError(
            f"component={component}, but there are {min(n_components)} modes; count from 0 to {min(n_components) - 1}."
        )


def _count_rows(values: FloatArray) -> int:
    """Animals or runs of which something is known."""
    return int(np.isfinite(values).any(axis=-1).sum())


# --- one against the other -------------------------------------------------------------------------------------------


def draw_rates(
    axes: Axes,
    data: Mapping[str, Sequence[Interval]],
    simulated: Mapping[str, Sequence[Interval]],
    *,
    title: str = "Rates of events",
    unit: str = "1/min",
) -> None:
    """Draw the rates of every animal in the data against those of its simulation, kind by kind.

    Parameters
    ----------
    axes
        To draw on; the legend lies beside them.
    data, simulated
        By the kind of event, or the state that is left; one interval per animal, in the same order.
    title, unit
        What the rates are.

    Notes
    -----
    Fig. 2c and 2d. An animal whose rate is unknown on either side is not drawn; the legend counts those that are.
    """
    _check_rates(data, simulated)
    points = []
    for (kind, recorded), colour, marker in zip(
        data.items(), state_colours(len(data)), _markers(len(data)), strict=True
    ):
        x, y = _as_table(recorded), _as_table(simulated[kind])
        n_known = int((np.isfinite(x[:, 0]) & np.isfinite(y[:, 0])).sum())
        label = f"{plain_text(kind)}, {count_of(n_known, 'animal')}"
        points.append(_draw_points(axes, x, y, fmt=marker, color=colour, label=label))
    _frame_equal(axes, np.concatenate(points), plain_text(unit))
    sides = (_over_words([i for row in side.values() for i in row]) for side in (data, simulated))
    axes.set_title(f"{plain_text(title)}\n(bars: {next(sides)} for data, {next(sides)} for simulation)")


def draw_cross_validation(
    axes: Axes,
    validations: Sequence[CrossValidation],
    statistic: str,
    names: Sequence[str],
    *,
    unit: str = "1/min",
) -> None:
    """Draw a statistic of held-out data against that of runs learned from the rest, animal by animal.

    Parameters
    ----------
    axes
        To draw on; the legend lies beside them.
    validations
        The held-out one is drawn with full markers, the one as published with open markers; either or both.
    statistic
        Its name.
    names
        Of its entries, such as the kinds of events.
    unit
        Of the statistic.

    Notes
    -----
    Fig. S4b and S4c. Markers are means over splits, bars hold 95 % of the splits, and 95 % of the runs of all splits.
    The legend gives the share of splits, averaged over animals, in which held-out data lie within the range of runs.
    """
    comparisons = _comparisons(validations, statistic, len(names))
    colours, markers, points = state_colours(len(names)), _markers(len(names)), []
    for is_published, comparison in comparisons.items():
        n_splits, n_animals = comparison.test.shape[:2]
        test = comparison.test.reshape(n_splits, n_animals, -1)
        runs = comparison.simulated.reshape(n_splits, n_animals, comparison.n_runs, -1)
        inside = comparison.inside().reshape(n_animals, -1)
        for k, name in enumerate(names):
            x = np.stack(_spread(test[:, :, k]), axis=-1)
            y = np.stack(_spread(runs[..., k].swapaxes(1, 2).reshape(-1, n_animals)), axis=-1)
            share = float(mean_band(inside[:, k])[0])
            label = f"{plain_text(name)}{', as published' if is_published else ''}: " + _percent_words(share)
            open_symbol = {"mfc": "none", "mec": colours[k], "mew": 1.2, "ms": 8} if is_published else {}
            points.append(_draw_points(axes, x, y, fmt=markers[k], color=colours[k], label=label, **open_symbol))
    first = next(iter(comparisons.values()))
    within = f"splits within {100 * first.level:.0f} % of {first.n_runs} runs"
    _frame_equal(axes, np.concatenate(points), plain_text(unit), data="held-out data", legend=within)
    axes.set_title(f"Cross-validated {plain_text(statistic)}\n(bars: 95 % of {len(first.test)} splits, 95 % of runs)")


def _draw_points(axes: Axes, x: FloatArray, y: FloatArray, **style: Any) -> FloatArray:  # noqa: ANN401 (as errorbar)
    """Draw points with bars in both directions; rows are centre, low and high. Give back those that could be drawn."""
    known = np.isfinite(x[:, 0]) & np.isfinite(y[:, 0])
    looks: dict[str, Any] = {"mec": INK, "mew": 0.6, "lw": 0.9, "ms": 5} | style
    axes.errorbar(x[known, 0], y[known, 0], _bars(y[known]), _bars(x[known]), **looks)
    return np.concatenate([x[known], y[known]])


def _frame_equal(axes: Axes, points: FloatArray, unit: str, *, data: str = "data", legend: str | None = None) -> None:
    """Give both axes one scale, and draw where both sides are equal."""
    known = points[np.isfinite(points)]
    low, high = (min(0.0, float(known.min())), float(known.max())) if known.size else (0.0, 1.0)
    limits = (ROOM * low, ROOM * high if high > low else low + 1.0)
    axes.plot(limits, limits, color=GUIDE, lw=0.9, ls="--", zorder=0, label="equal")
    axes.set(xlim=limits, ylim=limits, xlabel=f"{data} ({unit})", ylabel=f"simulation ({unit})")
    axes.set_aspect("equal", adjustable="box")
    axes.legend(title=legend, fontsize="small", title_fontsize="small", **BESIDE)


def _as_table(intervals: Sequence[Interval]) -> FloatArray:
    """Centre, low and high of intervals, one row each."""
    return np.array([(one.estimate, one.low, one.high) for one in intervals], dtype=float).reshape(-1, 3)


def _bars(table: FloatArray) -> FloatArray:
    """Lengths of error bars below and above the centre, nothing where a limit is unknown."""
    centre, low, high = table.T
    return np.asarray(np.maximum(np.nan_to_num([centre - low, high - centre]), 0.0))


def _spread(values: FloatArray) -> Band:
    """Mean of the first axis, and the limits that hold 95 % of it; NaN is left out, and limits of fewer than two."""
    mean, low, high = mean_and_limits(values)
    single = np.isfinite(values).sum(axis=0) < 2
    return mean, np.where(single, np.nan, low), np.where(single, np.nan, high)


def _over_words(intervals: Iterable[Interval]) -> str:
    """Say over what intervals were taken, as "95 % over events"."""
    known = [one for one in intervals if np.isfinite(one.low)]
    if not known:
        return "no interval"
    levels = " or ".join(f"{100 * level:g}" for level in sorted({one.level for one in known}))
    return f"{levels} % over {' or '.join(sorted({one.over for one in known}))}"


def _markers(n: int) -> list[str]:
    return [MARKERS[k % len(MARKERS)] for k in range(n)]


def _percent_words(share: float) -> str:
    return "unknown" if np.isnan(share) else f"{100 * share:.0f} %"


def _check_rates(data: Mapping[str, Sequence[Interval]], simulated: Mapping[str, Sequence[Interval]]) -> None:
    if not data or set(data) != set(simulated):
        raise InputFormatError(
            f"The data have {', '.join(data) or 'no kind'}, the simulation {', '.join(simulated) or 'none'}; pass the "
            "same kinds for both, at least one."
        )
    for kind, recorded in data.items():
        if len(recorded) != len(simulated[kind]):
            raise InputFormatError(
                f"{kind}: {count_of(len(recorded), 'recorded animal')}, {len(simulated[kind])} simulated; pass one "
                "interval for each, in the same order."
            )


def _comparisons(validations: Sequence[CrossValidation], statistic: str, n_names: int) -> dict[bool, Comparison]:
    """Find the statistic in a held-out cross-validation, and in one as published, in this order."""
    found = {one.fit.as_published: one.comparisons for one in sorted(validations, key=lambda one: one.fit.as_published)}
    if not found or len(found) < len(validations):
        raise InputFormatError(
            f"There are {len(validations)} cross-validations; pass a held-out one, one as published, or one of each."
        )
    missing = [comparisons for comparisons in found.values() if statistic not in comparisons]
    if missing:
        raise InputFormatError(
            f"{statistic!r} is not among the statistics {', '.join(missing[0])}; choose one of them."
        )
    chosen = {is_published: comparisons[statistic] for is_published, comparisons in found.items()}
    n_entries = {int(np.prod(one.test.shape[2:])) for one in chosen.values()}
    if n_entries != {n_names}:
        raise InputFormatError(f"{statistic} has {n_entries} entries, but {n_names} names; give one name each.")
    return chosen


# --- rows ------------------------------------------------------------------------------------------------------------


class AgreementRow(Protocol):
    """A statistic of data and simulation."""

    @property
    def name(self) -> str:
        """What it is."""

    @property
    def data(self) -> Interval:
        """Its value in the data."""

    @property
    def simulation(self) -> Interval:
        """Its value in the simulation."""

    @property
    def unit(self) -> str:
        """Of both values."""

    @property
    def agrees(self) -> bool | None:
        """Whether they agree; None if that was not tested."""


def draw_agreement(axes: Axes, rows: Sequence[AgreementRow]) -> None:
    """Draw an overview: every statistic of the simulation beside that of the data, as a ratio to the data.

    Parameters
    ----------
    axes
        To draw on, with about 0.45 inches of height per row; the values stand beside them.
    rows
        Statistics, the first on top. One whose data are zero or unknown has no ratio: only its values are written.

    Notes
    -----
    Ratios beyond −1 and 3 are arrows at the edge.
    """
    if not rows:
        raise InputFormatError("There is no statistic to draw; pass at least one row.")
    ratios = np.stack([[_ratios(row.data, row.data), _ratios(row.simulation, row.data)] for row in rows])
    left, right = _ratio_limits(ratios)
    axes.axvline(1, color=DATA, lw=0.9, ls=":", zorder=0)
    for k, row in enumerate(rows):
        _, colour, marker = VERDICTS[row.agrees]
        for place, values, tint, sign in (
            (k - APART, ratios[k, 0], DATA, "D"),
            (k + APART, ratios[k, 1], colour, marker),
        ):
            centre = float(np.clip(values[0], left, right))
            shape = sign if centre == values[0] else "<" if centre == left else ">"
            axes.plot(values[1:], [place, place], color=tint, lw=1.6, solid_capstyle="butt")
            axes.plot(centre, place, shape, color=tint, ms=5.5, clip_on=False, zorder=3)
        _write_values(axes, k, row)
    name_rows(axes, state_labels([row.name for row in rows], len(rows)))
    axes.set(xlabel="ratio to the data", xlim=(left, right))
    sides = (_over_words(getattr(row, side) for row in rows) for side in ("data", "simulation"))
    verdicts = {word: sum(row.agrees is key for row in rows) for key, (word, _, _) in VERDICTS.items()}
    counts = ", ".join(f"{n} {word}" for word, n in verdicts.items() if n)
    axes.set_title(f"Simulation beside data: {counts}\n(bars: {next(sides)} for data, {next(sides)} for simulation)")


def draw_held_out(axes: Axes, held_out: HeldOut) -> None:
    """Draw how much better than two nulls the chain predicts held-out animals.

    Parameters
    ----------
    axes
        To draw on, with about 0.2 inches of height per animal.
    held_out
        From `predict_held_out`.

    Notes
    -----
    Right of zero, the present microstate tells something about the next. The line marks the gain over the memoryless
    null where the chain was learned: what it has more than the circles is overfitting, or a difference between animals.
    """
    rows = np.arange(len(held_out.names))
    axes.axvline(0, color=GUIDE, lw=0.9, zorder=0)
    axes.plot(held_out.trained, rows, "|", color=INK, ms=9, mew=1.5, label="over memoryless, where learned")
    for null, colour, marker in NULLS:
        gain, mean = held_out.gain(null), held_out.mean_gain(null)
        label = f"over {null}: {_value_words(mean)}"
        axes.plot(gain, rows, marker, color=colour, ms=5, label=label)
        style: dict[str, Any] = {"fmt": marker, "color": colour, "mec": INK, "ms": 7, "lw": 1.6, "capsize": 3}
        axes.errorbar([mean.estimate], [len(rows)], xerr=_bars(_as_table([mean])), **style)
    axes.axhline(len(rows) - 0.5, color=GUIDE, lw=0.6, ls=":")
    name_rows(axes, [*state_labels(held_out.names, len(rows)), "mean"])
    axes.set_xlabel(f"gain of the chain (bit/s), microstate after {held_out.lag:g} s")
    axes.legend(fontsize="small", **BESIDE)
    axes.set_title(f"Predicting held-out {held_out.over}\n(bars: {_over_words([held_out.mean_gain()])})")


def _ratios(value: Interval, data: Interval) -> FloatArray:
    """Centre, low and high as ratios to the centre of the data; NaN where there is no ratio."""
    centre, low, high = value.estimate, value.low, value.high
    scale = data.estimate if data.estimate and np.isfinite(data.estimate) else np.nan
    found = np.array([centre, *((low, high) if scale > 0 else (high, low))]) / scale
    return np.asarray(found)


def _ratio_limits(ratios: FloatArray) -> tuple[float, float]:
    """Choose limits that show all bars, but for those that are far out."""
    known = ratios[np.isfinite(ratios)]
    least, most = (float(known.min()), float(known.max())) if known.size else (1.0, 1.0)
    return max(RATIOS[0], min(0.0, ROOM * least)), min(RATIOS[1], max(1.5, ROOM * most))


def _write_values(axes: Axes, height: int, row: AgreementRow) -> None:
    """Write the values of a row right of the axes, and whether they agree."""
    unit = f" {plain_text(row.unit)}" if row.unit else ""
    word, colour, _ = VERDICTS[row.agrees]
    for place, words, tint in (
        (height - APART, f"data {_value_words(row.data)}{unit}", DATA),
        (height + APART, f"simulation {_value_words(row.simulation)}{unit}, {word}", colour),
    ):
        style: dict[str, Any] = {"va": "center", "color": tint, "fontsize": "small"}
        axes.text(1.04, place, words, transform=axes.get_yaxis_transform(), **style)


def _value_words(value: Interval) -> str:
    """Write a value with its interval; "unknown" where there is none."""
    return "unknown" if np.isnan(value.estimate) else str(value).replace("inf", "∞")
