"""What the movies show: a crawling animal, an animal beside its simulation, and a tour of the states."""

import functools
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import Normalize, to_rgba_array
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.path import Path as Polyline
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.locomotion import Trajectory, skeletons
from ethomarkov.locomotion.resistive import individual_lengths
from ethomarkov.movies.stage import FAINT, INK, Body, PixelImage, Shot, Stage, StageScene
from ethomarkov.posture import centerline_from_angles

DATA, SIMULATION = "#0072B2", "#D55E00"
MISSING = "#BBBBBB"
CURVATURE_COLOURS = "RdBu_r"
FOLLOWED_BODIES = 4.0  # height of a picture that follows the animal, in body lengths
CAMERA_SECONDS = 1.5  # over which the camera averages the place of the animal
SIDE_PANEL = 0.22  # share of the page for the names of states
FOOTER = 0.09  # share of the page for the scale and the clock
NAME_LETTERS = 20  # of a line in it
PANEL = (0.9, 0.72)  # share of its cell that a panel of a tour fills; the rest is for its name and clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """State of the animal in every frame, with names and colours.

    Parameters
    ----------
    labels
        State of every row of the recording, -1 where there is none.
    names
        Names of the states.
    colours
        Colours of the states.

    Examples
    --------
    >>> shown = Behaviour(labels=np.array([0, 0, 1, -1]), names=("run", "turn"), colours=("#0072B2", "#D55E00"))
    >>> shown.names
    ('run', 'turn')
    """

    labels: IntArray = array_field("frame")
    names: tuple[str, ...]
    colours: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_colours(self.names, self.colours)
        if self.labels.max(initial=-1) >= len(self.names):
            raise InputFormatError(
                f"The labels go up to {self.labels.max()}, but there are {len(self.names)} names. Name every state."
            )
        freeze_arrays(self)


def crawl_scene(  # noqa: PLR0913 (the options of a scene are kept flat)
    path: Trajectory,
    angles: Series,
    *,
    body_length: float | FloatArray = 1.0,
    behaviour: Behaviour | None = None,
    camera: Literal["follow", "whole"] = "follow",
    trail: float = np.inf,
    shot: Shot | None = None,
) -> StageScene:
    """Show an animal that crawls and draws its path, as in Movie S2 of the paper.

    Parameters
    ----------
    path
        Of the animal.
    angles
        Tangent angles of the body in the same frames.
    body_length
        In the unit of the path; one number, or one per individual.
    behaviour
        Colours the body and the path by state, and names the present one.
    camera
        "follow" moves smoothly with the animal; "whole" shows the whole path from the start.
    trail
        Seconds for which the path stays on the page.
    shot
        Which stretch, how fast, how large.

    Examples
    --------
    >>> from ethomarkov.locomotion import propel
    >>> body, time = np.meshgrid(np.linspace(0, 1, 20), np.arange(80) / 16)
    >>> angles = Series.from_rows(np.sin(2 * np.pi * (1.5 * body - time)), 16.0)
    >>> scene = crawl_scene(propel(angles), angles, shot=Shot(size=(320, 240)))
    >>> scene.n_frames, scene.draw(40).shape
    (80, (240, 320, 3))
    """
    shot = shot or Shot()
    if camera not in ("follow", "whole"):
        raise InputFormatError(f"camera={camera!r} is not known; use 'follow' or 'whole'.")
    rows = shot.rows(path.segments, path.sampling)
    _check_labels(behaviour, len(path.centroid))
    length = float(individual_lengths(body_length, path.segments.n_individuals)[shot.individual])
    bodies = skeletons(path, angles, rows, body_length=body_length).astype(np.float32)
    stage, rate = Stage(shot.size), shot.rate(path.sampling)
    width = 1.0 if behaviour is None else 1 - SIDE_PANEL
    world = stage.add_axes(0, FOOTER, width, 1 - FOOTER)
    place = path.centroid[rows]
    view = _follow(world, place, length, rate / shot.speed) if camera == "follow" else _whole(world, bodies, length)
    grid = _Grid(stage, world, view, path.length_unit)
    trace = _Trail(stage, world, place, _pieces(path.segments, rows, behaviour), trail * rate / shot.speed)
    body = Body(stage, world, length)
    clock = _Clock(stage, shot, path.sampling, right=width - 0.015, middle=FOOTER / 2)
    states = None if behaviour is None else _StateList(stage, behaviour)

    def move(k: int) -> None:
        state = -1 if behaviour is None else int(behaviour.labels[rows[k]])
        view.aim(k)
        grid.move()
        trace.draw_to(k)
        body.show(bodies[k], MISSING if states is not None and state < 0 else _colour(behaviour, state))
        clock.show(k)
        if states is not None:
            states.mark(state)

    return StageScene(n_frames=len(rows), rate=rate, size=shot.size, stage=stage, move=move)


def posture_pair_scene(
    data: Series,
    simulated: Series,
    *,
    names: tuple[str, str] = ("data", "simulation"),
    colours: tuple[str, str] = (DATA, SIMULATION),
    window: float = 20.0,
    shot: Shot | None = None,
) -> StageScene:
    """Show two animals one above the other, by curvature and by shape, as in Movie S1 of the paper.

    The curvature along the body scrolls by, the present at its right end, next to the body in its own frame.

    Parameters
    ----------
    data, simulated
        Tangent angles; the individual and stretch of the shot are taken from both, and shown as long as both last.
    names, colours
        Of the two.
    window
        Seconds of curvature on the page.
    shot
        Which stretch, how fast, how large.

    Examples
    --------
    >>> body, time = np.meshgrid(np.linspace(0, 1, 20), np.arange(80) / 16)
    >>> angles = Series.from_rows(np.sin(2 * np.pi * (1.5 * body - time)), 16.0)
    >>> scene = posture_pair_scene(angles, angles, shot=Shot(size=(320, 240)))
    >>> scene.n_frames, scene.size
    (80, (320, 240))
    """
    shot = shot or Shot()
    both = (data, simulated)
    if data.sampling != simulated.sampling:
        raise SamplingError(
            f"The postures have {data.sampling.rate:g} and {simulated.sampling.rate:g} frames per second; both need "
            "the same. Resample one of them."
        )
    window_frames = window * shot.rate(data.sampling) / shot.speed
    if not window_frames >= 2:
        raise SamplingError(f"window={window:g} s holds {window_frames:.3g} frames; two are needed. Use a longer one.")
    rows = [shot.rows(series.segments, series.sampling) for series in both]
    n_frames = min(map(len, rows))
    angles = [series.values[chosen[:n_frames]] for series, chosen in zip(both, rows, strict=True)]
    curvature = [np.gradient(theta, axis=1) * theta.shape[1] for theta in angles]
    bodies = [_centred(theta) for theta in angles]
    limit = _round_up(max(_high(values) for values in curvature))
    extent = _half_extent(bodies)
    stage = Stage(shot.size)
    panels = []
    for k, bottom in enumerate((0.565, 0.115)):
        stage.figure.text(0.06, bottom + 0.365, names[k], color=colours[k], weight="bold", size=13, parse_math=False)
        kymograph = _Kymograph(stage, (0.06, bottom, 0.53, 0.35), curvature[k], window_frames, limit)
        kymograph.label(window, last=k == 1)
        axes = stage.add_axes(0.69, bottom, 0.3, 0.35)
        _fit(axes, extent)
        panels.append((kymograph, Body(stage, axes, 1.0, colours[k]), bodies[k]))
    _draw_scale(stage, limit)
    clock = _Clock(stage, shot, data.sampling, right=0.985, middle=0.955)

    def move(k: int) -> None:
        for kymograph, body, shapes in panels:
            kymograph.scroll_to(k)
            body.show(shapes[k])
        clock.show(k)

    return StageScene(n_frames=n_frames, rate=shot.rate(data.sampling), size=shot.size, stage=stage, move=move)


def tour_scene(
    sequences: Sequence[Series],
    names: Sequence[str],
    colours: Sequence[str],
    *,
    paths: Sequence[Trajectory] | None = None,
    loops: int = 3,
    shot: Shot | None = None,
) -> StageScene:
    """Show a sequence of every state side by side, again and again.

    Parameters
    ----------
    sequences
        Tangent angles, one series per state; they may differ in length.
    names, colours
        Of the states.
    paths
        Of the sequences; the bodies then crawl, and otherwise move on the spot.
    loops
        How often the longest sequence is shown; shorter ones start again on their own.
    shot
        Which stretch of each, how fast, how large.

    Examples
    --------
    >>> body, time = np.meshgrid(np.linspace(0, 1, 20), np.arange(80) / 16)
    >>> angles = Series.from_rows(np.sin(2 * np.pi * (1.5 * body - time)), 16.0)
    >>> colours = ("#0072B2", "#D55E00")
    >>> scene = tour_scene([angles, angles], ("run", "turn"), colours, loops=2, shot=Shot(size=(320, 240)))
    >>> scene.n_frames
    160
    """
    shot = shot or Shot()
    _check_tour(sequences, names, colours, paths)
    sampling = sequences[0].sampling
    chosen = [shot.rows(series.segments, series.sampling) for series in sequences]
    moved: Sequence[Trajectory | None] = [None] * len(sequences) if paths is None else paths
    bodies = [
        _centred(series.values[rows]) if path is None else _amid(skeletons(path, series, rows))
        for series, rows, path in zip(sequences, chosen, moved, strict=True)
    ]
    extent = _half_extent(bodies)
    stage = Stage(shot.size)
    panels = [
        _TourPanel(stage, box, name, colour, shapes)
        for box, name, colour, shapes in zip(_boxes(len(names), extent, shot.size), names, colours, bodies, strict=True)
    ]
    for panel in panels:
        _fit(panel.axes, extent)
    rate = shot.rate(sampling)

    def move(k: int) -> None:
        for panel in panels:
            panel.move(k, rate / shot.speed)

    n_frames = loops * max(map(len, chosen))
    return StageScene(n_frames=n_frames, rate=rate, size=shot.size, stage=stage, move=move)


class _View:
    """The part of the world that the camera shows."""

    def __init__(self, axes: Axes, centres: FloatArray, height: float) -> None:
        self._axes, self._centres = axes, centres
        box = axes.get_window_extent()
        self.half = np.array([box.width / box.height, 1.0]) * height / 2
        self.aim(0)

    def aim(self, k: int) -> None:
        """Point the camera to where it is in a frame."""
        self.centre = self._centres[min(k, len(self._centres) - 1)]
        (left, low), (right, high) = self.centre - self.half, self.centre + self.half
        self._axes.set(xlim=(left, right), ylim=(low, high))


def _follow(axes: Axes, place: FloatArray, length: float, rate: float) -> _View:
    from scipy.ndimage import gaussian_filter1d

    seen = np.flatnonzero(np.isfinite(place).all(axis=1))
    if seen.size == 0:
        return _View(axes, np.zeros((1, 2)), FOLLOWED_BODIES * length)
    # through gaps the camera moves on evenly to where the animal appears again
    filled = np.stack([np.interp(np.arange(len(place)), seen, column[seen]) for column in place.T], axis=1)
    smooth = gaussian_filter1d(filled, CAMERA_SECONDS * rate, axis=0, mode="nearest")
    return _View(axes, smooth, FOLLOWED_BODIES * length)


def _whole(axes: Axes, bodies: FloatArray, length: float) -> _View:
    points = bodies[np.isfinite(bodies).all(axis=(1, 2))].reshape(-1, 2)
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2), np.zeros(2))
    span = np.maximum(high - low, length) * 1.12
    box = axes.get_window_extent()
    return _View(axes, ((low + high) / 2)[None], float(max(span[1], span[0] * box.height / box.width)))


class _Grid:
    """Lines that stay on the plate while the camera moves, and a bar as long as their spacing."""

    def __init__(self, stage: Stage, axes: Axes, view: _View, unit: str) -> None:
        self._view = view
        self._spacing = _round_number(float(view.half[0]) * 0.35)
        self._lines = LineCollection([], colors=FAINT, lw=0.7)
        axes.add_collection(self._lines, autolim=False)
        stage.animate(self._lines)
        self._draw_bar(stage, axes, unit)

    def _draw_bar(self, stage: Stage, axes: Axes, unit: str) -> None:
        """Draw the scale below the world, where nothing covers it."""
        end = 0.02 + self._spacing / (2 * float(self._view.half[0])) * axes.get_position().width
        name = unit.removesuffix("s") if self._spacing == 1 and unit.endswith("lengths") else unit
        stage.figure.add_artist(Line2D([0.02, end], [FOOTER / 2] * 2, color=INK, lw=3, solid_capstyle="butt"))
        text = f"{self._spacing:g} {name}"
        stage.figure.text(end + 0.012, FOOTER / 2, text, va="center", size=12, parse_math=False)

    def move(self) -> None:
        """Draw the lines that the camera sees."""
        (left, low), (right, high) = self._view.centre - self._view.half, self._view.centre + self._view.half
        upright = [((x, low), (x, high)) for x in self._between(left, right)]
        level = [((left, y), (right, y)) for y in self._between(low, high)]
        self._lines.set_segments(upright + level)

    def _between(self, low: float, high: float) -> FloatArray:
        return np.arange(np.ceil(low / self._spacing), np.floor(high / self._spacing) + 1) * self._spacing


@dataclass(frozen=True, slots=True)
class _Piece:
    """Frames of one run in one state; the last is the first of the next piece if the run goes on."""

    first: int
    last: int
    colour: str


def _pieces(segments: Segments, rows: IntArray, behaviour: Behaviour | None) -> list[_Piece]:
    """Divide the frames that have a place into pieces of one run and one colour."""
    if len(segments) == 0:
        return []
    run = np.searchsorted(segments.bounds[:, 0], rows, side="right") - 1
    run[(run < 0) | (rows >= segments.bounds[run, 1])] = -1
    labels = np.full(len(rows), -1) if behaviour is None else behaviour.labels[rows]
    edges = np.flatnonzero((np.diff(run) != 0) | (np.diff(labels) != 0)) + 1
    first, stop = np.concatenate([[0], edges]), np.concatenate([edges, [len(rows)]])
    return [
        _Piece(
            int(a), int(b) if b < len(rows) and run[b] == run[a] else int(b) - 1, _trail_colour(behaviour, labels[a])
        )
        for a, b in zip(first, stop, strict=True)
        if run[a] >= 0
    ]


def _trail_colour(behaviour: Behaviour | None, state: int) -> str:
    return DATA if behaviour is None else _colour(behaviour, state)


def _colour(behaviour: Behaviour | None, state: int) -> str:
    if behaviour is None:
        return INK
    return behaviour.colours[state] if state >= 0 else MISSING


class _Trail:
    """The path up to now; pieces that are complete keep their polyline."""

    def __init__(self, stage: Stage, axes: Axes, place: FloatArray, pieces: list[_Piece], n_frames: float) -> None:
        self._place, self._pieces, self._n_frames = place, pieces, n_frames
        self._first = np.array([piece.first for piece in pieces], dtype=int)
        self._last = np.array([piece.last for piece in pieces], dtype=int)
        self._whole = [Polyline(place[piece.first : piece.last + 1]) for piece in pieces]
        self._lines = PathCollection([], facecolors="none", linewidths=2.2, capstyle="round", joinstyle="round")
        axes.add_collection(self._lines, autolim=False)
        stage.animate(self._lines)

    def draw_to(self, k: int) -> None:
        """Show the path from as long ago as it stays up to frame k."""
        since = int(max(0, np.ceil(k - self._n_frames)))
        begin, end = np.searchsorted(self._last, since), np.searchsorted(self._first, k, side="right")
        shown = self._whole[begin:end]
        for j in {0, len(shown) - 1} if shown else ():  # only the oldest and the newest can be incomplete
            piece = self._pieces[begin + j]
            shown[j] = Polyline(self._place[max(piece.first, since) : min(piece.last, k) + 1])
        self._lines.set_paths(shown)
        self._lines.set_edgecolor([piece.colour for piece in self._pieces[begin:end]])


class _Clock:
    """The time since the animal's first frame, and how much faster than life it runs."""

    def __init__(self, stage: Stage, shot: Shot, sampling: Sampling, *, right: float, middle: float) -> None:
        self._start, self._step = shot.start, shot.speed / shot.rate(sampling)
        self._text = stage.figure.text(right, middle, "", ha="right", va="center", size=13)
        stage.animate(self._text)
        if shot.speed != 1:
            stage.figure.text(right - 0.12, middle, f"× {shot.speed:g}", ha="right", va="center", size=13)

    def show(self, k: int) -> None:
        """Set the time of a frame."""
        self._text.set_text(f"{self._start + k * self._step:.1f} s")


class _StateList:
    """The names of all states, with the present one marked."""

    def __init__(self, stage: Stage, behaviour: Behaviour) -> None:
        names = ["\n".join(textwrap.wrap(name, NAME_LETTERS)) for name in behaviour.names]
        axes = stage.add_axes(1 - SIDE_PANEL, 0, SIDE_PANEL, 1)
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.axvline(0, color=FAINT, lw=1)
        lines = np.array([name.count("\n") + 1.6 for name in names])
        height = min(0.048, 0.86 / lines.sum())
        top = 0.93 - height * (np.cumsum(lines) - lines)
        size = min(11.0, 11.0 * height / 0.048)
        self._frames = []
        for name, colour, y, n in zip(names, behaviour.colours, top, lines, strict=True):
            axes.plot(0.1, y - 0.3 * height, "s", color=colour, ms=0.8 * size)
            axes.text(0.18, y, name, va="top", size=size, color=INK, parse_math=False)
            corner = (0.03, y - (n - 0.75) * height)
            self._frames.append(Rectangle(corner, 0.94, (n - 0.5) * height, fc="none", ec=colour, lw=2.5))
            axes.add_patch(self._frames[-1])
        stage.animate(*self._frames)

    def mark(self, state: int) -> None:
        """Mark a state, or none if it is -1."""
        for k, frame in enumerate(self._frames):
            frame.set_visible(k == state)


class _Kymograph:
    """Curvature along the body over the last seconds."""

    def __init__(
        self, stage: Stage, box: tuple[float, float, float, float], curvature: FloatArray, n_frames: float, limit: float
    ) -> None:
        self._axes = stage.add_axes(*box)
        self._axes.spines[:].set(visible=True, color="#888888")
        extent = self._axes.get_window_extent()
        corner = (round(extent.x0), round(extent.y0))
        height, self._width = round(extent.y1) - corner[1], round(extent.x1) - corner[0]
        self._pixels_per_frame = self._width / n_frames
        self._strip = self._paint(curvature, limit)
        self._segment = np.arange(height) * curvature.shape[1] // height
        self._image = PixelImage(corner)
        stage.animate(self._image)

    def label(self, window: float, *, last: bool) -> None:
        """Label the axes; only the lower of two names the time."""
        self._axes.set(xlim=(-window, 0), ylim=(1, 0))
        self._axes.set_yticks([0.04, 0.96], ["head", "tail"])
        self._axes.tick_params(axis="y", length=0)
        self._axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        self._axes.tick_params(axis="x", labelbottom=last)
        if last:
            self._axes.set_xlabel("time from now (s)")

    def scroll_to(self, k: int) -> None:
        """Show the window that ends with a frame."""
        first = round(k * self._pixels_per_frame)
        self._image.pixels = self._strip[:, first : first + self._width][self._segment]

    def _paint(self, curvature: FloatArray, limit: float) -> NDArray[np.uint8]:
        """Paint all frames side by side, one column per pixel, after a window in which nothing has happened yet."""
        n_columns = self._width + round((len(curvature) - 1) * self._pixels_per_frame)
        when = (np.arange(n_columns) - self._width + 1) / self._pixels_per_frame
        within = np.clip(when, 0, len(curvature) - 1)
        before = within.astype(int)
        share = (within - before)[:, None].astype(np.float32)
        after = np.minimum(before + 1, len(curvature) - 1)
        # where the share of the later frame is zero its gaps must not show
        values = np.where(share > 0, curvature[before] * (1 - share) + curvature[after] * share, curvature[before])
        codes = np.clip((values / limit + 1) * 127.5, 0, 255)
        codes[np.isnan(codes)] = 256
        codes[when < 0] = 257
        strip: NDArray[np.uint8] = _code_colours()[codes.astype(np.int16).T]
        return strip


@functools.cache
def _code_colours() -> NDArray[np.uint8]:
    """Colours of 256 steps of curvature, of what is missing, and of what was before the start."""
    steps = mpl.colormaps[CURVATURE_COLOURS](np.arange(256), bytes=True)
    others = to_rgba_array([MISSING, "white"]) * 255
    return np.concatenate([steps, others]).astype(np.uint8)


def _draw_scale(stage: Stage, limit: float) -> None:
    axes = stage.figure.add_axes((0.602, 0.3, 0.012, 0.43))
    bar = stage.figure.colorbar(ScalarMappable(Normalize(-limit, limit), CURVATURE_COLOURS), cax=axes)
    bar.set_ticks([-limit, 0, limit])
    bar.set_label("curvature × body length", labelpad=-6)
    bar.outline.set_visible(False)


class _TourPanel:
    """One state of a tour: its name, its body, and how far the sequence has gone."""

    def __init__(
        self, stage: Stage, box: tuple[float, float, float, float], name: str, colour: str, bodies: FloatArray
    ) -> None:
        left, bottom, width, height = box
        self.axes = stage.add_axes(left, bottom, width, height)
        self.axes.set_title("\n".join(textwrap.wrap(name, 24)), color=colour, weight="bold", size=12, parse_math=False)
        self._bodies = bodies
        middle = bodies.mean(axis=1)
        self.axes.plot(middle[:, 0], middle[:, 1], color=colour, lw=1, alpha=0.4)
        self.axes.plot([0, 1], [0, 0], transform=self.axes.transAxes, color=FAINT, lw=3, clip_on=False)
        (self._done,) = self.axes.plot([], [], transform=self.axes.transAxes, color=colour, lw=3, clip_on=False)
        self._time = self.axes.text(1, 0.03, "", transform=self.axes.transAxes, ha="right", size=9, color="#777777")
        stage.animate(self._done, self._time)
        self._body = Body(stage, self.axes, 1.0, colour)

    def move(self, k: int, rate: float) -> None:
        """Go to a frame of the movie, which starts again after the last of the sequence."""
        k %= len(self._bodies)
        self._body.show(self._bodies[k])
        self._done.set_data([0, (k + 1) / len(self._bodies)], [0, 0])
        self._time.set_text(f"{k / rate:.1f} s")


def _boxes(n: int, extent: FloatArray, size: tuple[int, int]) -> list[tuple[float, float, float, float]]:
    """Lay out panels, first row first, in as many columns as make the bodies largest."""

    def scale(n_columns: int) -> float:
        cell = np.array([size[0] / n_columns, size[1] / -(-n // n_columns)])
        return float((cell * PANEL / extent).min())

    n_columns = max(range(1, n + 1), key=scale)
    width, height = 1 / n_columns, 1 / -(-n // n_columns)
    return [
        ((k % n_columns + 0.05) * width, 1 - (k // n_columns + 0.9) * height, PANEL[0] * width, PANEL[1] * height)
        for k in range(n)
    ]


def _centred(angles: FloatArray) -> FloatArray:
    """Draw bodies of unit length around their middle, in the animal's own frame."""
    bodies = centerline_from_angles(angles)
    centred: FloatArray = bodies - bodies.mean(axis=1, keepdims=True)
    return centred


def _amid(bodies: FloatArray) -> FloatArray:
    """Move a crawling body so that its whole travel lies around the origin."""
    low, high = np.nanmin(bodies, axis=(0, 1)), np.nanmax(bodies, axis=(0, 1))
    amid: FloatArray = bodies - (low + high) / 2
    return amid


def _half_extent(bodies: Sequence[FloatArray]) -> FloatArray:
    """Find how far bodies reach from the origin, so that none leaves its panel."""
    reach = [
        np.abs(shapes[np.isfinite(shapes).all(axis=(1, 2))]).reshape(-1, 2).max(axis=0, initial=0.1)
        for shapes in bodies
    ]
    farthest: FloatArray = np.max(reach, axis=0) + 0.05
    return farthest


def _fit(axes: Axes, extent: FloatArray) -> None:
    """Show at least `extent` on either side of the origin, both ways at one scale."""
    box = axes.get_window_extent()
    scale = max(extent[0] / box.width, extent[1] / box.height)
    axes.set(xlim=(-scale * box.width, scale * box.width), ylim=(-scale * box.height, scale * box.height))


def _high(values: FloatArray) -> float:
    """Give the size that few values exceed."""
    sizes = np.abs(values[np.isfinite(values)])
    return float(np.percentile(sizes, 98)) if sizes.size else 1.0


def _round_up(value: float) -> float:
    """Round up to a number of two digits."""
    digit = 10 ** (np.floor(np.log10(max(value, 1e-6))) - 1)
    return float(np.ceil(value / digit) * digit)


def _round_number(value: float) -> float:
    """Give the largest of 1, 2, 5, 10, 20, ... that does not exceed a value."""
    digit = 10 ** np.floor(np.log10(value))
    return float(digit * max(step for step in (1, 2, 5) if step * digit <= value))


def _check_labels(behaviour: Behaviour | None, n_rows: int) -> None:
    if behaviour is not None and len(behaviour.labels) != n_rows:
        raise InputFormatError(
            f"The behaviour has {len(behaviour.labels)} labels, the path {n_rows} frames; one label per "
            "frame is needed."
        )


def _check_colours(names: Sequence[str], colours: Sequence[str]) -> None:
    if len(names) != len(colours):
        raise InputFormatError(f"There are {len(names)} names and {len(colours)} colours; give one colour per state.")


def _check_tour(
    sequences: Sequence[Series], names: Sequence[str], colours: Sequence[str], paths: Sequence[Trajectory] | None
) -> None:
    _check_colours(names, colours)
    if not 0 < len(sequences) == len(names) == len(sequences if paths is None else paths):
        raise InputFormatError(
            f"There are {len(sequences)} sequences, {len(names)} names"
            f"{'' if paths is None else f' and {len(paths)} paths'}; one of each per state is needed, and one state at "
            "least."
        )
    rates = sorted({series.sampling.rate for series in sequences})
    if len(rates) > 1:
        raise SamplingError(
            f"The sequences have {', '.join(f'{rate:g}' for rate in rates)} frames per second; all need the same. "
            "Resample them."
        )
