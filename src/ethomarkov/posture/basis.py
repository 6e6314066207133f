"""Posture as a few mode amplitudes: eigenworms, or the principal shapes of any animal."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.posture.angles import tangent_angles
from ethomarkov.posture.centerline import even_centerline
from ethomarkov.posture.egocentric import align_keypoints
from ethomarkov.recording import Recording
from ethomarkov.recording.orientation import BLOCK_FRAMES, remove_orientation
from ethomarkov.recording.schema import KIND_WORDS, Kind

DEFAULT_SEGMENTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PostureBasis(Result):
    """Orthonormal shapes on which postures are projected.

    Parameters
    ----------
    vectors
        One column per mode.
    mean
        Subtracted before projecting; zero for eigenworms.
    explained_variance
        Share of the variance that each mode holds; NaN when the basis was not fitted.
    features
        What the rows are: "angle" (tangent angles along the body) or "keypoint" (aligned coordinates).
    source
        Where the basis comes from, in words.

    Examples
    --------
    >>> basis = PostureBasis.analytic(n_segments=20)
    >>> basis.n_modes, basis.n_features
    (5, 20)
    >>> amplitudes = Series.from_rows([[1.0, 0.0, 2.0, 0.0, 0.0]], 16.0)
    >>> basis.reconstruct(amplitudes).values.shape
    (1, 20)
    """

    vectors: FloatArray = array_field("feature", "mode")
    mean: FloatArray = array_field("feature")
    explained_variance: FloatArray = array_field("mode")
    features: Literal["angle", "keypoint"]
    source: str

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_file(cls, path: str | Path, n_modes: int = 5) -> "PostureBasis":
        """Read eigenworms from a file: a CSV or MATLAB matrix whose columns are the modes, head first.

        Parameters
        ----------
        path
            File with one row per segment and one column per mode.
        n_modes
            Modes to keep, from the first on.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "modes.csv"
        ...     np.savetxt(file, PostureBasis.analytic(20).vectors, delimiter=",")
        ...     basis = PostureBasis.from_file(file, n_modes=3)
        >>> basis.vectors.shape
        (20, 3)
        """
        from ethomarkov.io.confined import read_confined
        from ethomarkov.io.readers.stephens import read_eigenworms

        matrix = read_confined(read_eigenworms, Path(path))
        if n_modes > matrix.shape[1]:
            raise InputFormatError(f"{path}: holds {matrix.shape[1]} modes; {n_modes} were asked for. Ask for fewer.")
        return cls._of_angles(matrix[:, :n_modes], source=Path(path).name)

    @classmethod
    def analytic(cls, n_segments: int = DEFAULT_SEGMENTS) -> "PostureBasis":
        """Build five smooth modes that resemble eigenworms, from sines and cosines.

        Modes 1 and 2 are a travelling wave of 0.65 body lengths, mode 3 is one deep bend, modes 4 and 5 are shorter
        undulations; made orthonormal and free of rotation in this order. They serve the synthetic worm.

        Parameters
        ----------
        n_segments
            Segments along the body.

        Examples
        --------
        >>> modes = PostureBasis.analytic(50).vectors
        >>> bool(np.allclose(modes.T @ modes, np.eye(5)))
        True
        """
        s = (np.arange(n_segments) + 0.5) / n_segments
        wave = 2 * np.pi * (s - 0.07) / 0.65
        shapes = [np.ones_like(s), -np.cos(wave), np.sin(wave), *(-np.cos(np.pi * k * s) for k in (1, 4, 5))]
        raw = np.stack(shapes, axis=1)
        orthonormal, triangle = np.linalg.qr(raw)
        return cls._of_angles((orthonormal * np.sign(np.diag(triangle)))[:, 1:], source="analytic worm")

    @classmethod
    def fit(cls, recording: Recording, n_modes: int = 5, *, n_segments: int = DEFAULT_SEGMENTS) -> "PostureBasis":
        """Compute the principal components of the recorded postures.

        Parameters
        ----------
        recording
            Angles, centerlines or keypoints.
        n_modes
            Modes to keep.
        n_segments
            Segments along the body for centerlines.

        Examples
        --------
        >>> angles = np.random.default_rng(0).normal(size=(200, 1)) * np.sin(np.arange(12.0))
        >>> recording = Recording.from_arrays(angles, rate=16.0)
        >>> PostureBasis.fit(recording, n_modes=1).explained_variance.round(3).tolist()
        [1.0]
        """
        if recording.kind == "amplitude":
            raise InputFormatError(
                "The recording holds mode amplitudes already; a basis is fitted to angles, centerlines or keypoints."
            )
        rows = feature_rows(recording, n_segments)
        rows = rows[np.isfinite(rows).all(axis=1)].astype(float)
        if n_modes > min(rows.shape):
            raise InputFormatError(
                f"{n_modes} modes were asked for; {rows.shape[0]} complete frames of {rows.shape[1]} numbers allow at "
                f"most {min(rows.shape)}."
            )
        return cls.from_moments(
            rows.mean(axis=0), np.cov(rows.T), n_modes, kind=recording.kind, n_animals=len(recording.individuals)
        )

    @classmethod
    def from_moments(
        cls, mean: FloatArray, covariance: FloatArray, n_modes: int, *, kind: Kind, n_animals: int
    ) -> "PostureBasis":
        """Compute the principal components of postures whose mean and covariance are known.

        Parameters
        ----------
        mean, covariance
            Of all complete postures, as from `feature_rows`.
        n_modes
            Modes to keep.
        kind
            Of the recordings: what the numbers of a posture are.
        n_animals
            Number of recorded animals.

        Examples
        --------
        >>> basis = PostureBasis.from_moments(np.zeros(3), np.diag([3.0, 2.0, 1.0]), 2, kind="angle", n_animals=4)
        >>> basis.explained_variance.round(3).tolist(), basis.source
        ([0.5, 0.333], 'principal components of 4 animals')
        """
        variance, vectors = np.linalg.eigh(covariance)
        vectors = vectors[:, ::-1][:, :n_modes]
        return cls(
            vectors=vectors * _signs(vectors),
            mean=mean,
            explained_variance=variance[::-1][:n_modes] / variance.sum(),
            features="keypoint" if kind == "position" else "angle",
            source=f"principal components of {count_of(n_animals, 'animal')}",
        )

    @classmethod
    def _of_angles(cls, vectors: FloatArray, source: str) -> "PostureBasis":
        return cls(
            vectors=vectors,
            mean=np.zeros(len(vectors)),
            explained_variance=np.full(vectors.shape[1], np.nan),
            features="angle",
            source=source,
        )

    @property
    def n_modes(self) -> int:
        """Number of modes."""
        return int(self.vectors.shape[1])

    @property
    def n_features(self) -> int:
        """Numbers per posture: segments along the body, or keypoint coordinates."""
        return int(self.vectors.shape[0])

    def headline(self) -> str:
        """Say how many modes there are, of what, and how much of the variance they explain."""
        what = "tangent angles" if self.features == "angle" else "keypoints"
        total = float(np.sum(self.explained_variance))
        share = f"{total:.0%} of the variance" if np.isfinite(total) else self.source
        return f"{count_of(self.n_modes, 'mode')} of {what}, {share}"

    def project(self, recording: Recording) -> Series:
        """Compute the mode amplitudes of every posture.

        Recordings of amplitudes are used as they are, restricted to the modes of this basis.

        Examples
        --------
        >>> basis = PostureBasis.analytic(n_segments=20)
        >>> angles = np.array([[1.0, 0, 2, 0, 0], [0, 1, 0, 0, 3]]) @ basis.vectors.T
        >>> recording = Recording.from_arrays(angles, rate=16.0)
        >>> (basis.project(recording).values.round(3) + 0.0).tolist()
        [[1.0, 0.0, 2.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 3.0]]
        """
        if recording.kind == "amplitude":
            return amplitude_series(recording, self.n_modes)
        self._check_features(recording)
        blocks = _feature_blocks(recording, self.n_features)
        return _series(recording, np.concatenate([(rows - self.mean) @ self.vectors for rows in blocks]))

    def reconstruct(self, amplitudes: Series) -> Series:
        """Compute tangent angles (or aligned keypoint coordinates) from mode amplitudes.

        Examples
        --------
        >>> basis = PostureBasis.analytic(n_segments=20)
        >>> angles = basis.reconstruct(Series.from_rows([[1.0, 0.0, 0.0, 0.0, 0.0]], 16.0))
        >>> bool(np.allclose(angles.values[0], basis.vectors[:, 0], atol=1e-6))
        True
        """
        if amplitudes.n_components != self.n_modes:
            raise InputFormatError(
                f"The series has {amplitudes.n_components} components, the basis {self.n_modes} modes; "
                "project with the same basis."
            )
        vectors, mean = self.vectors.astype(np.float32), self.mean.astype(np.float32)
        return amplitudes.with_rows(amplitudes.values @ vectors.T + mean)

    def _check_features(self, recording: Recording) -> None:
        wanted = "keypoint" if recording.kind == "position" else "angle"
        size = {"angle": recording.values.shape[1], "position": recording.values[0].size}.get(recording.kind)
        if wanted != self.features or (size is not None and size != self.n_features):
            raise InputFormatError(
                f"The basis ({self.source}) describes {self.n_features} numbers of kind {self.features!r}, the "
                f"recording holds {KIND_WORDS[recording.kind]} of shape {recording.values.shape[1:]}. Use a basis of "
                "that size, or fit one to these animals (PostureBasis.fit; leave out --basis)."
            )


def amplitude_series(recording: Recording, n_modes: int) -> Series:
    """Select the first modes of a recording of amplitudes."""
    values = recording.values
    if values.shape[1] < n_modes:
        raise InputFormatError(
            f"The recording holds {values.shape[1]} modes; {n_modes} were asked for. Ask for fewer (--modes)."
        )
    return _series(recording, values[:, :n_modes])


def feature_rows(recording: Recording, n_segments: int) -> FloatArray:
    """Compute rows that describe postures independently of position and orientation."""
    return np.concatenate(list(_feature_blocks(recording, n_segments)))


def _feature_blocks(recording: Recording, n_segments: int) -> Iterator[FloatArray]:
    """Compute these rows a few frames at a time, so that they remain in the processor's cache."""
    values = recording.values
    for first in range(0, max(len(values), 1), BLOCK_FRAMES):
        yield _features(values[first : first + BLOCK_FRAMES], recording.kind, n_segments)


def _features(values: FloatArray, kind: Kind, n_segments: int) -> FloatArray:
    if kind == "angle":
        return remove_orientation(values)[0]
    if kind == "centerline":
        return tangent_angles(even_centerline(values, n_segments + 1))[0]
    return align_keypoints(values)[0].reshape(len(values), -1)


def _series(recording: Recording, rows: FloatArray) -> Series:
    segments = recording.segments
    return Series.from_rows(rows, recording.sampling, segments.offsets, segments.individuals)


def _signs(vectors: FloatArray) -> FloatArray:
    """Fix the sign of every mode: its largest entry is positive."""
    largest = np.abs(vectors).argmax(axis=0)
    return np.asarray(np.sign(vectors[largest, np.arange(vectors.shape[1])]))
