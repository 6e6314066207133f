"""One worm of the paper, from its file to two macrostates."""

import numpy as np
import pytest

import ethomarkov as em
from ethomarkov.markov import entropy_rate
from ethomarkov.posture import EventSettings, find_events, paper_gamma, phase_velocity

pytestmark = pytest.mark.real

# first frame and one past the last of every gap; the published mask widens each by a frame (430 frames in all)
GAPS = [[8683, 8837], [13260, 13360], [17540, 17617], [25169, 25272]]


@pytest.fixture(scope="module")
def worm(request):
    shared_data = request.getfixturevalue("shared_data")
    recording = em.read(shared_data("worm6.npz"))
    return recording, em.PostureBasis.from_file(shared_data("eigenworms.csv"), n_modes=5)


def test_recording(worm):
    recording, _ = worm
    segments = recording.segments
    assert (recording.kind, recording.sampling.rate, len(recording.values)) == ("amplitude", 16.0, 33_600)
    inner = segments.bounds[:, :2].ravel()[1:-1].reshape(-1, 2)
    assert inner.tolist() == GAPS
    assert 33_600 - segments.count_rows()[0] == 434
    assert np.isnan(recording.centroid).any(axis=1).sum() == 2


def test_back_projected_angles(worm):
    recording, basis = worm
    postures = basis.project(recording)
    angles = basis.reconstruct(postures)
    assert angles.values.shape == (33_600, 100)
    valid = angles.segments.valid
    # what rounding of the file leaves of zero is the published γ
    total = angles.values[valid].astype(float).sum(axis=1)
    np.testing.assert_allclose(total, paper_gamma(postures)[valid], atol=2e-5)
    # a is radians times ten, because the modes have unit norm over 100 segments
    rms = np.sqrt(np.square(angles.values[valid]).mean(axis=1))
    np.testing.assert_allclose(rms, np.linalg.norm(postures.values[valid], axis=1) / 10, rtol=1e-3)


def test_phase_velocity(worm):
    recording, basis = worm
    postures = basis.project(recording)
    omega = phase_velocity(postures)
    np.testing.assert_array_equal(np.isnan(omega), ~postures.segments.valid)
    low, middle, high = np.nanquantile(omega, [0.05, 0.5, 0.95])
    assert -0.5 < low < -0.35
    assert 0.3 < middle < 0.37
    assert 0.6 < high < 0.7


def test_events_with_the_published_rule(worm):
    recording, basis = worm
    counts = find_events(basis.project(recording), EventSettings.paper()).counts()[0]
    # per minute of recording 2.80, 1.97 and 0.66; the published plot has worms at 2.83-2.85, about 2.0 and 0.67
    assert counts.tolist() == [98, 69, 23]


def test_two_macrostates(worm):
    recording, basis = worm
    study = em.run_study(
        recording, em.Settings(n_delays=11, lag=0.75, n_states=500, n_walks=1, simulated_minutes=1), basis=basis
    )
    labels, omega = study.states().labels, phase_velocity(study.postures)
    share = (labels == 1).sum() / (labels >= 0).sum()
    assert 0.15 < share < 0.35
    assert np.nanmean(omega[labels == 0]) > 0.3
    assert np.nanmean(omega[labels == 1]) < 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_delays", "n_states", "published"), [(1, 1000, 21.05), (6, 1000, 18.99), (11, 1000, 18.63), (11, 100, 13.54)]
)
def test_entropy_rates(worm, n_delays, n_states, published):
    """Median of three seeds within 4 % of the published value, nats per second."""
    recording, basis = worm
    sequences = em.DelayEmbedding(n_delays).transform(basis.project(recording))
    found = []
    for seed in range(3):
        symbols = em.Partition(n_states, seed=seed, threads=2).fit(sequences).label(sequences)
        found.append(entropy_rate(em.MarkovChain.from_symbols(symbols, 1 / 16)))
    assert np.median(found) == pytest.approx(published, rel=0.04)


def test_successors(worm):
    recording, basis = worm
    sequences = em.DelayEmbedding(11).transform(basis.project(recording))
    chain = em.MarkovChain.from_symbols(em.Partition(1000, threads=2).fit(sequences).label(sequences), 0.75)
    assert 10 <= chain.transition.nnz / chain.states.size <= 12
