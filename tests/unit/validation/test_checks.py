"""An animal against runs of a model: its own runs pass, another animal is told from them by the right statistics."""

import dataclasses

import numpy as np
import pytest
from scipy import stats

from ethomarkov._core.series import Series
from ethomarkov.locomotion.displacement import diffusion, msd
from ethomarkov.locomotion.ensemble import CrawlSettings
from ethomarkov.model import BehaviourModel
from ethomarkov.model.paths import measured_path
from ethomarkov.posture import EventSettings, find_events
from ethomarkov.posture.events import EVENT_KINDS
from ethomarkov.states import DelayEmbedding
from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import WormModel
from ethomarkov.validation import checks
from ethomarkov.validation.checks import Check, observe_animal, run_duration
from ethomarkov.validation.correlation import autocorrelation
from ethomarkov.validation.runs import simulate_runs

QUICK = Settings(
    n_delays=11,
    lag=0.75,
    n_states=60,
    n_walks=1,
    simulated_minutes=0.5,
    simulation_lag=0.75,
    scan=False,
    n_resamples=0,
    n_behaviours=2,
    n_modes=5,
    seed=2,
)
DEVIATIONS = [f"standard deviation of a{k}" for k in range(1, 6)]
AUTOCORRELATION = "autocorrelation, distance from the mean run"
DISTRIBUTION = "distribution, divergence from the mean run"
TRANSITIONS = {"transition rate out of pirouette", "transition rate out of run"}
SPEED, DIFFUSION = "speed over one second", "diffusion coefficient"


@pytest.fixture(scope="module")
def one():
    """A model of ten minutes of one worm without gaps."""
    worms = simulate_worms(1, 600.0, model=WormModel(missing=0.0), seed=4)
    return run_study(worms.recording, QUICK, basis=worms.basis).model


def with_animals(model, postures):
    """Put other animals into a model whose states stay as they are; nothing is known of their paths."""
    sequences = DelayEmbedding(model.n_delays).transform(postures)
    measured = dataclasses.replace(
        model.measured,
        centroid=np.full((len(postures.values), 2), np.nan),
        body_length=np.full(postures.segments.n_individuals, np.nan),
        length_unit="",
    )
    return dataclasses.replace(model, postures=postures, symbols=model.microstates.label(sequences), measured=measured)


def check_animal(model, individual, n_runs, *, seed=0, threads=1):
    return observe_animal(model, individual, n_runs, seed=seed, threads=threads).check


def beginning(model, n_frames):
    return Series.from_rows(model.postures.cut(0).values[:n_frames], model.postures.sampling)


@pytest.fixture
def judge(one, monkeypatch):
    """Judge any animals by the model of the one worm, instead of by one of their own."""
    worm = one.animal(0)
    monkeypatch.setattr(BehaviourModel, "animal", lambda model, individual: worm)

    def by_statistic(postures, individual=0, n_runs=120):
        found = check_animal(with_animals(one, postures), individual, n_runs, seed=1)
        return {check.statistic: check for check in found.checks}

    return by_statistic


@pytest.fixture(scope="module")
def own(one):
    """The worm against its own model, without its measured path."""
    found = check_animal(with_animals(one, one.postures), 0, 120, seed=1)
    return {check.statistic: check for check in found.checks}


def differing(found):
    return {name for name, check in found.items() if not check.agrees}


# --- who passes ------------------------------------------------------------------------------------------------------


@pytest.mark.seeds
def test_runs_of_the_model_lie_within_its_runs(one, judge):
    """Of twelve runs taken as data, about 95 % of the statistics lie within 95 % of other runs."""
    runs = next(one.animal(0).behave(300.0, 12, rng=99))
    found = [judge(runs, k) for k in range(12)]
    agree = {name: sum(one[name].agrees for one in found) for name in found[0]}
    assert 0.9 <= sum(agree.values()) / (12 * len(agree)) <= 0.995
    # at most 5 % outside are expected: four of twelve have a chance of 0.2 %
    assert min(agree.values()) >= 9


def test_statistics_of_a_worm(own):
    names = [*DEVIATIONS, *(f"{kind}s" for kind in EVENT_KINDS), SPEED, DIFFUSION]
    assert list(own)[:10] == names
    assert set(own) == {*names, *TRANSITIONS, AUTOCORRELATION, DISTRIBUTION}
    assert {check.n_runs for check in own.values()} == {120}
    assert len(differing(own) - set(DEVIATIONS)) <= 1


def test_numbers_of_the_animal_by_hand(one, own):
    """Values of the animal itself do not come from the model."""
    values = one.postures.values.astype(float)
    np.testing.assert_allclose([own[name].data for name in DEVIATIONS], values.std(axis=0), rtol=1e-5)
    rates = [own[f"{kind}s"].data for kind in EVENT_KINDS]
    np.testing.assert_allclose(rates, find_events(one.postures).counts()[0] / 10)


def test_the_interval_of_events_is_that_of_a_poisson_process(one, own):
    """As few events or fewer have a chance of 2.5 % at the upper limit, as many or more at the lower."""
    minutes = find_events(one.postures).observed[0] / 60
    counts = find_events(one.postures).counts()[0]
    assert (counts > 0).any()
    for kind, count in zip(EVENT_KINDS, counts, strict=True):
        check = own[f"{kind}s"]
        assert stats.poisson.cdf(count, check.data_high * minutes) == pytest.approx(0.025)
        if count:
            assert stats.poisson.sf(count - 1, check.data_low * minutes) == pytest.approx(0.025)


def test_no_event_leaves_an_upper_limit(one):
    """A worm that never bends its whole body: its rate of turns is zero, and below 3.69 per observed time."""
    still = one.postures.with_rows(one.postures.values * np.float32([1, 1, 0, 0, 0]))
    limits = checks._number_intervals(one, still)
    minutes = find_events(still).observed[0] / 60
    assert limits["ventral turns"] == (0.0, pytest.approx(-np.log(0.025) / minutes))


# --- who does not ----------------------------------------------------------------------------------------------------


def test_time_reversal_changes_reversals_and_rates_alone(one, own, judge):
    found = judge(Series.from_rows(one.postures.values[::-1].copy(), one.postures.sampling))
    assert differing(found) ^ differing(own) == {"reversals", *TRANSITIONS}
    assert found["reversals"].data > 2 * own["reversals"].high
    for name in (*DEVIATIONS, SPEED, AUTOCORRELATION, DISTRIBUTION):
        assert found[name].data == pytest.approx(own[name].data, rel=1e-4)


def test_larger_bends_change_postures_but_not_their_order(one, own, judge):
    found = judge(one.postures.with_rows(one.postures.values * np.float32(1.3)))
    assert {*DEVIATIONS, DISTRIBUTION, SPEED} <= differing(found)
    for name in DEVIATIONS:
        assert found[name].data == pytest.approx(1.3 * own[name].data, rel=1e-5)
    assert found[AUTOCORRELATION].data == pytest.approx(own[AUTOCORRELATION].data, rel=1e-3)


def test_another_strain_is_slower_and_reverses_less(judge):
    strain = dataclasses.replace(WormModel.second_strain(), missing=0.0)
    worms = simulate_worms(1, 600.0, model=strain, seed=4)
    found = judge(worms.basis.project(worms.recording))
    for name in (SPEED, "reversals"):
        assert found[name].data < found[name].low
    assert AUTOCORRELATION in differing(found)
    assert not {*DEVIATIONS[:2]} & differing(found)


# --- paths and units -------------------------------------------------------------------------------------------------


def test_measured_paths_are_taken_where_there_are(one):
    found = {check.statistic: check for check in check_animal(one, 0, 4).checks}
    path = measured_path(one)
    assert (found[SPEED].unit, found[DIFFUSION].unit) == ("mm/s", "mm²/s")
    steps = np.linalg.norm(path.centroid[16:] - path.centroid[:-16], axis=1)
    assert found[SPEED].data == pytest.approx(steps.mean())
    by_hand = diffusion(msd(path, np.arange(60.0, 101.0, 5.0), across_gaps=True)).coefficient[0]
    assert found[DIFFUSION].data == pytest.approx(by_hand)
    assert found[SPEED].simulation == pytest.approx(found[SPEED].data, rel=0.15)


def test_a_body_measured_without_its_path_moves_in_body_lengths(one):
    nowhere = np.full_like(one.measured.centroid, np.nan)
    unmeasured = dataclasses.replace(one, measured=dataclasses.replace(one.measured, centroid=nowhere))
    assert np.isfinite(unmeasured.measured.body_length).all()
    found = {check.statistic: check for check in check_animal(unmeasured, 0, 4).checks}
    assert found[SPEED].unit == "body lengths/s"
    measured = {check.statistic: check for check in check_animal(one, 0, 4).checks}
    length = one.measured.body_length[0]
    assert found[SPEED].simulation == pytest.approx(measured[SPEED].simulation / length, rel=1e-6)
    assert found[SPEED].data == pytest.approx(measured[SPEED].data / length, rel=0.05)


def test_gaps_in_a_measured_path_do_not_hide_its_diffusion(one):
    """A frame lost every minute leaves no stretch of 100 s, but most pairs 100 s apart."""
    centroid = one.measured.centroid.copy()
    centroid[:: 16 * 60] = np.nan
    gappy = dataclasses.replace(one, measured=dataclasses.replace(one.measured, centroid=centroid))
    found, whole = (
        {check.statistic: check.data for check in check_animal(model, 0, 2).checks} for model in (gappy, one)
    )
    assert found[DIFFUSION] == pytest.approx(whole[DIFFUSION], rel=0.02)


def test_short_paths_do_not_diffuse(model):
    """Two minutes are enough for lags of 100 s; a part of one is not."""
    short = with_animals(model, beginning(model, 1200))
    found = {check.statistic: check for check in check_animal(short, 0, 3).checks}
    assert np.isnan([found[DIFFUSION].data, found[DIFFUSION].simulation]).all()
    assert not found[DIFFUSION].is_known
    assert found[SPEED].is_known


def test_without_a_body_there_is_neither_path_nor_event(model):
    bare = dataclasses.replace(model, basis=None)
    found = check_animal(bare, 1, 3)
    names = [check.statistic for check in found.checks]
    assert len(names) == 9
    assert names[:5] == DEVIATIONS
    assert not {SPEED, DIFFUSION, "reversals"} & set(names)
    assert all(check.is_known for check in found.checks)


# --- runs and curves -------------------------------------------------------------------------------------------------


def test_runs_last_as_long_as_the_recording(one):
    assert run_duration(one, 9600) == 600.0
    assert run_duration(one, 9607) == 600.75
    assert run_duration(one, 1) == 1.5


def test_recordings_of_a_few_seconds_have_no_long_lag(model):
    """Neither the animal nor its runs have a pair ten seconds apart; those they have are compared."""
    few = with_animals(model, beginning(model, 100))
    assert few.postures.segments.longest() == 100
    found = check_animal(few, 0, 3)
    assert np.isnan(found.correlation.values[0, 0, -1])
    by_statistic = {check.statistic: check for check in found.checks}
    assert by_statistic[AUTOCORRELATION].is_known


def test_curves_are_those_of_the_animal_and_its_runs(model, monkeypatch):
    monkeypatch.setattr(checks, "CURVE_RUNS", 3)
    found = check_animal(model, 2, 5, seed=3)
    assert found.name == model.symbols.segments.individuals[2]
    own = autocorrelation(model.postures.cut(2), 10.0)
    np.testing.assert_array_equal(found.correlation.values, own.values)
    assert found.run_correlation.values.shape == (3, 5, 161)
    assert (found.run_correlation.over, found.run_density.over) == ("runs", "runs")
    np.testing.assert_allclose(found.run_correlation.values[:, :, 0], 1.0)
    np.testing.assert_array_equal(found.density.edges, found.run_density.edges)
    assert found.run_density.share.shape[0] == 3
    by_statistic = {check.statistic: check for check in found.checks}
    assert by_statistic[AUTOCORRELATION].low == by_statistic[DISTRIBUTION].low == 0.0
    assert by_statistic[AUTOCORRELATION].n_runs == 5


def test_one_ensemble_tells_all(model):
    """What is observed at once is what the single functions find, of the same runs."""
    found = observe_animal(model, 1, 4, seed=3)
    rule = CrawlSettings(duration=120.0, n_runs=4, body_length=float(model.measured.body_length[1]), length_unit="mm")
    runs = simulate_runs(model, model.animal(1), rule, seed=3)
    by_statistic = {check.statistic: check for check in found.check.checks}
    assert by_statistic[SPEED].simulation == pytest.approx(runs.speed.mean(), rel=1e-12)
    assert by_statistic["reversals"].simulation == pytest.approx(runs.event_rates[:, 0].mean(), rel=1e-12)
    alone = [autocorrelation(runs.postures.cut(k), 10.0).values[0] for k in range(4)]
    np.testing.assert_allclose(found.check.run_correlation.values, alone, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(found.runs.displacement.msd, runs.displacement.msd)
    np.testing.assert_array_equal(found.runs.event_rates, runs.event_rates)
    by_hand = [diffusion(msd(runs.path.cut(k), np.arange(60.0, 101.0, 5.0))).slope[0] for k in range(4)]
    np.testing.assert_allclose(found.slope, by_hand, rtol=1e-6)
    published = [find_events(runs.postures.cut(k), EventSettings.paper()).rates()[0] for k in range(4)]
    np.testing.assert_allclose(found.event_rates, np.mean(published, axis=0))
    assert found.entered > 0
    assert found.leaving.shape == (2,)


def test_what_is_observed_without_a_body(model):
    found = observe_animal(dataclasses.replace(model, basis=None), 1, 3)
    assert found.runs is None
    assert np.isnan(found.slope).all()
    assert np.isnan(found.event_rates).all()
    assert np.isfinite(found.entered)


def test_runs_are_the_same_on_two_cores_and_other_with_another_seed(model):
    first, again, other = (
        np.array([dataclasses.astuple(check)[3:] for check in check_animal(model, 0, 5, seed=seed, threads=n).checks])
        for seed, n in ((3, 1), (3, 2), (4, 1))
    )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first[:, 0][:10], other[:, 0][:10])  # of the animal itself
    assert not np.array_equal(first[:, 3], other[:, 3])


@pytest.mark.parametrize(("value", "agrees"), [(1.0, True), (2.0, True), (0.99, False), (2.01, False), (np.nan, False)])
def test_the_limits_belong_to_the_range(value, agrees):
    limits = {"simulation": 1.5, "low": 1.0, "high": 2.0, "n_runs": 9}
    check = Check(animal="w", statistic="s", unit="", data=value, data_low=np.nan, data_high=np.nan, **limits)
    assert check.agrees is agrees
    assert check.is_known is bool(np.isfinite(value))
