"""Unfolded postures: every block is a recorded sequence of its microstate."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.signal import savgol_filter, welch

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.io import read
from ethomarkov.markov import MarkovChain
from ethomarkov.posture import PostureBasis, find_events
from ethomarkov.simulation import Repertoire, simulate_symbols, unfold_blocks, unfold_postures
from ethomarkov.states import DelayEmbedding, Partition, Symbols
from ethomarkov.synthetic import WormModel, simulate_worms


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
def test_every_block_is_a_recorded_sequence_of_its_microstate(n_delays, block):
    """Sequences longer than a block are cut at its end; frames between sequences are missing."""
    postures, symbols = recorded(n_delays)
    walk = np.random.default_rng(1).integers(0, 8, 200)
    unfolded = unfold_postures(
        walk_of(walk, 16.0 / block, n_walks=4), postures, symbols, n_delays, rng=3, method="paper-raw"
    )
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
            assert np.isnan(values[k * block + length : (k + 1) * block]).all()


def test_members_are_drawn_evenly():
    postures, symbols = recorded(4)
    unfolded = unfold_postures(walk_of(np.full(6000, 2), 4.0), postures, symbols, 4, rng=0, method="paper-raw")
    first = np.round(unfolded.values[::4, 0]).astype(int)
    drawn = np.bincount(first + 1, minlength=600)
    members = symbols.labels == 2
    assert drawn[~members].sum() == 0
    expected = 6000 / members.sum()
    assert ((drawn[members] - expected) ** 2 / expected).sum() < members.sum() + 4 * np.sqrt(2 * members.sum())


def test_missing_frames_are_filled_smoothly():
    """A straight line in time is recovered where the drawn sequences follow each other on it."""
    postures = Series.from_rows(np.arange(50.0), 16.0)
    segments = DelayEmbedding(11).transform(postures).segments
    labels = np.full(50, -1, dtype=np.int32)
    labels[segments.valid] = np.arange(segments.valid.sum())
    symbols = Symbols(labels=labels, n_states=40, segments=segments, sampling=postures.sampling)
    unfolded = unfold_postures(
        walk_of([0, 12, 24, 36], 16.0 / 12, n_states=40), postures, symbols, 11, method="paper-filled"
    )
    np.testing.assert_allclose(unfolded.values[:, 0], np.arange(48), atol=1e-4)


def test_smoothing_leaves_cubics_alone():
    time = np.linspace(-1, 1, 120)
    postures = Series.from_rows(np.stack([time**3, 1 - time**2], axis=1), 16.0)
    labels = np.full(120, -1, dtype=np.int32)
    labels[29] = 0
    symbols = Symbols(labels=labels, n_states=1, segments=Segments.from_valid(labels >= 0), sampling=postures.sampling)
    unfolded = unfold_postures(walk_of([0], 16.0 / 60, n_states=1), postures, symbols, 60, method="paper")
    np.testing.assert_allclose(unfolded.values, postures.values[:60], atol=1e-5)


def test_smoothing_is_that_of_savitzky_and_golay():
    """A step is blurred over five frames on either side, with the weights of the cubic filter of 11 frames."""
    postures = Series.from_rows(np.repeat([0.0, 1.0], 40), 16.0)
    labels = np.repeat([0, 1], 40).astype(np.int32)
    labels[:8], labels[32:48], labels[72:] = -1, -1, -1
    symbols = Symbols(labels=labels, n_states=2, segments=Segments.from_valid(labels >= 0), sampling=postures.sampling)
    unfolded = unfold_postures(walk_of([0, 1], 1.0, n_states=2), postures, symbols, 16, method="paper").values[:, 0]
    weights = np.array([-36, 9, 44, 69, 84, 89, 84, 69, 44, 9, -36]) / 429
    np.testing.assert_allclose(unfolded[11:22], np.cumsum(weights), atol=1e-6)
    np.testing.assert_allclose(unfolded[:11], 0, atol=1e-6)


@pytest.mark.parametrize("method", ["matched", "paper", "paper-filled"])
@pytest.mark.parametrize("n_delays", [1, 4, 11, 12, 30])
def test_shape_and_duration(n_delays, method):
    postures, symbols = recorded(n_delays)
    walk = walk_of(np.zeros(80), 16.0 / 12, n_walks=2)
    unfolded = unfold_postures(walk, postures, symbols, n_delays, method=method)
    assert unfolded.segments.n_individuals == 2
    assert unfolded.sampling == postures.sampling
    assert np.isfinite(unfolded.values).all()
    frames = np.diff(unfolded.segments.offsets)
    assert frames.tolist() == [480, 480]


def test_the_same_seed_gives_the_same_postures():
    postures, symbols = recorded(11)
    walk = walk_of(np.random.default_rng(0).integers(0, 8, 30), 16.0 / 12)
    first, again, other = (unfold_postures(walk, postures, symbols, 11, rng=k).values for k in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("method", ["matched", "paper-raw"])
def test_only_the_given_animal_is_drawn_from(method):
    postures, symbols = recorded(4)
    unfolded = unfold_postures(walk_of(np.arange(200) % 8, 4.0), postures, symbols.mask(1), 4, method=method)
    assert unfolded.values[:, 0].min() >= 250


@pytest.mark.parametrize("absent", [3, 7, -1, 8])
def test_a_microstate_that_was_never_recorded_is_refused(absent):
    postures, symbols = recorded(4)
    symbols = symbols.relabel(np.where(np.arange(8) == absent, -1, np.arange(8)))
    symbols = Symbols(labels=symbols.labels, n_states=8, segments=symbols.segments, sampling=symbols.sampling)
    assert absent not in symbols.labels[symbols.segments.valid]
    with pytest.raises(EthomarkovError):
        unfold_postures(walk_of([0, absent, 1], 4.0), postures, symbols, 4)


# --- the published procedure ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_delays", "block"), [(11, 12), (12, 12), (5, 8)])
def test_published_stages_follow_from_each_other(n_delays, block):
    """The same sequences at every stage: a spline through all frames, extrapolated at the end, then the filter."""
    rng = np.random.default_rng(0)
    _, symbols = recorded(n_delays)
    values = np.cumsum(rng.normal(size=(600, 3)), axis=0)
    values[[100, 101, 350]] = np.nan
    postures = Series.from_rows(values, 16.0, np.array([0, 250, 600]))
    walk = walk_of(rng.integers(0, 8, 60), 16.0 / block, n_walks=2)
    raw, filled, smooth = (
        unfold_postures(walk, postures, symbols, n_delays, rng=1, method=method).values.reshape(2, -1, 3)
        for method in ("paper-raw", "paper-filled", "paper")
    )
    assert raw.shape == (2, 30 * block, 3)
    for i in range(2):
        at = np.flatnonzero(np.isfinite(raw[i, :, 0]))
        expected = CubicSpline(at, raw[i, at].astype(float))(np.arange(30 * block))
        np.testing.assert_allclose(filled[i], expected, rtol=1e-5, atol=1e-4)
        np.testing.assert_allclose(smooth[i], savgol_filter(expected, 11, 3, axis=0), rtol=1e-5, atol=1e-4)


def test_published_walks_begin_with_the_first_sequence_of_their_microstate():
    postures, symbols = recorded(4)
    labels = np.random.default_rng(0).integers(0, 8, 40)
    raw = unfold_postures(walk_of(labels, 4.0, n_walks=10), postures, symbols, 4, method="paper-raw").values
    first = [np.flatnonzero(symbols.labels == label)[0] - 1 for label in labels[::4]]
    np.testing.assert_array_equal(raw[::16, 0], first)


def test_a_walk_too_short_to_fill_holds_its_posture():
    postures, symbols = recorded(1)
    filled = unfold_postures(walk_of([2], 4.0), postures, symbols, 1, method="paper").values[:, 0]
    np.testing.assert_array_equal(filled, np.full(4, np.flatnonzero(symbols.labels == 2)[0]))


# --- matched passages -------------------------------------------------------------------------------------------------


def every_row_its_own_state(n_delays, n=400, seed=0):
    rows = np.cumsum(np.random.default_rng(seed).normal(size=(n, 3)), axis=0)
    rows[[150, 151]] = np.nan
    postures = Series.from_rows(rows, 16.0)
    segments = DelayEmbedding(n_delays).transform(postures).segments
    labels = np.where(segments.valid, np.arange(n), -1).astype(np.int32)
    return postures, Symbols(labels=labels, n_states=n, segments=segments, sampling=postures.sampling)


@pytest.mark.parametrize(("n_delays", "block"), [(1, 1), (1, 12), (5, 12), (11, 12), (12, 12), (30, 12), (11, 3)])
def test_a_recorded_walk_unfolds_to_the_recording(n_delays, block):
    """Where each microstate holds one sequence, steps of the recording give its frames back, seams and all."""
    postures, symbols = every_row_its_own_state(n_delays)
    walk = np.arange(170, 350, block)
    unfolded = unfold_postures(walk_of(walk, 16.0 / block, n_states=400), postures, symbols, n_delays).values
    first = 170 - (n_delays - 1) // 2
    np.testing.assert_allclose(unfolded, postures.values[first : first + len(unfolded)], rtol=1e-6, atol=1e-6)


def test_passages_fade_into_each_other_within_a_sequence():
    """By hand: K = 5, so that five frames around the middle of the second sequence mix both passages."""
    postures, symbols = every_row_its_own_state(5)
    labels = symbols.labels.copy()
    labels[[20, 60]] = 20  # two passages 10 → 20 and 60 → 70 meet in one microstate
    symbols = Symbols(labels=labels, n_states=400, segments=symbols.segments, sampling=symbols.sampling)
    unfolded = unfold_postures(walk_of([10, 20, 70], 1.6, n_states=400), postures, symbols, 5).values
    weight = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, 6) / 6)
    values = postures.values
    np.testing.assert_allclose(unfolded[:10], values[8:18], rtol=1e-6)
    expected = (1 - weight)[:, None] * values[18:23] + weight[:, None] * values[58:63]
    np.testing.assert_allclose(unfolded[10:15], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(unfolded[15:], values[63:78], rtol=1e-6)


def test_steps_that_were_never_recorded_stay_within_the_recording():
    """Passages are held at the end of a run rather than read across a gap."""
    postures, symbols = every_row_its_own_state(5)
    walk = np.random.default_rng(0).choice(np.flatnonzero(symbols.labels >= 0), 300)
    unfolded = unfold_postures(walk_of(walk, 16.0 / 12, n_states=400), postures, symbols, 5).values
    assert np.isfinite(unfolded).all()
    assert unfolded.min() >= np.nanmin(postures.values)
    assert unfolded.max() <= np.nanmax(postures.values)


def test_neither_blocks_nor_threads_matter():
    postures, symbols = recorded(11)
    walk = walk_of(np.random.default_rng(0).integers(0, 8, 210), 16.0 / 12, n_walks=7)
    repertoire = Repertoire.from_symbols(postures, symbols, 11, 0.75)
    for method in ("matched", "paper", "paper-raw"):
        whole = unfold_postures(walk, postures, symbols, 11, rng=3, method=method)
        for size, threads in ((1, 1), (3, 2), (7, 3), (50, 1)):
            options = {"walks_per_block": size, "rng": 3, "method": method, "threads": threads}
            parts = list(unfold_blocks(walk, repertoire, **options))
            np.testing.assert_array_equal(np.concatenate([part.values for part in parts]), whole.values)
            assert [name for part in parts for name in part.segments.individuals] == list(walk.segments.individuals)
            assert max(part.segments.n_individuals for part in parts) == min(size, 7)


def test_walks_and_passages_of_one_seed_are_independent():
    """The draw of a step says nothing about the draw of its sequence."""
    postures, symbols = recorded(4, n_states=2)
    chain = MarkovChain.from_symbols(symbols, 0.25)
    walks = simulate_symbols(chain, 2500.0, rng=0)
    raw = unfold_postures(walks, postures, symbols, 4, rng=0, method="paper-raw").values[::4, 0]
    rank = np.empty(raw.size)
    for label in (0, 1):
        rank[walks.labels == label] = np.argsort(np.argsort(raw[walks.labels == label])) / (walks.labels == label).sum()
    for shift in (0, 1):
        found = np.corrcoef(rank[: raw.size - shift], walks.labels[shift:] == 1)[0, 1]
        assert abs(found) < 4 / np.sqrt(raw.size)


def test_symbols_of_shorter_sequences_are_refused():
    postures, symbols = recorded(4)
    with pytest.raises(EthomarkovError):
        unfold_postures(walk_of([0, 1], 4.0), postures, symbols, 30)


@pytest.mark.parametrize("rate", [16.0 / 1.5, 40.0, 16.0 / 8])
def test_steps_that_do_not_fit_are_refused(rate):
    postures, symbols = recorded(4)
    repertoire = Repertoire.from_symbols(postures, symbols, 4, 0.25)
    with pytest.raises(EthomarkovError):
        unfold_blocks(walk_of([0, 1], rate), repertoire)


# --- statistics of a synthetic worm -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def worm():
    """Postures of a worm, and those simulated from it by either method."""
    made = simulate_worms(1, 900.0, model=WormModel(missing=0.0), seed=4)
    postures = PostureBasis.analytic().project(made.recording)
    sequences = DelayEmbedding(11).transform(postures)
    symbols = Partition(400).fit(sequences).label(sequences)
    walks = simulate_symbols(MarkovChain.from_symbols(symbols, 0.75), 900.0, n_walks=10, rng=0)
    methods = ("matched", "paper")
    return postures, {method: unfold_postures(walks, postures, symbols, 11, rng=0, method=method) for method in methods}


def comb_height(series):
    """Power of the posture's speed at 1.33, 2.67 and 4 Hz over that of its neighbours, the largest of the three."""
    power = 0
    for start, stop, _ in series.segments:
        speed = np.linalg.norm(np.diff(series.values[start:stop].astype(float), axis=0), axis=1)
        frequency, found = welch(speed, series.sampling.rate, nperseg=1024)
        power = power + found
    heights = []
    for line in (4 / 3, 8 / 3, 4.0):
        away = np.abs(frequency - line)
        heights.append(power[away < 0.03].max() / np.median(power[(away > 0.06) & (away < 0.25)]))
    return max(heights)


def test_steps_leave_no_comb_in_the_spectrum(worm):
    _, unfolded = worm
    assert comb_height(unfolded["paper"]) > 4
    assert comb_height(unfolded["matched"]) < 1.5


def test_matched_passages_keep_the_distribution_of_every_mode(worm):
    postures, unfolded = worm
    data, found = postures.values, unfolded["matched"].values
    np.testing.assert_allclose(found.std(axis=0), data.std(axis=0), rtol=0.1)
    np.testing.assert_allclose(found.mean(axis=0), data.mean(axis=0), atol=0.1 * data.std(axis=0).max())


def test_fast_changes_are_those_of_the_recording(worm):
    """Above the rate of steps the published procedure has too much power; matched passages come nearer."""
    postures, unfolded = worm

    def fast_power(series):
        return np.mean([np.square(np.diff(series.values[a:b], 2, axis=0)).mean() for a, b, _ in series.segments])

    excess = {name: abs(np.log(fast_power(series) / fast_power(postures))) for name, series in unfolded.items()}
    assert excess["matched"] < excess["paper"]


@pytest.mark.real
@pytest.mark.slow
def test_reversals_of_a_real_worm_are_as_frequent_as_recorded(shared_data):
    """Seams of the published procedure look like reversals: about a quarter too many, half of it without seams."""
    basis = PostureBasis.from_file(shared_data("eigenworms.csv"), n_modes=5)
    postures = basis.project(read(shared_data("worm6.npz")))
    sequences = DelayEmbedding(11).transform(postures)
    symbols = Partition(1000).fit(sequences).label(sequences)
    walks = simulate_symbols(MarkovChain.from_symbols(symbols, 0.75), 2100.0, n_walks=10, rng=1)
    excess = {}
    for method in ("matched", "paper"):
        rates = find_events(unfold_postures(walks, postures, symbols, 11, rng=2, method=method)).rates().mean(axis=0)
        excess[method] = rates[0] / find_events(postures).rates()[0, 0] - 1
    assert abs(excess["matched"]) < 0.17
    assert excess["paper"] - excess["matched"] > 0.08
