"""The same tasks done plainly with numpy, scipy, matplotlib and deeptime."""

from pathlib import Path

import numpy as np
from scipy import linalg, ndimage, signal, sparse
from scipy.interpolate import CubicSpline
from sklearn.cluster import KMeans, MiniBatchKMeans

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.locomotion import Trajectory
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.posture import EventSettings, PostureBasis
from ethomarkov.recording import Recording
from ethomarkov.states import Symbols

BLOCK_FRAMES = 1024


def project_plainly(recording: Recording, basis: PostureBasis) -> FloatArray:
    """Unwrap angles along the body, take out their mean, and project."""
    angles = np.unwrap(recording.values.astype(float), axis=1)
    projected: FloatArray = (angles - angles.mean(axis=1, keepdims=True)) @ basis.vectors
    return projected


def stack_frames(values: FloatArray, n_delays: int) -> FloatArray:
    """Copy every window of frames into a row of its own."""
    windows = np.lib.stride_tricks.sliding_window_view(values, n_delays, axis=0)
    return np.ascontiguousarray(windows.transpose(0, 2, 1)).reshape(len(windows), -1)


def full_partition(points: FloatArray, n_states: int) -> float:
    """Cluster with scikit-learn's Lloyd iterations, and give the inertia per point."""
    return float(KMeans(n_states, n_init=1, random_state=0).fit(points).inertia_ / len(points))


def deeptime_partition(points: FloatArray, n_states: int) -> float:
    """Cluster with deeptime, at most 50 iterations, and give the inertia per point."""
    from deeptime.clustering import KMeans as DeeptimeKMeans

    found = DeeptimeKMeans(n_states, max_iter=50, n_jobs=2, fixed_seed=1).fit(points).fetch_model()
    labels = found.transform(points)
    return float(np.square(points - found.cluster_centers[labels]).sum(axis=1).mean(dtype=float))


def pieces_of(symbols: Symbols, lag_frames: int) -> list[IntArray]:
    """Cut labels at gaps, which deeptime does not know."""
    return [symbols.labels[first:stop] for first, stop, _ in symbols.segments if stop - first > lag_frames]


def count_by_deeptime(pieces: list[IntArray], lag_frames: int, n_states: int) -> FloatArray:
    """Count lagged pairs with deeptime."""
    from deeptime.markov import TransitionCountEstimator

    estimator = TransitionCountEstimator(lag_frames, "sliding", n_states=n_states, sparse=True)
    return estimator.fit(pieces).fetch_model().count_matrix


def spectrum_by_deeptime(counts: FloatArray, n_modes: int) -> FloatArray:
    """Estimate a chain and its leading eigenvalues with deeptime."""
    from deeptime.markov import TransitionCountModel
    from deeptime.markov.msm import MaximumLikelihoodMSM

    largest = TransitionCountModel(sparse.csr_matrix(counts)).submodel_largest()  # it knows no sparse arrays
    model = MaximumLikelihoodMSM(reversible=False, sparse=True).fit(largest).fetch_model()
    return np.asarray(model.eigenvalues(n_modes + 1))


def spectrum_by_scipy(chain: MarkovChain, n_modes: int) -> FloatArray:
    """Find all eigenvectors of the full matrix, and give the leading eigenvalues."""
    found = linalg.eig(chain.transition.toarray())[0]
    return found[np.argsort(-np.abs(found))][: n_modes + 1]


def correlate_plainly(series: Series, n_frames: int) -> FloatArray:
    """Correlate every mode of one run with itself, by scipy, over lags up to `n_frames`."""
    centred = series.values.astype(float) - series.values.mean(axis=0, dtype=float)
    n_pairs = len(centred) - np.arange(n_frames + 1)
    sums = [signal.correlate(mode, mode, method="fft")[len(mode) - 1 :][: n_frames + 1] for mode in centred.T]
    return np.array([one / n_pairs / (one[0] / len(centred)) for one in sums])


def displace_plainly(path: Trajectory, frames: IntArray) -> FloatArray:
    """Average squared displacements of one run, one subtraction per lag."""
    place = path.centroid
    return np.array([np.square(place[k:] - place[:-k]).sum(axis=1).mean() for k in frames])


def count_events_plainly(amplitudes: Series, rule: EventSettings) -> list[int]:
    """Count reversals and turns of one gap-free run, with scipy's spline and its labels of connected frames."""
    a1, a2, a3 = amplitudes.values[:, :3].T.astype(float)
    angle = -np.unwrap(np.arctan2(a2, a1)) / (2 * np.pi)
    omega = CubicSpline(np.arange(len(angle)) / amplitudes.sampling.rate, angle).derivative()(
        np.arange(len(angle)) / amplitudes.sampling.rate
    )
    least = int(np.ceil(rule.min_duration * amplitudes.sampling.rate))
    reverses = (omega < rule.reversal_velocity) & (np.abs(a3) < rule.straight)
    counted = []
    for flag in (reverses, a3 > rule.turn, a3 < -rule.turn):
        labels, _ = ndimage.label(flag)
        counted.append(int((np.bincount(labels)[1:] >= least).sum()))
    return counted


def published_partition(points: FloatArray, n_states: int) -> float:
    """Cluster at the published settings, label, and give the inertia per point."""
    theirs = MiniBatchKMeans(n_states, batch_size=5 * n_states, n_init=3, random_state=0).fit(points)
    labels = theirs.predict(points)
    return float(np.square(points - theirs.cluster_centers_[labels]).sum(axis=1).mean(dtype=float))


def walk_by_search(chain: MarkovChain, n_steps: int, n_walks: int) -> IntArray:
    """Walk by a search in cumulative sums, vectorised over walks: row i of the sums runs from i to i + 1."""
    matrix, rng = chain.transition, np.random.default_rng(0)
    ends = np.cumsum(matrix.data)
    row_start = np.concatenate([[0.0], ends[matrix.indptr[1:] - 1]])
    steps = np.empty((n_steps, n_walks), dtype=np.int32)
    steps[0] = rng.choice(chain.states.size, n_walks, p=chain.stationary)
    for step in range(1, n_steps):
        here = steps[step - 1]
        drawn = row_start[here] + rng.random(n_walks) * (row_start[here + 1] - row_start[here])
        found = np.searchsorted(ends, drawn, side="right")
        steps[step] = matrix.indices[np.clip(found, matrix.indptr[here], matrix.indptr[here + 1] - 1)]
    walks: IntArray = chain.states[steps.T]
    return walks


def walk_by_deeptime(chain: MarkovChain, n_steps: int, n_walks: int) -> list[IntArray]:
    """Walk with deeptime, one walk after the other."""
    from deeptime.markov.msm import MarkovStateModel

    model = MarkovStateModel(chain.transition.toarray(), stationary_distribution=chain.stationary)
    return [model.simulate(n_steps, seed=k) for k in range(n_walks)]


def path_by_blocks(amplitudes: Series, basis: PostureBasis, drag_ratio: float = 30.0) -> FloatArray:
    """Compute the path of one run by resistive force theory, vectorised over blocks of frames."""
    theta = amplitudes.values.astype(float) @ basis.vectors.T + basis.mean
    blocks = [
        _rigid_steps(theta[first : first + BLOCK_FRAMES + 1], drag_ratio)
        for first in range(0, len(theta) - 1, BLOCK_FRAMES)
    ]
    moves = np.concatenate([np.zeros((1, 3)), *blocks])
    heading = np.cumsum(moves[:, 2])
    place = np.cumsum((moves[:, 0] + 1j * moves[:, 1]) * np.exp(1j * (heading - moves[:, 2] / 2)))
    return np.stack([place.real, place.imag], axis=1)


def _rigid_steps(theta: FloatArray, drag_ratio: float) -> FloatArray:
    """Solve force and torque balance between successive frames of a body of unit length."""
    u, v = (np.diff(_centred(part(theta)), axis=0) for part in (np.cos, np.sin))
    middle = (theta[1:] + theta[:-1]) / 2
    tx, ty = np.cos(middle), np.sin(middle)
    x, y = _centred(tx), _centred(ty)
    motions, along = (tx, ty, x * ty - y * tx), tx * u + ty * v
    matrix = (1 - drag_ratio) * np.array([[_dot(a, b) for b in motions] for a in motions]).transpose(2, 0, 1)
    matrix[:, [0, 1], [0, 1]] += drag_ratio * theta.shape[1]
    matrix[:, 2, 2] += drag_ratio * (_dot(x, x) + _dot(y, y))
    pull = (drag_ratio - 1) * np.stack([_dot(motion, along) for motion in motions], axis=1)
    pull[:, 2] -= drag_ratio * (_dot(x, v) - _dot(y, u))
    return np.linalg.solve(matrix, pull[..., None])[..., 0]


def _centred(direction: FloatArray) -> FloatArray:
    """Give one coordinate of the middles of the segments, relative to their mean."""
    middle = (np.cumsum(direction, axis=1) - direction / 2) / direction.shape[1]
    centred: FloatArray = middle - middle.mean(axis=1, keepdims=True)
    return centred


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.einsum("fs,fs->f", a, b)


def coherence_by_submatrices(phi: FloatArray, chain: MarkovChain) -> FloatArray:
    """Measure the coherence of every cut, two submatrices each."""

    def stays(members: IntArray) -> float:
        share = chain.stationary[members]
        return float((share @ chain.transition[members][:, members]).sum() / share.sum())

    cuts = np.unique(phi)[1:]
    return np.array([min(stays(np.flatnonzero(phi < c)), stays(np.flatnonzero(phi >= c))) for c in cuts])


def movie_by_matplotlib(bodies: FloatArray, place: FloatArray, file: Path) -> None:
    """Film a body and its trail with matplotlib's own animation, which draws every frame from nothing."""
    import imageio_ffmpeg
    import matplotlib as mpl
    from matplotlib.animation import FFMpegWriter
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.4), dpi=100)
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.grid(True)
    trail, body = axes.plot([], [])[0], axes.plot([], [], lw=8)[0]
    writer = FFMpegWriter(fps=16)
    with mpl.rc_context({"animation.ffmpeg_path": imageio_ffmpeg.get_ffmpeg_exe()}), writer.saving(figure, file, 100):
        for k, (x, y) in enumerate(place):
            axes.set(xlim=(x - 2, x + 2), ylim=(y - 1.1, y + 1.1))
            trail.set_data(*place[: k + 1].T)
            body.set_data(*bodies[k].T)
            writer.grab_frame()
