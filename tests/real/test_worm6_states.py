"""Two macrostates of one worm of the paper: what they are, how long they last, how far that depends on the seed.

The published ranges are those of twelve worms on one partition of all; here one worm is on its own.
"""

import itertools

import numpy as np
import pytest

import ethomarkov as em
from ethomarkov.coarse import best_cut
from ethomarkov.coarse.dwell_laws import paper_biexponential
from ethomarkov.coarse.kinetics import animal_rates, find_dwells
from ethomarkov.coarse.passage import hopping_rates, two_state_times
from ethomarkov.markov.spectrum import modes_on_frames
from ethomarkov.posture import phase_velocity

pytestmark = pytest.mark.real

LAG = 0.75
PIROUETTE_TO_RUN, RUN_TO_PIROUETTE = (0.147, 0.301), (0.040, 0.121)  # per second, read from Fig. 2(d) to 0.003
READING = 0.003


@pytest.fixture(scope="module")
def postures(request):
    shared_data = request.getfixturevalue("shared_data")
    basis = em.PostureBasis.from_file(shared_data("eigenworms.csv"), n_modes=5)
    return basis.project(em.read(shared_data("worm6.npz")))


@pytest.fixture(scope="module")
def partitions(postures):
    """Microstates from three seeds."""
    sequences = em.DelayEmbedding(11).transform(postures)
    return [em.Partition(1000, seed=seed).fit(sequences).label(sequences) for seed in range(3)]


@pytest.fixture(scope="module", params=[0, 1, 2], ids=lambda seed: f"seed {seed}")
def symbols(request, partitions):
    return partitions[request.param]


@pytest.fixture(scope="module")
def chain(symbols):
    return em.MarkovChain.from_symbols(symbols, LAG)


@pytest.fixture(scope="module")
def cut(chain):
    return best_cut(chain)


@pytest.fixture(scope="module")
def group(chain, cut):
    group = np.full(chain.n_states, -1)
    group[chain.states] = cut.upper
    return group


@pytest.fixture(scope="module")
def macro(symbols, group):
    return symbols.relabel(group)


def test_the_slow_mode_follows_bend_and_direction(postures, symbols, chain, cut):
    """φ₂ grows with |a₃| (0.67) and falls with ω (−0.61); |ω| says little (−0.17), because reversals are fast too."""
    phi = modes_on_frames(symbols, chain, cut.phi[:, None])[:, 0]
    omega, bend = phase_velocity(postures), postures.values[:, 2]
    known = np.isfinite(phi) & np.isfinite(omega)

    def follows(trait):
        return np.corrcoef(phi[known], trait[known])[0, 1]

    assert cut.mode == 2
    assert 0.6 < follows(np.abs(bend)) < 0.75
    assert -0.7 < follows(omega) < -0.5
    assert -0.25 < follows(np.abs(omega)) < -0.1
    assert follows(bend) > 0.25  # ventral turns are more frequent


def test_runs_and_pirouettes(postures, macro):
    """Published for all worms: 0.246 of the time in pirouettes. Here 0.211 to 0.227 with ten seeds."""
    omega, bend = phase_velocity(postures), np.abs(postures.values[:, 2])
    run, pirouette = macro.labels == 0, macro.labels == 1
    assert 0.2 < pirouette.sum() / (run | pirouette).sum() < 0.246
    assert np.nanmean(omega[run]) > 0.35
    assert np.nanmean(omega[pirouette]) < -0.05
    assert np.nanmean(bend[pirouette]) > 3 * np.nanmean(bend[run])


def test_the_cut_is_better_determined_than_the_published_one(chain, cut):
    """Published: χ = 0.84 for all worms; one worm alone is more coherent, by either rule.

    With ten seeds 0.03 to 0.05 of the time could change sides, by the published rule 0.05 to 0.14: χ is flat between
    the two cuts, where the mode is not. The published cut, which favours halves, adds 0.05 to 0.10 of the time to the
    same pirouettes.
    """
    paper = best_cut(chain, 0.0, "paper")
    assert 0.88 < cut.coherence < paper.coherence < 0.91
    assert 0.85 < cut.persistence < 0.87
    assert cut.is_interior
    assert 0.02 < cut.undecided < 0.06
    assert paper.undecided > 2 * cut.undecided
    assert (paper.upper >= cut.upper).all()
    assert 0.04 < chain.stationary[paper.upper != cut.upper].sum() < 0.12


def test_other_microstates_give_the_same_states(partitions):
    """Of all frames 0.016 to 0.025 are in another state with other seeds, 0.021 to 0.047 by the published rule."""

    def states(symbols, **rule):
        chain = em.MarkovChain.from_symbols(symbols, LAG)
        group = np.full(chain.n_states, -1)
        group[chain.states] = best_cut(chain, **rule).upper
        return symbols.relabel(group).labels

    def differ(one, other):
        known = (one >= 0) & (other >= 0)
        return np.mean(one[known] != other[known])

    ours, published = (
        [differ(*pair) for pair in itertools.combinations([states(one, **rule) for one in partitions], 2)]
        for rule in ({}, {"min_measure": 0.0, "rule": "paper"})
    )
    assert max(ours) < 0.035
    assert np.mean(ours) < np.mean(published)


def test_rates_of_leaving(macro):
    """With the published convention both lie in the range of the twelve worms, pirouettes at its slow end."""
    dwells = find_dwells(macro, LAG)
    (leave_run, leave_pirouette) = animal_rates(dwells, convention="paper")[0]
    assert RUN_TO_PIROUETTE[0] - READING < leave_run < RUN_TO_PIROUETTE[1] + READING
    assert PIROUETTE_TO_RUN[0] - READING < leave_pirouette < PIROUETTE_TO_RUN[1] + READING
    assert leave_pirouette < 0.17
    complete = dwells.complete
    assert 14 < complete.in_state(0).mean < 21
    assert 6 < complete.in_state(1).mean < 8


def test_relaxation_of_the_two_states(symbols, group):
    """Published for all worms Λ_c⁻¹ = 3.48 (3.03, 3.86) s; worm 6 is slower, and its time still grows with the lag.

    One lag gives the time of that lag, 4.8 to 5.1 s with ten seeds. Two lags take off what is over within the first:
    λ_c(3τ) / λ_c(τ) = exp(−2 τ Λ_c), 5.4 to 5.7 s, which a single lag reaches at 4 s to 5 %.
    """
    found = two_state_times(symbols, group, 0.25 * np.arange(1, 17))
    at_lag = found.times[2, 0]
    assert 4.2 < at_lag < 5.2
    assert found.low[2, 0] < at_lag < found.high[2, 0]
    assert found.low[2, 0] > 3.48
    assert found.times[0, 0] < at_lag < found.times[7, 0] < found.times[15, 0]
    one, two = (hopping_rates(symbols, group, LAG, method=method) for method in ("one lag", "two lags"))
    assert one.relaxation.estimate == pytest.approx(at_lag, rel=1e-9)
    at_three_lags = found.times[8, 0]
    expected = 2 * LAG / (3 * LAG / at_three_lags - LAG / at_lag)
    assert two.relaxation.estimate == pytest.approx(expected, rel=1e-9)
    assert 1 / (two.rates[0, 1] + two.rates[1, 0]) == pytest.approx(expected, rel=1e-9)
    assert two.relaxation.low > 3.86
    assert 5.2 < expected < 5.9
    assert expected == pytest.approx(found.times[15, 0], rel=0.1)


def test_two_exponentials_of_one_worm(macro):
    """Published for all worms: 23.2, 3.86 and 3.31 s. About 200 stays of one worm leave the long time open."""
    found = paper_biexponential(find_dwells(macro), n_resamples=0)
    long, short = found.times
    assert 3 < short < 6.5
    assert long > 3 * short
    assert 2.9 < found.relaxation.estimate < 5.5
