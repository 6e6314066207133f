"""Scores on units that were left out."""

import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.selection.folds import Folds
from ethomarkov.selection.trial import N_MODES, Scale, future_cells, slowest_modes, try_candidate


def hopping(rate: float, n_frames: int = 4000, n_animals: int = 6, seed: int = 0) -> Series:
    """Two clouds far apart, between which an animal hops with a probability per frame."""
    rng = np.random.default_rng(seed)
    hops = rng.random((n_animals, n_frames)) < rate
    states = (np.cumsum(hops, axis=1) + rng.integers(2, size=(n_animals, 1))) % 2
    rows = (10.0 * states + rng.normal(size=states.shape)).reshape(-1, 1)
    return Series.from_rows(rows, 10.0, np.arange(n_animals + 1) * n_frames)


def trial_of(series: Series, candidate: tuple[int, int], reach: int = 8, seed: int = 0):
    folds, scale = Folds.from_segments(series.segments), Scale.from_reach(reach)
    future = future_cells(series, folds, scale.block, seed)
    return try_candidate(series, folds, scale, candidate, seed, future=future), scale


def test_modes_are_those_of_the_symmetrised_chain():
    counts = np.random.default_rng(1).integers(1, 30, (12, 12)).astype(float)
    flux = counts + counts.T
    weight = flux.sum(axis=1)
    modes = slowest_modes(counts)
    values, vectors = np.linalg.eig(flux / weight[:, None])
    order = np.argsort(-values.real)[1 : N_MODES + 1]
    for mode, k in zip(modes, order, strict=True):
        other = vectors[:, k].real
        assert abs(np.corrcoef(mode, other)[0, 1]) == pytest.approx(1, abs=1e-9)
        assert (weight @ mode**2) / weight.sum() == pytest.approx(1)
        assert weight @ mode == pytest.approx(0, abs=1e-6 * weight.sum())


def test_states_that_were_never_seen_have_no_mode():
    counts = np.zeros((5, 5))
    counts[:3, :3] = [[8, 1, 1], [1, 8, 1], [1, 1, 8]]
    assert (slowest_modes(counts)[:, 3:] == 0).all()
    assert (slowest_modes(np.zeros((3, 3))) == 0).all()


def test_memory_of_a_two_state_system_is_its_eigenvalue_to_the_power_of_the_lag():
    rate = 0.02
    found, scale = trial_of(hopping(rate), (1, 6))
    expected = (1 - 2 * rate) ** np.array(scale.far)
    assert found.autocorrelation()[0] == pytest.approx(expected, abs=0.06)
    assert abs(found.autocorrelation()[1]).max() < 0.06  # nothing else is slow


def test_white_noise_has_neither_memory_nor_information():
    rows = np.random.default_rng(2).normal(size=(24_000, 2))
    found, _ = trial_of(Series.from_rows(rows, 10.0, np.arange(7) * 4000), (3, 20))
    assert abs(found.memory()).max() < 0.03
    assert found.nats() < 0.0  # what is learned from noise costs on data left out


def test_what_is_predicted_does_not_depend_on_the_candidate():
    series = hopping(0.05)
    folds = Folds.from_segments(series.segments)
    cells = future_cells(series, folds, 4, 0)
    assert (cells[3997:4000] == -1).all()  # no block crosses from one animal to the next
    assert (cells[:3990] >= 0).all()
    assert np.array_equal(cells, future_cells(series, folds, 4, 0))


def test_units_can_be_left_out_of_the_scores():
    found, _ = trial_of(hopping(0.05), (1, 6))
    without = np.ones(6)
    without[2] = 0
    kept = [k for k in range(6) if k != 2]
    assert found.nats(without) == pytest.approx(found.information[kept].sum() / found.n_blocks[kept].sum())
