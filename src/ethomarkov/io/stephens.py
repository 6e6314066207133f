"""MATLAB files of the foraging worms of Stephens et al. and Broekmans et al., and their posture basis.

`PNAS2011-DataStitched.mat` holds posture amplitudes at 16 Hz, `shapes.mat` tangent angles, measured paths and
lengths at 32 Hz, `EigenWorms.csv` or `.mat` the basis. None of them states its rate or units, so these are
constants here.
"""

import zlib
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.options import ReadOptions
from ethomarkov.io.probe import Probe
from ethomarkov.io.registry import reader
from ethomarkov.recording import Recording, Track

AMPLITUDE_RATE = 16.0
SHAPE_RATE = 32.0
STAGE_COUNTS_PER_MM = 788.0
PIXELS_PER_MM = 405.0
MAX_MODES = 20
ORTHONORMAL_TOLERANCE = 1e-2

AMPLITUDES, ANGLES, BASIS = "tr", "theta_ensemble", "EigenWorms"


def _is_amplitudes(probe: Probe) -> bool:
    found = _variables(probe)
    return ANGLES not in found and (BASIS in found or "cell" in found.values())


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

    Missing frames are NaN; an exact zero is an amplitude like any other. All modes are kept.
    """
    found = _variables(Probe(path))
    if BASIS in found:
        raise InputFormatError(
            f"{path}: holds the posture basis {BASIS}, not a recording. Pass it with --basis (basis=)."
        )
    name = _choose_cells(found)
    tracks = [
        Track(individual=f"worm_{i:02d}", values=_check_cell(name, i, cell))
        for i, cell in enumerate(_load_cells(path, name))
    ]
    rate = AMPLITUDE_RATE if options.sampling_rate is None else options.sampling_rate
    return Recording.from_tracks(tracks, kind="amplitude", sampling_rate=rate)


@reader(
    "stephens-shapes",
    suffixes=(".mat",),
    describes="MATLAB tangent angles, paths and lengths of worms (shapes.mat)",
    recognise=_is_shapes,
)
def read_shapes(path: Path, options: ReadOptions) -> Recording:
    """Read tangent angles with measured paths and lengths; zero marks what is missing.

    A frame is missing when all of its angles are zero, a position when both coordinates are, and a length when
    it is zero. The body length of an animal is the median of the others.
    """
    found = _variables(Probe(path))
    if ANGLES not in found:
        raise InputFormatError(f"{path}: holds {', '.join(found) or 'no such variables'}; {ANGLES} is needed.")
    stored = _load_arrays(path, (ANGLES, "wormCm", "wormLength"))
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
    rate = SHAPE_RATE if options.sampling_rate is None else options.sampling_rate
    return Recording.from_tracks(tracks, kind="angle", sampling_rate=rate, attrs={"length_unit": "mm"})


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
    error = float(np.abs(basis.T @ basis - np.eye(basis.shape[1])).max())
    if error > ORTHONORMAL_TOLERANCE:
        raise InputFormatError(
            f"{file}: the columns of this {basis.shape[0]} x {basis.shape[1]} matrix are not orthonormal (off by "
            f"{error:.3g}, at most {ORTHONORMAL_TOLERANCE:g} is allowed). Modes belong in columns, each of unit "
            "length; transpose or normalise the matrix."
        )
    return basis


def _is_mat(probe: Probe) -> bool:
    return probe.is_hdf5 or probe.head.startswith(b"MATLAB")


def _variables(probe: Probe) -> dict[str, str]:
    """Name the variables of a MATLAB file and their class; empty for other files."""
    if probe.is_hdf5:
        return _variables_hdf5(probe)
    if not probe.head.startswith(b"MATLAB"):
        return {}
    from scipy.io import whosmat

    with _MatErrors(probe.path):
        return {name: kind for name, _, kind in whosmat(probe.path)}


def _variables_hdf5(probe: Probe) -> dict[str, str]:
    if not probe.hdf5_names & {"#refs#", ANGLES, BASIS}:
        return {}
    with h5py.File(probe.path, "r") as file:
        return {
            name: "cell" if h5py.check_ref_dtype(item.dtype) is h5py.Reference else "array"
            for name, item in file.items()
            if isinstance(item, h5py.Dataset)
        }


class _MatErrors:
    """Turns the many errors of a broken MATLAB file into one that names the file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        from scipy.io.matlab import MatReadError

        if isinstance(error, ValueError | OSError | TypeError | KeyError | EOFError | zlib.error | MatReadError):
            raise InputFormatError(
                f"{self.path}: starts like a MATLAB file but cannot be opened ({error}). It is probably truncated; "
                "copy it again."
            ) from error


def _choose_cells(found: dict[str, str]) -> str:
    cells = [name for name, kind in found.items() if kind == "cell"]
    if AMPLITUDES in cells:
        return AMPLITUDES
    if len(cells) != 1:
        raise InputFormatError(
            f"Found the cell arrays {', '.join(cells) or '(none)'} among {', '.join(found) or 'no variables'}; one is "
            f"needed that holds the amplitudes of one animal per cell. Name it {AMPLITUDES}."
        )
    return cells[0]


def _load_cells(path: Path, name: str) -> list[NDArray[Any]]:
    """Load the cells in MATLAB's own order, each as (frames, modes)."""
    with _MatErrors(path):
        if not Probe(path).is_hdf5:
            from scipy.io import loadmat

            return list(loadmat(path, variable_names=[name])[name].ravel(order="F"))
        with h5py.File(path, "r") as file:
            # the references stand in the order of the cells; their names in #refs# do not
            return [_dereference(file[reference]) for reference in file[name][()].ravel()]


def _dereference(cell: h5py.Dataset | h5py.Group) -> NDArray[Any]:
    if isinstance(cell, h5py.Group) or cell.attrs.get("MATLAB_empty", 0):
        return np.empty((0, 0))
    return np.asarray(cell[()]).T  # MATLAB stores columns first


def _check_cell(name: str, index: int, cell: NDArray[Any]) -> FloatArray:
    what = f"Cell {index + 1} of {name} holds {cell.dtype} of shape {cell.shape}"
    if cell.ndim != 2 or cell.dtype.kind not in "fiu" or cell.size == 0:
        raise InputFormatError(f"{what}; numbers of shape (frames, modes) are needed. Remove or repair this cell.")
    if cell.shape[1] > MAX_MODES and cell.shape[0] <= MAX_MODES:
        raise InputFormatError(f"{what}, modes in rows; frames belong in rows. Transpose every cell in MATLAB.")
    if cell.shape[1] > MAX_MODES:
        raise InputFormatError(
            f"{what}; amplitudes of at most {MAX_MODES} modes are expected. If these are angles, save them as an "
            f"array {ANGLES} (animals, frames, segments)."
        )
    return cell


def _load_arrays(path: Path, names: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Load arrays with all their dimensions, in MATLAB's order (pymatreader would drop those of length one)."""
    with _MatErrors(path):
        if Probe(path).is_hdf5:
            with h5py.File(path, "r") as file:
                return {name: np.asarray(file[name][()]).T for name in names if name in file}
        from scipy.io import loadmat

        stored = loadmat(path, variable_names=names)
    return {name: np.asarray(stored[name]) for name in names if name in stored}


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
    stored = _load_arrays(path, (BASIS,))
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
