"""Simulated ensembles of a model."""

import dataclasses

import numpy as np
import pytest

from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.locomotion.displacement import msd
from ethomarkov.locomotion.ensemble import CrawlSettings
from ethomarkov.posture import find_events
from ethomarkov.simulation.postures import unfold_blocks
from ethomarkov.validation.runs import (
    EXAMPLES,
    FIT_WINDOW,
    Ensemble,
    displacement_at,
    displacement_lags,
    fit_lags,
    fitted_diffusion,
    measured_displacement,
    simulate_runs,
    spectrum_segment,
)

RULE = CrawlSettings(duration=30.0, n_runs=4, body_length=0.7, length_unit="mm")
N_FRAMES = 30 * 16


@pytest.fixture(scope="module")
def runs(model):
    return simulate_runs(model, model.animal(1), RULE, seed=6)


def test_models_of_one_and_of_all(model):
    alone, together = model.animal(1), model.animal()
    assert alone.name == model.symbols.segments.individuals[1]
    assert together.name == "all"
    np.testing.assert_allclose(together.chain.transition.toarray(), model.chain.transition.toarray())
    mine = model.symbols.labels[model.symbols.segments.mask(1).valid]
    assert set(alone.chain.states) <= set(mine)
    assert model.animal(start="stationary").start is None


def test_a_state_is_never_left(model):
    for state, name in enumerate(model.names(2)):
        animal = model.confined(2, state)
        assert animal.name == name
        walked = animal.walk(300.0, 5, rng=0).labels
        assert set(model.tree.states_at(2)[walked]) == {state}


def test_a_state_of_one_microstate_is_refused_by_name(model):
    single = [
        (level, k)
        for level in model.tree.levels
        for k in range(level)
        if np.count_nonzero(model.tree.states_at(level) == k) == 1
    ]
    assert single, "the small model always has one"
    level, k = single[0]
    with pytest.raises(ConnectivityError, match=f"'{model.names(level)[k]}' cannot be simulated alone"):
        model.confined(level, k)


def test_a_level_that_is_not_there(model):
    with pytest.raises(InputFormatError, match="no level of 77 states"):
        model.confined(77, 0)


def test_measures_are_those_of_the_runs(runs):
    """All runs of one block are kept, so that everything can be computed again."""
    assert runs.path.segments.n_individuals == 4
    lags = runs.displacement.lags
    for k in range(4):
        path = runs.path.cut(k)
        np.testing.assert_allclose(runs.displacement.msd[k], msd(path, lags).msd[0], rtol=1e-9)
        lag = round(lags[5] * 16)
        moved = path.centroid[lag:] - path.centroid[:-lag]
        assert runs.displacement.msd[k, 5] == pytest.approx(np.square(moved).sum(axis=1).mean())
        assert runs.displacement.n_pairs[k, 5] == N_FRAMES - lag
        second = np.linalg.norm(path.centroid[16:] - path.centroid[:-16], axis=1)
        assert runs.speed[k] == pytest.approx(second.mean())
        np.testing.assert_allclose(runs.event_rates[k], find_events(runs.postures.cut(k)).rates()[0])


def test_walks_are_those_behind_the_runs(model, runs):
    """Unfolded with the seed of the runs, the walks give their postures."""
    ensemble = Ensemble(model=model, animal=model.animal(1), settings=RULE, seed=6)
    seed = int(ensemble._rng().integers(2**63))
    unfolded = next(unfold_blocks(ensemble.walks(), ensemble.animal.repertoire, walks_per_block=4, rng=seed))
    np.testing.assert_array_equal(unfolded.values, runs.postures.values)


def test_only_a_few_runs_are_kept(model):
    found = simulate_runs(model, model.animal(1), dataclasses.replace(RULE, n_runs=EXAMPLES + 2), seed=6)
    assert found.displacement.msd.shape[0] == EXAMPLES + 2
    assert found.path.segments.n_individuals == found.postures.segments.n_individuals == EXAMPLES
    assert len(found.path.centroid) == len(found.postures.values) == EXAMPLES * N_FRAMES
    first = simulate_runs(model, model.animal(1), dataclasses.replace(RULE, n_runs=2), seed=6)
    np.testing.assert_array_equal(found.path.cut(1).centroid, first.path.cut(1).centroid)


def test_lags_for_curves_and_for_fits_are_measured_at_once(model):
    """A run of ten minutes is measured once, and both fits are those of its path alone."""
    rule = dataclasses.replace(RULE, duration=600.0, n_runs=2)
    found = Ensemble(model=model, animal=model.animal(1), settings=rule).gather(("msd",))
    for lags in (fit_lags(16.0), displacement_lags(16.0, 600.0)):
        far = displacement_at(lags, found, rule)
        np.testing.assert_allclose(far.msd, [msd(found.path.cut(k), lags).msd[0] for k in range(2)], rtol=1e-7)
    np.testing.assert_allclose(fit_lags(16.0), np.arange(60.0, 101.0, 5.0))
    assert list(found.values) == ["msd"]


def test_runs_do_not_depend_on_blocks_cores_or_their_number(model, runs):
    animal = model.animal(1)
    for changes, threads in [({"runs_per_block": 1}, 1), ({"runs_per_block": 3}, 2), ({"n_runs": 2}, 1)]:
        rule = dataclasses.replace(RULE, **changes)
        found = simulate_runs(model, animal, rule, seed=6, threads=threads)
        np.testing.assert_array_equal(found.speed, runs.speed[: rule.n_runs])
        np.testing.assert_array_equal(found.displacement.msd, runs.displacement.msd[: rule.n_runs])


def test_seeds_and_animals_differ(model, runs):
    assert not np.array_equal(simulate_runs(model, model.animal(1), RULE, seed=7).speed, runs.speed)
    assert not np.array_equal(simulate_runs(model, model.animal(0), RULE, seed=6).speed, runs.speed)


def test_the_body_length_scales_everything(model, runs):
    double = simulate_runs(model, model.animal(1), dataclasses.replace(RULE, body_length=1.4), seed=6)
    np.testing.assert_allclose(double.speed, 2 * runs.speed, rtol=1e-9)
    np.testing.assert_allclose(double.displacement.msd, 4 * runs.displacement.msd, rtol=1e-9)
    assert double.displacement.length_unit == "mm"


def test_no_run_is_refused(model):
    with pytest.raises(InputFormatError, match="no run"):
        simulate_runs(model, model.animal(1), dataclasses.replace(RULE, n_runs=0))


def test_events_are_unknown_without_a_body_wave(model):
    """Fewer than three modes tell no events, but still have a path."""
    two = dataclasses.replace(model.basis, vectors=model.basis.vectors[:, :2])
    few = dataclasses.replace(model, basis=dataclasses.replace(two, features="angle"))
    assert model.is_worm
    bare = dataclasses.replace(few, postures=model.postures.with_rows(model.postures.values[:, :2]))
    assert not bare.is_worm
    found = simulate_runs(bare, bare.animal(), dataclasses.replace(RULE, n_runs=2, duration=15.0))
    assert found.event_rates.shape == (2, 3)
    assert np.isnan(found.event_rates).all()
    assert (found.speed > 0).all()


# --- lags and fits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [1.0, 7.5, 16.0, 30.0, 100.0])
@pytest.mark.parametrize("duration", [12.0, 120.0, 2100.0])
def test_lags_are_whole_frames_up_to_a_quarter_of_a_run(rate, duration):
    frames = displacement_lags(rate, duration) * rate
    np.testing.assert_allclose(frames, np.rint(frames), atol=1e-6)
    assert (np.diff(frames) > 0.5).all()
    assert frames[0] >= 1
    assert frames[0] == pytest.approx(rate, abs=0.51)
    assert frames[-1] == pytest.approx(duration * rate / 4, abs=0.51)


def test_a_run_of_a_few_frames_still_has_lags():
    frames = displacement_lags(16.0, 0.25) * 16
    assert frames.min() >= 1
    assert frames.max() <= 3


def test_segments_of_the_spectrum():
    assert spectrum_segment(2100.0) == 600.0
    assert spectrum_segment(90.0) == 30.0


def test_diffusion_only_where_runs_are_long_enough(runs, model):
    assert runs.diffusion is None
    assert fitted_diffusion(runs.displacement) is None
    long = measured_displacement(model, 480.0)
    fitted = fitted_diffusion(long)
    inside = (long.lags >= FIT_WINDOW[0]) & (long.lags <= FIT_WINDOW[1])
    slopes = np.polyfit(long.lags[inside], long.msd[:, inside].T, 1)[0]
    np.testing.assert_allclose(fitted.coefficient, slopes / 4, rtol=1e-6)


def test_lags_beyond_the_recording_are_unknown(model):
    """Simulated runs may be much longer than what was recorded."""
    far = measured_displacement(model, 2100.0)
    known = np.isfinite(far.msd)
    assert far.lags[-1] == pytest.approx(525.0)
    assert not known[:, far.lags >= 120].any()
    assert known[:, far.lags < 60].all()


def test_nothing_measured(model):
    nothing = dataclasses.replace(model.measured, centroid=np.full_like(model.measured.centroid, np.nan))
    assert measured_displacement(dataclasses.replace(model, measured=nothing), 60.0) is None
