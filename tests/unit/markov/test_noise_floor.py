"""Shuffled symbols: what is kept, what is destroyed, and how large the eigenvalues of noise are."""

import numpy as np
import pytest

from ethomarkov._core.random import generator
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov import MarkovChain, count_transitions, slow_spectrum
from ethomarkov.markov.noise_floor import NoiseFloor, Shuffles, noise_floor, noise_floors, shuffle_symbols
from ethomarkov.markov.spectrum import Spectrum, reversible_modes
from ethomarkov.states import Symbols
from ethomarkov.synthetic import hopping_chain

RECIPES = ["permute", "resample"]
KINDS = ["chain", "reversibilized"]


def symbols_of(labels, offsets=None, n_states=None, rate=4.0):
    labels = np.asarray(labels, dtype=np.int32)
    return Symbols(
        labels=labels,
        n_states=n_states or int(labels.max()) + 1,
        segments=Segments.from_valid(labels >= 0, offsets),
        sampling=Sampling(rate),
    )


def independent(n_states, n_frames, seed=0):
    return symbols_of(np.random.default_rng(seed).integers(0, n_states, n_frames), n_states=n_states)


def slow_pair(n_frames=4000, leave=0.02, n_inner=5, seed=0):
    """Two slow sets, each of several microstates that are drawn afresh at every frame."""
    hidden = hopping_chain(np.array([[1 - leave, leave], [leave, 1 - leave]]), n_frames, rng=seed).labels
    inner = np.random.default_rng(seed).integers(0, n_inner, n_frames)
    return symbols_of(hidden * n_inner + inner)


@pytest.fixture
def gappy():
    """Two animals with gaps, where every gap-free run has microstates of its own."""
    rng = np.random.default_rng(0)
    parts = [rng.integers(10 * k, 10 * k + 10, 60 + 20 * k) for k in range(4)]
    labels = np.concatenate([parts[0], [-1] * 7, parts[1], parts[2], [-1], parts[3]])
    return symbols_of(labels, offsets=np.array([0, 147, labels.size]))


class TestShuffle:
    def test_permuting_keeps_the_visits_of_every_run(self, gappy):
        shuffled = shuffle_symbols(gappy, "permute", np.random.default_rng(1))
        for start, stop, _ in gappy.segments:
            before, after = gappy.labels[start:stop], shuffled.labels[start:stop]
            np.testing.assert_array_equal(np.sort(after), np.sort(before))
            assert not np.array_equal(after, before)

    def test_resampling_draws_from_the_run_itself(self, gappy):
        shuffled = shuffle_symbols(gappy, "resample", np.random.default_rng(1))
        for start, stop, _ in gappy.segments:
            assert set(shuffled.labels[start:stop]) <= set(gappy.labels[start:stop])
            assert (
                np.bincount(shuffled.labels[start:stop])
                != np.bincount(gappy.labels[start:stop], minlength=1)[: shuffled.labels[start:stop].max() + 1]
            ).any()

    @pytest.mark.parametrize("recipe", RECIPES)
    def test_gaps_and_animals_stay(self, gappy, recipe):
        shuffled = shuffle_symbols(gappy, recipe, np.random.default_rng(2))
        np.testing.assert_array_equal(shuffled.labels < 0, gappy.labels < 0)
        np.testing.assert_array_equal(shuffled.segments.bounds, gappy.segments.bounds)
        assert shuffled.n_states == gappy.n_states
        assert shuffled.sampling == gappy.sampling

    @pytest.mark.parametrize("recipe", RECIPES)
    def test_nothing_crosses_from_one_run_to_the_next(self, gappy, recipe):
        counts = count_transitions(shuffle_symbols(gappy, recipe, np.random.default_rng(3)), 1).tocoo()
        assert set(zip(counts.row // 10, counts.col // 10, strict=True)) <= {(k, k) for k in range(4)}

    @pytest.mark.parametrize("recipe", RECIPES)
    def test_the_original_is_left_alone(self, gappy, recipe):
        before = np.array(gappy.labels)
        shuffle_symbols(gappy, recipe, np.random.default_rng(3))
        np.testing.assert_array_equal(gappy.labels, before)

    @pytest.mark.parametrize("recipe", RECIPES)
    def test_the_order_in_time_is_destroyed(self, recipe):
        symbols = slow_pair()
        shuffled = shuffle_symbols(symbols, recipe, np.random.default_rng(0))
        side = shuffled.labels >= 5
        assert np.corrcoef(symbols.labels[1:] >= 5, symbols.labels[:-1] >= 5)[0, 1] > 0.9
        assert abs(np.corrcoef(side[1:], side[:-1])[0, 1]) < 4 / np.sqrt(side.size)


class TestFloor:
    @pytest.mark.parametrize(("n_states", "n_frames"), [(30, 3000), (80, 4000), (150, 15_000)])
    def test_grows_as_the_root_of_states_per_transition(self, n_states, n_frames):
        """P of noise is 1πᵀ plus a matrix of independent entries, whose spectrum fills a disc of radius √(N/T)."""
        floor = noise_floor(independent(n_states, n_frames), 0.25, shuffles=Shuffles(n=8))
        expected = np.sqrt(n_states / n_frames)
        assert expected / 1.5 < floor.eigenvalues.mean() < expected * 1.5

    def test_of_the_reversibilised_chain(self):
        """Averaged with its transpose the disc becomes a semicircle of radius √2 √(N/T)."""
        floor = noise_floor(independent(150, 15_000), 0.25, of="reversibilized", shuffles=Shuffles(n=8))
        assert floor.eigenvalues.mean() == pytest.approx(np.sqrt(2 * 150 / 15_000), rel=0.15)
        assert floor.of == "reversibilized"

    @pytest.mark.parametrize("lag", [0.25, 2.0])
    @pytest.mark.parametrize("recipe", RECIPES)
    def test_independent_symbols_lie_within_it(self, lag, recipe):
        symbols = independent(40, 4000, seed=1)
        floor = noise_floor(symbols, lag, shuffles=Shuffles(n=20, recipe=recipe))
        own = slow_spectrum(MarkovChain.from_symbols(symbols, lag), 1).eigenvalues[0].real
        spread = floor.eigenvalues.std()
        assert floor.eigenvalues.min() - spread < own < floor.eigenvalues.max() + spread

    @pytest.mark.parametrize("of", KINDS)
    def test_slow_symbols_lie_far_above_it(self, of):
        symbols = slow_pair()
        floor = noise_floor(symbols, 1.0, of=of, shuffles=Shuffles(n=10))
        chain = MarkovChain.from_symbols(symbols, 1.0)
        own = slow_spectrum(chain, 1).eigenvalues[0].real if of == "chain" else reversible_modes(chain)[0][0]
        assert own == pytest.approx(0.96**4, abs=0.04)
        assert own > floor.eigenvalues.mean() + 20 * floor.eigenvalues.std()

    def test_is_the_chain_of_the_shuffled_symbols_at_the_lag_itself(self):
        """Runs shorter than the lag drop out, which a floor taken at one frame would not see."""
        symbols = symbols_of(np.where(np.arange(3000) % 10 == 9, -1, np.random.default_rng(0).integers(0, 5, 3000)))
        short, long = (noise_floor(symbols, lag, shuffles=Shuffles(n=12)).eigenvalues.mean() for lag in (0.25, 1.75))
        assert long > 1.5 * short

    def test_modes_are_counted(self):
        symbols = slow_pair()
        chain = MarkovChain.from_symbols(symbols, 0.25)
        assert noise_floor(symbols, 0.25, shuffles=Shuffles(n=20)).significant_modes(slow_spectrum(chain)) == 1

    @pytest.mark.parametrize("of", KINDS)
    def test_is_far_more_exact_than_shuffles_agree(self, of):
        symbols = independent(300, 9000)
        floor = noise_floor(symbols, 0.25, of=of, shuffles=Shuffles(n=12))
        exact = []
        for k in range(12):
            shuffled = shuffle_symbols(symbols, "permute", generator(0, "noise floor", k))
            chain = MarkovChain.from_symbols(shuffled, 0.25)
            P = chain.transition if of == "chain" else chain.reversibilized().transition
            exact.append(np.sort(np.linalg.eigvals(P.toarray()).real)[-2])
        np.testing.assert_allclose(floor.eigenvalues, exact, rtol=0, atol=0.01 * np.std(exact))

    def test_several_from_the_same_shuffles(self):
        symbols, how = slow_pair(1000), Shuffles(n=3, seed=2)
        for of, floor in zip(KINDS, noise_floors(symbols, 0.5, KINDS, shuffles=how), strict=True):
            alone = noise_floor(symbols, 0.5, of=of, shuffles=how)
            np.testing.assert_array_equal(floor.eigenvalues, alone.eigenvalues)
            assert (floor.of, floor.lag) == (of, 0.5)

    def test_reproducible(self):
        symbols = independent(60, 1500)
        one, again, threaded = (
            noise_floor(symbols, 0.25, shuffles=Shuffles(n=4, seed=5), threads=threads) for threads in (1, 1, 2)
        )
        other = noise_floor(symbols, 0.25, shuffles=Shuffles(n=4, seed=6))
        np.testing.assert_array_equal(one.eigenvalues, again.eigenvalues)
        np.testing.assert_array_equal(one.eigenvalues, threaded.eigenvalues)
        assert not np.isin(one.eigenvalues, other.eigenvalues).any()

    def test_more_shuffles_begin_with_the_same(self):
        symbols = independent(20, 800)
        few, many = (noise_floor(symbols, 0.25, shuffles=Shuffles(n=n)).eigenvalues for n in (3, 6))
        np.testing.assert_array_equal(few, many[:3])
        assert np.unique(many).size == 6

    def test_progress(self):
        seen = []
        noise_floor(
            independent(5, 200), 0.25, shuffles=Shuffles(n=3), progress=lambda what, done, n: seen.append((done, n))
        )
        assert seen == [(1, 3), (2, 3), (3, 3)]

    def test_a_single_state(self):
        with pytest.raises(EthomarkovError):
            noise_floor(symbols_of(np.zeros(50)), 0.25)


def spectrum_of(*eigenvalues):
    values = np.array(eigenvalues, dtype=complex)
    return Spectrum(eigenvalues=values, relaxation_times=np.full(values.size, np.nan), lag=1.0)


class TestRead:
    floor = NoiseFloor(eigenvalues=np.linspace(0.2, 0.4, 41), lag=0.75, of="chain")

    def test_upper(self):
        assert self.floor.upper() == pytest.approx(0.395)
        assert self.floor.upper(0.5) == pytest.approx(0.3)

    def test_as_a_time(self):
        assert self.floor.time() == pytest.approx(-0.75 / np.log(0.3))
        assert self.floor.time(0.975) == pytest.approx(-0.75 / np.log(0.395))

    def test_a_floor_below_zero_is_no_time(self):
        assert NoiseFloor(eigenvalues=np.array([-0.1, -0.2]), lag=1.0, of="chain").time() == 0.0

    @pytest.mark.parametrize(
        ("eigenvalues", "n_modes"),
        [
            ((0.9, 0.6, 0.396, 0.394, 0.2), 3),
            ((0.9, 0.5 + 0.3j, 0.5 - 0.3j, 0.3), 3),
            ((0.9, 0.3, 0.29, -0.9), 1),
            ((0.9, 0.8), 2),
            ((0.3,), 0),
            ((), 0),
        ],
    )
    def test_significant_modes(self, eigenvalues, n_modes):
        assert self.floor.significant_modes(spectrum_of(*eigenvalues)) == n_modes

    def test_a_lower_level_admits_more(self):
        assert self.floor.significant_modes(spectrum_of(0.9, 0.35, 0.1), level=0.5) == 2
