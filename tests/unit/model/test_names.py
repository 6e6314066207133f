"""Names and traits of states at every level."""

import numpy as np
import pytest

from ethomarkov.coarse.naming import describe_states
from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.bouts import find_bouts
from ethomarkov.posture import phase_velocity
from ethomarkov.recording import Recording, Track
from ethomarkov.study import Settings, run_study
from ethomarkov.study.study import finish_study


def rename_states(study, names, earlier=None):
    """Give states new names, of which only the latest must be of states that are there."""
    return finish_study(study.with_settings(names={**(earlier or {}), **names}), names)


def regrow(study, **changes):
    return finish_study(study.with_settings(**changes))


def levels_with(study, *names):
    return [level for level in study.tree.levels if set(names) <= set(study.given_names(level))]


def only_between(study):
    """Two names that meet at a middle level, and neither at two states nor at the finest level."""
    finest, between = study.finest, study.tree.levels[2:-1]
    pairs = [
        (one, other)
        for level in between
        for one in study.given_names(level)
        for other in study.given_names(level)
        if one < other and not {2, finest} & set(levels_with(study, one, other))
    ]
    return pairs[0]


# --- names -----------------------------------------------------------------------------------------------------------


def test_every_state_of_a_level_has_its_own_name(study):
    assert study.finest >= 4
    for level in study.tree.levels:
        names = study.names(level)
        assert len(set(names)) == len(names) == level


def test_a_state_keeps_its_name_from_level_to_level(study):
    """Above two states, a node is named alike wherever it is shown, unless its name is taken."""
    seen = {}
    for level in study.tree.levels[2:]:
        for node, name in zip(study.tree.nodes_at(level), study.given_names(level), strict=True):
            seen.setdefault(node, set()).add(name)
    lasting = [node for node, names in seen.items() if sum(node in study.tree.nodes_at(k) for k in range(3, 8)) > 1]
    assert len(lasting) >= 3
    assert all(len(seen[node]) == 1 for node in lasting)


def test_two_states_are_run_and_pirouette(study):
    assert sorted(study.names(2)) == ["pirouette", "run"]
    names = dict(zip(study.names(2), study.traits_at(2).velocity, strict=True))
    assert names["run"] > names["pirouette"]


@pytest.mark.parametrize("level", [-1, 0, 8, 99])
def test_a_level_that_is_not_there(study, level):
    with pytest.raises(InputFormatError, match=f"no level of {level} states"):
        study.names(level)


def test_a_tree_of_two_states_only(study):
    small = regrow(study, n_behaviours=2, n_resamples=0)
    assert small.tree.levels == (1, 2)
    assert small.finest == 2
    assert small.names(2) == study.names(2)
    np.testing.assert_array_equal(small.states(2).labels, study.states(2).labels)


# --- new names -------------------------------------------------------------------------------------------------------


def test_new_names_travel(study):
    old = study.names(study.finest)
    renamed = rename_states(study, {old[0]: "head casting", "pirouette": "reorientation"})
    assert renamed.names(study.finest) == ("head casting", *old[1:])
    assert "reorientation" in renamed.names(2)
    assert renamed.given_names(study.finest) == old
    assert renamed.settings.names == {old[0]: "head casting", "pirouette": "reorientation"}
    described = describe_states(renamed.traits_at(study.finest), renamed.names(study.finest))
    assert described[0].startswith("head casting: ")
    bouts = find_bouts(renamed.states(study.finest), renamed.names(study.finest))
    assert "head casting" in str(bouts)
    assert old[0] not in renamed.names(study.finest)


def test_names_can_be_swapped(study):
    renamed = rename_states(study, {"run": "pirouette", "pirouette": "run"})
    assert renamed.names(2) == study.names(2)[::-1]


def test_an_unknown_name_is_refused_with_those_that_exist(study):
    with pytest.raises(InputFormatError, match=r"No state is named 'rum'; there are .*'pirouette'.*'run'"):
        rename_states(study, {"rum": "x", "run": "y"})


def test_one_name_for_two_states_is_refused(study):
    with pytest.raises(InputFormatError, match="Two states are named 'x'"):
        rename_states(study, {"run": "x", "pirouette": "x"})
    with pytest.raises(InputFormatError, match="Two states are named 'pirouette'"):
        rename_states(study, {"run": "pirouette"})


def test_one_name_for_two_states_of_a_middle_level_is_refused(study):
    one, other = only_between(study)
    with pytest.raises(InputFormatError, match="Two states are named 'x'"):
        rename_states(study, {one: "x", other: "x"})
    with pytest.raises(InputFormatError, match="Two states are named 'x'"):
        regrow(study, names={one: "x", other: "x"}, n_resamples=0)


def test_an_empty_name_is_refused(study):
    with pytest.raises(InputFormatError, match="empty name"):
        rename_states(study, {"run": " "})


def test_earlier_names_wait_for_their_states(study):
    """A smaller tree lacks some renamed states; that is no error, and a larger one has them again."""
    fine = next(name for name in study.given_names(study.finest) if not levels_with(study, name, "pirouette"))
    small = regrow(study, n_behaviours=2, n_resamples=0)
    renamed = rename_states(small, {"pirouette": "reorientation"}, {fine: "mine"})
    assert "reorientation" in renamed.names(2)
    large = rename_states(study, {}, renamed.settings.names)
    assert "mine" in large.names(study.finest)
    with pytest.raises(InputFormatError, match="No state is named"):
        rename_states(small, {fine: "mine"})


# --- traits ----------------------------------------------------------------------------------------------------------


def test_traits_against_the_frames_of_each_state(study):
    traits, states = study.traits_at(study.finest), study.states(study.finest)
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
            simulation_lag=0.75,
            scan=False,
            n_resamples=0,
            n_behaviours=3,
        ),
    )
    assert not bare.is_worm
    for level in bare.tree.levels:
        assert sorted(bare.names(level)) == [f"state {letter}" for letter in "ABC"[:level]]
    traits = bare.traits_at(bare.finest)
    assert bare.names(bare.finest)[int(np.argmax(traits.share))] == "state A"
    for column in ("velocity", "bend", "wavelength"):
        assert np.isnan(getattr(traits, column)).all()


def test_states_of_one_short_animal(worms):
    values = worms.recording.values[:480]
    track = Track(individual="short", values=np.where(np.isfinite(values), values, 0.0))
    alone = Recording.from_tracks([track], kind="amplitude", sampling_rate=16.0)
    study = run_study(
        alone,
        Settings(
            n_delays=11,
            lag=0.75,
            n_states=6,
            n_walks=1,
            simulated_minutes=0.1,
            simulation_lag=0.75,
            scan=False,
            n_resamples=2,
        ),
        basis=worms.basis,
    )
    assert 2 <= study.finest <= 6
    for level in study.tree.levels:
        assert len(set(study.names(level))) == level
    assert study.is_worm
