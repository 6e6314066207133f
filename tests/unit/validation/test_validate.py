"""Whether a model can be trusted: over all animals, over one, over animals without a body."""

import dataclasses

import numpy as np
import pytest

from ethomarkov._core.interval import Interval
from ethomarkov._core.series import Series
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.recording import Recording, Track
from ethomarkov.states import Symbols
from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import WormModel
from ethomarkov.validation.checks import AnimalCheck
from ethomarkov.validation.ensembles import observe_animals
from ethomarkov.validation.validate import (
    Agreement,
    _entries,
    _modelled,
    _warnings,
    agree,
    animal_models,
    assemble_validation,
    cross_validate_model,
    fit_settings,
    predict,
)

QUICK = Settings(
    n_delays=11,
    lag=0.75,
    n_states=15,
    n_walks=1,
    simulated_minutes=0.5,
    scan=False,
    n_resamples=0,
    n_behaviours=2,
    n_modes=5,
    seed=2,
)


def validate_model(model, *, n_runs, n_repeats=0, seed=0, threads=1):
    """Do what the stages of a validation do."""
    animals = observe_animals(model, n_runs, seed=seed, threads=threads)
    predictions = predict(model, n_walks=n_runs, seed=seed, threads=threads)
    splits = {
        name: cross_validate_model(model, n_repeats, as_published=as_published, seed=seed, threads=threads)
        for name, as_published in (("held-out", False), ("as published", True))
        if n_repeats
    }
    return assemble_validation(model, [one.check for one in animals.animals], predictions, splits)


@pytest.fixture(scope="module")
def found(model):
    return validate_model(model, n_runs=6, seed=5)


def model_of(lengths):
    """Learn from worms without gaps, each cut to a number of frames."""
    whole = simulate_worms(3, 120.0, model=WormModel(missing=0.0), seed=11)
    recording, starts = whole.recording, whole.recording.segments.offsets
    tracks = [
        Track(individual=name, values=recording.values[a : a + n], centroid=recording.centroid[a : a + n])
        for name, a, n in zip(recording.individuals, starts[:-1], lengths, strict=True)
    ]
    cut = Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0, attrs={"length_unit": "mm"})
    return run_study(cut, QUICK, basis=whole.basis).model


# --- one verdict from many animals -----------------------------------------------------------------------------------


def nothing(n=1):
    return Interval(estimate=1.0, low=np.nan, high=np.nan, level=0.95, over="animals", n=n)


@pytest.mark.parametrize(
    ("n_animals", "most_outside"),
    # the largest number outside that has a chance above 5 %: 1 − 0.95ⁿ for one, 1 − 0.95ⁿ − 0.05 n 0.95ⁿ⁻¹ for two
    [(1, 0), (2, 1), (7, 1), (8, 2), (12, 2), (17, 3), (100, 9)],
)
def test_as_many_may_lie_outside_as_chance_explains(n_animals, most_outside):
    for outside in range(n_animals + 1):
        row = Agreement(
            name="", unit="", data=nothing(), simulation=nothing(), n_agree=n_animals - outside, n_animals=n_animals
        )
        assert row.agrees is (outside <= most_outside)


def test_agreements_average_the_checks(found, model):
    by_animal = [{check.statistic: check for check in one.checks} for one in found.animals]
    assert [one.name for one in found.animals] == list(model.symbols.segments.individuals)
    for row in found.agreements:
        checks = [one[row.name] for one in by_animal if one[row.name].is_known]
        assert row.n_animals == len(checks)
        assert row.n_agree == sum(check.low <= check.data <= check.high for check in checks)
        assert row.data.estimate == pytest.approx(np.mean([check.data for check in checks]))
        assert row.simulation.estimate == pytest.approx(np.mean([check.simulation for check in checks]))
        assert row.data.n == row.n_animals
        assert row.unit == checks[0].unit
    assert [row.name for row in found.agreements] == list(by_animal[0])
    table = found.table()
    assert table.statistic.tolist() == [row.name for row in found.agreements]
    np.testing.assert_array_equal(table.data, [row.data.estimate for row in found.agreements])
    assert found.headline() == f"{table.agrees.sum()} of {len(table)} statistics agree, 3 animals"


def test_units_are_not_averaged_with_each_other_nor_the_unknown_with_the_known(found):
    (first, second, third) = found.animals
    at = [check.statistic for check in first.checks].index("speed over one second")

    def changed(animal: AnimalCheck, **changes):
        checks = list(animal.checks)
        checks[at] = dataclasses.replace(checks[at], **changes)
        return dataclasses.replace(animal, checks=tuple(checks))

    animals = [first, changed(second, unit="body lengths/s"), changed(third, data=np.nan)]
    rows = [row for row in agree(animals) if row.name == "speed over one second"]
    assert [(row.unit, row.n_animals) for row in rows] == [("mm/s", 1), ("body lengths/s", 1)]
    nobody = [changed(one, simulation=np.nan) for one in found.animals]
    assert "speed over one second" not in {row.name for row in agree(nobody)}


# --- the whole -------------------------------------------------------------------------------------------------------


def test_many_animals(found, model):
    names = model.symbols.segments.individuals
    assert found.held_out.over == found.recorded_error.over == found.simulated_error.over == "animals"
    assert found.held_out.names == found.recorded_error.individuals == names
    assert (found.entries.over, found.run_entries.over) == ("animals", "runs")
    assert len(found.run_entries.individuals) == 6
    assert found.cross_validation == {}
    fit = fit_settings(model, seed=5)
    assert (fit.n_delays, fit.n_states, fit.lag, fit.seed) == (11, 15, 0.75, 5)


def test_windows_suit_the_recording(found, model):
    """Three windows at least fit into the longest recording, here of two minutes; walks have the same."""
    assert found.entries.window == found.run_entries.window == pytest.approx(39.0)
    np.testing.assert_allclose(np.diff(found.entries.starts), 19.5)
    np.testing.assert_allclose(found.entries.starts, found.run_entries.starts)
    assert found.drift.n_windows == 3
    assert np.isfinite(found.drift.p_value)


def test_windows_of_long_recordings_are_the_published_ones(model):
    """Sixteen minutes have room for three windows of five."""
    sampling, n_frames = model.postures.sampling, 16 * 960
    postures = Series.from_rows(np.zeros((n_frames, 5), dtype=np.float32), sampling)
    labels = (np.arange(n_frames) // 160 % 2).astype(np.int32)
    states = Symbols(labels=labels, n_states=2, segments=postures.segments, sampling=sampling)
    found = _entries(dataclasses.replace(model, postures=postures), states)
    assert found.window == 300.0
    np.testing.assert_array_equal(found.starts, np.arange(0.0, 661.0, 150.0))
    np.testing.assert_allclose(found.rate, 3.0, atol=0.2)


def test_it_does_not_depend_on_cores(found, model):
    again = validate_model(model, n_runs=6, seed=5, threads=2)
    assert again.warnings == found.warnings
    for one, other in zip(found.animals, again.animals, strict=True):
        left, right = (np.array([dataclasses.astuple(check)[3:] for check in side.checks]) for side in (one, other))
        np.testing.assert_array_equal(left, right)
        np.testing.assert_array_equal(one.run_correlation.values, other.run_correlation.values)
    for name in ("recorded_error", "simulated_error"):
        np.testing.assert_array_equal(getattr(again, name).error, getattr(found, name).error)
    np.testing.assert_array_equal(again.held_out.chain, found.held_out.chain)
    np.testing.assert_array_equal(again.run_entries.counts, found.run_entries.counts)
    assert again.drift.p_value == found.drift.p_value


def test_one_animal_is_judged_in_blocks_and_parts():
    alone = simulate_worms(1, 120.0, model=WormModel(missing=0.0), seed=11)
    found = validate_model(run_study(alone.recording, QUICK, basis=alone.basis).model, n_runs=4)
    assert (found.held_out.over, len(found.held_out.names)) == ("blocks", 10)
    assert found.recorded_error.over == "parts"
    assert np.isnan(found.drift.interval.low)
    (animal,) = found.animals
    for row, check in zip(found.agreements, animal.checks, strict=True):
        # its own interval is over its events, where it has one, and the other is the range of its runs
        assert (row.name, row.n_animals, row.n_agree) == (check.statistic, 1, int(check.agrees))
        np.testing.assert_array_equal([row.data.low, row.data.high], [check.data_low, check.data_high])
        assert (row.simulation.low, row.simulation.high, row.simulation.over) == (check.low, check.high, "runs")
        assert row.agrees is check.agrees


def test_without_a_body_there_are_still_states_and_predictions(model):
    found = validate_model(dataclasses.replace(model, basis=None), n_runs=4, n_repeats=2)
    names = {row.name for row in found.agreements}
    assert not {"reversals", "speed over one second", "diffusion coefficient"} & names
    assert sum(name.startswith("transition rate out of") for name in names) == 2
    assert len(names) == 9
    assert set(found.cross_validation) == {"held-out", "as published"}
    assert set(found.cross_validation["held-out"].comparisons) == {"transition rates", "autocorrelation"}


@pytest.mark.slow
def test_cross_validation_of_worms(model):
    found = validate_model(model, n_runs=2, n_repeats=2).cross_validation
    for kind, one in found.items():
        assert one.fit.as_published is (kind == "as published")
        assert set(one.comparisons) == {"event rates", "transition rates", "autocorrelation"}
        assert len(one.comparisons["event rates"].test) == 2
    np.testing.assert_array_equal(
        found["held-out"].comparisons["event rates"].test, found["as published"].comparisons["event rates"].test
    )  # the same splits


def test_warnings_name_what_is_wrong(model, found):
    wrong = [row.name for row in found.agreements if not row.agrees]
    assert any(words.startswith("Not reproduced") for words in found.warnings) is bool(wrong)
    for name in wrong:
        assert any(name in words for words in found.warnings)
    published = dataclasses.replace(model, unfolding="paper")
    words = list(_warnings(published, found.agreements, found.held_out, found.drift))
    assert words[:-1] == list(found.warnings)
    assert "as published" in words[-1]


def test_warnings_of_models_that_predict_nothing(model, found):
    """A chain that is worse than the occupancy, in animals of which it has seen little, while rates drift."""
    worse = dataclasses.replace(found.held_out, chain=found.held_out.memoryless - 1, unseen=np.full(3, 0.3))
    drifting = dataclasses.replace(found.drift, p_value=0.01)
    words = " ".join(_warnings(model, (), worse, drifting))
    for part in ("30% of the transitions", "better than occupancy alone", "not stationary"):
        assert part in words
    assert "Not reproduced" not in words
    steady = dataclasses.replace(found.drift, p_value=0.05)
    good = dataclasses.replace(found.held_out, chain=found.held_out.memoryless + 1, unseen=np.full(3, 0.25))
    words = " ".join(_warnings(model, (), good, steady))
    assert not any(part in words for part in ("of the transitions", "occupancy", "stationary"))


# --- animals that are too short --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_animal_shorter_than_the_lag_is_left_out():
    """It has a few sequences, but no transition: the others are judged, and nothing is held out for it."""
    model = model_of([1920, 16, 1920])
    assert model.symbols.segments.count_rows()[1] > 0
    found = validate_model(model, n_runs=3, n_repeats=2)
    assert [one.name for one in found.animals] == ["worm_00", "worm_02"]
    assert found.held_out.names == ("worm_00", "worm_02")
    assert found.cross_validation["held-out"].individuals == ("worm_00", "worm_02")
    assert max(row.n_animals for row in found.agreements) == 2


def test_a_single_animal_that_is_long_enough_is_held_out_in_blocks():
    model = model_of([1920, 16, 12])
    found = validate_model(model, n_runs=3)
    assert [one.name for one in found.animals] == ["worm_00"]
    assert found.held_out.over == "blocks"
    assert _modelled(model, animal_models(model)).segments.individuals == ("worm_00",)


def test_the_reason_is_given_where_no_animal_is_long_enough(model):
    """A lag longer than any recording."""
    chain = dataclasses.replace(model.chain, lag=600.0)
    with pytest.raises(EthomarkovError, match="lag=600 s"):
        validate_model(dataclasses.replace(model, chain=chain, step=None, passage=None), n_runs=2)
