"""How much of a run copies a recording: replays, noise, and mixed runs against a search in plain numpy."""

import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.markov import MarkovChain
from ethomarkov.simulation.novelty import NEAR, copied_frames, copy_tolerance, fewest_frames, novelty
from ethomarkov.simulation.postures import Repertoire, trace_rows, unfold_blocks
from ethomarkov.simulation.symbols import simulate_symbols
from ethomarkov.simulation.unfold_kernels import mark_copies
from ethomarkov.states import DelayEmbedding, Symbols

RATE, N_DELAYS = 16.0, 5
LEAD = (N_DELAYS - 1) // 2


def white_noise(n=1200, seed=0):
    """Two animals of white noise with two gaps."""
    rows = np.random.default_rng(seed).normal(size=(n, 3)) * [1.0, 5.0, 0.2]
    rows[[250, 251, 800]] = np.nan
    return Series.from_rows(rows, RATE, np.array([0, 500, n]))


def labelled(postures, labels, n_states):
    segments = DelayEmbedding(N_DELAYS).transform(postures).segments
    labels = np.where(segments.valid, labels, -1).astype(np.int32)
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=postures.sampling)


def repertoire_of(postures, block, labels=None, n_states=4):
    """Microstates at random, or one per frame."""
    n = len(postures.values)
    if labels is None:
        labels = np.random.default_rng(1).integers(0, n_states, n)
    symbols = labelled(postures, labels, n_states)
    return Repertoire.from_symbols(postures, symbols, N_DELAYS, block / RATE), symbols


def walks_of(rows_of_labels, block):
    labels = np.asarray(rows_of_labels, dtype=np.int32)
    flat = Series.from_rows(np.zeros(labels.size), RATE / block, np.arange(len(labels) + 1) * labels.shape[1])
    return Symbols(
        labels=labels.ravel(), n_states=int(labels.max()) + 1, segments=flat.segments, sampling=flat.sampling
    )


def searched(recorded, chosen, shape, rows, tolerance):
    """Copies by the definition: all stretches of near frames through the middle of a passage, long enough."""
    (values, runs), (block, lead, middle, fewest) = recorded, shape
    copied = np.zeros(len(rows), dtype=bool)
    for step, begin in enumerate(chosen):
        frame, row = lead + step * block + middle, begin + middle
        frames = np.arange(len(rows))
        sources = row + frames - frame
        inside = (sources >= runs[begin, 0]) & (sources <= runs[begin, 1])
        differs = np.abs(rows - values[np.where(inside, sources, 0)]) > tolerance
        near = inside & ~differs.any(axis=1)
        stretch = np.cumsum(~near)  # frames of a stretch have the same number
        if frame < len(rows) and near[frame]:
            same = near & (stretch == stretch[frame])
            copied |= same & (same.sum() >= fewest)
    return copied


@pytest.mark.parametrize("rate", [0.5, 3.0, 10 / 3, 12.5, 16.0, 29.97, 30.0])
def test_a_copy_is_longer_than_a_second(rate):
    n = fewest_frames(Series.from_rows(np.zeros((4, 1)), rate))
    assert n / rate > 1
    assert (n - 1) / rate <= 1 + 1e-9


def test_the_tolerance_is_a_tenth_of_the_spread_of_what_was_recorded():
    postures = white_noise()
    seen = postures.values[np.isfinite(postures.values).all(axis=1)].astype(float)
    np.testing.assert_allclose(copy_tolerance(postures), NEAR * seen.std(axis=0), rtol=1e-6)
    np.testing.assert_allclose(copy_tolerance(postures), [0.1, 0.5, 0.02], rtol=0.1)


@pytest.mark.parametrize("method", ["matched", "paper-filled"])
@pytest.mark.parametrize("block", [1, 3, 5])
def test_a_replay_is_not_new(method, block):
    """With one microstate per frame a walk that steps on replays the recording, however short its passages are."""
    postures = white_noise()
    repertoire, _ = repertoire_of(postures, block, np.arange(1200), 1200)
    walks = walks_of([np.arange(600, 780, block)[:30], np.arange(20, 200, block)[:30]], block)
    runs = next(unfold_blocks(walks, repertoire, method=method))
    rows = trace_rows(walks, repertoire, method=method)
    np.testing.assert_array_equal(novelty(runs, rows, repertoire, method=method), [0.0, 0.0])


def test_every_run_has_its_own_novelty():
    """Of three runs through the same repertoire the second is a replay, the others jump at every step."""
    block = 4
    postures = white_noise()
    repertoire, _ = repertoire_of(postures, block, np.arange(1200), 1200)
    rng = np.random.default_rng(3)
    jumps = rng.integers(10, 200, (2, 40))
    walks = walks_of([jumps[0], np.arange(600, 760, block), jumps[1]], block)
    runs = next(unfold_blocks(walks, repertoire))
    found = novelty(runs, trace_rows(walks, repertoire), repertoire)
    np.testing.assert_array_equal(found, [1.0, 0.0, 1.0])


@pytest.mark.parametrize("method", ["matched", "paper", "paper-filled"])
def test_noise_in_passages_shorter_than_a_second_is_new(method):
    postures = white_noise()
    repertoire, symbols = repertoire_of(postures, 8)
    walks = simulate_symbols(MarkovChain.from_symbols(symbols, 0.5), 60.0, n_walks=5, rng=2)
    runs = next(unfold_blocks(walks, repertoire, rng=2, method=method))
    found = novelty(runs, trace_rows(walks, repertoire, rng=2, method=method), repertoire, method=method)
    np.testing.assert_array_equal(found, np.ones(5))


def test_noise_in_passages_longer_than_a_second_is_new_where_they_meet():
    """Five frames are mixed at a joint, but the outermost two, to 0.07, may hide in the tolerance; all else is a copy.

    Where the recorded continuation is taken, nothing is mixed. The last passage may outlast its recording.
    """
    block, n_steps = 40, 100
    postures = white_noise(6000)
    repertoire, symbols = repertoire_of(postures, block)
    chain = MarkovChain.from_symbols(symbols, block / RATE)
    walks = simulate_symbols(chain, n_steps * chain.lag, n_walks=3, rng=4)
    runs = next(unfold_blocks(walks, repertoire, rng=4))
    rows = trace_rows(walks, repertoire, rng=4)
    n_joints = np.array([np.count_nonzero(np.diff(own) != block) for own in rows])
    assert (n_joints > 0.9 * n_steps).all()
    n_new = novelty(runs, rows, repertoire) * n_steps * block
    assert (n_new >= 3 * n_joints * 0.95).all()
    assert (n_new <= 5 * n_joints + block).all()


def test_a_copy_ends_with_the_recording():
    """Values that go on as before in the next animal, or after a gap, are no longer the same recording."""
    ramp = np.arange(300.0)
    postures = Series.from_rows(np.where(np.arange(300) == 220, np.nan, ramp), RATE, np.array([0, 120, 300]))
    repertoire, _ = repertoire_of(postures, 10, np.zeros(300), 1)
    tolerance = np.array([0.25])
    for begin, end in ((90, 120), (190, 220)):
        values = np.arange(begin - LEAD, begin - LEAD + 50, dtype=np.float32)[:, None]
        rows = begin + 10 * np.arange(3)
        copied = copied_frames(values, rows, repertoire, "matched", tolerance)
        np.testing.assert_array_equal(copied, values[:, 0] < end)


def test_the_tolerance_decides_what_is_near():
    """Noise of a twentieth of the spread leaves a copy a copy; with a smaller tolerance, or more noise, it is new."""
    postures = white_noise()
    repertoire, _ = repertoire_of(postures, 10)
    spread = copy_tolerance(postures) / NEAR
    rows = (20 + 10 * np.arange(15),)
    noise = np.random.default_rng(0).choice([-1.0, 1.0], (150, 3)) * spread
    recorded = postures.values[20 - LEAD : 170 - LEAD].astype(float)

    def new(noisy, **options):
        return novelty(Series.from_rows(recorded + noisy * noise, RATE), rows, repertoire, **options)[0]

    assert new(0.05) == 0.0
    assert new(0.05, tolerance=0.04 * spread) == 1.0
    assert new(0.11) == 1.0
    only_one = np.array([0.0, 0.11, 0.0])  # every component must be near
    assert new(only_one) == 1.0


def test_half_of_a_run_may_be_a_copy():
    """40 copied frames of 100, and 16 more that are a second and no longer."""
    postures = white_noise()
    repertoire, _ = repertoire_of(postures, 10)
    values = np.full((100, 3), 100.0)
    values[:40] = postures.values[20 - LEAD : 60 - LEAD]
    values[60:76] = postures.values[80 - LEAD : 96 - LEAD]
    rows = (20 + 10 * np.arange(10),)
    assert novelty(Series.from_rows(values, RATE), rows, repertoire)[0] == pytest.approx(0.6)
    values[76] = postures.values[96 - LEAD]
    assert novelty(Series.from_rows(values, RATE), rows, repertoire)[0] == pytest.approx(0.43)


@pytest.mark.parametrize("seed", range(12))
def test_mixed_runs_against_a_search_by_definition(seed):
    """Pieces of recordings, longer or shorter, some disturbed, with gaps and ends of recordings in between."""
    rng = np.random.default_rng(seed)
    n, block, fewest = 400, int(rng.integers(2, 12)), int(rng.integers(1, 20))
    valid = rng.random(n) > 0.01
    postures = Series.from_rows(np.where(valid, np.cumsum(rng.normal(size=n)), np.nan), RATE, np.array([0, 150, n]))
    runs = repertoire_of(postures, block, np.zeros(n), 1)[0].runs
    n_steps, lead, middle = 40, int(rng.integers(0, 3)), int(rng.integers(0, block))
    usable = np.flatnonzero(postures.segments.valid)
    chosen = rng.choice(usable, n_steps)
    for step in range(1, n_steps):  # three of four passages go on where the last one ended, where they can
        goes_on = chosen[step - 1] + block
        if rng.random() < 0.75 and goes_on <= runs[chosen[step - 1], 1]:
            chosen[step] = goes_on
    sources = np.repeat(chosen, block) + np.tile(np.arange(block), n_steps) - lead
    rows = postures.values[np.clip(sources, 0, n - 1)].copy()
    rows[~np.isfinite(rows)] = 0.0
    rows[rng.random(len(rows)) < 0.02] += 5.0
    tolerance, shape = np.array([1e-3]), (block, lead, middle, fewest)
    found = np.zeros(len(rows), dtype=bool)
    mark_copies((postures.values, runs), chosen, shape, rows, tolerance, found)
    expected = searched((postures.values, runs), chosen, shape, rows, tolerance)
    assert 0 < expected.mean() < 1
    np.testing.assert_array_equal(found, expected)
