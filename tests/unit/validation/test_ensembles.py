"""Runs of animals and of states, as they are asked for by name."""

import dataclasses

import numpy as np
import pytest

from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.locomotion.ensemble import CrawlSettings
from ethomarkov.validation.checks import observe_animal
from ethomarkov.validation.ensembles import RunSettings, observe_animals, run_animals, run_states
from ethomarkov.validation.runs import measured_displacement, simulate_runs

HOW = RunSettings(n_runs=3, seconds=15.0, seed=4)


@pytest.fixture(scope="module")
def unmeasured(model):
    nowhere = np.full_like(model.measured.centroid, np.nan)
    measured = dataclasses.replace(model.measured, centroid=nowhere, body_length=np.full(3, np.nan), length_unit="")
    return dataclasses.replace(model, measured=measured)


# --- animals ---------------------------------------------------------------------------------------------------------


def test_each_animal_runs_by_its_own_model_in_its_own_length(model):
    found = run_animals(model, "each", HOW)
    assert [one.name for one in found.runs] == list(model.individuals)
    np.testing.assert_array_equal(found.body_length, model.measured.body_length)
    assert not found.is_fitted
    rule = CrawlSettings(duration=15.0, n_runs=3, body_length=float(model.measured.body_length[1]), length_unit="mm")
    alone = simulate_runs(model, model.animal(1), rule, seed=4)
    np.testing.assert_array_equal(found.runs[1].displacement.msd, alone.displacement.msd)
    assert {one.displacement.length_unit for one in found.runs} == {"mm"}
    np.testing.assert_array_equal(found.measured.msd, measured_displacement(model, 15.0).msd)


def test_one_animal_by_name_and_all_together(model):
    name = model.individuals[2]
    each, one, together = (run_animals(model, animal, HOW) for animal in ("each", name, "all"))
    assert [run.name for run in one.runs] == [name]
    np.testing.assert_array_equal(one.runs[0].speed, each.runs[2].speed)
    assert [run.name for run in together.runs] == ["all"]
    assert together.runs[0].displacement.length_unit == "body lengths"
    assert together.runs[0].body_length == 1.0


def test_an_unknown_animal_is_named_with_those_that_exist(model):
    with pytest.raises(InputFormatError, match=r"animal is 'worm_07'; the study has 'worm_00', .* 'each' or 'all'"):
        run_animals(model, "worm_07", HOW)


def test_the_table_has_a_row_for_every_animal(model):
    found = run_animals(model, "each", dataclasses.replace(HOW, seconds=405.0))
    table = found.table()
    assert table.name.tolist() == list(model.individuals)
    for k, one in enumerate(found.runs):
        assert table.speed[k] == pytest.approx(one.speed.mean())
        assert table.speed_low[k] <= table.speed[k] <= table.speed_high[k]
        assert table.diffusion[k] == pytest.approx(one.diffusion.coefficient.mean())
        assert table.diffusion_low[k] <= table.diffusion[k] <= table.diffusion_high[k]
        assert table.reversals_per_min[k] == pytest.approx(one.event_rates[:, 0].mean())
        assert one.table().diffusion.mean() == pytest.approx(table.diffusion[k])
    assert (table.runs == 3).all()
    assert found.headline() == "9 runs of worm_00, worm_01, worm_02"


def test_runs_too_short_for_a_diffusion_coefficient_have_none_in_the_table(model):
    found = run_animals(model, model.individuals[0], HOW)
    assert found.table().diffusion.isna().all()
    assert found.runs[0].table().diffusion.isna().all()


def test_without_measured_paths_runs_are_in_body_lengths(unmeasured):
    found = run_animals(unmeasured, "each", HOW)
    assert {one.displacement.length_unit for one in found.runs} == {"body lengths"}
    assert found.measured is None
    assert np.isnan(found.body_length).all()


def test_runs_last_whole_steps_and_do_not_depend_on_cores(model):
    rough = dataclasses.replace(HOW, seconds=15.2)
    first, again = run_animals(model, "all", HOW), run_animals(model, "all", rough, threads=2)
    np.testing.assert_array_equal(first.runs[0].displacement.msd, again.runs[0].displacement.msd)
    other = run_animals(model, "all", dataclasses.replace(HOW, seed=5))
    assert not np.array_equal(first.runs[0].speed, other.runs[0].speed)


def test_a_ring_keeps_runs_inside(model):
    free, ringed = (
        run_animals(model, "all", dataclasses.replace(HOW, seconds=60.0, ring=ring)).runs[0] for ring in (None, 0.5)
    )
    assert np.linalg.norm(free.path.centroid, axis=1).max() > 0.5
    assert np.linalg.norm(ringed.path.centroid, axis=1).max() < 0.75  # bounces begin at the ring


def test_runs_unfold_as_they_are_asked_to(model):
    as_learned, published = (
        run_animals(model, "all", dataclasses.replace(HOW, unfolding=way)).runs[0] for way in (None, "paper")
    )
    same = run_animals(model, "all", dataclasses.replace(HOW, unfolding=model.unfolding)).runs[0]
    np.testing.assert_array_equal(as_learned.postures.values, same.postures.values)
    assert not np.array_equal(as_learned.postures.values, published.postures.values)


# --- states ----------------------------------------------------------------------------------------------------------


def test_each_state_runs_alone_in_body_lengths(model):
    found = run_states(model, 2, "each", HOW, start="stationary")
    assert [one.name for one in found.runs] == list(model.names(2))
    assert {one.displacement.length_unit for one in found.runs} == {"body lengths"}
    assert found.measured is None
    rule = CrawlSettings(duration=15.0, n_runs=3)
    alone = simulate_runs(model, model.confined(2, 1, start="stationary"), rule, seed=4)
    np.testing.assert_array_equal(found.runs[1].displacement.msd, alone.displacement.msd)
    one = run_states(model, 2, model.names(2)[1], HOW, start="stationary", threads=2)
    np.testing.assert_array_equal(one.runs[0].displacement.msd, alone.displacement.msd)


def test_a_state_that_cannot_run_alone_is_told(model):
    single = [
        (level, k)
        for level in model.tree.levels
        for k in range(level)
        if np.count_nonzero(model.tree.states_at(level) == k) == 1
    ]
    level, k = single[0]
    name = model.names(level)[k]
    found = run_states(model, level, "each", HOW)
    assert name not in [one.name for one in found.runs]
    assert any(words.startswith(f"{name!r} cannot be simulated alone") for words in found.reasons)
    assert len(found.runs) + len(found.reasons) == level
    with pytest.raises(ConnectivityError, match=f"'{name}' cannot be simulated alone"):
        run_states(model, level, name, HOW)


def test_an_unknown_state_is_named_with_those_that_exist(model):
    with pytest.raises(InputFormatError, match=r"state is 'rum'; at the level of 2 states there are .*'pirouette'"):
        run_states(model, 2, "rum", HOW)


# --- every animal beside its runs ------------------------------------------------------------------------------------


def test_every_animal_is_observed_beside_its_runs(model):
    told = []
    found = observe_animals(model, 3, seed=7, progress=lambda *words: told.append(words))
    assert told == [("animals", k, 3) for k in (1, 2, 3)]
    assert (found.numbers, found.reasons) == ((0, 1, 2), ())
    alone = observe_animal(model, 1, 3, seed=7)
    np.testing.assert_array_equal(found.animals[1].slope, alone.slope)
    np.testing.assert_array_equal(
        [dataclasses.astuple(check)[3:] for check in found.animals[1].check.checks],
        [dataclasses.astuple(check)[3:] for check in alone.check.checks],
    )


def test_the_table_lists_every_statistic_of_every_animal(model):
    found = observe_animals(model, 3, seed=7)
    table = found.table()
    checks = [check for one in found.animals for check in one.check.checks]
    assert list(zip(table.animal, table.statistic, strict=True)) == [(one.animal, one.statistic) for one in checks]
    np.testing.assert_array_equal(table.data, [one.data for one in checks])
    assert table.agrees.tolist() == [one.agrees if one.is_known else "" for one in checks]
    n_known = sum(one.is_known for one in checks)
    assert found.headline().startswith(f"3 animals, {sum(one.agrees for one in checks)} of {n_known} statistics")


def test_the_reason_is_given_where_no_animal_has_a_model(model):
    chain = dataclasses.replace(model.chain, lag=600.0)
    late = dataclasses.replace(model, chain=chain, step=None, passage=None)
    with pytest.raises(InputFormatError, match=r"No animal has enough data for a model of its own: .*lag=600 s"):
        observe_animals(late, 2)
