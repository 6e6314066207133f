"""The stages of a study, and what they lose."""

import itertools

import numpy as np
import pytest

from ethomarkov.exceptions import EthomarkovError, SamplingError, SettingsError
from ethomarkov.model.labelling import fit_basis, project_postures
from ethomarkov.posture import PostureBasis
from ethomarkov.recording import Recording, Track
from ethomarkov.study import Settings, Study, run_study
from ethomarkov.study.graph import TICKS
from ethomarkov.study.study import KEPT
from ethomarkov.synthetic import simulate_worms

TINY = Settings(
    n_delays=11,
    lag=0.75,
    n_states=5,
    n_resamples=0,
    n_walks=1,
    simulated_minutes=0.1,
    simulation_lag=0.75,
    scan=False,
)

# --- settings --------------------------------------------------------------------------------------------------------


def test_the_published_settings():
    paper = Settings.paper()
    assert (paper.n_modes, paper.n_delays, paper.n_states, paper.lag) == (5, 11, 1000, 0.75)
    assert paper.drag_ratio == 30.0
    assert paper.min_measure == 0.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_state": 10},
        {"n_states": 1},
        {"n_states": 2.5},
        {"n_modes": 0},
        {"n_delays": 0},
        {"lag": 0.0},
        {"lag": -1.0},
        {"lag": np.nan},
        {"lag": np.inf},
        {"min_measure": 0.5},
        {"min_measure": -0.1},
        {"n_walks": 0},
        {"simulated_minutes": 0.0},
        {"simulated_minutes": np.inf},
        {"drag_ratio": 0.0},
        {"drag_ratio": np.inf},
        {"seed": -1},
        {"seed": 10**400},
        {"n_states": 10**400},
        {"n_states": [[[[[1]]]]]},
        {"n_walks": 100_000},
        {"names": {"run": 3}},
        {"seed": "zero"},
    ],
    ids=str,
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Settings(**wrong)
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Settings.model_validate(wrong)


def test_settings_are_frozen():
    with pytest.raises(SettingsError, match="lag cannot be changed"):
        Settings().lag = 1.0


def test_the_choice_is_adopted(worms):
    open_ones = TINY.model_copy(update={"n_delays": None, "n_states": None, "lag": None, "simulation_lag": None})
    one, settings = worms.recording.select(["worm_00"]), open_ones.model_copy(update={"unfolding": "paper"})
    study = run_study(one, settings, basis=worms.basis)
    used, choice = study.settings, study.choice
    assert (used.n_delays, used.n_states, used.lag) == (choice.n_delays, choice.n_states, choice.lag)
    assert study.chain.lag == choice.lag
    assert study.microstates.centers.shape == (choice.n_states, choice.n_delays * study.postures.n_components)


def test_what_was_set_stays(study):
    assert study.choice.reason == ("all three were set",)
    assert study.choice.delays.size == 0


# --- the small study -------------------------------------------------------------------------------------------------


def test_settings_of_a_study_are_complete(study):
    assert study.settings.n_delays == 11
    assert study.settings.lag == 0.75
    assert study.settings.n_states == 15
    assert study.settings.seed == 2


def runs_of(flags: np.ndarray) -> list[int]:
    """Lengths of the runs of true flags, by a plain loop."""
    lengths, here = [], 0
    for flag in flags:
        if flag:
            here += 1
        elif here:
            lengths.append(here)
            here = 0
    return [*lengths, here] if here else lengths


def test_the_ledger_equals_a_count_by_hand(worms, study):
    k, lag = 11, 12
    recording = worms.recording
    for i, name in enumerate(recording.individuals):
        rows = recording.values[i * 1920 : (i + 1) * 1920]
        runs = runs_of(np.isfinite(rows).all(axis=1))
        frames = sum(runs)
        windows = sum(max(n - k + 1, 0) for n in runs)
        pairs = sum(max(n - k + 1 - lag, 0) for n in runs)
        mine = [entry for entry in study.ledger.entries if entry.individual == name]
        assert [entry.unit for entry in mine] == ["frames", "frames", "windows", "transitions", "transitions"]
        assert (mine[0].before, mine[1].after) == (1920, frames)
        assert (mine[2].before, mine[2].after) == (frames, windows)
        assert (mine[3].before, mine[3].after) == (windows, pairs)
        assert mine[4].before == pairs
    assert np.isnan(recording.values).any(axis=1).mean() > 0.02  # else this test says little


def test_every_step_starts_where_the_last_one_ended(study):
    for name in study.postures.segments.individuals:
        mine = [entry for entry in study.ledger.entries if entry.individual == name]
        for one, following in itertools.pairwise(mine):
            assert following.before == one.after
        assert all(entry.lost >= 0 for entry in mine)
        assert all(entry.reason for entry in mine)


def test_the_ledger_ends_with_the_transitions_of_the_chain(study):
    """Transitions kept are those whose two states are both connected."""
    first, last = study.symbols.segments.pairs(12)
    kept = np.isin(study.symbols.labels[first], study.chain.states) & np.isin(
        study.symbols.labels[last], study.chain.states
    )
    totals = study.ledger.totals()
    assert totals[-2].after == kept.sum()
    assert (totals[-1].unit, totals[-1].before, totals[-1].after) == ("states", 15, study.chain.states.size)


def test_no_sequence_reaches_over_a_gap(study):
    valid = study.postures.segments.valid
    for row in np.flatnonzero(study.symbols.labels >= 0):
        assert valid[row - 5 : row + 6].all()


def test_macrostates_are_the_two_sides_of_the_cut(study):
    share = [study.chain.stationary[study.tree.states_at(2)[study.chain.states] == k].sum() for k in (0, 1)]
    assert share[0] >= share[1]
    assert sum(share) == pytest.approx(1)
    labelled = study.states().labels >= 0
    np.testing.assert_array_equal(labelled, np.isin(study.symbols.labels, study.chain.states))
    np.testing.assert_array_equal(
        study.states().labels[labelled], study.tree.states_at(2)[study.symbols.labels[labelled]]
    )


def test_simulations_have_the_length_that_was_asked_for(study):
    frames = np.diff(study.simulated.segments.offsets)
    assert frames.size == 3
    assert np.abs(frames / 16 - 30).max() <= 0.75
    assert np.isfinite(study.path.centroid).all()
    assert len(study.path.centroid) == len(study.simulated.values)


def test_progress_goes_through_all_stages_in_order(worms):
    seen = []
    run_study(worms.recording, TINY, basis=worms.basis, progress=lambda *step: seen.append(step))
    assert list(dict.fromkeys(name for name, _, _ in seen)) == [stage.name for stage in KEPT]
    done = [done for _, done, _ in seen]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, TICKS)
    assert {total for _, _, total in seen} == {TICKS}


def test_the_recording_is_left_as_it_was(worms):
    before = worms.recording.values.copy()
    run_study(
        worms.recording,
        TINY,
        basis=worms.basis,
    )
    np.testing.assert_array_equal(worms.recording.values, before)


def test_an_animal_without_posture_does_not_stop_the_others(worms):
    values = worms.recording.values
    tracks = [
        Track(individual="good", values=values[:1920]),
        Track(individual="lost", values=np.full((500, 5), np.nan)),
        Track(individual="short", values=np.where(np.arange(200)[:, None] < 8, values[:200], np.nan)),
    ]
    recording = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0)
    study = run_study(
        recording,
        TINY.model_copy(update={"n_states": 8}),
        basis=PostureBasis.analytic(),
    )
    lost = [entry for entry in study.ledger.entries if entry.individual == "lost"]
    assert [entry.after for entry in lost] == [0] * len(lost)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(n_delays=2000, n_states=15, lag=0.75, scan=False), "n_delays=2000"),
        (Settings(n_delays=11, n_states=15, lag=125.0, scan=False), "lag=125"),
        (Settings(n_delays=11, lag=0.75, n_states=10_000, scan=False), "n_states=10000"),
    ],
)
def test_impossible_settings_say_what_is_possible(worms, settings, message):
    with pytest.raises(EthomarkovError, match=message):
        run_study(worms.recording, settings, basis=worms.basis)


def test_a_lag_that_is_no_whole_frame_is_named(worms):
    with pytest.raises(SamplingError, match="lag"):
        run_study(worms.recording, TINY.model_copy(update={"lag": 0.1}), basis=worms.basis)


def test_fewer_columns_than_modes_are_taken_as_they_are(worms):
    values = worms.recording.values[:, :3]
    recording = Recording.from_tracks([Track(individual="a", values=values)], kind="amplitude", sampling_rate=16.0)
    assert fit_basis(recording, 5, None) is None
    assert project_postures(recording, 5, None).n_components == 3


def test_settings_tell_the_modes_that_were_used(worms):
    values = worms.recording.values[:1920, :3]
    recording = Recording.from_tracks([Track(individual="a", values=values)], kind="amplitude", sampling_rate=16.0)
    study = run_study(recording, TINY.model_copy(update={"n_states": 8}))
    assert study.settings.n_modes == study.postures.n_components == 3


def test_the_same_seed_gives_the_same_study(worms, study):
    again = run_study(worms.recording, study.settings, basis=worms.basis)
    np.testing.assert_array_equal(again.symbols.labels, study.symbols.labels)
    np.testing.assert_array_equal(again.simulated.values, study.simulated.values)


# --- the truth -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> tuple[Study, object]:
    made = simulate_worms(4, 2100.0, seed=1)
    # neither the scan nor the resampling of the tree changes the states, and both take long here
    settings = Settings(
        n_delays=11, lag=0.75, n_states=500, n_walks=2, simulated_minutes=1.0, scan=False, n_resamples=0
    )
    return run_study(made.recording, settings, basis=made.basis), made.truth


@pytest.mark.slow
def test_runs_and_pirouettes_are_found(large):
    study, truth = large
    labels = study.states().labels
    seen = labels >= 0
    found, hidden = labels[seen] == 1, truth.is_pirouette[seen]
    sensitivity, specificity = found[hidden].mean(), (~found[~hidden]).mean()
    assert (sensitivity + specificity) / 2 >= 0.9


@pytest.mark.slow
def test_the_slowest_relaxation_is_that_of_the_truth(large):
    study, truth = large
    assert study.spectrum.relaxation_times[0] == pytest.approx(truth.relaxation_times().mean(), rel=0.2)
