"""Figures that a model tells by itself: pooled estimates, each with its interval over animals."""

import numpy as np
import pytest

from ethomarkov._core.interval import jackknife_interval
from ethomarkov.coarse.kinetics import find_dwells, jump_chain
from ethomarkov.io.results import load_result, save_results
from ethomarkov.paper import kinetics
from ethomarkov.paper.evidence import Evidence, point
from ethomarkov.paper.kinetics import PaperKinetics, estimate_kinetics
from ethomarkov.paper.scoring import Estimate
from ethomarkov.posture import phase_velocity


@pytest.fixture(scope="module")
def found(study):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kinetics, "N_RESAMPLES", 5)
        measured = estimate_kinetics(Evidence(model=study.model, seed=0), study.cut)
        assert measured.reasons == ()
        return measured.estimates


def assert_same(interval, other):
    for name in ("estimate", "low", "high"):
        assert getattr(interval, name) == pytest.approx(getattr(other, name), nan_ok=True)


def test_velocities_are_those_of_the_states_with_intervals_over_animals(found, study):
    states, velocity = study.states(study.finest), phase_velocity(study.postures)
    traits, owner = study.traits_at(study.finest), states.segments.row_individual
    finite = 0
    for k, name in enumerate(study.names(study.finest)):
        mine = states.segments.valid & (states.labels == k) & np.isfinite(velocity)
        there = np.unique(owner[mine])
        left_out = np.array([velocity[mine & (owner != i)].mean() if there.size > 1 else np.nan for i in there])
        expected = jackknife_interval(float(traits.velocity[k]), left_out, "animals", scale="signed")
        assert_same(found[f"velocity of {name}"].interval, expected)
        finite += np.isfinite(expected.low)
    assert finite >= 2


def test_jumps_are_pooled_and_have_intervals(found, study):
    states, names = study.states(study.finest), study.names(study.finest)
    counts = np.array([jump_chain(states.mask(i)).counts for i in range(3)])
    assert (counts.sum(axis=0) == jump_chain(states).counts).all()
    i, j = np.unravel_index(counts.min(axis=0).argmax(), counts.shape[1:])
    left_out = [(counts.sum(axis=0) - one)[i, j] / (counts.sum(axis=0) - one)[i].sum() for one in counts]
    pooled = counts.sum(axis=0)[i, j] / counts.sum(axis=0)[i].sum()
    expected = jackknife_interval(pooled, np.array(left_out), "animals", scale="share")
    assert_same(found[f"jump of {names[i]} to {names[j]}"].interval, expected)


def test_coherence_and_dwell_times_have_intervals(found, study):
    coherence, dwell = found["coherence"].interval, found["mesoscopic dwell"].interval
    assert coherence.estimate == study.cut.coherence
    assert 0 < coherence.low < coherence.estimate < coherence.high < 1
    assert dwell.estimate == pytest.approx(find_dwells(study.states(study.finest), study.chain.lag).mean)
    assert dwell.low < dwell.estimate < dwell.high


def test_shares_stay_between_nothing_and_all(found):
    shares = [
        one.interval for key, one in found.items() if key.startswith(("measure of", "jump of", "pirouette measure"))
    ]
    assert all(not one.low < 0 and not one.high > 1 for one in shares)


def test_estimates_survive_a_file(tmp_path):
    found = {"a": Estimate(interval=point(2.0), n_worms=3, note="so"), "b": Estimate(interval=point(-1.0))}
    save_results(tmp_path / "x.nc", {"x": PaperKinetics(estimates=found, reasons=("too short",))}, {})
    again = load_result(tmp_path / "x.nc", "x", PaperKinetics)
    assert list(again.estimates) == ["a", "b"]
    assert again.estimates["a"].interval.estimate == 2.0
    assert (again.estimates["a"].n_worms, again.estimates["a"].note) == (3, "so")
    assert np.isnan(again.estimates["b"].interval.low)
    assert again.reasons == ("too short",)
