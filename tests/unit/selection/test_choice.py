"""Sequence length, microstates and lag, on systems where the answer is known."""

import dataclasses
import itertools

import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.exceptions import SamplingError
from ethomarkov.io.results import load_result, save_results
from ethomarkov.selection import Fixed, ModelChoice, choose_model
from ethomarkov.selection.choice import FEWEST_SEQUENCES, averaging_gain
from ethomarkov.synthetic.labelled import make_system

SEEDS = range(40, 50)


def choose(name: str, seed: int, n_animals: int = 6, duration: float = 120.0) -> ModelChoice:
    return choose_model(make_system(name, n_animals, duration, seed).series, seed=seed)


# --- formulas ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("time", [20.0, 60.0])
@pytest.mark.parametrize("n_frames", [2, 5, 15])
def test_averaging_gain_is_that_of_an_exponential_correlation(n_frames, time):
    """Of means over windows: covariance of two windows at a distance over the variance of one, by plain double sums."""
    fine = 40  # steps per frame, since the formula is that of continuous time
    n = (n_frames - 1) * fine
    steps = (np.arange(n) + 0.5) / fine
    apart = np.abs(steps[:, None] - steps)
    lag = 4 * n_frames
    covariance = np.exp(-np.abs(steps[:, None] - steps - lag) / time).mean()
    gain = covariance / np.exp(-apart / time).mean() / np.exp(-lag / time)
    assert averaging_gain(np.array([n_frames]), time)[0] == pytest.approx(gain, rel=1e-3)


def test_a_single_frame_is_no_average():
    assert averaging_gain(np.array([1, 1]), 5.0).tolist() == [1.0, 1.0]


# --- what is known ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.seeds
@pytest.mark.parametrize(("name", "least", "most"), [("AR(1)", 1, 2), ("AR(2)", 2, 4), ("overdamped", 1, 1)])
def test_sequences_are_as_long_as_the_system_asks(name, least, most):
    found = [choose(name, seed).n_delays for seed in SEEDS]
    assert sum(least <= n <= most for n in found) >= 9, found


@pytest.mark.seeds
def test_worms_are_given_the_same_seconds_at_any_rate():
    series = make_system("worms", 6, 200.0, 3).series
    offsets = series.segments.offsets
    every_other = np.concatenate([np.arange(a, b, 2) for a, b in itertools.pairwise(offsets)])
    slower = Series.from_rows(series.values[every_other], 8.0, offsets // 2)
    seconds = [choice.n_delays / rate for choice, rate in ((choose_model(series), 16), (choose_model(slower), 8))]
    assert 0.5 <= min(seconds) <= max(seconds) <= 1.5


@pytest.mark.seeds
def test_noise_has_no_slow_mode():
    found = [choose("white noise", seed) for seed in SEEDS]
    assert not any(choice.is_slow for choice in found)
    assert {choice.n_delays for choice in found} == {1}
    assert "No slow mode" in found[0].verdict()
    assert any("No slow mode" in warning for warning in found[0].warnings)


@pytest.mark.seeds
def test_microstates_grow_with_the_recording():
    small, large = ([choose("rare", seed, duration=seconds).n_states for seed in range(4)] for seconds in (40.0, 300.0))
    assert np.mean(large) > 2 * np.mean(small)


# --- what is set, and what is too little ------------------------------------------------------------------------------


def test_what_is_set_stays():
    series = make_system("rare", 6, 60.0, 0).series
    choice = choose_model(series, fixed=Fixed(n_delays=4, lag=0.5))
    assert (choice.n_delays, choice.lag) == (4, 0.5)
    assert "the length was set" in choice.reason[0]
    assert choice.reason[2] == "the lag was set"
    everything = choose_model(series, fixed=Fixed(n_delays=4, n_states=7, lag=0.5))
    assert (everything.n_delays, everything.n_states, everything.lag) == (4, 7, 0.5)
    assert everything.delays.size == 0
    assert everything.verdict() == "Nothing was compared."


def test_too_little_gets_the_smallest_model_and_a_warning():
    series = make_system("rare", 1, (FEWEST_SEQUENCES - 10) / 16, 0).series
    choice = choose_model(series)
    assert choice.n_delays == 1
    assert choice.n_states <= 10
    assert "too few" in choice.warnings[0]


def test_a_sequence_longer_than_any_stretch_is_refused():
    series = make_system("rare", 6, 30.0, 0).series
    with pytest.raises(SamplingError, match="longest gap-free stretch is 480 frames"):
        choose_model(series, fixed=Fixed(n_delays=481))


def test_one_animal_is_judged_on_blocks_and_says_so():
    choice = choose_model(make_system("overlapping", 1, 300.0, 0).series)
    assert choice.over == "blocks"
    assert any("say nothing about other animals" in warning for warning in choice.warnings)


# --- how it is told ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def choice() -> ModelChoice:
    return choose("overlapping", 2)


def test_the_sentence_says_what_why_and_how_to_do_otherwise(choice):
    said = choice.explain()
    for words in (f"{choice.n_delays} frame", f"{choice.n_states} microstates", "because", "--delays", "--microstates"):
        assert words in said


def test_the_chosen_are_among_what_was_tried(choice):
    assert choice.n_delays in choice.delays
    assert choice.n_delays == max(choice.slow_delays, choice.predictive_delays)
    assert choice.n_states in choice.states
    assert choice.lag in choice.lags
    assert choice.lag * 16 >= choice.n_delays


def test_threads_do_not_matter(choice):
    again = choose_model(make_system("overlapping", 6, 120.0, 2).series, seed=2, threads=2)
    for field in dataclasses.fields(ModelChoice):
        assert np.array_equal(getattr(again, field.name), getattr(choice, field.name)), field.name


def test_it_is_saved_and_loaded(choice, tmp_path):
    save_results(tmp_path / "choice.nc", {"choice": choice}, {})
    again = load_result(tmp_path / "choice.nc", "choice", ModelChoice)
    assert again.explain() == choice.explain()
    assert np.array_equal(again.memory, choice.memory)


def test_the_table_lists_all_candidates_and_marks_the_chosen():
    choice = choose("overlapping", 0, n_animals=1, duration=60.0)
    table = choice.table()
    chosen = table[table["chosen"]].set_index("parameter")["candidate"]
    assert chosen.to_dict() == {"K": choice.n_delays, "N": choice.n_states, "τ": pytest.approx(choice.lag)}
    counts = table["parameter"].value_counts()
    assert (counts["K"], counts["N"], counts["τ"]) == (choice.delays.size, choice.states.size, choice.lags.size)
