"""What is at hand to reproduce the paper from: its data, any part of them, or synthetic worms."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io import read
from ethomarkov.io.readers.npz import load_arrays
from ethomarkov.locomotion import Trajectory
from ethomarkov.markov.selection import EntropyTable, LagTable
from ethomarkov.paper.published import N_WORMS
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording, Track
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import SyntheticWorms

RATE = 16.0
FRAMES = 33_600
MISSING = (110, 3728, 1753, 1728, 615, 502, 430, 2280, 60, 141, 284, 5102)
"""Missing frames of the paper's worms in its order, by which a worm is known whatever file it comes in."""
NEAR = 8
Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperData:
    """What is there to reproduce the paper from.

    Parameters
    ----------
    recording, basis
        Postures, and the shapes of their modes.
    worms
        Number of every recorded individual among the paper's twelve; -1 for others.
    paths
        Measured paths of all twelve.
    scan, lags
        Published tables of entropy rates, and of the slowest relaxation times.
    synthetic
        The truth behind synthetic worms.
    """

    recording: Recording | None = None
    basis: PostureBasis | None = None
    worms: tuple[int, ...] = ()
    paths: Trajectory | None = None
    scan: EntropyTable | None = None
    lags: LagTable | None = None
    synthetic: SyntheticWorms | None = None

    @property
    def sentence(self) -> str:
        """Say what there is."""
        if self.synthetic is not None:
            return count_of(len(self.synthetic.recording.individuals), "synthetic worm")
        n_worms = len(self.worms)
        parts = [
            (
                n_worms > 0,
                f"postures of {count_of(n_worms, 'worm')} of twelve" if n_worms < N_WORMS else "all postures",
            ),
            (self.paths is not None, "measured paths of all twelve"),
            (self.scan is not None, "the published table of entropy rates"),
            (self.lags is not None, "the published table of relaxation times"),
        ]
        return ", ".join(text for there, text in parts if there)


def find_paper_data(directory: Path) -> PaperData:
    """Look into a directory for the paper's data, or for any part of them.

    Parameters
    ----------
    directory
        With the dataset as its authors publish it (``PNAS2011-DataStitched.mat``, ``shapes.mat``, ``EigenWorms.csv``),
        with single worms (``.npz`` with ``modes``), measured paths (``.npz`` with ``centroid_mm`` of twelve worms), or
        published tables. Files are known by their content.
    """
    if not directory.is_dir():
        raise InputFormatError(f"{directory}: is no directory. Name the one that holds the paper's data.")
    archives = {file: _names_in(file) for file in sorted(directory.glob("*.npz"))}
    recording = _read_postures(directory, [file for file, names in archives.items() if "modes" in names])
    basis = next((file for file in sorted(directory.iterdir()) if file.name.lower() == "eigenworms.csv"), None)
    found = PaperData(
        recording=recording,
        basis=None if basis is None else PostureBasis.from_file(basis, 5),
        worms=() if recording is None else tuple(_identify(recording)),
        paths=_first(_read_paths, archives, {"centroid_mm"}, frozenset({"modes"})),
        scan=_first(_read_scan, archives, {"entropy_rates", "entropies", "K_range", "seed_range"}),
        lags=_first(_read_lags, archives, {"timescales_s", "lag_frames"}),
    )
    if not found.sentence:
        raise InputFormatError(
            f"{directory}: holds nothing of the paper. Fetch its data with `ethomarkov data fetch costa2024 --out "
            f"{directory}`, or leave --data out to use synthetic worms."
        )
    if found.recording is not None and found.basis is None:
        raise InputFormatError(f"{directory}: holds postures and no EigenWorms.csv, the shapes of their modes. Add it.")
    return found


def synthetic_paper_data(
    n_worms: int = N_WORMS,
    seconds: float = FRAMES / RATE,
    *,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> PaperData:
    """Make synthetic worms in place of the paper's, as many and as long."""
    made = simulate_worms(n_worms, seconds, seed=seed, threads=threads, progress=progress)
    return PaperData(recording=made.recording, basis=made.basis, worms=(-1,) * n_worms, synthetic=made)


def _names_in(file: Path) -> frozenset[str]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            return frozenset(archive.files)
    except (OSError, ValueError) as error:
        raise InputFormatError(f"{file}: cannot be read ({error}). Fetch it again, or take it away.") from error


def _first(
    reader: Callable[[Mapping[str, Any]], Part | None],
    archives: Mapping[Path, frozenset[str]],
    needed: set[str],
    unwanted: frozenset[str] = frozenset(),
) -> Part | None:
    """Read the first archive that has the names needed."""
    for file, names in archives.items():
        if needed <= names and not unwanted & names:
            return reader(load_arrays(file))
    return None


def _read_postures(directory: Path, archives: Sequence[Path]) -> Recording | None:
    """Read the whole dataset where it is there, else single worms."""
    whole = sorted(directory.glob("*PNAS2011-DataStitched*.mat"))
    if whole:
        recording, shapes = read(whole[0], sampling_rate=RATE), directory / "shapes.mat"
        return _with_paths(recording, read(shapes, sampling_rate=2 * RATE)) if shapes.is_file() else recording
    return read(archives) if archives else None


def _with_paths(recording: Recording, shapes: Recording) -> Recording:
    """Give postures the measured paths and lengths of the other file, which has twice the rate."""
    step = round(shapes.sampling.rate / recording.sampling.rate)
    ends, others = recording.segments.offsets, shapes.segments.offsets
    if len(ends) != len(others) or shapes.centroid is None:
        raise InputFormatError(
            f"shapes.mat describes {len(others) - 1} worms, the postures {len(ends) - 1}; they must be the same worms. "
            "Fetch both files again."
        )
    tracks = []
    for i, name in enumerate(recording.individuals):
        n_frames = int(ends[i + 1] - ends[i])
        centroid = np.full((n_frames, 2), np.nan)
        track = np.asarray(shapes.centroid[others[i] : others[i + 1] : step])[:n_frames]
        centroid[: len(track)] = track
        length = shapes.body_lengths.get(shapes.individuals[i])
        values = np.asarray(recording.values[ends[i] : ends[i + 1]])
        tracks.append(Track(individual=name, values=values, centroid=centroid, body_length=length))
    attrs = {"length_unit": "mm", "source_format": "stephens"}
    return Recording.from_tracks(tracks, kind="amplitude", sampling_rate=recording.sampling.rate, attrs=attrs)


def _identify(recording: Recording) -> Iterable[int]:
    """Tell which of the paper's worms each individual is, by how many frames it lacks; -1 for any other."""
    lengths = np.diff(recording.segments.offsets)
    missing = lengths - recording.segments.count_rows()
    for n_frames, lacks in zip(lengths, missing, strict=True):
        away = np.abs(np.array(MISSING) - lacks)
        yield int(away.argmin()) if n_frames == FRAMES and away.min() <= NEAR else -1


def _read_paths(archive: Mapping[str, Any]) -> Trajectory | None:
    points = np.array(archive["centroid_mm"], dtype=float)
    if points.ndim != 3:
        return None
    rows = bridge(points).reshape(-1, 2)
    like = Series.from_rows(rows, RATE, np.arange(len(points) + 1) * points.shape[1])
    return Trajectory.from_points(rows, like, "mm")


def bridge(tracks: FloatArray) -> FloatArray:
    """Fill lost positions by straight lines, as in the published paths, which lack none.

    Parameters
    ----------
    tracks
        Positions ``(animals, frames, 2)``, NaN where lost; never more than a few frames in a row.
    """
    filled, frames = np.array(tracks, dtype=float), np.arange(tracks.shape[1])
    for track in filled:
        known = np.isfinite(track).all(axis=1)
        for column in track.T:
            column[~known] = np.interp(frames[~known], frames[known], column[known])
    return filled


def _read_scan(archive: Mapping[str, Any]) -> EntropyTable:
    n_worms = archive["entropy_rates"].shape[2]
    return EntropyTable(
        n_delays=archive["K_range"].astype(int),
        n_states=archive["seed_range"].astype(int),
        entropy_rate=archive["entropy_rates"].astype(float) * RATE,  # published per frame
        entropy=archive["entropies"].astype(float),
        interval=1 / RATE,
        sequences=np.full(n_worms, FRAMES),
        scope="per animal",
    )


def _read_lags(archive: Mapping[str, Any]) -> LagTable:
    slowest = np.asarray(archive["timescales_s"][:, :, 0], dtype=float)
    return LagTable(lags=archive["lag_frames"].astype(float) / RATE, relaxation_times=slowest.T)
