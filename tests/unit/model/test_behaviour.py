"""What was learned, as one type: labels, simulations, files, and what it refuses."""

import dataclasses

import numpy as np
import pytest

from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.io.digest import digest
from ethomarkov.model import BehaviourModel
from ethomarkov.model.paths import reconstruct_paths
from ethomarkov.recording import Recording, Track
from ethomarkov.states import DelayEmbedding
from ethomarkov.study import Settings, run_study
from ethomarkov.validation.runs import Ensemble, simulate_runs


def tracked(values, kind="amplitude", rate=16.0):
    return Recording.from_tracks([Track(individual="new", values=values)], kind=kind, sampling_rate=rate)


@pytest.fixture(scope="module")
def gapless(worms):
    """Frames of the first worm, with gaps closed."""
    values = worms.recording.values[:1920]
    return values[np.isfinite(values).all(axis=1)]


@pytest.fixture(scope="module")
def mouse():
    """A model of keypoints, which have no tangent angles."""
    rng = np.random.default_rng(3)
    paces = np.cumsum(rng.normal(size=(1200, 4, 2)), axis=0) * 0.01 + np.array([[0, 0], [1, 0], [2, 0.5], [3, 0]])
    wave = np.sin(np.arange(1200) / 7)[:, None, None] * np.array([0, 0.5, 0.2, 0.6])[None, :, None]
    settings = Settings(
        n_modes=3,
        n_delays=4,
        n_states=8,
        lag=0.5,
        n_resamples=0,
        n_walks=1,
        simulated_minutes=0.1,
        simulation_lag=0.5,
        scan=False,
    )
    return run_study(tracked((paces + wave).astype(np.float32), kind="position"), settings)


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_model_survives_its_file(model, tmp_path):
    file = model.save(tmp_path / "model.nc")
    found = BehaviourModel.load(file)
    assert digest(found) == digest(model)
    assert found.names(7) == model.names(7)
    assert found.save(tmp_path / "again.nc").read_bytes() == file.read_bytes()
    np.testing.assert_array_equal(found.simulate(20.0, rng=4).values, model.simulate(20.0, rng=4).values)


def test_a_model_without_basis_traits_or_paths_survives_too(model, tmp_path):
    bare = dataclasses.replace(model, basis=None, traits=None, measured=None, step=None, passage=None)
    found = BehaviourModel.load(bare.save(tmp_path / "bare.nc"))
    assert digest(found) == digest(bare)
    assert found.steps == (0.75, 0.75)
    with pytest.raises(InputFormatError, match="has no traits"):
        found.names(2)


def test_a_damaged_file_is_refused(model, tmp_path):
    file = model.save(tmp_path / "model.nc")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(InputFormatError, match=r"model\.nc"):
        BehaviourModel.load(file)


# --- labels ----------------------------------------------------------------------------------------------------------


def test_its_own_animals_have_the_labels_of_the_study(study, model, worms):
    for given in (worms.recording, study.postures):
        found = model.label(given)
        np.testing.assert_array_equal(found.labels, study.symbols.labels)
        np.testing.assert_array_equal(found.segments.bounds, study.symbols.segments.bounds)
    assert model.individuals == worms.recording.individuals
    np.testing.assert_array_equal(model.label(worms.recording, threads=2).labels, study.symbols.labels)


def test_new_frames_have_the_nearest_microstate(model, gapless):
    found = model.label(tracked(gapless + np.float32(0.05)))
    sequences = DelayEmbedding(11).transform(model.project(tracked(gapless + np.float32(0.05)))).values
    rows = np.flatnonzero(found.labels >= 0)[::97]
    away = np.linalg.norm(sequences[rows][:, None] - model.microstates.centers[None], axis=2)
    np.testing.assert_array_equal(found.labels[rows], away.argmin(axis=1))


def test_another_rate_is_refused_with_the_remedy(model, gapless):
    with pytest.raises(SamplingError, match=r"30 Hz.*16 Hz.*--resample 16"):
        model.label(tracked(gapless, rate=30.0))


@pytest.mark.parametrize("has_basis", [True, False])
def test_fewer_modes_are_refused(model, gapless, has_basis):
    one = model if has_basis else dataclasses.replace(model, basis=None)
    with pytest.raises(InputFormatError, match="holds 4 modes, the study was made with 5"):
        one.label(tracked(gapless[:, :4]))


def test_another_kind_is_refused(model, mouse, gapless):
    angles = np.random.default_rng(0).normal(size=(200, 48)).astype(np.float32)
    with pytest.raises(InputFormatError, match=r"angles.*without their shapes.*--basis"):
        dataclasses.replace(model, basis=None).label(tracked(angles, kind="angle"))
    with pytest.raises(InputFormatError, match="angles"):
        mouse.model.label(tracked(angles, kind="angle", rate=16.0))


def test_too_many_gaps_are_refused(model, gapless):
    values = gapless.copy()
    values[::8] = np.nan
    with pytest.raises(SamplingError, match=r"7 frames.*takes 11.*--fill-gaps"):
        model.label(tracked(values))


# --- simulated animals -----------------------------------------------------------------------------------------------


def test_simulations_are_reproducible(model):
    first, again, other = (model.simulate(30.0, 3, rng=seed) for seed in (5, 5, 6))
    assert first.segments.n_individuals == 3
    assert np.diff(first.segments.offsets).tolist() == [480] * 3
    np.testing.assert_array_equal(first.values, again.values)
    np.testing.assert_array_equal(first.values, model.simulate(30.0, 3, rng=5, threads=2).values)
    assert not np.array_equal(first.values, other.values)
    np.testing.assert_array_equal(first.values, model.simulate(30.0, 3, rng=np.random.default_rng(5)).values)


def test_simulated_postures_are_recorded_ones(model):
    recorded = model.postures.values[model.postures.segments.valid]
    made = model.simulate(60.0, 2, rng=1).values
    np.testing.assert_allclose(made.std(axis=0), recorded.std(axis=0), rtol=0.6)


def test_durations_are_whole_steps(model):
    assert model.steps == (0.75, 0.75)
    assert (model.whole_steps(10.0), model.whole_steps(0.1)) == (9.75, 1.5)


def test_states_are_those_of_the_study(study, model):
    assert (model.finest, model.is_worm, model.has_body) == (study.finest, True, True)
    for level in study.tree.levels:
        assert model.names(level) == study.given_names(level)
        np.testing.assert_array_equal(model.states(level).labels, study.states(level).labels)


# --- animals without a body ------------------------------------------------------------------------------------------


def test_keypoints_have_no_path_and_say_so(mouse):
    model = mouse.model
    assert mouse.path is None
    assert not model.has_body
    assert not model.is_worm
    for refuse in (BehaviourModel.body_basis, reconstruct_paths):
        with pytest.raises(InputFormatError, match="tangent angles along the body, and this study has none"):
            refuse(model)
    ensemble = Ensemble(model=model, animal=model.animal(), settings=None)
    with pytest.raises(InputFormatError, match="tangent angles"):
        simulate_runs(model, ensemble.animal, ensemble.settings)
    assert np.isfinite(model.simulate(10.0, rng=0).values).all()
    assert sorted(model.names(2)) == ["state A", "state B"]
