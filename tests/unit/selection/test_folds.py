"""What is left out in turn: animals, or blocks of time."""

import numpy as np
import pytest

from ethomarkov._core.segments import Segments
from ethomarkov.selection.folds import N_BLOCKS, Folds, jackknife_error


def segments_of(*lengths: int) -> Segments:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Segments.from_valid(np.ones(offsets[-1], dtype=bool), offsets)


def test_five_animals_are_left_out_as_they_are():
    folds = Folds.from_segments(segments_of(10, 20, 30, 40, 50, 60))
    assert (folds.over, folds.n_units, folds.n_folds) == ("animals", 6, 5)
    assert np.bincount(folds.unit).tolist() == [10, 20, 30, 40, 50, 60]
    assert len({(u, f) for u, f in zip(folds.unit, folds.fold, strict=True)}) == 6  # an animal lies in one fold


@pytest.mark.parametrize("n_animals", [1, 2, 4])
def test_fewer_animals_are_cut_into_blocks_of_equal_length(n_animals):
    segments = segments_of(*[1000] * n_animals)
    folds = Folds.from_segments(segments)
    assert folds.over == "blocks"
    assert folds.n_units >= N_BLOCKS
    sizes = np.bincount(folds.unit)
    assert sizes.max() - sizes.min() <= 1
    owners = {(unit, animal) for unit, animal in zip(folds.unit, segments.row_individual, strict=True)}
    assert len(owners) == folds.n_units  # no block holds two animals


def test_pairs_stay_within_a_unit():
    segments = segments_of(400)
    folds = Folds.from_segments(segments)
    first, last = folds.pairs(segments, 7)
    assert (folds.unit[first] == folds.unit[last]).all()
    assert (last - first == 7).all()
    assert first.size == 400 - 7 * folds.n_units


def test_nothing_is_learned_from_what_is_left_out():
    folds = Folds.from_segments(segments_of(*[5] * 7))
    for fold in range(folds.n_folds):
        assert not set(folds.unit[folds.learned(fold)]) & set(folds.unit[~folds.learned(fold)])


def test_jackknife_error_of_a_mean_is_that_of_the_textbook():
    values = np.random.default_rng(0).normal(size=12)
    left_out = (values.sum() - values) / 11
    assert jackknife_error(left_out) == pytest.approx(values.std(ddof=1) / np.sqrt(12))
