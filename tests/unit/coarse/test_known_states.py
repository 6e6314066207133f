"""Cuts, trees and rates of systems whose states are known: the double well, the Lorenz system, synthetic worms."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid
from scipy.linalg import eigh_tridiagonal
from scipy.stats import spearmanr
from sklearn.metrics import adjusted_mutual_info_score, balanced_accuracy_score

from ethomarkov._core.series import Series
from ethomarkov.coarse import best_cut
from ethomarkov.coarse.passage import hopping_rates, two_state_times
from ethomarkov.coarse.tree import grow_tree
from ethomarkov.markov import MarkovChain
from ethomarkov.states import DelayEmbedding, Partition, Symbols
from ethomarkov.study import Settings, run_study
from ethomarkov.synthetic import double_well, simulate_worms


def on_partition(chain, values):
    group = np.full(chain.n_states, -1)
    group[chain.states] = values
    return group


@pytest.fixture(scope="module", params=[0.1, 0.2], ids=["barrier of 2.5 kT", "barrier of 1.25 kT"])
def well(request):
    series = double_well(600.0, n_walkers=60, temperature=request.param, rng=0)
    partition = Partition(100).fit(series)
    return request.param, series.values[:, 0], partition.microstates_.centers[:, 0], partition.label(series)


class TestDoubleWell:
    """Walkers in V = x⁴/4 − x²/2, whose barrier is at x = 0; nothing but a partition of x is told to the cut."""

    CORE = 0.7

    @staticmethod
    def slow_mode(temperature):
        """Relaxation time of the Fokker–Planck operator, and the share of the sign of x that its slow mode holds.

        By finite differences that keep detailed balance.
        """
        x = np.linspace(-2.5, 2.5, 2001)
        V, step = x**4 / 4 - x**2 / 2, x[1] - x[0]
        up = temperature / step**2 * np.exp(-np.diff(V) / (2 * temperature))
        down = temperature / step**2 * np.exp(np.diff(V) / (2 * temperature))
        leave = np.append(up, 0) + np.append(0, down)
        n = x.size
        found, modes = eigh_tridiagonal(-leave, np.sqrt(up * down), select="i", select_range=(n - 2, n - 1))
        return -1 / found[0], float(modes[:, 0] @ (np.sign(x) * modes[:, 1])) ** 2

    def exact_relaxation(self, temperature):
        return self.slow_mode(temperature)[0]

    @staticmethod
    def exact_passage(temperature, reach):
        """Mean time from −reach to +reach, by quadrature."""
        x = np.linspace(-2.5, 2.5, 20_001)
        V = x**4 / 4 - x**2 / 2
        behind = cumulative_trapezoid(np.exp(-V / temperature), x, initial=0)
        on_way = np.abs(x) <= reach
        return np.trapezoid((np.exp(V / temperature) * behind)[on_way], x[on_way]) / temperature

    @pytest.mark.parametrize("lag", [0.1, 1.0])
    def test_the_cut_is_at_the_barrier(self, well, lag):
        """To 0.1, two microstates; the curve is so flat there that no more can be asked for."""
        _, x, centers, symbols = well
        chain = MarkovChain.from_symbols(symbols, lag)
        cut = best_cut(chain)
        here = centers[chain.states]
        left, right = sorted((here[cut.upper == 1], here[cut.upper == 0]), key=np.mean)
        assert left.max() < right.min()  # two intervals, not two sets of pieces
        assert abs((left.max() + right.min()) / 2) < 0.1
        assert cut.is_interior
        upper = on_partition(chain, cut.upper)[symbols.labels] == 1
        wrong = np.mean(upper != (x > 0))
        assert min(wrong, 1 - wrong) < 0.015

    def test_the_mode_rises_along_x(self, well):
        """Rank for rank, but for noise deep in the wells, where it is all but constant."""
        _, _, centers, symbols = well
        chain = MarkovChain.from_symbols(symbols, 1.0)
        inner = np.abs(centers[chain.states]) < 1
        order = spearmanr(best_cut(chain).phi[inner], centers[chain.states][inner]).statistic
        assert abs(order) > 0.995

    def test_counted_crossings_are_those_of_theory(self, well):
        """From core to core in 1 / MFPT; frames miss turning points, as if cores lay 0.58 √(2T dt) further out."""
        temperature, x, _, _ = well
        n_crossings = self.crossings(x)
        expected = self.exact_passage(temperature, self.seen_core(temperature))
        assert x.size * 0.1 / n_crossings == pytest.approx(expected, rel=3 / np.sqrt(n_crossings))

    def seen_core(self, temperature):
        return self.CORE + 0.5826 * np.sqrt(2 * temperature * 0.1)

    def crossings(self, x):
        core = np.where(np.abs(x) > self.CORE, np.sign(x), 0).reshape(60, -1)
        return sum(np.count_nonzero(np.diff(row[row != 0])) for row in core)

    def test_hopping_rates(self, well):
        """Two lags give Λ₂ / 2; one lag adds what flickers across the barrier, many times as much at one frame.

        The two-state chain has λ_c(τ) = c exp(−Λ₂ τ) once faster modes are over, with the share c of the sign of x that
        the slow mode holds: at one lag rates are too high by −ln c / 2τ each, at 8 s still by 7 % of the truth.
        """
        temperature, x, centers, symbols = well
        relaxation, share = self.slow_mode(temperature)
        true, excess = 1 / (2 * relaxation), -np.log(share) / 16.0
        assert 1.05 < (true + excess) / true < 1.1
        side = (centers > 0).astype(int)
        short, long = (hopping_rates(symbols, side, lag, method="one lag") for lag in (0.1, 8.0))
        two, hops = hopping_rates(symbols, side, 2.0), ([0, 1], [1, 0])
        assert (two.low[hops] < true).all()
        assert (true < two.high[hops]).all()
        assert (short.low[hops] > 2 * true).all()
        assert (long.low[hops] < true + excess).all()
        assert (true + excess < long.high[hops]).all()
        assert long.rates[hops].mean() - two.rates[hops].mean() == pytest.approx(excess, rel=0.5)
        counted = self.crossings(x) / (x.size * 0.1)
        # From core to core takes longer than from one half to the other, the more so the lower the barrier.
        longer = true * self.exact_passage(temperature, self.seen_core(temperature))
        assert 1.03 < longer < 1.2
        np.testing.assert_allclose(two.rates[hops], counted * longer, rtol=0.15)

    @pytest.mark.seeds
    def test_intervals_of_two_lags_cover(self):
        """Of 20 rates from ten recordings at least 17 intervals of 95 % hold the truth, at one lag far fewer."""
        true, covered = 1 / (2 * self.exact_relaxation(0.2)), {"two lags": 0, "one lag": 0}
        for seed in range(10):
            series = double_well(300.0, n_walkers=40, temperature=0.2, rng=seed)
            partition = Partition(40).fit(series)
            symbols, side = partition.label(series), (partition.microstates_.centers[:, 0] > 0).astype(int)
            for method in covered:
                found = hopping_rates(symbols, side, 2.0, method=method)
                covered[method] += sum(found.low[i, 1 - i] < true < found.high[i, 1 - i] for i in (0, 1))
        assert covered["two lags"] >= 17
        assert covered["one lag"] < 10

    def test_a_cut_at_the_barrier_is_steady_late(self, well):
        """Recrossings last longer than the lag of the chain: steady only at some relaxation times of a well."""
        temperature, _, centers, symbols = well
        lags = np.arange(1, 21) * 0.5
        found = two_state_times(symbols, (centers > 0).astype(int), lags)
        lag, _ = found.steady_lag()
        assert lag >= 2.0
        assert (np.diff(found.times[:10, 0]) > 0).all()
        assert found.times[-1, 0] == pytest.approx(self.exact_relaxation(temperature), rel=0.1)


def with_mirror_image(labels, nearer):
    """Give an orbit and its mirror image the states 0 … n − 1 around centers and n … 2n − 1 around their images."""
    n_frames, n_centers = nearer.size, labels.max() + 1
    state = np.where(nearer, labels[:n_frames], n_centers + labels[n_frames:])
    return np.concatenate([state, (state + n_centers) % (2 * n_centers)]).astype(np.int32)


@pytest.fixture(scope="module")
def mirrored_orbits(attractor):
    """Sequences of x alone, of an orbit and of its mirror image, which is an orbit as well."""
    x = attractor.values[:, :1]
    both = Series.from_rows(np.concatenate([x, -x]), attractor.sampling, np.arange(3) * len(x), ("orbit", "image"))
    return DelayEmbedding(12).transform(both)


@pytest.fixture(scope="module")
def free_symbols(mirrored_orbits):
    """Three partitions that know nothing of the mirror."""
    return [Partition(1000, seed=k).fit(mirrored_orbits).label(mirrored_orbits) for k in range(3)]


@pytest.fixture(scope="module")
def mirrored_symbols(mirrored_orbits):
    """A partition whose every microstate has a mirror image."""
    partition = Partition(500).fit(mirrored_orbits)
    labels = partition.label(mirrored_orbits).labels
    off = np.linalg.norm(mirrored_orbits.values - partition.microstates_.centers[labels], axis=1)
    orbit, image = np.split(off, 2)
    states = np.where(mirrored_orbits.segments.valid, with_mirror_image(labels, orbit <= image), -1)
    return Symbols(labels=states, n_states=1000, segments=mirrored_orbits.segments, sampling=mirrored_orbits.sampling)


def share_exchanged(chain, cut, symbols):
    """Share of frames whose mirror image lies in the other set."""
    here, there = np.split(on_partition(chain, cut.upper)[symbols.labels], 2)
    known = np.split(symbols.segments.valid, 2)[0] & (here >= 0) & (there >= 0)
    assert known.mean() > 0.99
    return np.mean(here[known] != there[known])


@pytest.mark.slow
class TestLorenz:
    """(x, y, z) → (−x, −y, z) leaves the flow as it is, and so exchanges the sets. Sequences of x are mirrored with it.

    Single orbits are chaotic and depend on the processor, and the chain of one orbit is as uneven as the orbit. An
    orbit and its mirror image together are even. Figures in brackets are the worst of fifteen orbits.
    """

    @pytest.mark.parametrize("lag", [0.1, 0.2])
    def test_the_sets_are_mirror_images(self, free_symbols, lag):
        """But for the border, which is flat: of three partitions two may differ from it by so much, as 29 of 30 do."""
        chains = [MarkovChain.from_symbols(symbols, lag) for symbols in free_symbols]
        cuts = [best_cut(chain) for chain in chains]
        assert np.median([cut.mode for cut in cuts]) == 2
        assert all(cut.is_interior for cut in cuts)
        uneven = [abs(chain.stationary[cut.upper == 1].sum() - 0.5) for chain, cut in zip(chains, cuts, strict=True)]
        assert np.median(uneven) < 0.04  # (0.028)
        off = [abs(cut.threshold) / np.abs(cut.phi).max() for cut in cuts]
        assert np.median(off) < 0.05  # published: φ₂ = 0 (0.024)
        assert np.median(list(map(share_exchanged, chains, cuts, free_symbols))) > 0.92  # (0.931)

    @pytest.mark.parametrize("lag", [0.1, 0.2])
    def test_microstates_with_mirror_images(self, mirrored_symbols, lag):
        """Then the mode changes its sign in the mirror, to the last digits, and no cut is better than its image."""
        chain = MarkovChain.from_symbols(mirrored_symbols, lag)
        cut = best_cut(chain)
        assert chain.states.size == chain.n_states
        scale = np.abs(cut.phi).max()
        np.testing.assert_allclose(cut.phi[500:], -cut.phi[:500], atol=1e-9 * scale)  # (2e-13)
        np.testing.assert_allclose(chain.stationary[500:], chain.stationary[:500], rtol=1e-8)
        np.testing.assert_allclose(cut.curve, cut.curve[::-1], atol=1e-8)
        assert cut.mode == 2
        assert cut.is_interior


@pytest.fixture(scope="module")
def worms():
    return simulate_worms(4, 600.0, seed=0)


@pytest.fixture(scope="module")
def sequences(worms):
    return DelayEmbedding(11).transform(worms.basis.project(worms.recording))


@pytest.fixture(scope="module")
def symbols(sequences):
    return Partition(250).fit(sequences).label(sequences)


@pytest.fixture(scope="module")
def tree(symbols):
    return grow_tree(MarkovChain.from_symbols(symbols, 0.75), 7)


def factor(one, other):
    """How many times one is the other, or the other one."""
    return np.exp(np.abs(np.log(one / other)))


@pytest.mark.slow
class TestWorms:
    def test_runs_and_pirouettes(self, worms, symbols, tree):
        states = symbols.relabel(tree.states_at(2))
        valid = states.segments.valid
        assert valid.sum() > 0.99 * symbols.segments.valid.sum()
        truth = worms.truth.is_pirouette[valid]
        assert balanced_accuracy_score(truth, states.labels[valid] == 1) >= 0.9
        assert np.mean(states.labels[valid] == 1) == pytest.approx(truth.mean(), abs=0.05)

    @pytest.mark.seeds
    def test_rates_of_two_lags(self):
        """Pooled worms leave at the mean of their rates. At a single short lag flicker still adds to them.

        In brackets what these ten recordings gave. A rate may be off because the worms did not keep to their mean: by
        1.24 in one of them, counted in true labels. The estimate differs from what was counted by less than 1.3 (1.23).
        """
        found = np.array([self.rates_of(simulate_worms(6, 600.0, seed=seed)) for seed in range(10)])
        true, counted, two, low, high, one, one_low, one_high = np.moveaxis(found, 1, 0)
        assert np.count_nonzero((low < true) & (true < high)) >= 18  # of 20 (19)
        assert np.count_nonzero(factor(two, true).max(axis=1) < 1.25) >= 9  # of 10 (9)
        assert factor(two, counted).max() < 1.3
        assert np.median(two / true) == pytest.approx(1, abs=0.1)  # (1.05)
        assert np.count_nonzero((one_low < true) & (true < one_high)) < 10  # of 20 (4)
        assert np.median(one / true) > 1.25  # (1.4)

    @staticmethod
    def rates_of(worms):
        """Rates of leaving runs and pirouettes: given, counted in true labels, by two lags and by one with limits."""
        sequences = DelayEmbedding(11).transform(worms.basis.project(worms.recording))
        symbols = Partition(250).fit(sequences).label(sequences)
        group = grow_tree(MarkovChain.from_symbols(symbols, 0.75), 2, symbols=symbols).states_at(2)
        two = hopping_rates(symbols, group, 0.75)
        one = hopping_rates(symbols, group, 0.25, method="one lag")
        assert two.method == "two lags"
        hops = ([0, 1], [1, 0])
        before, after = worms.truth.is_pirouette[:-1], worms.truth.is_pirouette[1:]
        same_worm = np.diff(worms.recording.segments.row_individual) == 0
        counted = [np.mean((after != before)[same_worm & (before == state)]) * 16.0 for state in (False, True)]
        given = (1 / worms.truth.mean_dwells()).mean(axis=0)
        return given, counted, *(part[hops] for r in (two, one) for part in (r.rates, r.low, r.high))

    def test_seven_states_beat_seven_clusters(self, worms, sequences, symbols, tree):
        """Clusters of sequences follow the phase of the body wave; the chain does not care for it."""
        found = symbols.relabel(tree.states_at(7))
        clusters = Partition(7).fit(sequences).label(sequences)
        scores = {}
        for name, states in (("tree", found), ("clusters", clusters)):
            valid = states.segments.valid
            scores[name] = adjusted_mutual_info_score(worms.truth.states[valid], states.labels[valid])
        assert scores["tree"] > 0.28
        assert scores["tree"] > 1.8 * scores["clusters"]

    def test_threads_do_not_matter(self, worms):
        settings = Settings(
            n_delays=11,
            lag=0.75,
            n_states=150,
            n_behaviours=7,
            n_walks=1,
            simulated_minutes=0.5,
            scan=False,
            n_resamples=3,
            seed=3,
        )
        one, two = (run_study(worms.recording, settings, basis=worms.basis, threads=k) for k in (1, 2))
        np.testing.assert_array_equal(one.tree.node_of, two.tree.node_of)
        np.testing.assert_array_equal(one.tree.parent, two.tree.parent)
        np.testing.assert_array_equal(one.tree.stability, two.tree.stability)
        np.testing.assert_array_equal(one.states(7).labels, two.states(7).labels)
        for level in one.tree.levels:
            assert one.names(level) == two.names(level)
