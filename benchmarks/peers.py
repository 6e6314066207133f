"""The same tasks done plainly with numpy, scipy, matplotlib and deeptime."""

from pathlib import Path

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.posture import PostureBasis

BLOCK_FRAMES = 1024


def published_partition(points: FloatArray, n_states: int) -> float:
    """Cluster at the published settings, label, and give the inertia per point."""
    theirs = MiniBatchKMeans(n_states, batch_size=5000, n_init=3, random_state=0).fit(points)
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
