"""Explicit repairs of recordings: filling short gaps, changing the rate."""

import itertools
from dataclasses import replace

import numpy as np
import xarray as xr

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import SamplingError
from ethomarkov.recording import schema
from ethomarkov.recording.left_out import left_out_attrs, left_out_of
from ethomarkov.recording.recording import Recording, join_datasets

MOST_UPSAMPLING = 20


def fill_gaps(recording: Recording, max_gap: float) -> Recording:
    """Interpolate gaps of at most `max_gap` seconds; longer ones remain.

    Every number is filled on its own (shape-preserving cubic through the frames around the gap), so that one
    lost keypoint costs nothing but itself. Gaps at the start and end of a recording are not filled. Angles are
    expected to be unwrapped.

    Parameters
    ----------
    recording
        Recording with gaps.
    max_gap
        Longest gap to fill, in seconds.

    Examples
    --------
    >>> amplitudes = [[0.0], [1.0], [np.nan], [3.0], [4.0]]
    >>> recording = Recording.from_arrays(amplitudes, rate=10.0, kind="amplitude")
    >>> fill_gaps(recording, max_gap=0.1).values[:, 0].tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    if not 0 <= max_gap < np.inf:
        raise SamplingError(f"Gaps of up to {max_gap} s cannot be filled; give a number of seconds (--fill-gaps).")
    longest = int(np.floor(max_gap * recording.sampling.rate + 1e-9))
    dataset = recording.dataset.copy()
    offsets = recording.segments.offsets
    for name in _measured(dataset):
        values = np.array(dataset[name].values)
        columns = values.reshape(len(values), -1)
        for first, stop in itertools.pairwise(offsets):
            for column in columns[first:stop].T:
                _fill_column(column, longest)
        dataset[name] = (dataset[name].dims, columns.reshape(values.shape))
    dataset.attrs["filled_gaps_up_to_s"] = float(max_gap)
    return Recording(dataset)


def _measured(dataset: xr.Dataset) -> list[str]:
    return [name for name in (schema.kind_of(dataset), schema.CENTROID) if name in dataset]


def _fill_column(column: FloatArray, longest: int) -> None:
    """Fill the short inner gaps of one column in place."""
    from scipy.interpolate import PchipInterpolator

    missing = ~np.isfinite(column)
    if not missing.any() or np.sum(~missing) < 2:
        return
    known = np.flatnonzero(~missing)
    curve = PchipInterpolator(known, column[known], extrapolate=False)
    for start, stop, _ in Segments.from_valid(missing):
        if start > 0 and stop < column.size and stop - start <= longest:
            column[start:stop] = curve(np.arange(start, stop))


def resample(recording: Recording, rate: float) -> Recording:
    """Resample a recording to another frame rate.

    Division of the rate by a whole number keeps every n-th frame. Any other rate is interpolated inside gap-free
    stretches (shape-preserving cubic); gaps remain. No filter is applied: remove faster motion before reducing the
    rate, if there is any.

    Parameters
    ----------
    recording
        Recording at any rate.
    rate
        New frames per second.

    Examples
    --------
    >>> recording = Recording.from_arrays(np.arange(9.0)[:, None], rate=30.0, kind="amplitude")
    >>> resample(recording, 10.0).values[:, 0].tolist()
    [0.0, 3.0, 6.0]
    """
    old = recording.sampling
    frames = recording.dataset[schema.FRAME_COUNT].values.max()
    if not (np.isfinite(rate) and 0 < rate <= MOST_UPSAMPLING * old.rate and frames * rate / old.rate >= 2):
        raise SamplingError(
            f"Cannot resample from {old.rate:g} Hz to {rate} Hz: a rate is needed that leaves at least two frames and "
            f"is at most {MOST_UPSAMPLING} times the old one (--resample)."
        )
    new = Sampling(rate)
    if new.rate == old.rate:
        return recording
    factor = old.rate / new.rate
    parts = [_resample_one(recording, i, factor) for i in range(len(recording.individuals))]
    merged = join_datasets(parts)
    merged.attrs |= {"sampling_rate": new.rate, "resampled_from_hz": old.rate}
    merged.attrs |= left_out_attrs(
        replace(one, frames=round(one.frames / factor)) for one in left_out_of(recording.dataset)
    )
    return Recording(merged)


def _resample_one(recording: Recording, individual: int, factor: float) -> xr.Dataset:
    first, stop = recording.segments.offsets[individual : individual + 2]
    part = recording.dataset.isel({schema.FRAME: slice(first, stop), schema.INDIVIDUAL: [individual]})
    if abs(factor - round(factor)) < 1e-9:
        return _with_count(part.isel({schema.FRAME: slice(None, None, round(factor))}))
    at = np.arange(0, part.sizes[schema.FRAME] - 1 + 1e-9, factor)
    nearest = np.round(at).astype(int)
    out = part.isel({schema.FRAME: nearest}).copy()
    for name in _measured(part):
        values = part[name].values
        rows = np.full((at.size, values[0].size), np.nan, dtype=np.float32)
        for column, target in zip(values.reshape(len(values), -1).T, rows.T, strict=True):
            _resample_column(column, at, target)
        out[name] = (part[name].dims, rows.reshape(at.size, *values.shape[1:]))
    start = float(part[schema.TIME].values[0])
    return _with_count(out.assign_coords({schema.TIME: (schema.FRAME, start + at / recording.sampling.rate)}))


def _with_count(part: xr.Dataset) -> xr.Dataset:
    return part.assign_coords({schema.FRAME_COUNT: (schema.INDIVIDUAL, [part.sizes[schema.FRAME]])})


def _resample_column(column: FloatArray, at: FloatArray, target: FloatArray) -> None:
    """Interpolate one column inside each of its gap-free runs."""
    from scipy.interpolate import PchipInterpolator

    for start, stop, _ in Segments.from_valid(np.isfinite(column)):
        inside = (at >= start) & (at <= stop - 1)
        if stop - start == 1:
            target[inside] = column[start]
        elif inside.any():
            target[inside] = PchipInterpolator(np.arange(start, stop), column[start:stop])(at[inside])
