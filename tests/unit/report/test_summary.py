"""Key figures against counts by hand."""

import dataclasses
import json

import numpy as np
import pytest

from ethomarkov._core.interval import jackknife_interval
from ethomarkov.coarse.kinetics import find_dwells
from ethomarkov.markov import MarkovChain, entropy_rate
from ethomarkov.markov.counts import count_transitions
from ethomarkov.markov.spectrum import slowest_time_by_unit
from ethomarkov.posture import find_events, phase_velocity
from ethomarkov.recording import Recording, Track
from ethomarkov.report.summary import summarize
from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import simulate_worms
from ethomarkov.synthetic.worm import WormModel


@pytest.fixture(scope="module")
def worms():
    return simulate_worms(3, 120.0, model=WormModel(missing=0.1), seed=11)


@pytest.fixture(scope="module")
def study(worms):
    chosen = {"n_delays": 11, "lag": 0.75, "n_states": 15, "n_behaviours": 7, "simulation_lag": 0.75, "seed": 2}
    return run_study(worms.recording, Settings(**chosen, n_walks=3, simulated_minutes=0.5), basis=worms.basis)


@pytest.fixture(scope="module")
def figures(study):
    return summarize(study)


def test_sections(figures):
    wanted = {"data", "choices", "chain", "macrostates", "choice", "timescales", "events_per_minute", "simulation"}
    wanted |= {"behaviours", "warnings"}
    assert set(figures) == wanted


def test_figures_are_plain_numbers_and_words(figures):
    json.dumps(figures)


def test_data(figures, worms, study):
    valid = np.isfinite(worms.recording.values).all(axis=1)
    data = figures["data"]
    assert data["animals"] == 3
    assert data["frames"] == valid.size == 3 * 1920
    assert data["rate_hz"] == 16.0
    assert data["minutes"] == pytest.approx(6.0)
    assert data["missing_share"] == pytest.approx(1 - valid.mean())
    assert data["longest_gap_free_s"] == pytest.approx(study.postures.segments.lengths.max() / 16)
    assert data["modes"] == 5
    assert data["basis"] == "analytic worm"


def test_chain(figures, study):
    chain = figures["chain"]
    assert chain["connected_states"] == study.chain.states.size
    frame_chain = MarkovChain.from_symbols(study.symbols, 1 / 16)
    assert chain["entropy_rate_nat_per_s"] == pytest.approx(entropy_rate(frame_chain))
    np.testing.assert_allclose(
        chain["relaxation_times_s"], study.spectrum.relaxation_times[:5], atol=1e-4, equal_nan=True
    )


def test_slowest_relaxation_is_that_of_the_pooled_chain_over_animals(figures, study):
    counts = [count_transitions(study.symbols.mask(i), 12) for i in range(3)]
    time, left_out = slowest_time_by_unit(counts, 0.75)
    expected = jackknife_interval(study.spectrum.relaxation_times[0], left_out, "animals")
    found = figures["chain"]["slowest_relaxation_s"]
    assert found["estimate"] == study.spectrum.relaxation_times[0] == pytest.approx(time)
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), rel=1e-6)


def test_macrostates(figures, study):
    labels, dwells = study.states().labels, find_dwells(study.states(), 0.75)
    for k, found in enumerate(figures["macrostates"]["states"]):
        assert found["share_of_time"] == pytest.approx((labels[labels >= 0] == k).mean())
        mine = dwells.in_state(k)
        followed = mine.duration.sum() - 0.75 * mine.ends_cut.sum()
        assert found["mean_dwell_s"]["estimate"] == pytest.approx(followed / (~mine.ends_cut).sum())
        assert (found["mean_dwell_s"]["n"], found["mean_dwell_s"]["over"]) == (3, "animals")
    assert sum(found["share_of_time"] for found in figures["macrostates"]["states"]) == pytest.approx(1)


def test_the_run_is_the_state_that_goes_forward(study):
    names, omega = study.names(2), phase_velocity(study.postures)
    mean = {name: np.nanmean(omega[study.states().labels == k]) for k, name in enumerate(names)}
    assert set(mean) == {"run", "pirouette"}
    assert mean["run"] > mean["pirouette"]


def test_events(figures, study):
    rates = find_events(study.postures).rates().mean(axis=0)
    found = [figures["events_per_minute"][kind]["data"]["estimate"] for kind in figures["events_per_minute"]]
    np.testing.assert_allclose(found, rates)


def test_measured_speed_is_that_of_the_recording(figures, worms):
    means = []
    for i, name in enumerate(worms.recording.individuals):
        track = worms.recording.centroid[i * 1920 : (i + 1) * 1920].astype(float)
        steps = [np.hypot(*(track[t + 16] - track[t])) for t in range(1920 - 16)]
        means.append(np.nanmean(steps) / worms.recording.body_lengths[name])
    found = figures["simulation"]["measured_speed_body_lengths_per_s"]
    assert found["estimate"] == pytest.approx(np.mean(means), rel=1e-4)
    assert found["n"] == 3


def test_simulated_animals_resemble_the_recorded(figures, study):
    simulation = figures["simulation"]
    assert simulation["runs"] == 3
    valid = study.postures.segments.valid
    np.testing.assert_allclose(simulation["mode_sd_data"], study.postures.values[valid].std(axis=0), atol=1e-3)
    np.testing.assert_allclose(simulation["mode_sd_simulation"], simulation["mode_sd_data"], rtol=0.6)


def test_the_summary_is_the_same_every_time(figures, study):
    assert json.dumps(summarize(study)) == json.dumps(figures)


# --- what a reader should know ---------------------------------------------------------------------------------------


def short(worms, names, settings, basis=None):
    offsets = {name: i * 1920 for i, name in enumerate(worms.recording.individuals)}
    values = worms.recording.values
    tracks = [Track(individual=name, values=values[offsets[name] : offsets[name] + 1920]) for name in names]
    return run_study(Recording.from_tracks(tracks, kind="amplitude", sampling_rate=16.0), settings, basis=basis)


def test_amplitudes_without_a_basis_have_no_path_and_neutral_names(worms):
    study = short(
        worms, ["worm_00", "worm_01"], Settings(n_delays=11, lag=0.75, n_states=10, n_walks=2, simulated_minutes=0.2)
    )
    found = summarize(study)
    assert found["events_per_minute"] is None
    assert [state["name"] for state in found["macrostates"]["states"]] == ["state A", "state B"]
    assert "speed_body_lengths_per_s" not in found["simulation"]
    assert any("--basis" in warning for warning in found["warnings"])


def test_one_animal_is_told(worms):
    study = short(
        worms, ["worm_00"], Settings(n_delays=11, lag=0.75, n_states=10, n_walks=2, simulated_minutes=0.2), worms.basis
    )
    found = summarize(study)
    assert any("One animal" in warning for warning in found["warnings"])
    slowest = found["chain"]["slowest_relaxation_s"]
    assert (slowest["over"], slowest["n"]) == ("blocks", 20)
    assert slowest["low"] < slowest["estimate"] < slowest["high"]
    assert found["macrostates"]["states"][0]["mean_dwell_s"]["over"] == "blocks"


def test_rare_states_are_told(worms):
    study = short(
        worms, ["worm_00"], Settings(n_delays=11, lag=0.75, n_states=200, n_walks=2, simulated_minutes=0.2), worms.basis
    )
    warnings = summarize(study)["warnings"]
    assert any("fewer than 30 times" in warning for warning in warnings)


def test_a_negative_eigenvalue_has_no_relaxation_time(study):
    """A chain of two states may swap them at every step."""
    odd = study.replace(cut=dataclasses.replace(study.cut, eigenvalue=-0.3))
    assert np.isnan(summarize(odd)["chain"]["slowest_reversibilized_s"])


def test_an_eigenvalue_of_one_never_relaxes(study):
    stuck = study.replace(cut=dataclasses.replace(study.cut, eigenvalue=1.0))
    assert not np.isfinite(summarize(stuck)["chain"]["slowest_reversibilized_s"])


def test_a_streamed_study_says_which_animals_are_behind_which_figures(study):
    """The caveat belongs to the study, so that every view of it shows it."""
    animals = study.animals
    some = dataclasses.replace(animals, is_example=np.array([True, False, False]), n_unseen=2)
    warnings = summarize(study.replace(animals=some))["warnings"]
    assert any(warning.startswith("Chain and states come from 3 animals") for warning in warnings)
    assert any("2 microstates that no example animal visits" in warning for warning in warnings)
    assert not any("Chain and states come from" in warning for warning in summarize(study)["warnings"])


def test_states_that_the_recording_does_not_tell_apart_are_told(study):
    assert study.tree.n_supported < study.finest
    assert study.tree.verdict() in summarize(study)["warnings"]
