"""Recording: a validated dataset of postures, the form in which every file enters."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import xarray as xr

from ethomarkov._core.arrays import named_arrays, numbers
from ethomarkov._core.frame_table import describe_frames, frame_table
from ethomarkov._core.ledger import Ledger
from ethomarkov._core.result import Result
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import FloatArray, PlainArrays
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.recording import schema
from ethomarkov.recording.left_out import left_out_attrs, left_out_of, open_ledger
from ethomarkov.recording.orientation import remove_orientation
from ethomarkov.recording.tracks import Places, Track, grid_positions, grid_size, infer_rate, to_grid

if TYPE_CHECKING:
    import pandas as pd

RATE_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Recording(Result):
    """Postures of one or several animals in time.

    Parameters
    ----------
    dataset
        An `xarray.Dataset` in the layout of `ethomarkov.recording.schema`: one of ``amplitude``, ``angle``,
        ``centerline`` or ``position`` along the stacked ``frame`` dimension, optionally ``centroid`` and
        ``body_length``.

    Examples
    --------
    >>> angles = np.sin(np.arange(600)[:, None] / 9 + np.arange(20) / 3)
    >>> Recording.from_arrays(angles, rate=16.0)
    Recording: tangent angles (rad); 1 animal, 37.5 s at 16 Hz, 0 % missing
      posture  600 frames x 20 segments
      animals  animal_1
    """

    dataset: xr.Dataset

    def __post_init__(self) -> None:
        if not isinstance(self.dataset, xr.Dataset):
            raise InputFormatError(
                f"A recording is not made from a {type(self.dataset).__name__}. Use Recording.from_arrays(arrays, "
                "rate=16.0) for arrays, ethomarkov.read(files) for files."
            )
        schema.validate(self.dataset)

    @classmethod
    def from_arrays(  # noqa: PLR0913 (all that a recording may hold)
        cls,
        arrays: PlainArrays,
        *,
        rate: float | None = None,
        kind: schema.Kind = "angle",
        individuals: Sequence[str] | None = None,
        labels: Sequence[str] | None = None,
        centroid: PlainArrays | None = None,
        body_length: float | Sequence[float] | Mapping[str, float] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> "Recording":
        """Make a recording of plain arrays, one row per frame.

        Parameters
        ----------
        arrays
            ``(frames, columns)`` for angles and amplitudes, ``(frames, points, 2)`` for centerlines (head first) and
            keypoints. One array, a list of arrays (one per animal), or a mapping from the animal's name to its array;
            nested lists and tables of pandas, too. Rows with NaN are gaps.
        rate
            Frames per second.
        kind
            What the numbers are: "angle" (radians), "amplitude", "centerline" or "position" (keypoints).
        individuals
            Names of the animals; animal_1, animal_2 … by default.
        labels
            Names of columns or points; numbered from 1 by default.
        centroid
            Measured positions ``(frames, 2)``, given in the same way as the arrays.
        body_length
            In the unit of the centroid: one number, a list with one per animal, or a mapping from names.
        attrs
            Anything worth keeping, such as ``{"length_unit": "mm"}``.

        Examples
        --------
        >>> wave = np.sin(np.arange(600)[:, None] / 9 + np.arange(20) / 3)
        >>> both = Recording.from_arrays({"N2": wave, "mutant": 2 * wave[:300]}, rate=16.0)
        >>> both.individuals, both.values.shape
        (('N2', 'mutant'), (900, 20))
        """
        _check_given(arrays, kind)
        if rate is None:
            raise SamplingError("The sampling rate is missing; arrays hold none. State frames per second: rate=16.0.")
        n_axes = len(schema.KIND_DIMS[kind]) + 1
        named = named_arrays(arrays, n_axes, f"The {kind}s", individuals)
        places, lengths = _centroids(centroid, list(named)), _body_lengths(body_length, list(named))
        tracks = [
            Track(individual=name, values=rows, centroid=places.get(name), body_length=lengths.get(name))
            for name, rows in named.items()
        ]
        return cls.from_tracks(tracks, kind=kind, sampling_rate=rate, labels=labels, attrs=attrs)

    @classmethod
    def from_tracks(
        cls,
        tracks: Sequence[Track],
        *,
        kind: schema.Kind,
        sampling_rate: float | None = None,
        labels: Sequence[str] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> "Recording":
        """Put tracks on a regular grid of times and join them.

        Parameters
        ----------
        tracks
            One per animal; missing frames may be NaN rows or simply absent from the times.
        kind
            What the values are.
        sampling_rate
            Frames per second; taken from the times when None.
        labels
            Names of modes, segments or keypoints; numbered from 1 by default.
        attrs
            Anything worth keeping: ``length_unit``, ``source_format``, ``source_file``, ``ventral_side`` …
        """
        if not tracks:
            raise InputFormatError("No animal was found; a recording needs at least one track.")
        _check_shapes(tracks, kind)
        if kind == "angle":
            tracks = [replace(track, values=remove_orientation(track.values)[0]) for track in tracks]
        rate = infer_rate(tracks) if sampling_rate is None else sampling_rate
        sampling = Sampling(rate)
        places = grid_positions(tracks, sampling)
        data = _stack(tracks, places, sampling, kind)
        features = schema.KIND_DIMS[kind][0]
        n_features = tracks[0].values.shape[1]
        data = data.assign_coords(
            {features: np.asarray(labels) if labels is not None else np.arange(1, n_features + 1)}
        )
        if len(schema.KIND_DIMS[kind]) == 2:
            data = data.assign_coords(space=list(schema.SPACE))
        data.attrs = {
            "length_unit": "",
            "head_first": "true",
            "ventral_side": "unknown",
            "y_axis": "up",
            **(attrs or {}),
            "sampling_rate": sampling.rate,
            "schema": schema.SCHEMA,
        }
        return cls(data)

    def __repr__(self) -> str:
        return "\n".join([f"Recording: {self.headline()}", *(f"  {name:<8} {text}" for name, text in self._lines())])

    def _repr_html_(self) -> str:
        from ethomarkov._core.showing import name_and_rows

        return name_and_rows("Recording", self.headline(), self._lines())

    def headline(self) -> str:
        """Give kind, animals, duration, rate and what is missing in one line."""
        return f"{schema.KIND_WORDS[self.kind]}; {describe_frames(self.segments, self.sampling)}"

    def _lines(self) -> Iterator[tuple[str, str]]:
        from ethomarkov._core.showing import in_a_line

        shape = dict(zip(("frame", *schema.KIND_DIMS[self.kind]), self.values.shape, strict=True))
        yield "posture", " x ".join(f"{n:,} {dim}s" for dim, n in shape.items() if dim != "space")
        yield "animals", in_a_line(self.individuals)
        unit = self.dataset.attrs.get("length_unit", "")
        if schema.CENTROID in self.dataset:
            yield "centroid", f"in {unit}" if unit else "unit unknown"
        if self.body_lengths:
            median = float(np.median(list(self.body_lengths.values())))
            yield "length", f"{median:.3g} {unit} (median of animals)".replace("  ", " ")

    def table(self) -> "pd.DataFrame":
        """Lay out one row per frame: animal, time, the numbers of the posture, the centroid where it was measured.

        Examples
        --------
        >>> recording = Recording.from_arrays([[0.1, 0.2], [0.2, 0.3], [0.3, 0.1]], rate=4.0, kind="amplitude")
        >>> print(recording.table().to_string(index=False))
        individual  time  a1  a2
          animal_1  0.00 0.1 0.2
          animal_1  0.25 0.2 0.3
          animal_1  0.50 0.3 0.1
        """
        rows = self.values.reshape(len(self.values), -1)
        columns = dict(zip(column_names(self), rows.T, strict=True))
        if self.centroid is not None:
            columns |= {f"{schema.CENTROID}_{axis}": self.centroid[:, k] for k, axis in enumerate(schema.SPACE)}
        return frame_table(self.segments, self.time, columns)

    def to_xarray(self) -> xr.Dataset:
        """Give the dataset in the layout of `ethomarkov.recording.schema`."""
        return self.dataset

    @property
    def kind(self) -> schema.Kind:
        """What the posture is given as."""
        return schema.kind_of(self.dataset)

    @property
    def sampling(self) -> Sampling:
        """Frames per second."""
        return Sampling(float(self.dataset.attrs["sampling_rate"]))

    @property
    def individuals(self) -> tuple[str, ...]:
        """Names of the animals, in the order of their frames."""
        return tuple(str(name) for name in self.dataset[schema.INDIVIDUAL].values)

    @property
    def segments(self) -> Segments:
        """Gap-free runs of complete postures."""
        return Segments.from_valid(
            schema.frame_is_valid(self.dataset), schema.row_offsets(self.dataset), self.individuals
        )

    @property
    def values(self) -> FloatArray:
        """The posture numbers, shaped as their kind."""
        return np.asarray(self.dataset[self.kind].values)

    @property
    def time(self) -> FloatArray:
        """Time of every frame in seconds."""
        return np.asarray(self.dataset[schema.TIME].values)

    @property
    def centroid(self) -> FloatArray | None:
        """Measured position of every frame, if there is one."""
        return np.asarray(self.dataset[schema.CENTROID].values) if schema.CENTROID in self.dataset else None

    @property
    def body_lengths(self) -> dict[str, float]:
        """Body length of each animal for which one is known, in the unit of the centroid."""
        if schema.BODY_LENGTH not in self.dataset:
            return {}
        pairs = zip(self.individuals, self.dataset[schema.BODY_LENGTH].values, strict=True)
        return {name: float(length) for name, length in pairs if np.isfinite(length)}

    def select(self, individuals: Sequence[str]) -> "Recording":
        """Keep some of the animals."""
        unknown = [name for name in individuals if name not in self.individuals]
        if unknown:
            raise InputFormatError(
                f"No animal named {', '.join(map(repr, unknown))}; there are {', '.join(self.individuals)}."
            )
        kept = np.isin(self.individuals, list(individuals))
        rows = np.repeat(kept, self.dataset[schema.FRAME_COUNT].values)
        return Recording(self.dataset.isel({schema.INDIVIDUAL: kept, schema.FRAME: rows}))

    def ledger(self) -> Ledger:
        """Open the data ledger: animals that were left out, frames lost to incomplete or missing postures."""
        segments = self.segments
        values = self.values.reshape(len(self.values), -1)
        absent = np.isnan(values).all(axis=1)
        frames = np.diff(segments.offsets)
        seen = frames - np.bincount(segments.row_individual, absent, segments.n_individuals).astype(int)
        book = open_ledger(self.dataset, segments.n_individuals, int(frames.sum()))
        book = book.note("recording", segments.individuals, "frames", frames, seen, reason="no posture in the file")
        return book.note(
            "recording", segments.individuals, "frames", seen, segments.count_rows(), reason="incomplete posture"
        )


def column_names(recording: Recording) -> list[str]:
    """Name every number of a posture, as the columns of tables are named.

    Parameters
    ----------
    recording
        Of any kind. Modes and segments are numbered (a1, theta_0), keypoints have their names (nose_x, nose_y).
    """
    n_features = recording.values.shape[1]
    if recording.kind == "amplitude":
        return [f"a{i + 1}" for i in range(n_features)]
    if recording.kind == "angle":
        return [f"theta_{i}" for i in range(n_features)]
    if recording.kind == "centerline":
        return [f"{axis}_{i}" for i in range(n_features) for axis in schema.SPACE]
    return [f"{name}_{axis}" for name in recording.dataset["keypoint"].values for axis in schema.SPACE]


def merge_recordings(recordings: Mapping[str, Recording]) -> Recording:
    """Join recordings of the same kind and rate, prefixing names with their source where they collide.

    Parameters
    ----------
    recordings
        From a label (the file's name) to its recording.

    Examples
    --------
    >>> one, two = (Recording.from_arrays({"worm": np.random.default_rng(k).normal(size=(20, 5))}, rate=16.0)
    ...             for k in (1, 2))
    >>> merge_recordings({"monday.nc": one, "tuesday.nc": two}).individuals
    ('monday:worm', 'tuesday:worm')
    """
    labels, parts = list(recordings), list(recordings.values())
    if len(parts) == 1:
        return parts[0]
    for label, part in recordings.items():
        _check_mergeable(labels[0], parts[0], label, part)
    names = [name for part in parts for name in part.individuals]
    clash = len(set(names)) < len(names)
    optional = {name for part in parts for name in part.dataset.data_vars if name != part.kind}
    datasets = [
        _complete(_prefix(part.dataset, prefix) if clash else part.dataset, optional)
        for prefix, part in zip(_prefixes(labels), parts, strict=True)
    ]
    merged = join_datasets(datasets)
    merged.attrs |= {"sampling_rate": parts[0].sampling.rate, "schema": schema.SCHEMA}
    merged.attrs |= left_out_attrs(one for part in parts for one in left_out_of(part.dataset))
    return Recording(merged)


def join_datasets(datasets: Sequence[xr.Dataset]) -> xr.Dataset:
    """Stack datasets of the same layout: frames on frames, individuals on individuals."""
    attrs = [dataset.attrs for dataset in datasets]
    joined = xr.merge(
        [
            xr.concat([data.drop_dims(other) for data in datasets], dim=dim, join="override", combine_attrs="drop")
            for dim, other in ((schema.FRAME, schema.INDIVIDUAL), (schema.INDIVIDUAL, schema.FRAME))
        ],
        join="override",
        compat="override",
    )
    joined.attrs = {key: value for key, value in attrs[0].items() if all(one.get(key) == value for one in attrs)}
    return joined


def _prefixes(labels: Sequence[str]) -> list[str]:
    """Drop the endings of file names where they are not needed to tell them apart."""
    stems = [Path(label).stem for label in labels]
    return stems if len(set(stems)) == len(stems) else list(labels)


def _prefix(dataset: xr.Dataset, label: str) -> xr.Dataset:
    names = [f"{label}:{name}" for name in dataset[schema.INDIVIDUAL].values]
    return dataset.assign_coords({schema.INDIVIDUAL: names})


def _complete(dataset: xr.Dataset, optional: set[Any]) -> xr.Dataset:
    """Add the optional variables that a file lacks, as missing."""
    shapes = {schema.CENTROID: (schema.FRAME, "space"), schema.BODY_LENGTH: (schema.INDIVIDUAL,)}
    sizes = {**dataset.sizes, "space": 2}
    for name in optional - set(dataset.data_vars):
        dims = shapes[name]
        dataset = dataset.assign({name: (dims, np.full([sizes[dim] for dim in dims], np.nan, np.float32))})
    return dataset


def _check_mergeable(label: str, one: Recording, other_label: str, other: Recording) -> None:
    if one.kind != other.kind:
        raise InputFormatError(
            f"{label} holds {schema.KIND_WORDS[one.kind]} and {other_label} {schema.KIND_WORDS[other.kind]}. "
            "Give recordings of one kind: project them on one basis first, or run them apart."
        )
    if not abs(one.sampling.rate / other.sampling.rate - 1) <= RATE_TOLERANCE:
        raise SamplingError(
            f"{label} is sampled at {one.sampling.rate:g} Hz and {other_label} at {other.sampling.rate:g} Hz. "
            "Bring them to one rate first: resample(recording, rate), or `ethomarkov convert --resample RATE`."
        )
    if one.values.shape[1:] != other.values.shape[1:]:
        raise InputFormatError(
            f"Postures of {label} have shape {one.values.shape[1:]}, those of {other_label} "
            f"{other.values.shape[1:]}; the same number of modes, segments or points is needed."
        )


def _check_given(arrays: object, kind: str) -> None:
    if kind not in get_args(schema.Kind):
        raise InputFormatError(f"kind={kind!r} is not known; use one of {', '.join(map(repr, get_args(schema.Kind)))}.")
    if isinstance(arrays, Recording):
        raise InputFormatError("A Recording was given where arrays are needed; use it as it is.")


def _by_animal(given: Mapping[str, Any] | Sequence[Any], names: Sequence[str], what: str) -> dict[str, Any]:
    """Match what was given under names, or one by one, to the animals."""
    if isinstance(given, Mapping):
        unknown = [str(name) for name in given if str(name) not in names]
        if unknown:
            raise InputFormatError(f"{what} of {', '.join(unknown)} were given; the animals are {', '.join(names)}.")
        return {str(name): value for name, value in given.items()}
    if len(given) != len(names):
        raise InputFormatError(
            f"{what} of {count_of(len(given), 'animal')} were given for {count_of(len(names), 'animal')}; give one for "
            "each, or a mapping from their names."
        )
    return dict(zip(names, given, strict=True))


def _centroids(given: PlainArrays | None, names: Sequence[str]) -> dict[str, FloatArray]:
    if given is None:
        return {}
    found = named_arrays(given, 2, "The centroids")
    return _by_animal(found if isinstance(given, Mapping) else list(found.values()), names, "Centroids")


def _body_lengths(
    given: float | Sequence[float] | Mapping[str, float] | None, names: Sequence[str]
) -> dict[str, float]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        known = _by_animal(given, names, "Body lengths")
    else:
        lengths = np.ravel(numbers([given] if np.ndim(given) == 0 else given, "The body lengths"))
        known = _by_animal(lengths.tolist() * (len(names) if lengths.size == 1 else 1), names, "Body lengths")
    wrong = [name for name, length in known.items() if not (np.isnan(length) or 0 < length < np.inf)]
    if wrong:
        raise InputFormatError(
            f"The body length of {wrong[0]!r} is {known[wrong[0]]:g}; a positive number is needed, NaN where unknown."
        )
    return known


def _check_shapes(tracks: Sequence[Track], kind: schema.Kind) -> None:
    n_axes = len(schema.KIND_DIMS[kind])
    for track in tracks:
        shape = np.shape(track.values)
        if len(shape) != n_axes + 1 or (n_axes == 2 and shape[2] != 2):
            wanted = "(frames, points, 2)" if n_axes == 2 else f"(frames, {schema.KIND_DIMS[kind][0]}s)"
            raise InputFormatError(
                f"{kind} of {track.individual!r} has shape {shape}; {wanted} is needed.{_shape_advice(shape, n_axes)}"
            )
        if shape[1:] != np.shape(tracks[0].values)[1:]:
            raise InputFormatError(
                f"Postures of {track.individual!r} have shape {shape[1:]}, those of "
                f"{tracks[0].individual!r} {np.shape(tracks[0].values)[1:]}; all animals need the same."
            )
        for rows, word in ((track.time, "times"), (track.centroid, "centroids")):
            if rows is not None and len(rows) != shape[0]:
                raise InputFormatError(
                    f"{track.individual!r} has {shape[0]} postures but {len(rows)} {word}; one each is needed."
                )


def _shape_advice(shape: tuple[int, ...], n_axes: int) -> str:
    if len(shape) == 3 and shape[2] == 2 and n_axes == 1:
        return " Points in the plane are kind='centerline' (head first) or kind='position' (keypoints)."
    if len(shape) == 3 and n_axes == 1:
        return " Give several animals as a list of arrays, one for each."
    return " Angles or amplitudes are kind='angle' or kind='amplitude'." if len(shape) == 2 and n_axes == 2 else ""


def _stack(tracks: Sequence[Track], places: Sequence[Places], sampling: Sampling, kind: schema.Kind) -> xr.Dataset:
    sizes = [grid_size(place) for place in places]
    begin = [float(track.time[0]) if track.time is not None and len(track.time) else 0.0 for track in tracks]
    time = _grid_times(begin, sizes, sampling)
    values = to_grid([track.values for track in tracks], places)
    data = xr.Dataset(
        {kind: ((schema.FRAME, *schema.KIND_DIMS[kind]), values)},
        coords={
            schema.TIME: (schema.FRAME, time),
            schema.INDIVIDUAL: [str(track.individual) for track in tracks],
            schema.FRAME_COUNT: (schema.INDIVIDUAL, np.array(sizes, dtype=np.int64)),
        },
    )
    if any(track.centroid is not None for track in tracks):
        centroids = to_grid([track.centroid for track in tracks], places)
        data[schema.CENTROID] = ((schema.FRAME, "space"), centroids)
        data = data.assign_coords(space=list(schema.SPACE))
    if any(track.body_length is not None for track in tracks):
        lengths = np.array([np.nan if track.body_length is None else track.body_length for track in tracks])
        data[schema.BODY_LENGTH] = (schema.INDIVIDUAL, lengths)
    return data


def _grid_times(begin: Sequence[float], sizes: Sequence[int], sampling: Sampling) -> FloatArray:
    time, stop = np.empty(sum(sizes)), 0
    for start, n_frames in zip(begin, sizes, strict=True):
        stop += n_frames
        frames = time[stop - n_frames : stop]
        frames[:] = np.arange(n_frames)
        frames /= sampling.rate
        frames += start
    return time
