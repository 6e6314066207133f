"""What was measured, and where it is missing."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ethomarkov._core.segments import Segments
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.figures.style import DATA, MISSING, MODES, figure_style, new_figure, plain_text
from ethomarkov.recording import Recording
from ethomarkov.recording.schema import KIND_WORDS

MOST_ANIMALS_LABELLED = 40
MOST_TRACES = 5
TRACE_SECONDS = 60.0


def draw_coverage(axes: Axes, segments: Segments, rate: float) -> None:
    """Draw one line per animal: where there is posture, and where it is missing.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> from ethomarkov.synthetic import double_well
    >>> walkers = double_well(20.0, n_walkers=3, rng=1)
    >>> draw_coverage(axes, walkers.segments, walkers.sampling.rate)
    >>> axes.get_xlabel(), len(axes.get_yticks())
    ('time (min)', 3)
    """
    offsets = segments.offsets
    for i in range(segments.n_individuals):
        spans = (segments.bounds[segments.bounds[:, 2] == i, :2] - offsets[i]) / rate / 60
        whole = (0, (offsets[i + 1] - offsets[i]) / rate / 60)
        axes.broken_barh([whole], (i - 0.35, 0.7), color=MISSING, lw=0)
        axes.broken_barh([(a, b - a) for a, b in spans], (i - 0.35, 0.7), color=DATA, lw=0)
    axes.set(xlabel="time (min)", xlim=(0, None), ylim=(segments.n_individuals - 0.5, -0.5))
    if segments.n_individuals <= MOST_ANIMALS_LABELLED:
        axes.set_yticks(range(segments.n_individuals), [plain_text(name) for name in segments.individuals])
    else:
        axes.set_ylabel("animal")
    axes.set_title("Posture present (blue) and missing (grey)")


def draw_traces(axes: Axes, rows: FloatArray, rate: float, labels: list[str], unit: str) -> None:
    """Draw a few columns of a stretch of data, one below the other.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> rows = np.random.default_rng(1).normal(size=(160, 2))
    >>> draw_traces(axes, rows, 16.0, ["$a_1$", "$a_2$"], "rad")
    >>> len(axes.lines), axes.get_xlabel()
    (2, 'time (s)')
    """
    step = 1.15 * max(float(np.nanmax(np.ptp(rows, axis=0))), 1e-12)
    time = np.arange(len(rows)) / rate
    for k, column in enumerate(rows.T):
        axes.plot(time, column - np.nanmean(column) - k * step, color=MODES[k % len(MODES)], lw=0.9)
    axes.set_yticks(-step * np.arange(rows.shape[1]), labels)
    axes.set(xlabel="time (s)", xlim=(0, max(time[-1], 1 / rate)))
    axes.set_title(f"Longest gap-free stretch, first {time[-1]:.0f} s{f' ({unit})' if unit else ''}")


def draw_recording(recording: Recording) -> Figure:
    """Draw coverage and a stretch of a recording."""
    segments = recording.segments
    rate = recording.sampling.rate
    with figure_style():
        height = 3.4 + 0.22 * min(segments.n_individuals, MOST_ANIMALS_LABELLED)
        figure = new_figure(8.0, height)
        upper, lower = figure.subplots(2, 1, height_ratios=[max(height - 3.0, 0.5), 2.6])
        draw_coverage(upper, segments, rate)
        start, stop, _ = segments.bounds[segments.lengths.argmax()]
        stop = min(stop, start + round(TRACE_SECONDS * rate))
        values = recording.values[start:stop].reshape(stop - start, -1)
        columns = np.unique(np.linspace(0, values.shape[1] - 1, min(values.shape[1], MOST_TRACES)).round().astype(int))
        draw_traces(lower, values[:, columns], rate, _column_names(recording, columns), "")
        figure.suptitle(f"{count_of(len(recording.individuals), 'animal')}, {KIND_WORDS[recording.kind]}, {rate:g} Hz")
    return figure


def _column_names(recording: Recording, columns: np.ndarray) -> list[str]:
    first = recording.dataset[recording.dataset[recording.kind].dims[1]].values
    if recording.kind == "amplitude":
        return [f"$a_{{{first[c]}}}$" for c in columns]
    if recording.kind == "angle":
        return [f"$\\theta_{{{first[c]}}}$" for c in columns]
    return [plain_text(f"{'xy'[c % 2]} {first[c // 2]}") for c in columns]
