import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.markov import MarkovChain, entropy_rate
from ethomarkov.markov.entropy_scan import ScanSettings, quick_scan_settings, scan_entropy
from ethomarkov.states import DelayEmbedding, Partition
from ethomarkov.synthetic import simulate_worms

SMALL = ScanSettings(n_delays=(1, 2, 4, 8), n_states=(5, 20, 60))


@pytest.fixture(scope="module")
def postures():
    made = simulate_worms(2, 240.0, seed=4)
    return made.basis.project(made.recording)


def test_published_grid():
    # four per decade, as published
    assert ScanSettings().n_states == tuple(int(value) for value in np.geomspace(10**0.5, 10**3.75, 14))


@pytest.mark.parametrize("scope", ["per animal", "pooled"])
def test_shape_and_sense(postures, scope):
    table = scan_entropy(postures, ScanSettings(n_delays=SMALL.n_delays, n_states=SMALL.n_states, scope=scope))
    assert table.entropy_rate.shape == (4, 3, 2)
    assert np.isfinite(table.entropy_rate).all()
    assert (np.diff(table.entropy_rate, axis=1) > 0).all()  # finer partitions resolve more
    assert (table.entropy_rate[-1] < table.entropy_rate[0]).all()  # longer sequences predict better
    assert (table.entropy <= np.log(table.n_states)[None, :, None]).all()
    assert (table.predictive_information > 0).all()
    assert table.scope == scope


def test_agrees_with_independent_partitions(postures):
    """Warm starts save time and change the entropy rate by no more than another seed does."""
    table = scan_entropy(postures, SMALL)
    for k in (0, 3):
        sequences = DelayEmbedding(SMALL.n_delays[k]).transform(postures.cut(0))
        alone = [
            entropy_rate(MarkovChain.from_symbols(Partition(60, seed=s).fit(sequences).label(sequences), 1 / 16))
            for s in range(3)
        ]
        assert table.entropy_rate[k, 2, 0] == pytest.approx(np.mean(alone), rel=0.06)


def test_threads_do_not_matter(postures):
    one, two = (scan_entropy(postures, SMALL, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one.entropy_rate, two.entropy_rate)


def test_an_animal_does_not_depend_on_the_others(postures):
    both = scan_entropy(postures, SMALL)
    alone = scan_entropy(postures.cut(0), SMALL)
    np.testing.assert_allclose(both.entropy_rate[..., 0], alone.entropy_rate[..., 0])


def test_what_the_data_do_not_allow_stays_empty():
    rows = np.random.default_rng(0).normal(size=(150, 2)).cumsum(axis=0)
    rows[40:60] = np.nan
    table = scan_entropy(Series.from_rows(rows, 1.0), ScanSettings(n_delays=(1, 5, 200), n_states=(3, 10, 1000)))
    assert np.isfinite(table.entropy_rate[:2, :2]).all()
    assert np.isnan(table.entropy_rate[2]).all()
    assert np.isnan(table.entropy_rate[:, 2]).all()


def test_quick_scan_settings_fit_the_data(postures):
    grid = quick_scan_settings(postures)
    assert grid.n_delays[0] == 1
    assert grid.n_delays[-1] == 20
    assert max(grid.n_states) <= 390


@pytest.mark.real
@pytest.mark.slow
def test_a_real_worm_as_published(shared_data):
    """Lloyd to convergence gives 1-4 % less than the published mini-batches, on the same worm."""
    modes = np.load(shared_data("worm6.npz"))["modes"]
    with np.load(shared_data("paper_entropy_scan.npz")) as stored:
        published = stored["entropy_rates"][:, :, 6] * 16
        columns = {int(n): i for i, n in enumerate(stored["seed_range"])}
    grid = ScanSettings(n_delays=(1, 2, 3, 6, 11), n_states=(100, 316, 1000))
    table = scan_entropy(Series.from_rows(modes, 16.0), grid, threads=2)
    for k, n_delays in enumerate(grid.n_delays):
        for n, n_states in enumerate(grid.n_states):
            expected = published[n_delays - 1, columns[n_states]]
            assert table.entropy_rate[k, n, 0] == pytest.approx(expected, rel=0.05), (n_delays, n_states)
