"""Double wells, the Lorenz system and the synthetic worm: entropy rates and relaxation times that are known."""

import numpy as np
import pytest

from ethomarkov._core.interval import interval_of_mean
from ethomarkov.coarse import best_cut
from ethomarkov.markov import MarkovChain, entropy_rate, slow_spectrum
from ethomarkov.markov.spectrum import modes_on_frames, slowest_times
from ethomarkov.states import DelayEmbedding, Partition
from ethomarkov.synthetic import WormModel, double_well, simulate_worms, underdamped_well


def symbols_of(series, n_states, n_delays=1):
    sequences = DelayEmbedding(n_delays).transform(series)
    return Partition(n_states).fit(sequences).label(sequences)


def relaxation(symbols, lag):
    return float(slow_spectrum(MarkovChain.from_symbols(symbols, lag), 1).relaxation_times[0])


@pytest.mark.parametrize(
    ("temperature", "known"),
    [
        pytest.param(0.3, (4.166,), id="published operator"),
        pytest.param(0.2, (7.419, 7.754), id="published operator and Kramers, where the barrier is higher"),
    ],
)
def test_overdamped_well(temperature, known):
    """At T = 0.3 the barrier is below kT and Kramers' 5.111 s does not hold, as published."""
    series = double_well(600.0, n_walkers=60, temperature=temperature, rng=0)
    found = relaxation(symbols_of(series, 100), 1.0)
    for expected in known:
        assert found == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
def test_underdamped_well_seen_through_its_position():
    """The published mean stay is 6.77 s: two rates of leaving make Λ₂, which is half of it. 7.05 s is their lag."""
    series = underdamped_well(1000.0, n_walkers=20, temperature=1.0, rng=0)
    symbols = symbols_of(series, 1000, n_delays=7)
    for lag in (3.0, 7.05):
        assert relaxation(symbols, lag) == pytest.approx(6.77 / 2, rel=0.1)


@pytest.fixture(scope="module")
def one_coordinate(attractor):
    """Symbols of the Lorenz system seen through x alone, for several K."""
    x = attractor.with_rows(attractor.values[:, :1])
    return {n_delays: symbols_of(x, 1000, n_delays) for n_delays in (1, 2, 5, 12)}


def nats_per_step(symbols):
    return entropy_rate(MarkovChain.from_symbols(symbols, 0.02)) * 0.02


@pytest.mark.slow
class TestLorenz:
    def test_delays_replace_the_coordinates_not_seen(self, attractor, one_coordinate):
        """Published: 3.78 nats per step at K = 1, 1.27 at 2, 0.99 at 5, 0.94 at 13."""
        rates = {n_delays: nats_per_step(symbols) for n_delays, symbols in one_coordinate.items()}
        assert rates[1] == pytest.approx(3.78, rel=0.05)
        assert rates[2] == pytest.approx(1.27, rel=0.1)
        assert rates[5] == pytest.approx(0.99, rel=0.1)
        full = nats_per_step(symbols_of(attractor, 1000))
        assert rates[1] > 3 * full
        assert rates[5] == pytest.approx(full, rel=0.1)
        assert rates[12] == pytest.approx(full, rel=0.1)

    def test_slow_time(self, one_coordinate):
        """Published for the reversibilised chain: λ₂ = 0.97153 at 0.2 s."""
        times = slowest_times(MarkovChain.from_symbols(one_coordinate[12], 0.2))
        assert times.reversibilized == pytest.approx(6.92, rel=0.15)

    def test_two_lobes(self, attractor, one_coordinate):
        """Around the fixed points φ₂ tells the lobes apart; between them the best cut keeps more than sign(x) does.

        The boundary is not x = 0: an orbit on its way from one lobe to the other belongs to where it has been or will
        stay, so that a quarter of all frames lie on the other side of x = 0.
        """
        symbols, x = one_coordinate[12], attractor.values[:, 0]
        chain = MarkovChain.from_symbols(symbols, 0.2)
        cut = best_cut(chain)
        assert cut.mode == 2
        phi = modes_on_frames(symbols, chain, cut.phi[:, None])[:, 0]
        center = np.sqrt(8 / 3 * 27)
        points = np.array([[center, center, 27], [-center, -center, 27]])
        distance = np.linalg.norm(attractor.values[:, None] - points, axis=2).min(axis=1)
        core = (distance < 10) & np.isfinite(phi)
        assert core.mean() > 0.3
        agree = ((phi >= cut.threshold) == (x > 0))[core].mean()
        assert max(agree, 1 - agree) > 0.95
        right = x > 0
        stays = [np.mean(side[10:][side[:-10]]) for side in (right, ~right)]
        assert cut.coherence > min(stays)
        assert chain.stationary[cut.upper == 1].sum() == pytest.approx(0.5, abs=0.1)


@pytest.mark.slow
def test_synthetic_worm():
    """Run and pirouette relax in 3.92 s, from the rates with which the worms were made; all worms are alike here."""
    worms = simulate_worms(4, 2100, model=WormModel(individual_spread=0))
    truth = worms.truth.relaxation_times()[0]
    assert truth == pytest.approx(3.916, abs=1e-3)
    symbols = symbols_of(worms.basis.project(worms.recording), 500, n_delays=11)
    assert relaxation(symbols, 0.75) == pytest.approx(truth, rel=0.15)
    each = np.array([relaxation(symbols.mask(k), 0.75) for k in range(4)])
    interval = interval_of_mean(each, "animals")
    assert interval.low <= truth <= interval.high
