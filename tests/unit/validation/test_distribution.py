"""Densities against their laws, distances against integrals and scipy."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.spatial.distance import jensenshannon

from ethomarkov._core.series import Series
from ethomarkov.exceptions import InputFormatError
from ethomarkov.validation.distribution import (
    ModeDensity,
    compare_densities,
    default_edges,
    ensemble_density,
    in_parts,
    jensen_shannon,
    kolmogorov_smirnov,
    mode_density,
)


def normal_shares(mean, edges):
    return np.diff(stats.norm.cdf(np.concatenate([[-np.inf], edges, [np.inf]]), loc=mean))


def exact_divergence(mean):
    p, q = stats.norm(0, 1).pdf, stats.norm(mean, 1).pdf

    def integrand(x):
        middle = (p(x) + q(x)) / 2
        return (p(x) * np.log2(p(x) / middle) + q(x) * np.log2(q(x) / middle)) / 2

    return integrate.quad(integrand, -8, 8 + mean)[0]


def animals(n, seed, mean=0.0, spread=0.1, n_frames=2000):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(n, n_frames, 2)) + mean + random.normal(0, spread, (n, 1, 2))
    return Series.from_rows(rows.reshape(-1, 2), 16.0, np.arange(n + 1) * n_frames)


def test_uniform_values_have_a_flat_density():
    rows = (np.arange(1000)[:, None] + 0.5) / 1000 * [1, 4]
    found = mode_density(Series.from_rows(rows, 1.0), np.array([np.linspace(0, 1, 11), np.linspace(0, 2, 11)]))
    np.testing.assert_allclose(found.density[0, 0], 1.0)
    np.testing.assert_allclose(found.density[0, 1], 0.25)
    np.testing.assert_allclose(found.share[0, 1, [0, -1]], [0, 0.5])
    np.testing.assert_allclose(found.centres[0], np.arange(0.05, 1, 0.1))


def test_gaussian_values():
    n = 100_000
    edges = np.linspace(-2, 2, 21)
    found = mode_density(Series.from_rows(np.random.default_rng(0).normal(size=n), 1.0), edges[None])
    expected = normal_shares(0, edges)
    assert (np.abs(found.share[0, 0] - expected) < 4.5 * np.sqrt(expected / n)).all()


def test_missing_frames_and_animals_do_not_count():
    rows = np.array([0.5, 0.5, np.nan, 1.5, np.nan, np.nan])
    found = mode_density(Series.from_rows(rows, 1.0, np.array([0, 4, 6])), np.array([[0.0, 1.0, 2.0]]))
    np.testing.assert_allclose(found.share[0, 0], [0, 2 / 3, 1 / 3, 0])
    assert np.isnan(found.share[1]).all()
    np.testing.assert_allclose(found.mean_band()[0], [[2 / 3, 1 / 3]])


@pytest.mark.parametrize("mean", [0.2, 1.0, 3.0])
def test_divergence_of_two_gaussians_is_the_integral(mean):
    edges = np.linspace(-8, 8 + mean, 4000)
    found = jensen_shannon(normal_shares(0, edges), normal_shares(mean, edges))
    assert found == pytest.approx(exact_divergence(mean), rel=1e-4)


def test_divergence_equals_that_of_scipy():
    p, q = np.random.default_rng(0).dirichlet(np.ones(9), (2, 5))
    p[:, 0] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(jensen_shannon(p, q), jensenshannon(p, q, base=2, axis=1) ** 2, rtol=1e-10)
    assert jensen_shannon(p, p).max() == 0


def test_largest_gap_equals_that_of_scipy_up_to_a_bin():
    random = np.random.default_rng(0)
    a, b = random.normal(size=3000), random.normal(0.3, 1.2, size=2000)
    edges = np.linspace(-5, 5, 1001)[None]
    shares = [mode_density(Series.from_rows(x, 1.0), edges).share[0] for x in (a, b)]
    found, expected = (
        kolmogorov_smirnov(*shares)[0],
        stats.ks_2samp(a.astype(np.float32), b.astype(np.float32)).statistic,
    )
    # between two edges neither distribution can rise by more than its share of the bin
    assert expected - np.max(shares) <= found <= expected + 1e-12


def test_same_law_is_within_the_null_and_another_is_not():
    data = animals(12, seed=0)
    edges = default_edges(data)
    same = compare_densities(mode_density(data, edges), mode_density(animals(50, seed=1), edges))
    other = compare_densities(mode_density(data, edges), mode_density(animals(50, seed=1, mean=0.5), edges))
    assert (same.jensen_shannon < same.upper()).all()
    assert (other.jensen_shannon > other.upper()).all()
    assert "no mode differs" in same.sentence
    assert "mode 1 and mode 2 differ more" in other.sentence
    assert same.null_jensen_shannon.shape == same.null_kolmogorov_smirnov.shape == (500, 2)


def test_null_is_the_distance_between_halves():
    # two animals have one division in halves: themselves
    data = mode_density(animals(2, seed=0), default_edges(animals(2, seed=0)))
    found = compare_densities(data, data, n_splits=7)
    expected = jensen_shannon(data.share[0], data.share[1])
    np.testing.assert_allclose(found.null_jensen_shannon, np.tile(expected, (7, 1)), rtol=1e-9)
    np.testing.assert_allclose(found.jensen_shannon, 0, atol=1e-15)


def test_a_single_animal_is_compared_in_parts():
    data = animals(1, seed=0)
    edges = default_edges(data)
    alone = compare_densities(mode_density(data, edges), mode_density(data, edges))
    assert alone.null_jensen_shannon.shape == (0, 2)
    assert np.isnan(alone.upper()).all()
    assert "in_parts" in alone.sentence
    parted = compare_densities(mode_density(in_parts(data, 4), edges, over="parts"), mode_density(data, edges))
    assert "halves of the parts" in parted.sentence


def test_parts_hold_all_frames_and_keep_gaps():
    rows = np.arange(25.0)
    rows[7] = np.nan
    found = in_parts(Series.from_rows(rows, 1.0, np.array([0, 10, 25]), ("a", "b")), 2)
    assert found.segments.offsets.tolist() == [0, 5, 10, 17, 25]
    assert found.segments.individuals == ("a, part 1", "a, part 2", "b, part 1", "b, part 2")
    assert found.segments.bounds.tolist() == [[0, 5, 0], [5, 7, 1], [8, 10, 1], [10, 17, 2], [17, 25, 3]]


def test_runs_in_blocks_equal_runs_at_once():
    data = animals(4, seed=3)
    edges = default_edges(data)
    found = ensemble_density((data.cut(i) for i in range(4)), edges)
    np.testing.assert_array_equal(found.share, mode_density(data, edges).share)
    assert found.over == "runs"
    with pytest.raises(InputFormatError, match="no run"):
        ensemble_density([], edges)


def test_default_edges_hold_the_share():
    series = Series.from_rows(np.column_stack([np.linspace(0, 1, 10_001), np.full(10_001, 3.0)]), 1.0)
    edges = default_edges(series, n_bins=10, share=0.9)
    np.testing.assert_allclose(edges[0], np.linspace(0.05, 0.95, 11), atol=1e-6)
    np.testing.assert_allclose(edges[1, [0, -1]], [2.5, 3.5])


def test_wrong_edges_are_refused():
    series = animals(1, seed=0)
    with pytest.raises(InputFormatError, match="ascending"):
        mode_density(series, np.array([[1.0, 0.0]] * 2))
    with pytest.raises(InputFormatError, match="no valid frame"):
        default_edges(Series.from_rows(np.full((3, 1), np.nan), 1.0))
    a, b = (mode_density(series, default_edges(series, n)) for n in (5, 6))
    with pytest.raises(InputFormatError, match="different edges"):
        compare_densities(a, b)


def test_results_are_read_only():
    found = mode_density(animals(1, seed=0), default_edges(animals(1, seed=0)))
    assert isinstance(found, ModeDensity)
    with pytest.raises(ValueError, match="read-only"):
        found.share[0] = 0
