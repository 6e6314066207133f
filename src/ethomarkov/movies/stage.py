"""A picture whose still parts are drawn once, and whose moving parts are drawn over them for every frame."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from numpy.typing import NDArray

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import InputFormatError, SamplingError

INCHES = (9.6, 5.4)  # the page at which letters and lines have their stated sizes; other sizes scale them
SMALLEST = 64
MOST_FRAMES_PER_SECOND = 30.0
HALF_WIDTH = 0.03  # of the body, in body lengths; a little stouter than C. elegans, so that the bends are seen
INK = "#222222"
FAINT = "#DDDDDD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """Which stretch is shown, how fast, and how large.

    Parameters
    ----------
    size
        Width and height in pixels.
    individual
        Index of the animal.
    start, duration
        Seconds from the animal's first frame, and seconds shown; to the end by default.
    speed
        Times faster than life.

    Examples
    --------
    >>> from ethomarkov._core.sampling import Sampling
    >>> Shot(speed=4.0).rate(Sampling(16.0))  # no more than 30 frames per second
    30.0
    """

    size: tuple[int, int] = (960, 540)
    individual: int = 0
    start: float = 0.0
    duration: float | None = None
    speed: float = 1.0

    def __post_init__(self) -> None:
        if len(self.size) != 2 or min(self.size) < SMALLEST:
            raise InputFormatError(
                f"size={self.size}; width and height of at least {SMALLEST} pixels are needed, such as (960, 540)."
            )
        if not 0 < self.speed < np.inf:
            raise InputFormatError(f"speed={self.speed:g}; a positive number is needed, 1 for the speed of life.")

    def rate(self, sampling: Sampling) -> float:
        """Give the movie's frames per second: every frame of the recording, but no more than 30."""
        return min(sampling.rate * self.speed, MOST_FRAMES_PER_SECOND)

    def rows(self, segments: Segments, sampling: Sampling) -> IntArray:
        """List the row of the recording that each frame of the movie shows."""
        if not 0 <= self.individual < segments.n_individuals:
            raise InputFormatError(
                f"individual={self.individual} does not exist; there are {segments.n_individuals}, counted from 0."
            )
        first, end = (int(edge) for edge in segments.offsets[self.individual : self.individual + 2])
        begin = first + round(self.start * sampling.rate)
        stop = end if self.duration is None else min(end, begin + round(self.duration * sampling.rate))
        if not first <= begin < stop:
            asked = "" if self.duration is None else f" for {self.duration:g} s"
            raise SamplingError(
                f"Nothing is left to show from {self.start:g} s on{asked}: "
                f"{segments.individuals[self.individual]} was seen for {sampling.seconds(end - first):g} s. Choose a "
                "stretch within them."
            )
        step = sampling.rate * self.speed / self.rate(sampling)
        rows: IntArray = begin + np.floor(np.arange(np.ceil((stop - begin) / step)) * step).astype(np.int64)
        return rows


class Stage:
    """A page with still and moving artists.

    Parameters
    ----------
    size
        Width and height in pixels.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        width, height = size
        dpi = min(width / INCHES[0], height / INCHES[1])
        # a thousandth of a pixel keeps rounding from losing a whole one
        self.figure = Figure(figsize=((width + 1e-3) / dpi, (height + 1e-3) / dpi), dpi=dpi, facecolor="white")
        self._canvas = FigureCanvasAgg(self.figure)
        self._moving: list[Artist] = []
        self._still: object = None

    def add_axes(self, left: float, bottom: float, width: float, height: float) -> Axes:
        """Make axes without frame and ticks, in shares of the page."""
        axes = self.figure.add_axes((left, bottom, width, height))
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        axes.patch.set_visible(False)
        return axes

    def animate(self, *artists: Artist) -> None:
        """Redraw these artists in every frame, in the order given."""
        for artist in artists:
            artist.set_animated(True)
            self._moving.append(artist)

    def capture(self) -> NDArray[np.uint8]:
        """Draw the page as it stands now."""
        canvas: Any = self._canvas  # matplotlib leaves these methods without types
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # appears as a box, without a word
            if self._still is None:
                canvas.draw()
                self._still = canvas.copy_from_bbox(self.figure.bbox)
            canvas.restore_region(self._still)
            renderer = canvas.get_renderer()
            for artist in self._moving:
                artist.draw(renderer)
        page = np.asarray(canvas.buffer_rgba())
        image = np.empty((*page.shape[:2], 3), np.uint8)
        for channel in range(3):  # eight times as fast as one copy of all three
            image[..., channel] = page[..., channel]
        return image


@dataclass(frozen=True, slots=True, kw_only=True)
class StageScene:
    """Frames of a stage.

    Parameters
    ----------
    n_frames
        Number of frames.
    rate
        Frames per second.
    size
        Width and height in pixels.
    stage
        The page.
    move
        Puts the moving artists where they are in a given frame.

    Examples
    --------
    >>> stage = Stage((320, 240))
    >>> line = stage.add_axes(0, 0, 1, 1).plot([0, 1], [0, 1])[0]
    >>> stage.animate(line)
    >>> scene = StageScene(
    ...     n_frames=3, rate=16.0, size=(320, 240), stage=stage, move=lambda k: line.set_ydata([0, k])
    ... )
    >>> scene.draw(2).shape
    (240, 320, 3)
    """

    n_frames: int
    rate: float
    size: tuple[int, int]
    stage: Stage
    move: Callable[[int], None]

    def draw(self, k: int) -> NDArray[np.uint8]:
        """Draw a frame as ``(height, width, 3)``, red, green and blue; in any order."""
        if not 0 <= k < self.n_frames:
            raise InputFormatError(f"Frame {k} does not exist; the scene has {self.n_frames}, counted from 0.")
        self.move(k)
        return self.stage.capture()


class PixelImage(Artist):
    """An image laid on the page pixel by pixel.

    Parameters
    ----------
    corner
        Left and lower edge, pixels.
    """

    def __init__(self, corner: tuple[int, int]) -> None:
        super().__init__()
        self._corner = corner
        self.pixels: NDArray[np.uint8] = np.zeros((1, 1, 4), np.uint8)
        """Red, green, blue and opacity, upper row first."""

    def draw(self, renderer: RendererBase) -> None:
        """Copy the pixels to the page."""
        context = renderer.new_gc()
        renderer.draw_image(context, *self._corner, self.pixels[::-1])
        context.restore()


class Body:
    """A tapered body with a mark on its head.

    Parameters
    ----------
    stage
        On which it moves.
    axes
        In whose units it is drawn.
    length
        Of the body, in these units.
    colour
        Of the body, until `show` is given another.
    """

    def __init__(self, stage: Stage, axes: Axes, length: float, colour: str = INK) -> None:
        self._half_width = HALF_WIDTH * length
        self._outline = Polygon(np.zeros((3, 2)), fc=colour, ec=INK, lw=1.0, joinstyle="round")
        axes.add_patch(self._outline)
        (self._head,) = axes.plot([], [], "o", mfc="white", mec=INK, mew=1.0, ms=5)
        self._no_posture = axes.text(0.5, 0.5, "no posture", transform=axes.transAxes, ha="center", color="#888888")
        stage.animate(self._outline, self._head, self._no_posture)

    def show(self, skeleton: FloatArray, colour: str | None = None) -> None:
        """Draw the body along a skeleton, head first; or say that there is none if it is NaN."""
        seen = bool(np.isfinite(skeleton).all())
        self._outline.set_visible(seen)
        self._head.set_visible(seen)
        self._no_posture.set_visible(not seen)
        if seen:
            self._outline.set_xy(outline(skeleton, self._half_width))
            self._head.set_data(*skeleton[len(skeleton) // 50][:, None])
            if colour is not None:
                self._outline.set_facecolor(colour)


def outline(skeleton: FloatArray, half_width: float) -> FloatArray:
    """Draw a body around its skeleton: blunt at the head, pointed at the tail.

    Parameters
    ----------
    skeleton
        Points from head to tail, ``(points, 2)``.
    half_width
        Of the body where it is widest.

    Returns
    -------
    polygon
        Down one side and up the other, ``(2 points, 2)``.
    """
    s = np.linspace(0.0, 1.0, len(skeleton))
    cap = np.sqrt(1 - np.clip(1 - s / 0.08, 0, 1) ** 2)
    taper = (0.6 + 0.4 * np.minimum(s / 0.3, 1)) * cap * np.minimum((1 - s) / 0.45, 1) ** 0.7
    along = np.gradient(skeleton, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    side = np.stack([-along[:, 1], along[:, 0]], axis=1) * (half_width * taper / taper.max())[:, None]
    return np.concatenate([skeleton + side, (skeleton - side)[::-1]])
