"""Laws of durations against closed forms, and the recovery of known laws from dwells seen in steps."""

import numpy as np
import pytest
from scipy import integrate, stats

from ethomarkov.coarse.dwell_laws import (
    choose_law,
    empirical_survival,
    fit_exponentials,
    fit_law,
    paper_biexponential,
)
from ethomarkov.coarse.kinetics import Dwells, find_dwells
from ethomarkov.exceptions import InputFormatError, SamplingError
from ethomarkov.synthetic import hopping_chain

STEP = 0.5


def dwells_of(n_looks, ends_cut=None, individual=None, step=STEP):
    n_looks = np.asarray(n_looks)
    n = n_looks.size
    individual = np.zeros(n, dtype=int) if individual is None else np.asarray(individual)
    return Dwells(
        state=np.zeros(n, dtype=np.int32),
        duration=n_looks * step,
        individual=individual,
        start=np.zeros(n),
        starts_cut=np.zeros(n, dtype=bool),
        ends_cut=np.zeros(n, dtype=bool) if ends_cut is None else np.asarray(ends_cut, dtype=bool),
        step=step,
        n_states=1,
        n_individuals=int(individual.max()) + 1,
    )


def look_at(durations, rng, *, n_animals=6, patience=60):
    """See true durations in steps from a random phase, a third of them for a limited time."""
    n_looks = np.ceil(durations / STEP - rng.random(durations.size)).astype(int)
    limit = np.where(rng.random(durations.size) < 1 / 3, rng.integers(1, patience, durations.size), 10**9)
    cut = n_looks >= limit
    n_looks = np.where(cut, limit, n_looks)
    seen = n_looks >= 1
    return dwells_of(n_looks[seen], cut[seen], rng.integers(n_animals, size=int(seen.sum())))


def truths(rng, n):
    return {
        "exponential": rng.exponential(5.0, n),
        "stretched": 5.0 * rng.weibull(0.5, n),
        "lognormal": np.exp(rng.normal(1.0, 1.0, n)),
        "power": STEP * (1 - rng.random(n)) ** (-1 / 1.5),
        "exponentials-2": np.where(rng.random(n) < 0.4, rng.exponential(20.0, n), rng.exponential(2.0, n)),
    }


TRUE_PARAMETERS = {
    "exponential": [5.0],
    "stretched": [5.0, 0.5],
    "lognormal": [np.e, 1.0],
    "power": [1.5, STEP],
    "exponentials-2": [20.0, 2.0, 0.4, 0.6],
}


def test_exponential_in_closed_form():
    """Seen in steps it is geometric: p = (steps survived) / (steps survived + ends), τ = −step / ln p."""
    rng = np.random.default_rng(0)
    n_looks, cut = rng.geometric(0.1, 300), rng.random(300) < 0.4
    fit = fit_law(dwells_of(n_looks, cut), "exponential")
    p = (n_looks - 1).sum() / ((n_looks - 1).sum() + (~cut).sum())
    assert fit.parameters[0] == pytest.approx(-STEP / np.log(p), rel=1e-5)
    nats = ((n_looks - 1) * np.log(p) + ~cut * np.log(1 - p)).sum()
    assert fit.log_likelihood == pytest.approx(nats, rel=1e-9)
    assert (fit.n_ended, fit.n_cut) == ((~cut).sum(), cut.sum())


def test_the_limit_of_small_steps_is_the_censored_rate():
    rng = np.random.default_rng(1)
    true, limit = rng.exponential(5.0, 500), rng.exponential(8.0, 500)
    cut = true > limit
    dwells = dwells_of(np.ceil(np.minimum(true, limit) / 1e-3), cut, step=1e-3)
    expected = np.minimum(true, limit).sum() / (~cut).sum()
    assert fit_law(dwells, "exponential").parameters[0] == pytest.approx(expected, rel=1e-3)


def test_conditional_on_the_shortest_dwell():
    """An exponential law forgets: leaving out the short dwells shifts the geometric law."""
    n_looks = np.random.default_rng(2).geometric(0.1, 400)
    fit = fit_law(dwells_of(n_looks), "exponential", shortest=1.5)
    kept = n_looks[n_looks >= 3]
    p = (kept - 3).sum() / ((kept - 3).sum() + kept.size)
    assert fit.parameters[0] == pytest.approx(-STEP / np.log(p), rel=1e-5)
    assert fit.shortest == 1.5
    assert fit.n_ended == kept.size


ORACLES = {
    "stretched": stats.weibull_min(0.5, scale=5.0),
    "lognormal": stats.lognorm(1.0, scale=np.e),
    "power": stats.pareto(1.5, scale=STEP),
}


@pytest.mark.parametrize("kind", ORACLES)
def test_likelihood_of_a_number_of_looks_as_an_integral_over_the_phase(kind):
    fit = fit_law(look_at(truths(np.random.default_rng(3), 400)[kind], np.random.default_rng(4)), kind)
    shape = {"stretched": (1, 0), "lognormal": (1, 0), "power": (0, 1)}[kind]
    law = ORACLES[kind].dist(fit.parameters[shape[0]], scale=fit.parameters[shape[1]])
    np.testing.assert_allclose(fit.survival(np.array([0.7, 3.0, 50.0])), law.sf([0.7, 3.0, 50.0]), rtol=1e-9)

    def alive(j):
        return integrate.quad(lambda u: law.sf((j + u) * STEP), 0, 1, epsabs=1e-13, epsrel=1e-12, limit=200)[0]

    for k in (1, 2, 5, 40):
        ended, cut = fit.log_likelihood_of(dwells_of([k, k], [False, True]))
        assert ended == pytest.approx(np.log((alive(k - 1) - alive(k)) / alive(0)), abs=2e-5)
        assert cut == pytest.approx(np.log(alive(k - 1) / alive(0)), abs=2e-5)


def test_a_sum_of_exponentials_is_a_sum_of_geometric_laws():
    rng = np.random.default_rng(5)
    fit = fit_law(look_at(truths(rng, 500)["exponentials-2"], rng), "exponentials-2")
    times, weights = fit.parameters[:2], fit.parameters[2:]
    p = np.exp(-STEP / times)
    seen = weights * times * (1 - p)
    seen /= seen.sum()
    k = np.array([1, 3, 30])
    expected = np.log((seen * p ** (k[:, None] - 1) * (1 - p)).sum(axis=1))
    np.testing.assert_allclose(fit.log_likelihood_of(dwells_of(k)), expected, atol=1e-8)


def test_probabilities_of_all_numbers_of_looks_add_up_to_one():
    rng = np.random.default_rng(6)
    dwells = look_at(rng.exponential(2.0, 300), rng)
    for kind in ("exponential", "stretched", "lognormal", "exponentials-2"):
        fit = fit_law(dwells, kind, shortest=1.0)
        k = np.arange(2, 4000)
        assert np.exp(fit.log_likelihood_of(dwells_of(k))).sum() == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("kind", TRUE_PARAMETERS)
def test_known_laws_are_recovered(kind):
    rng = np.random.default_rng(7)
    fit = fit_law(look_at(truths(rng, 6000)[kind], rng), kind)
    np.testing.assert_allclose(fit.parameters, TRUE_PARAMETERS[kind], rtol=0.08)


@pytest.mark.seeds
@pytest.mark.parametrize("kind", TRUE_PARAMETERS)
def test_the_generating_law_is_chosen(kind):
    rng = np.random.default_rng(8)
    choice = choose_law(look_at(truths(rng, 5000)[kind], rng), tuple(TRUE_PARAMETERS))
    assert choice.simplest == kind
    assert choice.margin.over == "animals"
    assert choice.margin.n == 6
    place = choice.kinds.index(choice.winner)
    assert choice.deficit[place] == 0
    assert choice.nats_per_dwell[place] == choice.nats_per_dwell.max()


def test_a_clear_choice_has_a_margin_above_zero_and_one_animal_is_split_by_its_dwells():
    rng = np.random.default_rng(9)
    dwells = look_at(truths(rng, 1500)["exponentials-2"], rng, n_animals=1)
    choice = choose_law(dwells, ("exponential", "power", "exponentials-2"))
    assert choice.winner == "exponentials-2"
    assert choice.margin.over == "events"
    assert choice.margin.n == len(dwells)
    assert choice.margin.low > 0
    assert choice.margin.estimate == pytest.approx(choice.deficit[choice.kinds.index(choice.runner_up)])


def test_held_out_animals_are_not_fitted():
    """With two animals in two folds, each is foreseen by the law of the other alone."""
    rng = np.random.default_rng(10)
    n_looks = np.concatenate([rng.geometric(0.5, 50), rng.geometric(0.05, 50)])
    dwells = dwells_of(n_looks, individual=np.repeat([0, 1], 50))
    choice = choose_law(dwells, ("exponential", "power"), n_folds=2)
    expected = 0.0
    for mine, other in ((n_looks[:50], n_looks[50:]), (n_looks[50:], n_looks[:50])):
        p = (other - 1).sum() / ((other - 1).sum() + 50)
        expected += ((mine - 1) * np.log(p) + np.log(1 - p)).sum()
    assert choice.nats_per_dwell[0] == pytest.approx(expected / 100, rel=1e-5)


def test_intervals_of_times_hold_the_truth():
    rng = np.random.default_rng(11)
    dwells = look_at(truths(rng, 2500)["exponentials-2"], rng, n_animals=10)
    found = fit_exponentials(dwells)
    assert found.weights.sum() == pytest.approx(1.0)
    estimate = np.concatenate([found.times, found.weights])
    low = np.concatenate([found.times_low, found.weights_low])
    high = np.concatenate([found.times_high, found.weights_high])
    standard_error = (high - low) / 2 / 1.96
    assert (np.abs(estimate - TRUE_PARAMETERS["exponentials-2"]) < 3 * standard_error).all()
    assert (standard_error < 0.15 * estimate).all()
    assert found.relaxation.estimate == pytest.approx(1 / (1 / found.times).sum())
    assert found.relaxation.low < found.relaxation.estimate < found.relaxation.high
    assert (found.relaxation.over, found.relaxation.n) == ("animals", 10)


def test_the_published_share_of_longer_dwells():
    """1 − k / (n − 1) for k = 0 … n − 1, averaged over ties."""
    times, share = empirical_survival(np.array([3.0, 1.0, 2.0, 1.0, 7.0]))
    assert times.tolist() == [1.0, 2.0, 3.0, 7.0]
    np.testing.assert_allclose(share, [1 - 0.5 / 4, 1 - 2 / 4, 1 - 3 / 4, 0.0])


def test_the_published_fit_finds_the_times_of_an_exact_curve():
    """Dwells placed at the quantiles of a sum of exponentials, all of 0.75 s or more."""
    grid = np.arange(0.75, 400, 1 / 16)
    curve = 0.7 * np.exp(-(grid - 0.75) / 3.0) + 0.3 * np.exp(-(grid - 0.75) / 20.0)
    durations = np.interp(np.linspace(1, 1e-6, 20_000), curve[::-1], grid[::-1])
    dwells = dwells_of(np.rint(durations * 16), step=1 / 16, individual=np.arange(20_000) % 4)
    found = paper_biexponential(dwells, n_resamples=3)
    np.testing.assert_allclose(found.times, [20.0, 3.0], rtol=0.02)
    np.testing.assert_allclose(found.weights, [0.3 * np.exp(0.75 / 20), 0.7 * np.exp(0.75 / 3)], rtol=0.02)
    assert found.relaxation.estimate == pytest.approx(1 / (1 / 20 + 1 / 3), rel=0.02)
    assert found.relaxation.n == 4


def test_the_published_fit_keeps_the_durations_it_should():
    rng = np.random.default_rng(12)
    looks = np.concatenate([rng.geometric(0.02, 2000) + 11, rng.geometric(0.002, 1000) + 11])
    unwanted = np.concatenate([np.full(5000, 11), np.full(9, 16_001)])
    inside = dwells_of(looks, step=1 / 16)
    everything = dwells_of(np.concatenate([looks, unwanted]), step=1 / 16)
    assert looks.min() == 12
    assert paper_biexponential(everything).times.tolist() == paper_biexponential(inside).times.tolist()


def test_two_states_that_switch_relax_as_their_chain():
    """The sum of the rates of leaving is one over the relaxation time, whichever way it is found."""
    rate = 16.0
    leave = 1 - np.exp(-1 / (rate * np.array([8.0, 1.5])))
    walk = hopping_chain(np.array([[1 - leave[0], leave[0]], [leave[1], 1 - leave[1]]]), 40_000, n_walks=3, rate=rate)
    found = fit_exponentials(find_dwells(walk))
    np.testing.assert_allclose(found.times, [8.0, 1.5], rtol=0.12)
    np.testing.assert_allclose(found.weights, 0.5, atol=0.06)
    assert found.relaxation.estimate == pytest.approx(1 / (1 / 8 + 1 / 1.5), rel=0.1)


def test_unknown_laws_and_too_few_dwells_are_refused():
    with pytest.raises(InputFormatError, match="gamma"):
        fit_law(dwells_of([1, 2, 3]), "gamma")
    with pytest.raises(InputFormatError, match="exponentials-0"):
        fit_law(dwells_of([1, 2, 3]), "exponentials-0")
    with pytest.raises(SamplingError, match=r"1 dwell of at least 1\.5 s with observed start and end; two"):
        fit_law(dwells_of([1, 2, 3]), "exponential", shortest=1.5)
    with pytest.raises(InputFormatError, match="two"):
        choose_law(dwells_of([1, 2, 3]), ("exponential",))
    with pytest.raises(SamplingError, match="3 dwells"):
        paper_biexponential(dwells_of([2, 3, 4]))
