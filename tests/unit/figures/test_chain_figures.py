"""The numbers behind the figures of sampling."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from scipy import sparse

from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.chain import (
    cumulative_share,
    draw_probabilities,
    draw_successors,
    draw_visits,
    whole_number_edges,
)
from ethomarkov.figures.style import DATA
from ethomarkov.markov import MarkovChain


@pytest.fixture
def axes():
    return Figure().subplots()


def random_counts(seed: int, n: int = 30) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 20, (n, n)) * (rng.random((n, n)) < 0.2) + np.roll(np.eye(n, dtype=int), 1, axis=1)
    return sparse.csr_array(counts.astype(float))


@pytest.fixture
def chains():
    return [MarkovChain.from_counts(random_counts(seed), lag=0.75) for seed in range(3)]


@pytest.fixture
def ensemble():
    return MarkovChain.from_counts(sum(random_counts(seed) for seed in range(3)), lag=0.75)


def stairs_of(axes) -> list[StepPatch]:
    return [one for one in axes.patches if isinstance(one, StepPatch)]


def test_successors_are_the_non_zeros_per_row(axes, chains, ensemble):
    draw_successors(axes, chains, ensemble)
    drawn = stairs_of(axes)
    assert len(drawn) == 4
    for step, chain in zip(drawn, (*chains, ensemble), strict=True):
        shares, edges, _ = step.get_data()
        per_row = (chain.transition.toarray() > 0).sum(axis=1)
        np.testing.assert_allclose(shares, np.histogram(per_row, edges)[0] / per_row.size)
        assert shares.sum() == pytest.approx(1.0)
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    middle = np.median((ensemble.transition.toarray() > 0).sum(axis=1))
    assert words == ["each animal", "all animals", f"median {middle:g}"]


def test_one_animal_is_drawn_once(axes, chains):
    draw_successors(axes, chains[:1], chains[0])
    assert len(stairs_of(axes)) == 1
    assert axes.get_legend().get_texts()[0].get_text() == "one animal"


@pytest.mark.parametrize("largest", [1, 7, 60, 61, 500])
def test_bins_hold_whole_numbers_up_to_the_largest(largest):
    edges = whole_number_edges(largest)
    assert edges.size <= 61
    assert np.ptp(np.diff(edges)) == 0
    assert np.histogram(np.arange(1, largest + 1), edges)[0].sum() == largest


def test_visits_equal_the_histogram(axes):
    visits = np.random.default_rng(0).integers(0, 300, 200)
    visits[:5] = 0
    draw_visits(axes, visits)
    (step,) = stairs_of(axes)
    counts, edges, _ = step.get_data()
    np.testing.assert_array_equal(counts, np.histogram(visits[visits > 0], edges)[0])
    n_empty = (visits == 0).sum()
    assert counts.sum() == 200 - n_empty
    assert axes.get_xscale() == "log"
    assert axes.get_title().endswith(f"({n_empty} microstates empty)")
    assert step.get_facecolor()[:3] == pytest.approx(tuple(int(DATA[i : i + 2], 16) / 255 for i in (1, 3, 5)))


def test_equal_visits_can_be_drawn(axes):
    draw_visits(axes, np.full(10, 7))
    counts, _, _ = stairs_of(axes)[0].get_data()
    assert counts.sum() == 10
    axes.figure.canvas.draw()


def test_no_visits_are_refused(axes):
    with pytest.raises(InputFormatError, match="None of 4 microstates"):
        draw_visits(axes, np.zeros(4, dtype=int))


def test_probabilities_are_cumulative_shares(axes, chains, ensemble):
    draw_probabilities(axes, chains, ensemble)
    assert len(axes.lines) == 4
    for line, chain in zip(axes.lines, (*chains, ensemble), strict=True):
        values, share = line.get_data()
        positive = chain.transition.toarray()[chain.transition.toarray() > 0]
        np.testing.assert_allclose(share, [(positive <= value).mean() for value in values])
        assert share[-1] == 1.0
    assert axes.lines[-1].get_color() == "#000000"
    assert axes.get_xscale() == "log"


def test_cumulative_share_leaves_zeros_out():
    values, share = cumulative_share(np.array([0.0, 0.5, 0.25, 0.25, 0.0]))
    np.testing.assert_array_equal(values, [0.25, 0.5])
    np.testing.assert_allclose(share, [2 / 3, 1.0])
