"""One worm of the paper against a hundred runs of its own Markov animal.

The published ranges of worm 6 are those of runs on one partition of all twelve worms; here it is on its own.
"""

import numpy as np
import pytest

import ethomarkov as em
from ethomarkov.study import Settings, run_study

pytestmark = [pytest.mark.real, pytest.mark.slow]

MEASURED_DIFFUSION = 0.0600  # mm²/s, published for worm 6
SIMULATED_SLOPES = (0.111, 0.297)  # mm²/s: the published interval of its simulated "D", which is 4 D
SETTINGS = Settings(
    n_delays=11,
    lag=0.75,
    n_states=1000,
    n_behaviours=2,
    n_walks=1,
    simulated_minutes=0.5,
    scan=False,
    n_resamples=0,
    n_modes=5,
)


@pytest.fixture(scope="module")
def study(request):
    shared_data = request.getfixturevalue("shared_data")
    basis = em.PostureBasis.from_file(shared_data("eigenworms.csv"), n_modes=5)
    return run_study(em.read(shared_data("worm6.npz")), SETTINGS, basis=basis)


@pytest.fixture(scope="module")
def found(study):
    return study.compute("validation", n_runs=100, entry_walks=100)


@pytest.fixture(scope="module")
def checks(found):
    (animal,) = found.animals
    return {check.statistic: check for check in animal.checks}


def test_modes_are_as_wide(checks):
    for k in range(1, 6):
        check = checks[f"standard deviation of a{k}"]
        assert check.simulation == pytest.approx(check.data, rel=0.03)
        assert check.agrees


def test_events_are_as_frequent(checks):
    for kind, rate in {"reversals": 2.84, "ventral turns": 1.48, "dorsal turns": 0.29}.items():
        check = checks[kind]
        assert check.data == pytest.approx(rate, abs=0.01)
        assert check.agrees
        assert check.data_low < check.simulation < check.data_high


def leaving_rates(states, step):
    """Share of looks at each state that are followed by one at the other, per second between two looks."""
    stride = states.sampling.frames(step)
    looks = [states.labels[start:stop:stride] for start, stop, _ in states.segments]
    before, after = (np.concatenate(part) for part in zip(*((run[:-1], run[1:]) for run in looks), strict=True))
    return np.array([np.mean(after[before == state] != state) / step for state in (0, 1)])


def test_states_are_left_as_often(study, checks):
    """As seen once per passage, which runs are made of, and by the chain's lag, as published.

    Published, every 0.75 s: pirouettes at 0.147, the slowest of the twelve worms, runs at 0.040 to 0.121. Here, with
    five seeds, 0.140 to 0.157 and 0.039 to 0.046. Every 0.375 s a state that is left and entered again within a lag
    counts too: 0.168 to 0.188 and 0.049 to 0.053.
    """
    both = [checks[f"transition rate out of {name}"] for name in ("run", "pirouette")]
    states = study.states(2)
    seen = leaving_rates(states, study.simulation_choice.chosen_passage)
    np.testing.assert_allclose([check.data for check in both], seen, rtol=1e-12)
    for check in both:
        assert check.agrees
        assert check.simulation == pytest.approx(check.data, rel=0.1)
    of_run, of_pirouette = np.transpose([leaving_rates(states, step) for step in (0.75, 0.375)])
    assert 0.035 < of_run[0] < 0.05
    assert 0.13 < of_pirouette[0] < 0.165
    assert 0.045 < of_run[1] < 0.06
    assert 0.16 < of_pirouette[1] < 0.2


def test_it_gets_as_far(checks):
    speed, spread = checks["speed over one second"], checks["diffusion coefficient"]
    assert spread.unit == "mm²/s"
    assert spread.data == pytest.approx(MEASURED_DIFFUSION, abs=0.001)
    low, high = np.divide(SIMULATED_SLOPES, 4)
    assert low < spread.simulation < high
    assert spread.agrees
    assert speed.simulation == pytest.approx(speed.data, rel=0.03)


def test_it_changes_with_time_and_the_model_does_not(found):
    """The worm reorients less and less as it stays without food (Fig. S10)."""
    assert found.drift.p_value < 0.05
    assert found.drift.interval.estimate < 0
    assert found.drift.last < found.drift.first / 3
    runs = found.run_entries.rate.mean(axis=0)
    assert np.ptp(runs) < 0.25 * runs.mean()
    assert any("not stationary" in words for words in found.warnings)


def test_unseen_time_is_foretold(found):
    assert found.held_out.over == "blocks"
    gain = found.held_out.mean_gain()
    assert 2.5 < gain.low < gain.high < 5
    assert gain.high < found.held_out.trained.min()


def test_most_statistics_agree(found):
    """What does not is the autocorrelation, of a worm that changes."""
    outside = {row.name for row in found.agreements if not row.agrees}
    assert outside <= {"autocorrelation, distance from the mean run", "standard deviation of a3"}
    assert len(found.agreements) == 14
