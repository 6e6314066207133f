"""Names and traits of a study's states at every level."""

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.bouts import find_bouts
from ethomarkov.posture import phase_velocity
from ethomarkov.recording import Recording, Track
from ethomarkov.workflow import Settings, run_study
from ethomarkov.workflow.states import (
    given_names,
    rename_states,
    stability_over_seeds,
    state_names,
    traits_at,
)
from ethomarkov.workflow.study import regrow_study
from ethomarkov.workflow.summary import summarize


def levels_with(study, *names):
    return [level for level in study.tree.levels if set(names) <= set(given_names(study, level))]


def only_between(study):
    """Two names that meet at a middle level, and neither at two states nor at the finest level."""
    finest, between = study.finest, study.tree.levels[2:-1]
    pairs = [
        (one, other)
        for level in between
        for one in given_names(study, level)
        for other in given_names(study, level)
        if one < other and not {2, finest} & set(levels_with(study, one, other))
    ]
    return pairs[0]


# --- names -----------------------------------------------------------------------------------------------------------


def test_every_state_of_a_level_has_its_own_name(study):
    assert study.finest >= 4
    for level in study.tree.levels:
        names = state_names(study, level)
        assert len(set(names)) == len(names) == level


def test_a_state_keeps_its_name_from_level_to_level(study):
    """Above two states, a node is named alike wherever it is shown, unless its name is taken."""
    seen = {}
    for level in study.tree.levels[2:]:
        for node, name in zip(study.tree.nodes_at(level), given_names(study, level), strict=True):
            seen.setdefault(node, set()).add(name)
    lasting = [node for node, names in seen.items() if sum(node in study.tree.nodes_at(k) for k in range(3, 8)) > 1]
    assert len(lasting) >= 3
    assert all(len(seen[node]) == 1 for node in lasting)


def test_two_states_are_run_and_pirouette(study):
    assert sorted(state_names(study, 2)) == ["pirouette", "run"]
    names = dict(zip(state_names(study, 2), traits_at(study, 2).velocity, strict=True))
    assert names["run"] > names["pirouette"]


@pytest.mark.parametrize("level", [-1, 0, 8, 99])
def test_a_level_that_is_not_there(study, level):
    with pytest.raises(InputFormatError, match=f"no level of {level} states"):
        state_names(study, level)


def test_a_tree_of_two_states_only(study):
    small = regrow_study(study, {"n_behaviours": 2, "n_resamples": 0})
    assert small.tree.levels == (1, 2)
    assert small.finest == 2
    assert state_names(small, 2) == state_names(study, 2)
    np.testing.assert_array_equal(small.states(2).labels, study.states(2).labels)
    assert summarize(small)["behaviours"]["level"] == 2


# --- new names -------------------------------------------------------------------------------------------------------


def test_new_names_travel(study):
    old = state_names(study, study.finest)
    renamed = rename_states(study, {old[0]: "head casting", "pirouette": "reorientation"}, {})
    assert state_names(renamed, study.finest) == ("head casting", *old[1:])
    assert "reorientation" in state_names(renamed, 2)
    assert given_names(renamed, study.finest) == old
    assert renamed.settings.names == {old[0]: "head casting", "pirouette": "reorientation"}
    figures = summarize(renamed)
    assert figures["behaviours"]["states"][0]["name"] == "head casting"
    assert figures["behaviours"]["states"][0]["description"].startswith("head casting: ")
    assert "reorientation" in [state["name"] for state in figures["macrostates"]["states"]]
    bouts = find_bouts(renamed.states(study.finest), state_names(renamed, study.finest))
    assert "head casting" in str(bouts)
    assert old[0] not in state_names(renamed, study.finest)


def test_names_can_be_swapped(study):
    renamed = rename_states(study, {"run": "pirouette", "pirouette": "run"}, {})
    assert state_names(renamed, 2) == state_names(study, 2)[::-1]


def test_an_unknown_name_is_refused_with_those_that_exist(study):
    with pytest.raises(InputFormatError, match=r"No state is named 'rum'; there are .*'pirouette'.*'run'"):
        rename_states(study, {"rum": "x", "run": "y"}, {})


def test_one_name_for_two_states_is_refused(study):
    with pytest.raises(InputFormatError, match="Two states are named 'x'"):
        rename_states(study, {"run": "x", "pirouette": "x"}, {})
    with pytest.raises(InputFormatError, match="Two states are named 'pirouette'"):
        rename_states(study, {"run": "pirouette"}, {})


def test_one_name_for_two_states_of_a_middle_level_is_refused(study):
    one, other = only_between(study)
    with pytest.raises(InputFormatError, match="Two states are named 'x'"):
        rename_states(study, {one: "x", other: "x"}, {})
    with pytest.raises(InputFormatError, match="Two states are named 'x'"):
        regrow_study(study, {"names": {one: "x", other: "x"}, "n_resamples": 0})


def test_an_empty_name_is_refused(study):
    with pytest.raises(InputFormatError, match="empty name"):
        rename_states(study, {"run": " "}, {})


def test_earlier_names_wait_for_their_states(study):
    """A smaller tree lacks some renamed states; that is no error, and a larger one has them again."""
    fine = next(name for name in given_names(study, study.finest) if not levels_with(study, name, "pirouette"))
    small = regrow_study(study, {"n_behaviours": 2, "n_resamples": 0, "names": {}})
    renamed = rename_states(small, {"pirouette": "reorientation"}, {fine: "mine"})
    assert "reorientation" in state_names(renamed, 2)
    large = rename_states(study, {}, renamed.settings.names)
    assert "mine" in state_names(large, study.finest)
    with pytest.raises(InputFormatError, match="No state is named"):
        rename_states(small, {fine: "mine"}, {})


# --- traits ----------------------------------------------------------------------------------------------------------


def test_traits_against_the_frames_of_each_state(study):
    traits, states = traits_at(study, study.finest), study.states(study.finest)
    velocity, bend = phase_velocity(study.postures), study.postures.values[:, 2].astype(float)
    speed = study.measured.speed(study.postures)
    total = np.count_nonzero(states.labels >= 0)
    for k in range(study.finest):
        mine = states.labels == k
        assert traits.share[k] == pytest.approx(mine.sum() / total)
        assert traits.velocity[k] == pytest.approx(np.nanmean(velocity[mine]))
        assert traits.bend[k] == pytest.approx(np.nanmean(bend[mine]))
        assert traits.bend_sd[k] == pytest.approx(np.nanstd(bend[mine]))
        assert traits.speed[k] == pytest.approx(np.nanmean(speed[mine]))
        assert 0.3 < traits.wavelength[k] < 3


def test_stability_over_seeds(study):
    told = []
    overlap = stability_over_seeds(study, 1, progress=lambda *words: told.append(words))
    assert told == [("other seeds", 1, 1)]
    assert overlap.shape == (1, study.tree.n_nodes)
    assert overlap[0, 0] == pytest.approx(1.0)
    assert ((overlap >= 0) & (overlap <= 1 + 1e-12)).all()
    assert stability_over_seeds(study, 0).shape == (0, study.tree.n_nodes)


# --- animals without a body wave, or hardly any data ------------------------------------------------------------------


def test_neutral_names_without_shapes_of_the_modes(worms):
    """Amplitudes alone do not say which way the wave goes."""
    bare = run_study(
        worms.recording,
        Settings(
            n_delays=11,
            lag=0.75,
            n_states=10,
            n_walks=1,
            simulated_minutes=0.1,
            scan=False,
            n_resamples=0,
            n_behaviours=3,
        ),
    )
    assert not bare.is_worm
    for level in bare.tree.levels:
        assert sorted(state_names(bare, level)) == [f"state {letter}" for letter in "ABC"[:level]]
    traits = traits_at(bare, bare.finest)
    assert state_names(bare, bare.finest)[int(np.argmax(traits.share))] == "state A"
    for column in ("velocity", "bend", "wavelength"):
        assert np.isnan(getattr(traits, column)).all()


def test_a_study_of_one_short_animal(worms):
    values = worms.recording.values[:480]
    track = Track(individual="short", values=np.where(np.isfinite(values), values, 0.0))
    alone = Recording.from_tracks([track], kind="amplitude", sampling_rate=16.0)
    study = run_study(
        alone,
        Settings(n_delays=11, lag=0.75, n_states=6, n_walks=1, simulated_minutes=0.1, scan=False, n_resamples=2),
        basis=worms.basis,
    )
    assert 2 <= study.finest <= 6
    for level in study.tree.levels:
        assert len(set(state_names(study, level))) == level
    assert summarize(study)["behaviours"]["level"] == study.finest
    assert study.is_worm
