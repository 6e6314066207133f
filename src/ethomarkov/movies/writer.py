"""Scenes into files: frames are drawn one by one and piped to ffmpeg."""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.types import Progress
from ethomarkov.exceptions import InputFormatError, OutputError
from ethomarkov.io.atomic import atomic_path

Quality = Literal["small", "good", "best"]

RATE_FACTORS = {"small": 30, "good": 23, "best": 17}
"""Constant rate factor of H.264: 17 can hardly be told from the original, every 6 more halve the file."""
GIF_COLOURS = {"small": 64, "good": 128, "best": 256}
SUFFIXES = (".mp4", ".gif")
PALETTE_FRAMES = 12
KEYFRAME_SECONDS = 4.0


class Scene(Protocol):
    """What can be filmed: frames by their number, all of one size.

    Examples
    --------
    >>> class Noise:
    ...     n_frames, rate, size = 2, 16.0, (64, 48)
    ...
    ...     def draw(self, k):
    ...         return np.full((48, 64, 3), k, np.uint8)
    >>> scene: Scene = Noise()
    >>> scene.draw(1).shape
    (48, 64, 3)
    """

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        ...

    @property
    def rate(self) -> float:
        """Frames per second at which the scene is meant to be seen."""
        ...

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        ...

    def draw(self, k: int) -> NDArray[np.uint8]:
        """Draw a frame as ``(height, width, 3)``, red, green and blue."""
        ...


def write_movie(
    scene: Scene,
    file: str | Path,
    *,
    rate: float | None = None,
    quality: Quality = "good",
    progress: Progress | None = None,
) -> Path:
    """Film a scene; the file appears when it is complete.

    Parameters
    ----------
    scene
        Made by `crawl_scene`, `posture_pair_scene`, `tour_scene`, or anything with the same four names.
    file
        Ends in .mp4 (H.264, plays everywhere) or .gif (for slides and pages without a player; much larger).
    rate
        Frames per second of the movie; by default that of the scene. It changes how fast the movie plays, and not
        what is drawn.
    quality
        "small", "good" or "best": how closely the file keeps what was drawn.
    progress
        Called after every frame.

    Returns
    -------
    file
        As given.

    Examples
    --------
    >>> import tempfile
    >>> class Noise:
    ...     n_frames, rate, size = 2, 16.0, (64, 48)
    ...
    ...     def draw(self, k):
    ...         return np.full((48, 64, 3), k, np.uint8)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     write_movie(Noise(), Path(directory) / "noise.mp4").stat().st_size > 0
    True
    """
    file = Path(file)
    rate = scene.rate if rate is None else float(rate)
    _check(scene, file, rate, quality)
    with atomic_path(file) as temporary:
        if file.suffix.lower() == ".gif":
            _write_gif(scene, temporary, rate, GIF_COLOURS[quality], progress)
        else:
            command = [*_input_options(scene.size, rate), *_h264_options(rate, RATE_FACTORS[quality]), str(temporary)]
            _encode(command, _frames(scene, range(scene.n_frames), progress), file)
    return file


def _check(scene: Scene, file: Path, rate: float, quality: str) -> None:
    if file.suffix.lower() not in SUFFIXES:
        raise InputFormatError(
            f"{file}: movies are not written as {file.suffix or 'files without an ending'!r}. Let the name end in "
            f"{' or '.join(SUFFIXES)}."
        )
    if not 0 < rate < np.inf:
        raise InputFormatError(f"rate={rate:g}; a positive number of frames per second is needed, such as 16.")
    if quality not in RATE_FACTORS:
        raise InputFormatError(f"quality={quality!r} is not known; use one of {', '.join(map(repr, RATE_FACTORS))}.")
    if scene.n_frames < 1:
        raise InputFormatError("The scene has no frames, a movie needs at least one. Show a longer stretch.")


def _frames(scene: Scene, chosen: Iterable[int], progress: Progress | None = None) -> Iterator[NDArray[np.uint8]]:
    """Draw frames, refusing those that would shift all that follow."""
    width, height = scene.size
    for k in chosen:
        image = scene.draw(k)
        if image.shape != (height, width, 3) or image.dtype != np.uint8:
            raise InputFormatError(
                f"Frame {k} of the scene is {image.dtype} of shape {image.shape}; uint8 of {(height, width, 3)} is "
                "needed: height, width, and three colours."
            )
        yield np.ascontiguousarray(image)
        if progress is not None:
            progress("frames", k + 1, scene.n_frames)


def _input_options(size: tuple[int, int], rate: float) -> list[str]:
    raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{rate:.6g}", "-i", "-"]
    return ["-hide_banner", "-loglevel", "error", "-y", *raw]


def _h264_options(rate: float, rate_factor: int) -> list[str]:
    # Half the resolution in colour, which all players want, needs even sizes: a white line is added. The matrix of
    # the colours is stated, because players guess it from the size of the picture, and differ; on the frames as well,
    # because newer versions of ffmpeg take it from there.
    filters = (
        "pad=iw+mod(iw\\,2):ih+mod(ih\\,2):color=white,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,"
        "setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709"
    )
    colours = ["-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"]
    keyframes = ["-g", str(max(1, round(KEYFRAME_SECONDS * rate)))]
    codec = ["-c:v", "libx264", "-preset", "veryfast", "-crf", str(rate_factor), "-movflags", "+faststart"]
    return ["-an", "-vf", filters, *colours, *keyframes, *codec]


def _write_gif(scene: Scene, file: Path, rate: float, n_colours: int, progress: Progress | None) -> None:
    """Choose the colours from a few frames first, so that the frames need not be kept until all are seen."""
    source = _input_options(scene.size, rate)
    chosen = np.unique(np.linspace(0, scene.n_frames - 1, PALETTE_FRAMES).round().astype(int)).tolist()
    with tempfile.TemporaryDirectory() as folder:
        palette = Path(folder) / "palette.png"
        choose = f"palettegen=max_colors={n_colours}:reserve_transparent=0"
        _encode([*source, "-vf", choose, "-frames:v", "1", str(palette)], _frames(scene, chosen), file)
        apply = "[0:v][1:v]paletteuse=dither=none:diff_mode=rectangle"
        command = [*source, "-i", str(palette), "-lavfi", apply, "-loop", "0", str(file)]
        _encode(command, _frames(scene, range(scene.n_frames), progress), file)


def _encode(command: list[str], frames: Iterator[NDArray[np.uint8]], file: Path) -> None:
    """Run ffmpeg on frames; whatever goes wrong, it does not outlive this call."""
    from imageio_ffmpeg import get_ffmpeg_exe

    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            [get_ffmpeg_exe(), *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log
        ) as process,
    ):
        try:
            complete = _feed(process, frames)
        except BaseException:
            process.kill()
            _close(process)
            raise
        if process.wait() != 0 or not complete:
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
            raise OutputError(
                f"{file}: ffmpeg could not write the movie ({' / '.join(said[:3])}). Check the space left at that "
                "place, or write to another one."
            )


def _feed(process: "subprocess.Popen[bytes]", frames: Iterator[NDArray[np.uint8]]) -> bool:
    """Pipe frames to ffmpeg; tell whether it took them all."""
    stream = _stdin(process)
    for frame in frames:
        try:
            stream.write(frame)
        except OSError:  # ffmpeg has ended; its own words say why
            _close(process)
            return False
    return _close(process)


def _close(process: "subprocess.Popen[bytes]") -> bool:
    with contextlib.suppress(OSError):
        _stdin(process).close()
        return True
    return False


def _stdin(process: "subprocess.Popen[bytes]") -> IO[Any]:
    if process.stdin is None:
        raise OutputError("ffmpeg was started without a pipe; frames cannot be given to it.")
    return process.stdin
