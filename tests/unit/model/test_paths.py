"""Paths computed from the postures of a model, beside the measured ones."""

import dataclasses

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion import propel
from ethomarkov.locomotion.drag import DragSettings
from ethomarkov.model import BehaviourModel
from ethomarkov.model.paths import body_lengths, measured_path, reconstruct_paths

WINDOWS = DragSettings(window=10.0)


def with_measured(model, **changes):
    return dataclasses.replace(model, measured=dataclasses.replace(model.measured, **changes))


@pytest.fixture(scope="module")
def unmeasured(model):
    """The model without measured paths, and without body lengths."""
    nothing = np.full_like(model.measured.centroid, np.nan)
    return with_measured(model, centroid=nothing, body_length=np.full(3, np.nan), length_unit="")


@pytest.fixture(scope="module")
def found(model):
    return reconstruct_paths(model, WINDOWS)


def test_recorded_lengths_are_taken(model, worms):
    lengths, is_fitted = body_lengths(model)
    assert not is_fitted
    np.testing.assert_array_equal(lengths, list(worms.recording.body_lengths.values()))


def test_fitted_lengths_are_near_the_truth(model):
    fitted, is_fitted = body_lengths(with_measured(model, body_length=np.full(3, np.nan)))
    assert is_fitted
    np.testing.assert_allclose(fitted, model.measured.body_length, rtol=0.03)


def test_only_missing_lengths_are_fitted(model):
    known = model.measured.body_length
    fitted, is_fitted = body_lengths(with_measured(model, body_length=np.array([9.0, np.nan, known[2]])))
    assert is_fitted
    assert fitted[[0, 2]].tolist() == [9.0, known[2]]
    assert fitted[1] == pytest.approx(known[1], rel=0.03)


def test_lengths_are_in_the_unit_of_the_path(model):
    large = with_measured(model, centroid=model.measured.centroid * 1000, body_length=np.full(3, np.nan))
    np.testing.assert_allclose(body_lengths(large)[0], 1000 * model.measured.body_length, rtol=0.03)


def test_no_length_without_a_path(unmeasured):
    lengths, is_fitted = body_lengths(unmeasured)
    assert np.isnan(lengths).all()
    assert not is_fitted


def test_an_animal_that_was_not_tracked_has_no_length(model):
    centroid = model.measured.centroid.copy()
    first, stop = model.postures.segments.offsets[1:3]
    centroid[first:stop] = np.nan
    lengths, _ = body_lengths(with_measured(model, centroid=centroid, body_length=np.full(3, np.nan)))
    assert np.isfinite(lengths).tolist() == [True, False, True]


def test_the_measured_path_is_the_recorded_one(model, unmeasured):
    path = measured_path(model)
    assert path.length_unit == "mm"
    known = np.isfinite(model.measured.centroid).all(axis=1)
    np.testing.assert_array_equal(path.centroid[known], model.measured.centroid[known])
    assert measured_path(unmeasured) is None


def test_computed_paths_agree_with_the_measured(found, model):
    assert (found.speed_correlation > 0.98).all()
    assert found.drag.median.estimate == pytest.approx(30.0, rel=0.1)
    assert not found.drag.is_mirrored.any()
    assert not found.is_fitted
    assert found.computed.length_unit == found.measured.length_unit == "mm"
    np.testing.assert_array_equal(found.body_length, model.measured.body_length)


def test_mirrored_paths_are_recognised(model):
    mirrored = reconstruct_paths(with_measured(model, centroid=model.measured.centroid * [1, -1]), WINDOWS)
    assert mirrored.drag.is_mirrored.all()
    assert mirrored.drag.median.estimate == pytest.approx(30.0, rel=0.1)


def test_the_speed_correlation_by_hand(found, model):
    first, stop = model.postures.segments.offsets[:2]
    here, there = (path.speed()[first:stop] for path in (found.computed, found.measured))
    known = np.isfinite(here) & np.isfinite(there)
    assert found.speed_correlation[0] == pytest.approx(np.corrcoef(here[known], there[known])[0, 1])


def test_the_correlation_notices_wrong_paths(model):
    """Paths of other times do not agree; the same holds for an animal that stands still, which has none."""
    rolled = reconstruct_paths(with_measured(model, centroid=np.roll(model.measured.centroid, 500, axis=0)), WINDOWS)
    assert (np.abs(rolled.speed_correlation) < 0.7).all()
    still = reconstruct_paths(with_measured(model, centroid=np.ones_like(model.measured.centroid)), WINDOWS)
    assert np.isnan(still.speed_correlation).all()


def test_without_measured_paths_there_are_body_lengths(unmeasured):
    found = reconstruct_paths(unmeasured)
    assert found.measured is None
    assert found.drag is None
    assert np.isnan(found.speed_correlation).all()
    assert found.computed.length_unit == "body lengths"
    np.testing.assert_array_equal(found.body_length, 1.0)


def test_a_recorded_length_alone_does_not_scale_body_lengths(model, unmeasured):
    """Bodies were measured but not their paths: a path in body lengths is that of a body of length one."""
    measured = with_measured(unmeasured, body_length=model.measured.body_length, length_unit="mm")
    found = reconstruct_paths(measured)
    assert found.computed.length_unit == "body lengths"
    expected = propel(model.postures, model.drag_ratio, basis=model.basis)
    np.testing.assert_allclose(found.computed.centroid, expected.centroid, rtol=1e-12)
    np.testing.assert_array_equal(found.body_length, 1.0)


def test_windows_longer_than_the_recording(model):
    found = reconstruct_paths(model, DragSettings(window=1000.0))
    assert found.drag is None
    assert (found.speed_correlation > 0.98).all()


def test_a_study_without_a_body_is_refused(model):
    bare = dataclasses.replace(model, basis=None)
    for refuse in (BehaviourModel.body_basis, reconstruct_paths):
        with pytest.raises(InputFormatError, match=r"tangent angles.*--basis"):
            refuse(bare)
