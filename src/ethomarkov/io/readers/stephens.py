"""MATLAB files of the foraging worms of Stephens et al. and Broekmans et al., and their posture basis.

`PNAS2011-DataStitched.mat` holds posture amplitudes at 16 Hz, `shapes.mat` tangent angles, measured paths and
lengths at 32 Hz, `EigenWorms.csv` or `.mat` the basis. None of them states its rate or units, so these are
constants here, which hold for arrays of the published shape alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.matlab import CELL, Variable, read_cells, read_matlab
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.readers.labels import refuse_labels
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording, Track

AMPLITUDE_RATE = 16.0
SHAPE_RATE = 32.0
STAGE_COUNTS_PER_MM = 788.0
PIXELS_PER_MM = 405.0
PUBLISHED_CELLS = ((33600, 5), (33600, 6))
PUBLISHED_WORMS, PUBLISHED_SEGMENTS = 12, 100
MAX_MODES = 20
"""Labels count from zero or one; minus one stands for none."""
ORTHONORMAL_TOLERANCE = 1e-2

AMPLITUDES, ANGLES, BASIS = "tr", "theta_ensemble", "EigenWorms"


def _is_amplitudes(probe: Probe) -> bool:
    found = _variables(probe)
    return ANGLES not in found and (BASIS in found or bool(_cell_names(found)))


def _is_shapes(probe: Probe) -> bool:
    return ANGLES in _variables(probe)


@reader(
    "stephens",
    suffixes=(".mat",),
    describes="MATLAB cell array of posture amplitudes, one worm per cell (PNAS2011-DataStitched.mat)",
    recognise=_is_amplitudes,
)
def read_amplitudes(path: Path, options: ReadOptions) -> Recording:
    """Read a cell array of posture amplitudes, one animal per cell, in the order of the cells.

    Missing frames are NaN; an exact zero is an amplitude like any other. All modes are kept. The rate is known to be
    16 Hz where every cell of ``tr`` has the published shape; other files need it stated.
    """
    found = _variables(Probe(path))
    if BASIS in found:
        raise InputFormatError(
            f"{path}: holds the posture basis {BASIS}, not a recording. Pass it with --basis (basis=)."
        )
    name = _choose_cells(found)
    cells = read_cells(path, name)
    _check_cells(name, cells)
    published = name == AMPLITUDES and all(cell.shape in PUBLISHED_CELLS for cell in cells)
    rate, source = _choose_rate(options, AMPLITUDE_RATE if published else None)
    tracks = [Track(individual=f"worm_{i:02d}", values=cell) for i, cell in enumerate(cells)]
    return Recording.from_tracks(tracks, kind="amplitude", sampling_rate=rate, attrs={"rate_source": source})


@reader(
    "stephens-shapes",
    suffixes=(".mat",),
    describes="MATLAB tangent angles, paths and lengths of worms (shapes.mat)",
    recognise=_is_shapes,
)
def read_shapes(path: Path, options: ReadOptions) -> Recording:
    """Read tangent angles with measured paths and lengths; zero marks what is missing.

    A frame is missing when all of its angles are zero, a position when both coordinates are, and a length when
    it is zero. The body length of an animal is the median of the others. The rate is known to be 32 Hz for twelve
    worms with a hundred angles and their paths, as published; other files need it stated.
    """
    found = _variables(Probe(path))
    if ANGLES not in found:
        raise InputFormatError(f"{path}: holds {', '.join(found) or 'no such variables'}; {ANGLES} is needed.")
    stored = read_matlab(path, (ANGLES, "wormCm", "wormLength"))
    if ANGLES not in stored:
        raise InputFormatError(f"{path}: {ANGLES} holds no numbers; (animals, frames, segments) of them are needed.")
    angles = stored[ANGLES]
    if angles.ndim != 3:
        raise InputFormatError(
            f"{path}: {ANGLES} has shape {angles.shape}; (animals, frames, segments) is needed. "
            "Save it again from MATLAB with all three dimensions."
        )
    centroids = _centroids(stored.get("wormCm"), angles.shape)
    lengths = _body_lengths(stored.get("wormLength"), angles.shape)
    tracks = [
        Track(
            individual=f"worm_{i:02d}",
            values=_shape_angles(angles[i]),
            centroid=None if centroids is None else centroids[i],
            body_length=None if lengths is None else float(lengths[i]),
        )
        for i in range(len(angles))
    ]
    published = (len(angles), angles.shape[2]) == (PUBLISHED_WORMS, PUBLISHED_SEGMENTS) and centroids is not None
    rate, source = _choose_rate(options, SHAPE_RATE if published else None)
    attrs = {"length_unit": "mm", "rate_source": source}
    return Recording.from_tracks(tracks, kind="angle", sampling_rate=rate, attrs=attrs)


def read_eigenworms(path: str | Path) -> FloatArray:
    """Read a posture basis with modes in columns and body segments, head first, in rows.

    Parameters
    ----------
    path
        `EigenWorms.csv` (commas, no header) or `EigenWorms.mat` (variable ``EigenWorms``).

    Returns
    -------
    FloatArray
        Float64, ``(segments, modes)``, columns orthonormal.
    """
    file = Path(path)
    if not file.is_file():
        raise InputFormatError(f"{file}: no such file; name the posture basis, for example EigenWorms.csv.")
    basis = _load_basis_mat(file) if _is_mat(Probe(file)) else _load_basis_csv(file)
    if basis.ndim != 2 or basis.size == 0 or basis.dtype.kind not in "fiu":
        raise InputFormatError(
            f"{file}: holds {basis.dtype} of shape {basis.shape}; a matrix of numbers (segments, modes) is needed."
        )
    if not np.isfinite(basis).all():
        raise InputFormatError(
            f"{file}: {np.sum(~np.isfinite(basis))} of {basis.size} entries are not finite; a basis has no missing "
            "numbers. Save it again."
        )
    if basis.shape[0] < basis.shape[1]:
        raise InputFormatError(
            f"{file}: has {basis.shape[0]} rows and {basis.shape[1]} columns; modes belong in columns and there "
            "cannot be more of them than segments. Transpose the matrix."
        )
    basis = basis.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        error = float(np.abs(basis.T @ basis - np.eye(basis.shape[1])).max())
    if not error <= ORTHONORMAL_TOLERANCE:  # numbers whose products overflow make it NaN
        raise InputFormatError(
            f"{file}: the columns of this {basis.shape[0]} x {basis.shape[1]} matrix are not orthonormal (off by "
            f"{error:.3g}, at most {ORTHONORMAL_TOLERANCE:g} is allowed). Modes belong in columns, each of unit "
            "length; transpose or normalise the matrix."
        )
    return basis


def _is_mat(probe: Probe) -> bool:
    return probe.is_hdf5 or probe.is_matlab


def _variables(probe: Probe) -> dict[str, Variable]:
    """Name the variables of a MATLAB file; empty for other files, HDF5 ones of other programs included."""
    if probe.is_hdf5 and not probe.hdf5_names & {"#refs#", ANGLES, BASIS}:
        return {}
    return probe.matlab_variables


def _cell_names(found: dict[str, Variable]) -> list[str]:
    return [name for name, variable in found.items() if variable.kind == CELL]


def _choose_rate(options: ReadOptions, published: float | None) -> tuple[float, str]:
    """Take the rate that was stated, or that of the published data; it is never guessed."""
    if options.sampling_rate is not None:
        return options.sampling_rate, "stated"
    if published is None:
        raise SamplingError(
            "The file holds no frame rate, and its arrays do not have the shapes of the published recordings, whose "
            "rate is known. State it with sampling_rate= (or --rate on the command line)."
        )
    return published, "published layout"


def _choose_cells(found: dict[str, Variable]) -> str:
    cells = _cell_names(found)
    if AMPLITUDES in cells:
        return AMPLITUDES
    if len(cells) != 1:
        raise InputFormatError(
            f"Found the cell arrays {', '.join(cells) or '(none)'} among {', '.join(found) or 'no variables'}; one is "
            f"needed that holds the amplitudes of one animal per cell. Name it {AMPLITUDES}."
        )
    return cells[0]


def _check_cells(name: str, cells: Sequence[NDArray[Any]]) -> None:
    for i, cell in enumerate(cells):
        if cell.ndim != 2 or cell.dtype.kind not in "fiu" or cell.size == 0:
            raise InputFormatError(
                f"{_describe(name, i, cell)}; numbers of shape (frames, modes) are needed. Remove or repair this cell."
            )
    # together, so that a quiet animal is judged by the others
    refuse_labels(np.concatenate([cell.reshape(-1) for cell in cells]) if cells else np.empty(0), name)
    for i, cell in enumerate(cells):
        if cell.shape[1] > MAX_MODES and cell.shape[0] <= MAX_MODES:
            raise InputFormatError(
                f"{_describe(name, i, cell)}, modes in rows; frames belong in rows. Transpose every cell in MATLAB."
            )
        if cell.shape[1] > MAX_MODES:
            raise InputFormatError(
                f"{_describe(name, i, cell)}; amplitudes of at most {MAX_MODES} modes are expected. If these are "
                f"angles, save them as an array {ANGLES} (animals, frames, segments)."
            )


def _describe(name: str, index: int, cell: NDArray[Any]) -> str:
    return f"Cell {index + 1} of {name} holds {cell.dtype} of shape {cell.shape}"


def _shape_angles(theta: FloatArray) -> FloatArray:
    angles = np.array(theta, dtype=np.float64)
    angles[(angles == 0).all(axis=1)] = np.nan
    return angles


def _centroids(counts: NDArray[Any] | None, shape: tuple[int, ...]) -> FloatArray | None:
    if counts is None:
        return None
    if counts.shape != (*shape[:2], 2):
        raise InputFormatError(
            f"wormCm has shape {counts.shape}, {ANGLES} {shape}; (animals, frames, 2) of the same animals and frames "
            "is needed."
        )
    path = counts.astype(np.float64)
    path[(path == 0).all(axis=2)] = np.nan
    centroids: FloatArray = path / STAGE_COUNTS_PER_MM
    return centroids


def _body_lengths(pixels: NDArray[Any] | None, shape: tuple[int, ...]) -> FloatArray | None:
    """Take the median of the nonzero lengths of each animal, in mm."""
    if pixels is None:
        return None
    n_animals, n_frames = shape[:2]
    if pixels.shape == (n_frames, n_animals) != (n_animals, n_frames):
        pixels = pixels.T
    if pixels.shape == (1, n_animals):
        pixels = pixels.T
    if pixels.shape not in ((n_animals, n_frames), (n_animals, n_frames, 1), (n_animals, 1)):
        raise InputFormatError(
            f"wormLength has shape {pixels.shape}, {ANGLES} {shape}; (animals, frames), its transpose or one length "
            "per animal is needed."
        )
    lengths = np.full(n_animals, np.nan)
    for i, row in enumerate(pixels.reshape(n_animals, -1).astype(np.float64)):
        known = row[np.isfinite(row) & (row != 0)]
        lengths[i] = np.median(known) / PIXELS_PER_MM if known.size else np.nan
    return lengths


def _load_basis_mat(path: Path) -> NDArray[Any]:
    stored = read_matlab(path, (BASIS,))
    if BASIS not in stored:
        found = ", ".join(_variables(Probe(path))) or "no variables that can be read"
        raise InputFormatError(f"{path}: holds {found}; a variable named {BASIS} is needed.")
    return stored[BASIS]


def _load_basis_csv(path: Path) -> NDArray[Any]:
    if not Probe(path).text.strip():
        raise InputFormatError(f"{path}: holds no text; a table of numbers separated by commas is needed.")
    try:
        return np.loadtxt(path, delimiter=",", ndmin=2, encoding="utf-8-sig")
    except ValueError as error:
        raise InputFormatError(
            f"{path}: is not a table of numbers separated by commas ({error}). One row per body segment, one "
            "column per mode and no header is needed."
        ) from error
