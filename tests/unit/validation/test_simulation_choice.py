"""The choice of steps and passages: what is tried, what may be taken, and that it holds on small recordings."""

import dataclasses

import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.io.results import load_result, save_results
from ethomarkov.markov import MarkovChain
from ethomarkov.states import DelayEmbedding, Partition, Symbols
from ethomarkov.validation import simulation_choice
from ethomarkov.validation.fidelity import CORRELATION, EVENTS, PARTS, SLOW
from ethomarkov.validation.simulation_choice import (
    LEAST_NEW,
    NEGLIGIBLE,
    SHORTEST,
    TOO_LITTLE,
    SimulationChoice,
    TrialSettings,
    choose_simulation,
)

RATE, N_DELAYS = 16.0, 3
RULE = TrialSettings(n_delays=N_DELAYS)


def turning(n_animals=6, n_frames=1600, seed=0):
    """Animals that go around one of two rings, one way on the first and the other on the second."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_animals):
        ring = np.cumsum(rng.random(n_frames) < 0.03) % 2
        phase = np.cumsum(np.where(ring == 0, 0.35, -0.2) + rng.normal(0, 0.05, n_frames))
        wave = np.stack([np.cos(phase), np.sin(phase), 3.0 * ring - 1.5], axis=1)
        rows.append(wave + rng.normal(0, 0.1, wave.shape))
    values = np.concatenate(rows)
    values[100:103] = np.nan
    return Series.from_rows(values, RATE, np.arange(n_animals + 1) * n_frames)


def labelled(postures, n_states=24):
    sequences = DelayEmbedding(N_DELAYS).transform(postures)
    return Partition(n_states).fit(sequences).label(sequences)


@pytest.fixture(scope="module")
def animals():
    postures = turning()
    return postures, labelled(postures)


@pytest.fixture(scope="module")
def chain(animals):
    return MarkovChain.from_symbols(animals[1], 1.0)


@pytest.fixture(scope="module")
def choice(animals, chain):
    return choose_simulation(chain, *animals, RULE)


def two_levels(n_animals=8, n_frames=1600, *, stays=None, seed=0):
    """Two levels with white noise around them, and their labels: a chain, or stays of so many frames each."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_animals):
        jumps = np.cumsum(rng.random(n_frames) < 0.04) + rng.integers(2)
        regular = (np.arange(n_frames) + rng.integers(2 * stays)) // stays if stays else jumps
        rows.append(regular % 2)
    labels = np.concatenate(rows).astype(np.int32)
    values = 2.0 * labels - 1 + rng.normal(0, 0.3, labels.size)
    postures = Series.from_rows(values, RATE, np.arange(n_animals + 1) * n_frames)
    symbols = Symbols(labels=labels, n_states=2, segments=postures.segments, sampling=postures.sampling)
    return postures, symbols


def taken(found):
    """The rule, from the columns of the table alone."""
    rows = found.rows()
    known = [k for k, row in enumerate(rows) if np.isfinite([row["score"], row["novelty"]]).all()]
    new = [k for k in known if rows[k]["novelty"] >= LEAST_NEW] or known
    best = min(new, key=lambda k: rows[k]["score"])
    fair = [k for k in new if rows[k]["score"] - rows[best]["score"] <= max(rows[k]["error"], NEGLIGIBLE)]
    return max(fair, key=lambda k: rows[k]["novelty"]), fair, new


# --- candidates and the choice between them --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lag_frames", "expected"),
    [
        (12, [(12, 12), (24, 12), (24, 24), (48, 12), (48, 24)]),
        (3, [(3, 3), (6, 3), (6, 6), (12, 3), (12, 6)]),
        (1, [(1, 1), (2, 1), (2, 2), (4, 1), (4, 2)]),
    ],
)
def test_candidates(lag_frames, expected):
    assert simulation_choice._candidates(lag_frames, "matched") == expected
    assert simulation_choice._candidates(lag_frames, "paper") == [(n * lag_frames, n * lag_frames) for n in (1, 2, 4)]


def test_lags_and_passages_are_those_of_the_chain(choice):
    np.testing.assert_array_equal(choice.lag, [1, 2, 2, 4, 4])
    np.testing.assert_array_equal(choice.passage, [1, 1, 2, 1, 2])
    assert choice.over == "animals"


def test_the_published_passages_are_as_long_as_a_step(animals, chain):
    found = choose_simulation(chain, *animals, TrialSettings(n_delays=N_DELAYS, method="paper"))
    np.testing.assert_array_equal(found.lag, [1, 2, 4])
    np.testing.assert_array_equal(found.passage, found.lag)


def test_replays_are_not_taken(choice):
    """Passages of two seconds copy all but their joints; shorter ones are new."""
    replays = choice.passage == 2
    assert (choice.novelty[replays] < 0.1).all()
    assert (choice.novelty[~replays] > 0.5).all()
    assert not replays[choice.chosen]
    assert "of 3 ways (2 more only replay)" in choice.reason


@pytest.mark.parametrize("seed", range(4))
def test_the_one_that_copies_least_of_those_that_are_as_good(animals, chain, seed):
    found = choose_simulation(chain, *animals, TrialSettings(n_delays=N_DELAYS, seed=seed))
    chosen, fair, new = taken(found)
    assert chosen == found.chosen
    assert found.novelty[found.chosen] >= LEAST_NEW
    assert f"of {len(new)} ways" in found.reason
    assert ("nearest" in found.reason) == (len(fair) == 1)
    assert f"score {found.score[chosen]:.3g}," in found.reason
    assert (found.chosen_lag, found.chosen_passage) == (found.lag[chosen], found.passage[chosen])
    # a score is the mean over parts, none of them events here
    np.testing.assert_allclose(found.score, np.nanmean(found.parts, axis=1))
    assert np.isnan(found.parts[:, EVENTS]).all()
    assert np.isfinite(np.delete(found.parts, EVENTS, axis=1)).all()
    assert ((found.inside[:, CORRELATION] > 0) & (found.inside[:, CORRELATION] <= 1)).all()


def made_table(scores, novelty, wobble=0.0):
    """A table of candidates whose parts all have the same score, one pair of halves better than the next."""
    n = len(scores)
    away = wobble * np.array([1.0, 1.0, -1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    folds = np.asarray(scores, dtype=float)[:, None] + away * np.arange(n)[:, None]
    parts = np.repeat(folds[:, :, None], len(PARTS), axis=2)
    new = np.repeat(np.asarray(novelty, dtype=float)[:, None, None], 8, axis=1)
    return np.concatenate([parts, np.full(parts.shape, 0.9), new], axis=2)


@pytest.mark.parametrize(
    ("scores", "novelty", "wobble", "chosen", "why"),
    [
        ([1.0, 2.0, 3.0], [0.6, 0.9, 1.0], 0.0, 0, "of 3 ways it lies nearest"),
        ([1.0, 1.09, 1.2], [0.6, 0.9, 1.0], 0.0, 1, "it copies the least of 2"),
        ([1.0, 1.5, 2.5], [0.6, 0.9, 1.0], 1.0, 1, "it copies the least of 2"),  # errors of 0.58 and 1.15
        ([0.1, 1.0, 2.0], [0.4, 0.6, 0.9], 0.0, 1, "of 2 ways (1 more only replay) it lies nearest"),
        ([0.1, 1.0, 2.0], [0.1, 0.4, 0.3], 0.0, 0, "of 3 ways it lies nearest"),  # all replay
        ([0.1, 1.0, 2.0], [np.nan, 0.6, 0.7], 0.0, 1, "of 2 ways it lies nearest"),
        ([np.nan, 1.0, 0.5], [0.9, 0.6, 0.7], 0.0, 2, "of 2 ways it lies nearest"),
    ],
    ids=["nearest", "as good to 0.1", "as good by its error", "replay", "all replay", "no novelty", "no score"],
)
def test_choices_by_hand(scores, novelty, wobble, chosen, why):
    steps = np.array([[1.0, 0.5], [1.0, 1.0], [2.0, 1.0]])
    found = simulation_choice._choose(steps, made_table(scores, novelty, wobble), "animals", 1.0)
    assert found.chosen == chosen
    assert why in found.reason
    np.testing.assert_allclose(found.score, scores)
    np.testing.assert_allclose(found.error[np.isfinite(scores)], spread_of(scores, wobble, novelty), atol=1e-12)


def spread_of(scores, wobble, novelty):
    """Standard error of what differs from the best: ± wobble times their distance in the table, four times."""
    allowed = [k for k in range(3) if np.isfinite([scores[k], novelty[k]]).all()]
    best = min([k for k in allowed if novelty[k] >= LEAST_NEW] or allowed, key=lambda k: scores[k])
    steps = np.abs(np.flatnonzero(np.isfinite(scores)) - best)
    return wobble * steps * np.sqrt(4 / 3) / 2


def test_nothing_known_of_any_candidate():
    found = simulation_choice._choose(np.ones((2, 2)), made_table([np.nan, np.nan], [0.9, 0.9]), "animals", 0.75)
    assert (found.chosen_lag, found.chosen_passage, found.reason, found.over) == (0.75, 0.75, TOO_LITTLE, "")


# --- right and wrong models -------------------------------------------------------------------------------------------


def test_the_score_of_a_model_that_is_right_is_about_one():
    """A chain of two states with white noise: steps of all lengths are right where passages do not select frames."""
    found = []
    for seed in range(10):
        postures, symbols = two_levels(seed=seed)
        chain = MarkovChain.from_symbols(symbols, 0.25)
        found.append(choose_simulation(chain, postures, symbols, TrialSettings(n_delays=1, seed=seed)))
    long = found[0].passage >= 0.25
    assert long.sum() == 5
    assert np.mean([one.score[long] for one in found]) == pytest.approx(1, abs=0.25)
    assert np.mean([one.inside[long, CORRELATION] for one in found]) > 0.9


def test_a_model_without_the_memory_is_far_off_and_the_longest_step_nearest():
    """Stays of exactly 2.5 s: a chain forgets how long it has stayed, the less so the longer its steps are."""
    postures, symbols = two_levels(stays=40)
    found = choose_simulation(MarkovChain.from_symbols(symbols, 0.25), postures, symbols, TrialSettings(n_delays=1))
    assert found.score.min() > 20
    assert found.chosen_lag == 1.0
    by_lag = [found.parts[found.lag == lag][:, SLOW].min() for lag in (0.25, 0.5, 1.0)]
    assert by_lag[0] > by_lag[1] > by_lag[2] > 20


# --- small recordings -------------------------------------------------------------------------------------------------


def test_fewer_than_four_animals_are_cut_into_blocks():
    postures = turning(1, 4800)
    symbols = labelled(postures)
    found = choose_simulation(MarkovChain.from_symbols(symbols, 0.25), postures, symbols, RULE)
    assert found.over == "blocks"
    assert "blocks that were not learned from" in found.reason
    assert np.isfinite(found.score).all()


@pytest.mark.parametrize(("n_animals", "n_units"), [(1, 10), (2, 10), (3, 12), (4, 4), (6, 6)])
def test_units_cross_no_border(n_animals, n_units):
    postures = turning(n_animals, 330)
    symbols = labelled(postures, 10)
    units, labels = simulation_choice._units(postures, symbols, N_DELAYS)
    assert units.segments.n_individuals == n_units
    np.testing.assert_array_equal(units.segments.valid, postures.segments.valid)
    assert set(units.segments.offsets) >= set(postures.segments.offsets)
    for start, stop, unit in labels.segments:
        first, last = units.segments.offsets[unit : unit + 2]
        assert first <= start - 1 < stop + 1 <= last  # the frames of its sequences too
        assert np.isfinite(postures.values[start - 1 : stop + 1]).all()
    assert labels.segments.valid.sum() >= symbols.segments.valid.sum() - 2 * n_units


def test_halves_are_drawn_at_random_and_each_is_held_out_once(animals):
    trial = simulation_choice._Trial(
        postures=animals[0], symbols=animals[1], yard=None, data=np.zeros((7, 1)), settings=RULE
    )
    halves = simulation_choice._halvings(trial, 0)
    assert len(halves) == 8
    for half, other in zip(halves[::2], halves[1::2], strict=True):
        assert half.sum() == 3
        np.testing.assert_array_equal(other, ~half)
    assert len({tuple(half) for half in halves}) > 4
    np.testing.assert_array_equal(halves, simulation_choice._halvings(trial, 0))
    assert (np.array(halves) != simulation_choice._halvings(trial, 1)).any()


@pytest.mark.parametrize("n_animals", [1, 5])
def test_a_recording_that_is_too_short_keeps_the_lag_of_the_chain(n_animals):
    """Ten blocks, or animals, of less than sixteen lags each."""
    lag = 0.5
    n_units = n_animals if n_animals >= 4 else 10
    enough = int(SHORTEST * lag * RATE)
    for per_unit, is_short in ((enough - 2, True), (enough + 4, False)):
        postures = turning(n_animals, per_unit * n_units // n_animals)
        postures = postures.with_rows(np.nan_to_num(postures.values))
        symbols = labelled(postures, 8)
        found = choose_simulation(MarkovChain.from_symbols(symbols, lag), postures, symbols, RULE)
        assert (found.reason == TOO_LITTLE) == is_short
        if is_short:
            assert (found.chosen_lag, found.chosen_passage, found.over) == (lag, lag, "")
            assert found.lag.size == 1
            assert np.isnan(found.score).all()


def test_a_chain_of_one_state_is_not_simulated_for_comparison():
    postures, _ = two_levels()
    symbols = Symbols(
        labels=np.zeros(len(postures.values), dtype=np.int32),
        n_states=1,
        segments=postures.segments,
        sampling=postures.sampling,
    )
    found = choose_simulation(MarkovChain.from_symbols(symbols, 0.25), postures, symbols, TrialSettings(n_delays=1))
    assert found.reason == TOO_LITTLE


# --- results ----------------------------------------------------------------------------------------------------------


def assert_same(one, other):
    for field in dataclasses.fields(SimulationChoice):
        a, b = getattr(one, field.name), getattr(other, field.name)
        assert type(a) is type(b), field.name
        np.testing.assert_array_equal(a, b, err_msg=field.name)


def test_threads_do_not_matter_and_seeds_do(animals, chain, choice):
    assert_same(choose_simulation(chain, *animals, RULE, threads=2), choice)
    other = choose_simulation(chain, *animals, TrialSettings(n_delays=N_DELAYS, seed=1))
    assert (other.score != choice.score).all()


def test_progress_is_told(animals, chain):
    told = []
    choose_simulation(chain, *animals, RULE, progress=lambda *given: told.append(given))
    assert told[-1][1:] == (40, 40)  # five candidates, four halvings, each half once


@pytest.mark.parametrize("kind", ["compared", "fixed"])
def test_choices_come_back_from_a_file(choice, tmp_path, kind):
    made = choice if kind == "compared" else SimulationChoice.fixed(0.75, 0.375, "someone said so")
    made = dataclasses.replace(made, simulated_novelty=0.875)
    save_results(tmp_path / "r.nc", {"choice": made}, {})
    found = load_result(tmp_path / "r.nc", "choice", SimulationChoice)
    assert_same(found, made)
    assert found.explain() == made.explain()


def test_a_choice_is_explained(choice):
    made = dataclasses.replace(choice, simulated_novelty=0.875)
    words = made.explain()
    assert f"steps of {choice.chosen_lag:.3g} s, following recordings for {choice.chosen_passage:.3g} s" in words
    assert choice.reason in words
    assert "88% of the simulated time copies no recorded passage" in words
    rows = made.rows()
    assert [row["chosen"] for row in rows].index(True) == choice.chosen
    assert sum(row["chosen"] for row in rows) == 1
    assert rows[3]["slow mode"] == choice.parts[3, SLOW]
    assert rows[3]["autocorrelation inside"] == choice.inside[3, CORRELATION]
