"""The synthetic worm: reproducible, with the stated truth, and like the real one."""

from dataclasses import replace

import numpy as np
import pytest

from ethomarkov._core.series import Series
from ethomarkov.locomotion import propel
from ethomarkov.markov import MarkovChain, entropy_rate
from ethomarkov.posture import PostureBasis, find_events, phase_velocity
from ethomarkov.states import DelayEmbedding, Partition
from ethomarkov.synthetic import WormModel, simulate_worms
from ethomarkov.synthetic.worm import IS_PIROUETTE, STATE_NAMES, draw_gaps

ALIKE = WormModel(individual_spread=0.0)


@pytest.fixture(scope="module")
def worms():
    """Two worms of 35 minutes."""
    return simulate_worms(2, seed=0)


@pytest.fixture(scope="module")
def amplitudes(worms):
    return worms.basis.project(worms.recording)


def values_of(worms, individual):
    return worms.recording.select([worms.recording.individuals[individual]]).dataset


class TestReproducible:
    def test_the_same_seed_gives_the_same_worms(self):
        one, two = simulate_worms(2, 30.0, seed=5), simulate_worms(2, 30.0, seed=5)
        np.testing.assert_array_equal(one.recording.values, two.recording.values)
        np.testing.assert_array_equal(one.recording.centroid, two.recording.centroid)
        np.testing.assert_array_equal(one.truth.states, two.truth.states)
        other = simulate_worms(2, 30.0, seed=6)
        assert not np.array_equal(one.truth.states, other.truth.states)

    def test_a_worm_does_not_depend_on_the_number_of_worms_or_threads(self):
        few, many = simulate_worms(1, 30.0, seed=5), simulate_worms(3, 30.0, seed=5, threads=2)
        assert few.recording.individuals == ("worm_00",)
        assert values_of(few, 0).identical(values_of(many, 0))
        np.testing.assert_array_equal(few.truth.states, many.truth.states[:480])
        np.testing.assert_array_equal(few.truth.generators[0], many.truth.generators[0])

    def test_worms_differ(self):
        worms = simulate_worms(2, 30.0, seed=5)
        states = worms.truth.states.reshape(2, -1)
        assert not np.array_equal(states[0], states[1])
        assert worms.truth.body_lengths[0] != worms.truth.body_lengths[1]

    def test_progress_is_told(self):
        told = []
        simulate_worms(2, 10.0, progress=lambda *call: told.append(call))
        assert told == [("synthetic worms", 1, 2), ("synthetic worms", 2, 2)]


class TestTruth:
    def test_means_without_individual_differences(self):
        truth = simulate_worms(2, 10.0, model=ALIKE).truth
        np.testing.assert_allclose(truth.mean_dwells()[:, 0], 15.0, rtol=1e-9)
        np.testing.assert_allclose(truth.mean_dwells()[:, 1], 4.6, atol=0.1)

    def test_relaxation_time_is_that_of_the_generator(self):
        truth = simulate_worms(1, 10.0, model=ALIKE).truth
        rates = np.sort_complex(np.linalg.eigvals(truth.generators[0]))
        assert abs(rates[-1]) < 1e-9
        assert truth.relaxation_times()[0] == pytest.approx(-1 / rates[-2].real, rel=1e-9)
        # two states of 15 and 4.6 s would relax in 3.5 s
        assert 3.0 < truth.relaxation_times()[0] < 6.0

    def test_states_are_named(self, worms):
        assert len(STATE_NAMES) == IS_PIROUETTE.size == 7
        assert set(np.unique(worms.truth.states)) == set(range(7))
        assert worms.truth.states.size == worms.recording.segments.n_rows
        np.testing.assert_array_equal(worms.truth.is_pirouette, worms.truth.states >= 4)

    def test_occupancy_and_jumps_of_the_models_are_consistent(self):
        for model in (WormModel(), WormModel.second_strain()):
            assert sum(model.occupancy) == pytest.approx(1.0)
            np.testing.assert_allclose(np.sum(model.jumps, axis=1), 1.0)
            np.testing.assert_allclose(np.diag(model.jumps), 0.0)

    def test_the_path_follows_from_the_postures(self):
        worms = simulate_worms(1, 60.0, model=WormModel(missing=0.0, tracking_noise=0.0))
        theta = worms.basis.reconstruct(worms.basis.project(worms.recording))
        path = propel(theta, worms.truth.drag_ratio, worms.truth.body_lengths[0])
        np.testing.assert_allclose(worms.recording.centroid, path.centroid, atol=1e-4)

    def test_body_lengths_are_told(self, worms):
        assert worms.recording.body_lengths == pytest.approx(
            dict(zip(worms.recording.individuals, worms.truth.body_lengths, strict=True)), rel=1e-6
        )
        assert worms.recording.dataset.attrs["length_unit"] == "mm"


class TestLikeTheRealWorm:
    def test_spread_of_the_amplitudes(self, amplitudes):
        spread = amplitudes.values[amplitudes.segments.valid].std(axis=0)
        np.testing.assert_allclose(spread, [5.24, 5.08, 7.13, 2.54, 1.05], rtol=0.3)

    def test_phase_velocity_by_state(self, worms, amplitudes):
        omega, states = phase_velocity(amplitudes), worms.truth.states
        assert 0.45 < np.nanmean(omega[states <= 1]) < 0.65
        assert np.nanmean(omega[states == 5]) < -0.2

    def test_bend_by_state(self, worms, amplitudes):
        bend, states = amplitudes.values[:, 2], worms.truth.states
        assert np.nanmean(bend[states == 4]) < -8
        assert np.nanmean(bend[states == 6]) > 10
        assert abs(np.nanmean(bend[states <= 1])) < 2

    def test_first_zero_of_the_autocorrelation(self, amplitudes):
        first = amplitudes.values[:, 0] - np.nanmean(amplitudes.values[:, 0])
        pairs = [amplitudes.segments.pairs(lag) for lag in range(20)]
        correlation = np.array([np.mean(first[a] * first[b]) for a, b in pairs])
        assert 0.5 < np.argmax(correlation < 0) / 16 < 0.75

    def test_share_of_pirouettes(self):
        """Of all worms; of single ones it varies."""
        assert 0.2 < simulate_worms(6, 600.0, model=ALIKE, seed=1).truth.is_pirouette.mean() < 0.3

    def test_speed(self, worms):
        speeds = []
        for k in range(2):
            centroid = values_of(worms, k)["centroid"].values
            speeds.append(np.linalg.norm(centroid[16:] - centroid[:-16], axis=1).mean())
        assert 0.1 < np.mean(speeds) < 0.2

    def test_event_rates(self, amplitudes):
        """Per minute, of twelve real worms: reversals 1.8 to 5.3, ventral turns 1.1 to 3.5, dorsal below 0.7."""
        reversal, ventral, dorsal = find_events(amplitudes).rates().mean(axis=0)
        assert 1.8 < reversal < 6
        assert 1 < ventral < 4.5
        assert dorsal < 1

    def test_forward_runs_go_head_first(self):
        model = replace(ALIKE, occupancy=(0.9, 0.05, 0.03, 0.017, 0.001, 0.001, 0.001), missing=0.0, tracking_noise=0.0)
        worms = simulate_worms(1, 20.0, model=model, seed=2)
        fast = np.flatnonzero(np.convolve(worms.truth.states == 0, np.ones(64), "valid") == 64)
        assert fast.size
        path = propel(worms.basis.reconstruct(worms.basis.project(worms.recording)))
        start, stop = fast[0] + 16, fast[0] + 63
        # tangents point from head to tail, so that the head looks against the heading
        heading = path.heading[start:stop].mean()
        move = path.centroid[stop] - path.centroid[start]
        assert move @ -np.array([np.cos(heading), np.sin(heading)]) > 0.5 * np.linalg.norm(move) > 0.05

    @pytest.mark.slow
    def test_entropy_rate(self, worms):
        """Of real worms 14 to 24 nat/s at eleven frames and 1000 microstates, one partition each."""
        one = worms.recording.select(["worm_00"])
        sequences = DelayEmbedding(11).transform(worms.basis.project(one))
        symbols = Partition(1000).fit(sequences).label(sequences)
        assert 14 < entropy_rate(MarkovChain.from_symbols(symbols, 1 / 16)) < 24

    @pytest.mark.slow
    @pytest.mark.real
    def test_entropy_rate_of_the_real_worm(self, shared_data):
        """Published 18.63 nat/s for this worm.

        Mini-batch k-means, as published, gives 18.7 to 18.9 with two seeds; iterated to the end it gives 18.0 to 18.2.
        """
        series = Series.from_rows(np.load(shared_data("worm6.npz"))["modes"], 16.0)
        sequences = DelayEmbedding(11).transform(series)
        symbols = Partition(1000).fit(sequences).label(sequences)
        assert entropy_rate(MarkovChain.from_symbols(symbols, 1 / 16)) == pytest.approx(18.63, rel=0.05)


class TestGaps:
    def test_share_of_lost_frames(self):
        """Of many recordings close to what is asked; of twelve worms 2 to 7 %, as published (4.15 %)."""
        shares = np.array([draw_gaps(33_600, 0.04, np.random.default_rng(k)).mean() for k in range(1200)])
        assert shares.mean() == pytest.approx(0.04, abs=4 * shares.std() / np.sqrt(1200) + 0.003)
        twelve = shares.reshape(100, 12).mean(axis=1)
        assert np.mean((twelve > 0.02) & (twelve < 0.07)) > 0.9

    @pytest.mark.slow
    def test_share_of_twelve_worms(self):
        recording = simulate_worms(12, seed=0, threads=2).recording
        assert 0.02 < 1 - recording.segments.count_rows().sum() / recording.segments.n_rows < 0.07

    def test_gaps_come_in_runs_of_all_lengths(self):
        flags = np.concatenate([draw_gaps(33_600, 0.04, np.random.default_rng(k)) for k in range(50)])
        edges = np.flatnonzero(np.diff(np.concatenate([[0], flags, [0]])))
        lengths = edges[1::2] - edges[::2]
        assert np.percentile(lengths, 10) < 40
        assert lengths.max() > 1000
        assert 30 < np.median(lengths) < 150

    def test_none(self):
        assert not any(draw_gaps(1000, 0.0, np.random.default_rng(k)).any() for k in range(50))

    @pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
    def test_a_large_share_is_no_error(self, share):
        shares = [draw_gaps(2000, share, np.random.default_rng(k)).mean() for k in range(60)]
        assert 0 < np.mean(shares) < 1

    def test_postures_are_lost_and_the_path_is_not(self, worms):
        missing = ~worms.recording.segments.valid
        assert missing.any()
        assert np.isnan(worms.recording.values[missing]).all()
        assert np.isfinite(worms.recording.centroid).all()


class TestModels:
    def test_the_second_strain_reorients_less_and_crawls_slower(self):
        default, second = (
            simulate_worms(2, 600.0, model=replace(model, individual_spread=0.0))
            for model in (WormModel(), WormModel.second_strain())
        )
        assert second.truth.mean_dwells()[0, 0] == pytest.approx(30.0)
        assert second.truth.is_pirouette.mean() < 0.7 * default.truth.is_pirouette.mean()
        fast = [
            np.nanmean(phase_velocity(PostureBasis.analytic().project(one.recording))[one.truth.states <= 1])
            for one in (default, second)
        ]
        assert fast[1] == pytest.approx(0.8 * fast[0], rel=0.08)

    def test_a_decline_lowers_the_pirouette_rate(self):
        worms = simulate_worms(4, 900.0, model=replace(ALIKE, decline=0.9), seed=1)
        inside = worms.truth.is_pirouette.reshape(4, -1)
        entries = (~inside[:, :-1] & inside[:, 1:]).reshape(4, -1)
        third = entries.shape[1] // 3
        assert entries[:, -third:].sum() < 0.65 * entries[:, :third].sum()

    def test_individuals_vary_as_much_as_asked(self):
        """Run lengths are lognormal with the spread of the model."""
        dwells = simulate_worms(60, 1.0, model=WormModel(individual_spread=0.3, missing=0.0)).truth.mean_dwells()[:, 0]
        assert np.log(dwells).std() == pytest.approx(0.3, rel=0.3)
        assert np.exp(np.log(dwells).mean()) == pytest.approx(15.0, rel=0.15)
