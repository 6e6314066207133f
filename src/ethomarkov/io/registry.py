"""One door for all files: readers and writers register here with the check that a file is theirs."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ethomarkov.exceptions import EthomarkovError, InputFormatError
from ethomarkov.io.confined import read_confined, start_early
from ethomarkov.io.limits import check_regular
from ethomarkov.io.options import ReadOptions

# The process that reads is started before this one imports what it needs to take the answer, which takes as long.
if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ethomarkov.io.probe import Probe
    from ethomarkov.recording import Recording

Read = Callable[[Path, ReadOptions], "Recording"]
Write = Callable[["Recording", Path], None]
Recognise = Callable[["Probe"], bool]
PlainDataset = tuple[dict[str, tuple[tuple[Any, ...], "NDArray[Any]"]], list[str], dict[Any, Any]]
"""Variables by name with their dimensions and values, names of those that are coordinates, attributes."""

MODULES = (
    "native", "worm_tracker2", "leap", "stephens", "tierpsy", "wormpose", "jabs", "wcon", "movement", "sleap",
    "sleap_labels", "deeplabcut", "nwb", "csv_table", "npz", "hdf5_arrays",
)  # fmt: skip
ONLY_IN = {"view": ("movement", "sleap", "sleap-labels", "deeplabcut", "nwb"), "untracked": ("sleap-labels",)}
"""Options of which only some formats have the choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A file format.

    Parameters
    ----------
    name
        As given to ``format=``.
    suffixes
        Usual endings.
    describes
        One line for lists of formats.
    recognise
        Tells from a first look whether a file is of this format.
    read
        Reads one file.
    """

    name: str
    suffixes: tuple[str, ...]
    describes: str
    recognise: Recognise
    read: Read


_FORMATS: dict[str, Format] = {}
_WRITERS: dict[str, Write] = {}


def reader(name: str, *, suffixes: Sequence[str], describes: str, recognise: Recognise) -> Callable[[Read], Read]:
    """Register a reader; used as a decorator."""

    def register(read_one: Read) -> Read:
        _FORMATS[name] = Format(
            name=name, suffixes=tuple(suffixes), describes=describes, recognise=recognise, read=read_one
        )
        return read_one

    return register


def writer(suffix: str) -> Callable[[Write], Write]:
    """Register a writer for a file ending; used as a decorator."""

    def register(write_one: Write) -> Write:
        _WRITERS[suffix] = write_one
        return write_one

    return register


def formats() -> tuple[Format, ...]:
    """List the formats that can be read, the most specific first.

    Examples
    --------
    >>> {"deeplabcut", "sleap", "tierpsy", "wcon"} <= {one.name for one in formats()}
    True
    """
    load_readers()
    rank = {f"ethomarkov.io.readers.{module}": place for place, module in enumerate(MODULES)}
    return tuple(sorted(_FORMATS.values(), key=lambda one: rank.get(one.read.__module__, len(rank))))


def read(
    paths: str | Path | Sequence[str | Path],
    format: str = "auto",
    *,
    prepare: Callable[["Recording"], "Recording"] | None = None,
    **options: Any,  # noqa: ANN401 (fields of ReadOptions)
) -> "Recording":
    """Read posture recordings, whatever their format.

    Parameters
    ----------
    paths
        One file or several; several are joined into one recording.
    format
        Name of the format, or "auto" to recognise it by content.
    prepare
        Applied to the recording of each file before they are joined, such as `resample`.
    options
        Fields of `ReadOptions`: ``sampling_rate``, ``min_confidence``, ``keypoints``, ``as_centerline``,
        ``view``, ``untracked``, ``min_frames``, ``min_share``.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "worm.npz"
    ...     np.savez(file, angles=np.sin(np.arange(160)[:, None] / 9 + np.arange(20) / 3))
    ...     recording = read(file, sampling_rate=16.0)
    >>> recording.kind, recording.values.shape
    ('angle', (160, 20))
    """
    files = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    if not files:
        raise InputFormatError("No file was given; name at least one.")
    chosen = ReadOptions(**options)
    for file in files:
        _check_file(file)
    same = [file.resolve() for file in files]
    repeated = [file for file in same if same.count(file) > 1]
    if repeated:
        raise InputFormatError(f"{repeated[0]}: named twice; name each file once.")
    start_early()
    from ethomarkov.recording import merge_recordings

    parts = {str(file): _read_one(file, format, chosen) for file in files}
    if prepare is not None:
        parts = {name: prepare(part) for name, part in parts.items()}
    return merge_recordings(_short_labels(parts))


def write_recording(recording: "Recording", path: str | Path) -> Path:
    """Write a recording in the format of the file's ending (.nc, .wcon, .csv or .npz).

    The file appears under its name only when it is complete.

    Parameters
    ----------
    recording
        Of any kind.
    path
        Its ending sets the format.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from ethomarkov.recording import Recording
    >>> recording = Recording.from_arrays(np.sin(np.arange(160)[:, None] / 9 + np.arange(20) / 3), rate=16.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_recording(recording, Path(folder) / "worm.csv").name
    'worm.csv'
    """
    from ethomarkov.io.atomic import atomic_path

    load_readers()
    target = Path(path)
    suffix = ".wcon" if target.name.lower().endswith(".wcon.zip") else target.suffix.lower()
    if suffix not in _WRITERS:
        raise InputFormatError(
            f"{target}: recordings cannot be written as {suffix or 'a file without ending'!r}; "
            f"use one of {', '.join(sorted(_WRITERS))}."
        )
    with atomic_path(target) as temporary:
        _WRITERS[suffix](recording, temporary)
    return target


def load_readers() -> None:
    """Import the modules of all formats, which register themselves."""
    for module in MODULES:
        importlib.import_module(f"ethomarkov.io.readers.{module}")


def _read_one(file: Path, name: str, options: ReadOptions) -> "Recording":
    """Read a file in the process that reads, see `ethomarkov.io.confined`."""
    import xarray as xr

    from ethomarkov.recording import Recording

    variables, coordinates, attrs = read_confined(read_here, file, name, options)
    try:
        return Recording(xr.Dataset(variables, attrs=attrs).set_coords(coordinates))
    except ValueError as error:  # a damaged netCDF file gives a dimension two lengths, which xarray sees only here
        raise InputFormatError(f"{file}: its parts do not fit together ({error}). Copy or export it again.") from error


def read_here(file: str, name: str, options: ReadOptions) -> PlainDataset:
    """Read a file in this process, and give what is in it as plain data."""
    dataset = _read_in_format(Path(file), name, options).dataset
    variables = {str(key): (one.dims, _plain_values(one.values)) for key, one in dataset.variables.items()}
    return variables, [str(key) for key in dataset.coords], dict(dataset.attrs)


def _plain_values(values: "NDArray[Any]") -> "NDArray[Any]":
    """Give text as text, and numbers in a width that everybody takes."""
    if values.dtype.kind in ("O", "T"):
        return values.astype(str)
    return values.astype("f4" if values.itemsize < 4 else "f8") if values.dtype.str[1:] in ("f2", "f16") else values


def _read_in_format(file: Path, name: str, options: ReadOptions) -> "Recording":
    chosen = _find_format(file, name)
    try:
        recording = chosen.read(file, options)
    except EthomarkovError as error:
        if str(file) in str(error):
            raise
        raise type(error)(f"{file}: {error}") from error
    except MemoryError as error:
        raise InputFormatError(
            f"{file}: needs far more memory than a file of its size should ({chosen.name}: {error or 'none left'}). "
            "It is damaged, or packed beyond use; unpack it if it is an archive, or export it again in parts."
        ) from error
    except Exception as error:  # a damaged file makes libraries raise almost anything
        raise InputFormatError(
            f"{file}: looks like {chosen.name} but cannot be read as such ({error}). It is damaged, or of another "
            "version of that format; export it again, or save the postures as CSV or NPZ."
        ) from error
    _check_options(recording, chosen.name, options)
    recording = _leave_out(recording, file, options)
    dataset = recording.dataset
    dataset.attrs |= {"source_format": chosen.name, "source_file": file.name}
    return replace(recording, dataset=dataset)


def _leave_out(recording: "Recording", file: Path, options: ReadOptions) -> "Recording":
    from ethomarkov.recording import leave_out_short

    try:
        return leave_out_short(recording, options.min_frames, options.min_share)
    except EthomarkovError as error:
        raise type(error)(f"{file}: {error}") from error


def _check_options(recording: "Recording", format: str, options: ReadOptions) -> None:
    """Refuse options that had no effect, rather than ignore them."""
    from ethomarkov.recording.schema import KIND_WORDS

    asked = [name for name in ("keypoints", "as_centerline") if getattr(options, name)]
    if asked and recording.kind not in ("position", "centerline"):
        raise InputFormatError(
            f"{' and '.join(asked)} was given, but the file holds {KIND_WORDS[recording.kind]}; leave it out."
        )
    for name, formats_with in ONLY_IN.items():
        if getattr(options, name) and format not in formats_with:
            raise InputFormatError(
                f"{name} was given, but files of the format {format} have no such choice, only those of "
                f"{', '.join(formats_with)}; leave it out."
            )


def _find_format(file: Path, name: str) -> Format:
    known = {one.name: one for one in formats()}
    if name != "auto" and name not in known:
        raise InputFormatError(f"Unknown format {name!r}; known are {', '.join(known)} and auto.")
    if name != "auto":
        return known[name]
    from ethomarkov.io.probe import Probe

    probe = Probe(file)
    for one in known.values():
        if _is_of(one, probe):
            return one
    contents = probe.contents()
    inside = f" It holds {contents}." if contents else ""
    raise InputFormatError(
        f"{file}: no known posture format was recognised in it.{inside} Readable are {', '.join(known)}. If it is one "
        "of these, name it with --format (format=); otherwise save the postures as CSV or NPZ."
    )


def _is_of(one: Format, probe: "Probe") -> bool:
    try:
        return one.recognise(probe)
    except EthomarkovError:
        raise
    except Exception as error:  # a damaged file makes libraries raise almost anything
        raise InputFormatError(f"{probe.path}: is damaged ({error}). Copy or export it again.") from error


def _check_file(file: Path) -> None:
    check_regular(file)
    try:
        with file.open("rb") as stream:
            empty = not stream.read(1)
    except OSError as error:
        raise InputFormatError(f"{file}: cannot be read ({error.strerror}). Check its permissions.") from error
    if empty:
        raise InputFormatError(f"{file}: is empty (0 bytes). Copy or export it again.")


def _short_labels(parts: dict[str, "Recording"]) -> dict[str, "Recording"]:
    """Label files by their name without the folder where that tells them apart."""
    names = [Path(name).name for name in parts]
    return dict(zip(names, parts.values(), strict=True)) if len(set(names)) == len(names) else parts
