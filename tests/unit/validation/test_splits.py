import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.posture import PostureBasis
from ethomarkov.states import Symbols
from ethomarkov.validation import splits as splits_module
from ethomarkov.validation.splits import (
    Comparison,
    FitSettings,
    Split,
    block_splits,
    cross_validate,
    cut_out,
    learn,
    leave_out_splits,
    measure_leak,
    time_blocks,
    worm_statistics,
)


@st.composite
def segments_with_gaps(draw):
    lengths = draw(st.lists(st.integers(20, 60), min_size=1, max_size=3))
    valid = np.array(draw(st.lists(st.booleans(), min_size=sum(lengths), max_size=sum(lengths))))
    return Segments.from_valid(valid, np.concatenate([[0], np.cumsum(lengths)]))


@settings(max_examples=60, deadline=None)
@given(segments_with_gaps(), st.integers(2, 10), st.integers(1, 7), st.integers(0, 5))
def test_no_window_and_no_pair_crosses_a_junction_or_a_gap(segments, n_blocks, reach, seed):
    block = time_blocks(segments, n_blocks)
    for split in block_splits(segments, n_blocks, 1, 3, rng=seed):
        for part, flag in ((split.train, ~split.held_out), (split.test, split.held_out)):
            first, last = part.pairs(reach)
            starts = part.window_starts(reach + 1)
            np.testing.assert_array_equal(first, starts)
            for a, b in zip(first, last, strict=True):
                between = slice(a, b + 1)
                assert flag[between].all()
                assert segments.valid[between].all()
                assert np.unique(segments.row_individual[between]).size == 1
                assert np.diff(block[between]).max() <= 1


@settings(max_examples=60, deadline=None)
@given(segments_with_gaps(), st.integers(2, 10), st.integers(0, 5))
def test_every_frame_is_used_exactly_once(segments, n_blocks, seed):
    for split in block_splits(segments, n_blocks, n_blocks // 2, 3, rng=seed):
        used = split.train.valid.astype(int) + split.test.valid.astype(int)
        np.testing.assert_array_equal(used, segments.valid.astype(int))


def test_neighbouring_training_blocks_are_joined():
    segments = Segments.from_valid(np.ones(40, dtype=bool))
    held_out = np.arange(40) // 10 == 3
    split = Split.from_held_out(segments, held_out, "last")
    assert split.train.bounds.tolist() == [[0, 30, 0]]
    assert split.test.bounds.tolist() == [[30, 40, 0]]


def test_three_of_ten_blocks_are_thirty_percent_of_every_animal():
    segments = Segments.from_valid(np.ones(300, dtype=bool), np.array([0, 100, 300]))
    for split in block_splits(segments, rng=1):
        np.testing.assert_array_equal(split.test.count_rows(), [30, 60])


def test_draws_are_reproducible_and_differ_between_repeats_and_animals():
    segments = Segments.from_valid(np.ones(200, dtype=bool), np.array([0, 100, 200]))
    first, again, other = (
        np.array([split.held_out for split in block_splits(segments, rng=seed)]) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert np.unique(first, axis=0).shape[0] > 45
    assert (first[:, :100] != first[:, 100:]).any()
    # Every block is held out about 15 times in 50.
    assert np.all(np.abs(first.mean(axis=0) - 0.3) < 0.25)


def test_one_animal_after_the_other_is_left_out_and_blocks_of_a_single_one():
    valid = np.ones(60, dtype=bool)
    valid[20:40] = False  # the second animal was never seen
    three = Segments.from_valid(valid, np.array([0, 20, 40, 60]), ("a", "b", "c"))
    splits = leave_out_splits(three)
    assert [split.name for split in splits] == ["a", "c"]
    assert splits[1].test.bounds.tolist() == [[40, 60, 2]]
    one = Segments.from_valid(np.ones(60, dtype=bool))
    blocks = leave_out_splits(one, 3)
    assert [split.test.bounds.tolist() for split in blocks] == [[[0, 20, 0]], [[20, 40, 0]], [[40, 60, 0]]]


def test_impossible_splits_are_refused():
    segments = Segments.from_valid(np.ones(8, dtype=bool))
    with pytest.raises(InputFormatError, match="n_test=3 of n_blocks=3"):
        block_splits(segments, 3, 3)
    with pytest.raises(InputFormatError, match="8 frames cannot be cut into n_blocks=10"):
        block_splits(segments)
    with pytest.raises(InputFormatError, match="at least two"):
        leave_out_splits(Segments.from_valid(np.arange(8) < 2), 2)


def wandering(n_animals=2, n_frames=1200, seed=0):
    """Two noisy rings that animals go around, at different speeds, with rare changes between them."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_animals):
        ring = np.cumsum(rng.random(n_frames) < 0.02) % 2
        phase = np.cumsum(np.where(ring == 0, 0.4, -0.25)) + rng.normal(0, 0.05, n_frames).cumsum()
        across = np.where(ring == 0, -12.0, 12.0)
        wave = np.stack([8 * np.cos(phase), 8 * np.sin(phase), across], axis=1)
        rows.append(wave + rng.normal(0, 0.4, wave.shape))
    offsets = np.arange(n_animals + 1) * n_frames
    values = np.concatenate(rows)
    values[100:103] = np.nan
    return Series.from_rows(values, 16.0, offsets, tuple(f"animal {i}" for i in range(n_animals)))


SMALL = FitSettings(n_delays=3, n_states=24, lag=0.25, n_runs=5, max_iterations=5)
STATISTICS = {
    "spread": lambda postures, _: np.nanstd(postures.values, axis=0),
    "occupancy": lambda _, states: states.visits() / states.visits().sum(),
}


def test_shapes_follow_splits_animals_runs_and_the_statistic():
    postures = wandering()
    splits = block_splits(postures.segments, 5, 1, 2, rng=0)
    found = cross_validate(postures, SMALL, splits, STATISTICS)
    assert found.comparisons["spread"].test.shape == (2, 2, 3)
    assert found.comparisons["spread"].simulated.shape == (2, 2, 5, 3)
    assert found.comparisons["occupancy"].simulated.shape == (2, 2, 5, 2)
    assert found.individuals == ("animal 0", "animal 1")
    test = cut_out(postures, splits[1].test).cut(1)
    np.testing.assert_allclose(found.comparisons["spread"].test[1, 1], np.nanstd(test.values, axis=0), rtol=1e-6)
    table = found.table().query("statistic == 'spread' and animal == 'animal 1'")
    np.testing.assert_allclose(table.test_mean, found.comparisons["spread"].test[:, 1].mean(axis=0))
    np.testing.assert_allclose(table.simulated_mean, found.comparisons["spread"].simulated[:, 1].mean(axis=(0, 1)))
    assert found.headline().startswith("2 splits, held out, 2 animals: ")


def test_threads_do_not_change_the_result():
    postures = wandering()
    splits = block_splits(postures.segments, 5, 1, 3, rng=0)
    one, two = (cross_validate(postures, SMALL, splits, STATISTICS, threads=n) for n in (1, 2))
    for name in STATISTICS:
        np.testing.assert_array_equal(one.comparisons[name].simulated, two.comparisons[name].simulated)


def poisoned(postures, split):
    """Put something else into the held-out part."""
    rows = np.array(postures.values)
    held = split.held_out & postures.segments.valid
    rows[held] = 1e4 * np.random.default_rng(9).normal(size=(held.sum(), rows.shape[1]))
    return postures.with_rows(rows)


def test_nothing_leaks_from_the_held_out_part_and_the_published_way_leaks():
    postures = wandering()
    (split,) = block_splits(postures.segments, 5, 2, 1, rng=0)
    spoiled = poisoned(postures, split)
    models = [learn(cut_out(one, split.train), SMALL) for one in (postures, spoiled)]
    np.testing.assert_array_equal(models[0].microstates.centers, models[1].microstates.centers)
    np.testing.assert_array_equal(models[0].tree.states_at(2), models[1].tree.states_at(2))
    animals = [[model.animal(i) for i in range(len(model.individuals))] for model in models]
    for clean, dirty in zip(*animals, strict=True):
        np.testing.assert_array_equal(clean.chain.transition.toarray(), dirty.chain.transition.toarray())
        np.testing.assert_array_equal(clean.repertoire.rows, dirty.repertoire.rows)
    held_out = [cross_validate(one, SMALL, [split], STATISTICS) for one in (postures, spoiled)]
    for name in STATISTICS:
        simulated = [one.comparisons[name].simulated for one in held_out]
        np.testing.assert_array_equal(simulated[0], simulated[1])
    rule = FitSettings(
        n_delays=3, n_states=24, lag=0.25, n_runs=5, max_iterations=5, min_measure=0.0, as_published=True
    )
    as_published = [
        cross_validate(one, rule, [split], STATISTICS).comparisons["spread"].simulated for one in (postures, spoiled)
    ]
    assert np.abs(as_published[0] - as_published[1]).max() > 0.1


def test_stitched_blocks_mix_as_many_pairs_as_there_are_frames_in_a_lag_less_one():
    # Blocks 0, held out, 1, held out, 0 of twenty frames each, and a lag of four.
    labels = np.repeat([0, 2, 1, 2, 0], 20).astype(np.int32)
    postures = Series.from_rows(labels.astype(float), 4.0)
    symbols = Symbols(labels=labels, n_states=3, segments=postures.segments, sampling=postures.sampling)
    split = Split.from_held_out(postures.segments, labels == 2, "middle")
    animal = splits_module._stitched_animal(0, postures, symbols, FitSettings(n_delays=1, lag=1.0), split)
    np.testing.assert_allclose(animal.chain.transition.toarray(), [[30 / 33, 3 / 33], [3 / 18, 15 / 18]])


def test_simulated_postures_are_those_of_the_training_part_alone():
    # Each animal keeps to a level of its own, and the held-out part to another: no run may reach it.
    postures = wandering()
    rows = np.array(postures.values)
    rows[:, 2] += 100 * postures.segments.row_individual
    (split,) = block_splits(postures.segments, 5, 2, 1, rng=2)
    rows[split.held_out, 2] += 1000
    shifted = postures.with_rows(rows)
    extremes = {"range": lambda series, _: np.array([np.nanmin(series.values[:, 2]), np.nanmax(series.values[:, 2])])}
    found = cross_validate(shifted, SMALL, [split], extremes).comparisons["range"]
    assert found.test.min() > 900
    assert found.simulated[0, 0].max() < 20
    assert found.simulated[0, 1].min() > 80
    assert found.simulated[0, 1].max() < 120


def test_a_chain_that_generates_the_data_is_inside_the_range_as_often_as_it_says():
    rng = np.random.default_rng(0)
    found = Comparison(test=rng.normal(size=(4000, 1, 2)), simulated=rng.normal(size=(4000, 1, 19, 2)))
    assert found.level == pytest.approx(0.9)  # the extremes of 19 runs
    np.testing.assert_allclose(found.inside(), 0.9, atol=0.02)
    assert Comparison(test=np.zeros((1, 1)), simulated=np.zeros((1, 1, 39))).level == pytest.approx(0.95)
    assert Comparison(test=np.zeros((1, 1)), simulated=np.zeros((1, 1, 199))).level == pytest.approx(0.95)


def test_scores_of_a_statistic_by_hand_with_undefined_runs():
    simulated = np.array([1.0, 2.0, np.nan, 3.0])[None, None]
    found = Comparison(test=np.array([[4.0]]), simulated=simulated)
    np.testing.assert_allclose(found.z(), [[2.0]])  # mean 2, spread 1
    np.testing.assert_allclose(found.bias(), [-2.0])
    np.testing.assert_allclose(found.simulated_range(), [[[1.0]], [[3.0]]])
    assert found.inside().tolist() == [0.0]
    assert np.isnan(Comparison(test=np.array([[np.nan]]), simulated=simulated).inside()).all()


def test_an_animal_without_test_frames_is_named():
    postures = wandering()
    rows = np.array(postures.values)
    rows[1200:1440] = np.nan
    postures = postures.with_rows(rows)
    held_out = time_blocks(postures.segments, 5) == 0
    with pytest.raises(SamplingError, match="animal 1 has 0 s of posture"):
        cross_validate(postures, SMALL, [Split.from_held_out(postures.segments, held_out, "first")], STATISTICS)


def test_leaks_are_only_measured_between_a_held_out_one_and_one_as_published():
    postures = wandering(1)
    splits = block_splits(postures.segments, 5, 1, 2, rng=0)
    held_out = cross_validate(postures, SMALL, splits, STATISTICS)
    with pytest.raises(InputFormatError, match="a held-out one, then one as published"):
        measure_leak(held_out, held_out)
    rule = FitSettings(n_delays=3, n_states=24, lag=0.25, n_runs=5, max_iterations=5, as_published=True)
    found = measure_leak(held_out, cross_validate(postures, rule, splits, STATISTICS))
    np.testing.assert_array_equal(found["spread"].bias[0], held_out.comparisons["spread"].bias())


@pytest.mark.real
@pytest.mark.slow
def test_event_rates_of_a_real_worm_are_of_the_right_size_in_held_out_time(shared_data):
    import ethomarkov as em

    basis = PostureBasis.from_file(shared_data("eigenworms.csv"), n_modes=5)
    postures = basis.project(em.read(shared_data("worm6.npz")))
    splits = block_splits(postures.segments, n_repeats=3, rng=0)
    fit = FitSettings(n_states=220, n_runs=20)
    found = cross_validate(postures, fit, splits, worm_statistics(fit.lag), threads=2)
    events = found.comparisons["event rates"]
    np.testing.assert_allclose(events.simulated.mean(axis=(0, 2)), events.test.mean(axis=0), rtol=1.0)
    assert found.unassigned.max() < 0.01
