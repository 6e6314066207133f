"""A model on new recordings: labels, the four numbers, and the flag."""

import dataclasses

import numpy as np
import pytest

from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.results import load_result, save_results
from ethomarkov.model.application import QUANTITIES, Application, apply_model, score_transitions
from ethomarkov.recording import Recording, Track
from ethomarkov.states import DelayEmbedding, Symbols
from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import WormModel

MINUTES = 5
QUICK = Settings(
    n_delays=11,
    n_states=100,
    lag=0.75,
    n_walks=1,
    simulated_minutes=0.2,
    scan=False,
    simulation_lag=0.75,
    n_resamples=0,
)


def with_values(recording: Recording, values: np.ndarray, *, reverse: bool = False, rate: float = 16.0) -> Recording:
    offsets = recording.segments.offsets
    step = -1 if reverse else 1
    tracks = [
        Track(individual=name, values=values[offsets[i] : offsets[i + 1]][::step])
        for i, name in enumerate(recording.individuals)
    ]
    return Recording.from_tracks(tracks, kind="amplitude", sampling_rate=rate)


def symbols_of(*tracks: list[int], n_states: int) -> Symbols:
    labels = np.concatenate([np.array(track, dtype=np.int32) for track in tracks])
    offsets = np.cumsum([0, *map(len, tracks)])
    names = tuple(f"animal {i}" for i in range(len(tracks)))
    segments = Segments.from_valid(labels >= 0, offsets, names)
    return Symbols(labels=labels, n_states=n_states, segments=segments, sampling=Sampling(2.0))


@pytest.fixture(scope="module")
def training():
    return simulate_worms(4, MINUTES * 60.0, seed=5)


@pytest.fixture(scope="module")
def fitted(training):
    return run_study(training.recording, QUICK, basis=training.basis).model


@pytest.fixture(scope="module")
def fresh():
    """Worms of the same strain that the model has not seen."""
    return simulate_worms(3, MINUTES * 60.0, seed=105).recording


@pytest.fixture(scope="module")
def applied(fitted, fresh):
    return apply_model(fitted, fresh)


# --- labels ----------------------------------------------------------------------------------------------------------


def test_symbols_are_the_nearest_microstates(fitted, fresh, applied):
    sequences = DelayEmbedding(fitted.n_delays).transform(fitted.basis.project(fresh))
    expected = fitted.microstates.label(sequences)
    np.testing.assert_array_equal(applied.symbols.labels, expected.labels)
    np.testing.assert_array_equal(applied.macrostates, expected.relabel(fitted.tree.states_at(2)).labels)
    np.testing.assert_array_equal(applied.frames, expected.segments.count_rows())
    assert applied.individuals == fresh.individuals


def test_shares_of_macrostates_add_up(applied, fitted):
    assert applied.macrostate_shares.shape == (3, len(applied.macrostate_names))
    np.testing.assert_allclose(applied.macrostate_shares.sum(axis=1), 1.0)
    first = applied.symbols.segments.row_individual == 0
    assert applied.macrostate_shares[0, 0] == (applied.macrostates[first] == 0).sum() / (
        (applied.macrostates[first] >= 0).sum()
    )


def test_the_number_of_threads_does_not_matter(fitted, fresh, applied):
    again = apply_model(fitted, fresh, threads=2)
    np.testing.assert_array_equal(again.symbols.labels, applied.symbols.labels)
    np.testing.assert_array_equal(again.excess, applied.excess)


# --- likelihood ------------------------------------------------------------------------------------------------------


def test_log_probability_by_hand():
    """From 0 the training goes twice to 1 and once to 0; from 1 twice to 0; 2 is never left."""
    training = symbols_of([0, 1, 0, 0, 1, 0], n_states=3)
    first, log_probability, is_unseen = score_transitions(training, symbols_of([0, 1, 1, 2, 0], n_states=3), 1)
    np.testing.assert_array_equal(first, [0, 1, 2, 3])
    third = 1 / 3
    expected = [(2 + third) / 4, third / 3, third / 3, third]
    np.testing.assert_allclose(np.exp(log_probability), expected)
    np.testing.assert_array_equal(is_unseen, [False, True, True, True])


def test_probabilities_of_a_row_add_up():
    training = symbols_of([0, 1, 0, 0, 1, 2, 2, 0], n_states=4)
    everywhere = [[i, j] for i in range(4) for j in range(4)]
    _, log_probability, _ = score_transitions(training, symbols_of(*everywhere, n_states=4), 1)
    np.testing.assert_allclose(np.exp(log_probability).reshape(4, 4).sum(axis=1), 1.0)


def test_transitions_do_not_cross_gaps_or_animals():
    training = symbols_of([0, 1, 0, 1], n_states=2)
    first, _, _ = score_transitions(training, symbols_of([0, 1, -1, 1], [1, 0], n_states=2), 1)
    np.testing.assert_array_equal(first, [0, 4])


def test_log_likelihood_is_per_second(fitted, applied):
    symbols, lag = applied.symbols, fitted.chain.lag
    lag_frames = symbols.sampling.frames(lag)
    first, log_probability, is_unseen = score_transitions(fitted.symbols, symbols, lag_frames)
    own = symbols.segments.row_individual[first] == 1
    assert applied.log_likelihood[1] == pytest.approx(log_probability[own].mean() / lag)
    assert applied.unseen_share[1] == pytest.approx(is_unseen[own].mean())


def test_the_reference_leaves_each_animal_out(fitted, applied):
    """The chain without an animal, counted anew."""
    lag_frames = fitted.symbols.sampling.frames(fitted.chain.lag)
    segments = fitted.symbols.segments
    others = dataclasses.replace(segments, bounds=segments.bounds[segments.bounds[:, 2] != 2])
    rest = dataclasses.replace(fitted.symbols, segments=others)
    _, log_probability, is_unseen = score_transitions(rest, fitted.symbols.mask(2), lag_frames)
    assert applied.reference.units == fitted.symbols.segments.individuals
    assert applied.reference.log_likelihood[2] == pytest.approx(log_probability.mean() / fitted.chain.lag)
    assert applied.reference.unseen_share[2] == pytest.approx(is_unseen.mean())


def test_distances_by_hand(fitted, fresh, applied):
    embedding = DelayEmbedding(fitted.n_delays)
    trained = fitted.microstates.distances(embedding.transform(fitted.postures), fitted.symbols)
    new = fitted.microstates.distances(embedding.transform(fitted.basis.project(fresh)), applied.symbols)
    own = applied.symbols.segments.mask(0).valid
    assert applied.distance_ratio[0] == pytest.approx(np.median(new[own]) / np.nanmedian(trained), rel=1e-5)


def test_the_reference_distances_use_centers_without_the_animal(fitted, applied):
    """Centers are means of all sequences, so an animal's own pull has to be taken out of them."""
    values = DelayEmbedding(fitted.n_delays).transform(fitted.postures)
    labels, own = fitted.symbols.labels, fitted.symbols.segments.mask(1).valid
    trained = fitted.microstates.distances(values, fitted.symbols)
    inside = np.median(trained[own]) / np.nanmedian(trained)
    state = np.bincount(labels[own]).argmax()
    assert (labels[own] == state).sum() > 10
    assert inside < applied.reference.distance_ratio[1] < 1.2 * inside


# --- the flag --------------------------------------------------------------------------------------------------------


def test_the_training_recording_is_covered(fitted, training):
    found = apply_model(fitted, training.recording)
    np.testing.assert_array_equal(found.symbols.labels, fitted.symbols.labels)
    assert set(found.flag) == {"covered"}
    np.testing.assert_allclose(found.distance_ratio, 1.0, atol=0.15)
    np.testing.assert_array_equal(found.unseen_share, 0.0)
    np.testing.assert_allclose(found.outside_share.mean(), 0.01, atol=0.01)
    assert (found.log_likelihood > found.reference.log_likelihood).all()
    assert (found.reference.unseen_share > 0).all()


def test_new_worms_of_the_strain_are_covered(applied):
    assert applied.flag == ("covered",) * 3
    assert (applied.excess < 3).all()
    assert (applied.unseen_share > 0).all()


@pytest.mark.parametrize("how", ["scaled", "noise"])
def test_mangled_recordings_are_outside(fitted, fresh, how):
    values = fresh.values
    noise = np.random.default_rng(0).normal(0, np.nanstd(values, axis=0), values.shape)
    found = apply_model(fitted, with_values(fresh, 3 * values if how == "scaled" else noise))
    assert found.flag == ("outside",) * 3
    assert all("times as far" in reason for reason in found.reason)
    assert (found.log_likelihood < found.reference.log_likelihood.min()).all()


def test_time_reversal_is_less_likely_and_less_covered(fitted, fresh, applied):
    """Every posture stays, but forward waves become backward ones, which worms make seldom, but do make.

    So most reversed worms are borderline and few are covered (1 of 32 for a study of six worms of five minutes, a
    third for two worms of two minutes); only what holds for every worm is asserted.
    """
    found = apply_model(fitted, with_values(fresh, fresh.values, reverse=True))
    assert (found.excess.max(axis=1) > applied.excess.max(axis=1) + 1).all()
    assert (found.log_likelihood < applied.log_likelihood - 0.2).all()
    assert (found.unseen_share > applied.unseen_share).all()


def test_a_strain_that_does_less_of_the_same_is_covered(fitted):
    """The second strain crawls slower and reorients half as often: nothing that the training animals never did."""
    strain = simulate_worms(3, MINUTES * 60.0, seed=205, model=WormModel.second_strain())
    found = apply_model(fitted, strain.recording)
    assert found.flag == ("covered",) * 3
    assert (found.excess < 1.5).all()


def test_a_short_recording_is_not_flagged_for_being_short(fitted, fresh):
    tracks = [Track(individual=str(k), values=fresh.values[a : a + 400]) for k, a in enumerate(range(0, 4000, 400))]
    short = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0)
    assert apply_model(fitted, short).flag.count("covered") >= 9


def test_an_animal_without_a_transition_cannot_be_judged(fitted, fresh):
    tracks = [
        Track(individual="long", values=fresh.values[:2000]),
        Track(individual="short", values=fresh.values[:12]),
        Track(individual="nothing", values=np.full((40, 5), np.nan)),
    ]
    found = apply_model(fitted, Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0))
    assert found.flag[1:] == ("borderline", "borderline")
    assert all(reason.startswith("Too short") for reason in found.reason[1:])
    assert np.isnan(found.log_likelihood[1:]).all()
    assert found.frames.tolist()[1:] == [2, 0]
    assert np.isnan(found.macrostate_shares[2]).all()


def test_a_model_of_one_animal_is_held_against_blocks_of_time(training, fresh):
    one = training.recording.select(["worm_00"])
    fitted = run_study(one, QUICK).model
    found = apply_model(fitted, one)
    assert found.flag == ("covered",)
    assert len(found.reference.units) == 8
    assert found.reference.units[0] == "worm_00, 0 to 38 s"
    assert set(apply_model(fitted, with_values(fresh, 3 * fresh.values)).flag) == {"outside"}


# --- what does not fit -----------------------------------------------------------------------------------------------


def test_another_rate_is_refused_with_the_remedy(fitted, fresh):
    with pytest.raises(SamplingError, match=r"30 Hz.*16 Hz.*--resample 16"):
        apply_model(fitted, with_values(fresh, fresh.values, rate=30.0))


@pytest.mark.parametrize("has_basis", [True, False])
def test_fewer_modes_are_refused(fitted, fresh, has_basis):
    model = fitted if has_basis else dataclasses.replace(fitted, basis=None)
    with pytest.raises(InputFormatError, match="holds 4 modes, the study was made with 5"):
        apply_model(model, with_values(fresh, fresh.values[:, :4]))


def test_more_modes_are_cut(fitted, fresh, applied):
    wider = np.hstack([fresh.values, fresh.values[:, :1]])
    found = apply_model(dataclasses.replace(fitted, basis=None), with_values(fresh, wider))
    np.testing.assert_array_equal(found.symbols.labels, applied.symbols.labels)


def test_angles_need_a_basis_and_use_it(fitted, fresh, applied):
    angles = fitted.basis.reconstruct(fitted.basis.project(fresh)).values
    offsets = fresh.segments.offsets
    tracks = [Track(individual=n, values=angles[offsets[i] : offsets[i + 1]]) for i, n in enumerate(fresh.individuals)]
    recording = Recording.from_tracks(tracks, kind="angle", sampling_rate=16.0)
    found = apply_model(fitted, recording)
    assert np.mean(found.symbols.labels == applied.symbols.labels) > 0.999
    with pytest.raises(InputFormatError, match="without their shapes"):
        apply_model(dataclasses.replace(fitted, basis=None), recording)


def test_too_many_gaps_are_refused(fitted, fresh):
    values = fresh.values.copy()
    values[::8] = np.nan
    with pytest.raises(SamplingError, match=r"7 frames.*takes 11.*--fill-gaps"):
        apply_model(fitted, with_values(fresh, values))


# --- files -----------------------------------------------------------------------------------------------------------


def test_round_trip_through_a_file(applied, tmp_path):
    save_results(tmp_path / "a.nc", {"application": applied}, {})
    found = load_result(tmp_path / "a.nc", "application", Application)
    for name in (*QUANTITIES, "macrostates", "excess"):
        np.testing.assert_array_equal(getattr(found, name), getattr(applied, name))
    for name in ("flag", "reason", "individuals", "macrostate_names"):
        assert getattr(found, name) == getattr(applied, name)
    np.testing.assert_array_equal(found.symbols.labels, applied.symbols.labels)
    assert found.reference.units == applied.reference.units
    np.testing.assert_array_equal(found.reference.log_likelihood, applied.reference.log_likelihood)


def test_arrays_are_read_only(applied):
    with pytest.raises(ValueError, match="read-only"):
        applied.distance_ratio[0] = 0
