"""Unfolded postures: every block is a recorded sequence of its microstate."""

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov import MarkovChain
from ethomarkov.posture import PostureBasis
from ethomarkov.simulation import simulate_symbols, unfold_postures
from ethomarkov.states import DelayEmbedding, Partition, Symbols
from ethomarkov.synthetic import WormModel, simulate_worms

UNSMOOTHED = "ethomarkov.simulation.postures.SMOOTHING_FRAMES"


def recorded(n_delays, n=600, n_states=8, seed=0):
    """Frame k holds the number k, so that a posture tells where it comes from; the labels are random."""
    rows = np.stack([np.arange(n), -np.arange(n)], axis=1).astype(float)
    rows[[100, 101, 350]] = np.nan
    postures = Series.from_rows(rows, 16.0, np.array([0, 250, n]))
    segments = DelayEmbedding(n_delays).transform(postures).segments
    labels = np.where(segments.valid, np.random.default_rng(seed).integers(0, n_states, n), -1).astype(np.int32)
    return postures, Symbols(labels=labels, n_states=n_states, segments=segments, sampling=postures.sampling)


def walk_of(labels, rate, n_walks=1, n_states=8):
    labels = np.asarray(labels, dtype=np.int32)
    offsets = np.linspace(0, labels.size, n_walks + 1).astype(int)
    segments = Segments.from_valid(np.ones(labels.size, dtype=bool), offsets)
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(rate))


@pytest.mark.parametrize(("n_delays", "block"), [(11, 12), (12, 12), (5, 12), (6, 8), (11, 4)])
def test_every_block_is_a_recorded_sequence_of_its_microstate(monkeypatch, n_delays, block):
    """Seen before smoothing. Sequences longer than a block are cut at its end."""
    monkeypatch.setattr(UNSMOOTHED, 10**9)
    postures, symbols = recorded(n_delays)
    walk = np.random.default_rng(1).integers(0, 8, 200)
    unfolded = unfold_postures(walk_of(walk, 16.0 / block, n_walks=4), postures, symbols, n_delays, rng=3)
    length = min(n_delays, block)
    per_walk = unfolded.values.reshape(4, -1, 2)
    for values, labels in zip(per_walk, walk.reshape(4, 50), strict=True):
        for k, label in enumerate(labels):
            piece = values[k * block : k * block + length]
            first = round(float(piece[0, 0]))
            np.testing.assert_allclose(piece[:, 0], first + np.arange(length), atol=1e-3)
            np.testing.assert_allclose(piece[:, 1], -piece[:, 0], atol=1e-3)
            assert symbols.labels[first + (n_delays - 1) // 2] == label
            assert first in symbols.segments.window_starts(1) - (n_delays - 1) // 2


def test_members_are_drawn_evenly(monkeypatch):
    monkeypatch.setattr(UNSMOOTHED, 10**9)
    postures, symbols = recorded(4)
    unfolded = unfold_postures(walk_of(np.full(6000, 2), 4.0), postures, symbols, 4, rng=0)
    first = np.round(unfolded.values[::4, 0]).astype(int)
    drawn = np.bincount(first + 1, minlength=600)
    members = symbols.labels == 2
    assert drawn[~members].sum() == 0
    expected = 6000 / members.sum()
    assert ((drawn[members] - expected) ** 2 / expected).sum() < members.sum() + 4 * np.sqrt(2 * members.sum())


def test_missing_frames_are_filled_smoothly(monkeypatch):
    """A straight line in time is recovered where the drawn sequences follow each other on it."""
    monkeypatch.setattr(UNSMOOTHED, 10**9)
    postures = Series.from_rows(np.arange(50.0), 16.0)
    segments = DelayEmbedding(11).transform(postures).segments
    labels = np.full(50, -1, dtype=np.int32)
    labels[segments.valid] = np.arange(segments.valid.sum())
    symbols = Symbols(labels=labels, n_states=40, segments=segments, sampling=postures.sampling)
    unfolded = unfold_postures(walk_of([0, 12, 24, 36], 16.0 / 12, n_states=40), postures, symbols, 11)
    np.testing.assert_allclose(unfolded.values[:, 0], np.arange(47), atol=1e-4)


def test_smoothing_leaves_cubics_alone():
    time = np.linspace(-1, 1, 120)
    postures = Series.from_rows(np.stack([time**3, 1 - time**2], axis=1), 16.0)
    labels = np.full(120, -1, dtype=np.int32)
    labels[29] = 0
    symbols = Symbols(labels=labels, n_states=1, segments=Segments.from_valid(labels >= 0), sampling=postures.sampling)
    unfolded = unfold_postures(walk_of([0], 16.0 / 60, n_states=1), postures, symbols, 60)
    np.testing.assert_allclose(unfolded.values, postures.values[:60], atol=1e-5)


def test_smoothing_is_that_of_savitzky_and_golay():
    """A step is blurred over five frames on either side, with the weights of the cubic filter of 11 frames."""
    postures = Series.from_rows(np.repeat([0.0, 1.0], 40), 16.0)
    labels = np.repeat([0, 1], 40).astype(np.int32)
    labels[:8], labels[32:48], labels[72:] = -1, -1, -1
    symbols = Symbols(labels=labels, n_states=2, segments=Segments.from_valid(labels >= 0), sampling=postures.sampling)
    unfolded = unfold_postures(walk_of([0, 1], 1.0, n_states=2), postures, symbols, 16).values[:, 0]
    weights = np.array([-36, 9, 44, 69, 84, 89, 84, 69, 44, 9, -36]) / 429
    np.testing.assert_allclose(unfolded[11:22], np.cumsum(weights), atol=1e-6)
    np.testing.assert_allclose(unfolded[:11], 0, atol=1e-6)


def test_shape_and_duration():
    postures, symbols = recorded(11)
    unfolded = unfold_postures(walk_of(np.zeros(80), 16.0 / 12, n_walks=2), postures, symbols, 11)
    assert unfolded.segments.n_individuals == 2
    assert unfolded.sampling == postures.sampling
    assert np.isfinite(unfolded.values).all()
    frames = np.diff(unfolded.segments.offsets)
    assert (frames == frames[0]).all()
    assert abs(frames[0] - 40 * 12) <= 1


def test_the_same_seed_gives_the_same_postures():
    postures, symbols = recorded(11)
    walk = walk_of(np.random.default_rng(0).integers(0, 8, 30), 16.0 / 12)
    first, again, other = (unfold_postures(walk, postures, symbols, 11, rng=k).values for k in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_only_the_given_animal_is_drawn_from(monkeypatch):
    monkeypatch.setattr(UNSMOOTHED, 10**9)
    postures, symbols = recorded(4)
    unfolded = unfold_postures(walk_of(np.arange(200) % 8, 4.0), postures, symbols.of(1), 4)
    assert unfolded.values[:, 0].min() >= 250


@pytest.mark.parametrize("absent", [3, 7])
def test_a_microstate_that_was_never_recorded_is_refused(absent):
    postures, symbols = recorded(4)
    symbols = symbols.relabel(np.where(np.arange(8) == absent, -1, np.arange(8)))
    symbols = Symbols(labels=symbols.labels, n_states=8, segments=symbols.segments, sampling=symbols.sampling)
    with pytest.raises(EthomarkovError):
        unfold_postures(walk_of([0, absent, 1], 4.0), postures, symbols, 4)


def test_the_spread_of_every_mode_is_kept():
    worms = simulate_worms(1, 400.0, model=WormModel(missing=0.0), seed=4)
    postures = PostureBasis.analytic().project(worms.recording)
    sequences = DelayEmbedding(11).transform(postures)
    symbols = Partition(200).fit(sequences).label(sequences)
    chain = MarkovChain.from_symbols(symbols, 0.75)
    walks = simulate_symbols(chain, 400.0, n_walks=5, rng=0)
    unfolded = unfold_postures(walks, postures, symbols, 11, rng=0)
    np.testing.assert_allclose(unfolded.values.std(axis=0), postures.values.std(axis=0), rtol=0.15)
