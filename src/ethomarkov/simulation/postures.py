"""Postures along walks on the chain of microstates."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from ethomarkov._core.parallel import map_pieces
from ethomarkov._core.random import Rng
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, IntArray
from ethomarkov.exceptions import ConnectivityError, SamplingError
from ethomarkov.simulation.symbols import stream_keys
from ethomarkov.states.symbols import Symbols

UnfoldMethod = Literal["matched", "paper", "paper-filled", "paper-raw"]

SMOOTHING_FRAMES, SMOOTHING_ORDER = 11, 3
FEWEST_KNOTS = 4
N_CANDIDATES = 4
UNFOLDING = np.uint64(0xD1B54A32D192ED03)  # sets these random streams apart from the walks' own of the same seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Repertoire:
    """Recorded posture sequences, listed by microstate and by passage from one microstate to another.

    Parameters
    ----------
    postures
        The recorded series.
    n_delays, passage_frames
        Frames of a sequence, and of a passage from one microstate to the next.
    n_states
        Microstates of the partition.
    rows
        Middle rows of sequences: first those from which a step was recorded, sorted by the step, then all, sorted by
        microstate.
    steps, step_range
        Recorded steps from i to j as ``i * n_states + j``, ascending; where the rows of each begin, and their number.
    state_range
        The same of each microstate.
    runs
        First and last row of the gap-free run of every row.

    Examples
    --------
    >>> from ethomarkov.states import DelayEmbedding, Partition
    >>> postures = Series.from_rows(np.stack([np.cos(np.arange(200) / 5), np.sin(np.arange(200) / 5)], axis=1), 10.0)
    >>> sequences = DelayEmbedding(3).transform(postures)
    >>> symbols = Partition(4, seed=1).fit(sequences).label(sequences)
    >>> repertoire = Repertoire.from_symbols(postures, symbols, n_delays=3, passage=0.5)
    >>> repertoire.n_states, repertoire.passage_frames, int(repertoire.state_range[:, 1].sum())
    (4, 5, 198)
    >>> repertoire.continuations_of(symbols.labels[1:9:5]).shape  # first entry and number, for each step
    (2, 2)
    """

    postures: Series
    n_delays: int
    passage_frames: int
    n_states: int
    rows: IntArray = array_field("sequence")
    steps: IntArray = array_field("step")
    step_range: IntArray = array_field("step", "first_count")
    state_range: IntArray = array_field("state", "first_count")
    runs: IntArray = array_field("frame", "first_last")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_symbols(cls, postures: Series, symbols: Symbols, n_delays: int, passage: float) -> "Repertoire":
        """List the recorded sequences by microstate and by passage.

        Parameters
        ----------
        postures
            The recorded series.
        symbols
            Microstates of its sequences, at their middle frames.
        n_delays
            Frames per sequence.
        passage
            Seconds for which the recording is followed at a time: a step of the walks that are unfolded.
        """
        passage_frames = postures.sampling.frames(passage, "passage")
        before = (n_delays - 1) // 2
        middle = postures.segments.trim(before, n_delays - 1 - before).valid
        labelled = symbols.segments.valid
        if middle.shape != labelled.shape or (labelled & ~middle).any():
            raise SamplingError(
                f"Some of the {labelled.sum()} labelled rows are not the middle of {n_delays} recorded frames. "
                "Use the postures and n_delays from which the state sequences were made."
            )
        members = np.flatnonzero(labelled)
        members = members[np.argsort(symbols.labels[members], kind="stable")]
        visits = symbols.visits()
        first, second = symbols.segments.pairs(passage_frames)
        step = symbols.labels[first].astype(np.int64) * symbols.n_states + symbols.labels[second]
        order = np.argsort(step, kind="stable")
        steps, step_first, step_count = np.unique(step[order], return_index=True, return_counts=True)
        return cls(
            postures=postures,
            n_delays=n_delays,
            passage_frames=passage_frames,
            n_states=symbols.n_states,
            rows=np.concatenate([first[order], members]),
            steps=steps,
            step_range=np.stack([step_first, step_count], axis=1),
            state_range=np.stack([first.size + np.cumsum(visits) - visits, visits], axis=1),
            runs=_run_limits(postures),
        )

    def sequences_of(self, labels: IntArray) -> IntArray:
        """Find the recorded sequences of each step of a walk, whatever comes next: first entry in `rows`, and number.

        Parameters
        ----------
        labels
            Microstates of the walk.
        """
        ranges: IntArray = self.state_range[labels]
        return ranges

    def continuations_of(self, labels: IntArray) -> IntArray:
        """Find the recorded passages from each label of a walk to the next: first entry in `rows`, and number.

        A step that was never recorded, and the last, may begin from any sequence of its microstate.

        Parameters
        ----------
        labels
            Microstates of the walk.
        """
        ranges = self.sequences_of(labels)
        step = labels[:-1].astype(np.int64) * self.n_states + labels[1:]
        place = np.searchsorted(self.steps, step)
        known = np.flatnonzero(np.append(self.steps, -1)[place] == step)
        ranges[known] = self.step_range[place[known]]
        return ranges


def unfold_postures(
    walks: Symbols,
    postures: Series,
    symbols: Symbols,
    n_delays: int,
    *,
    rng: Rng = 0,
    method: UnfoldMethod = "matched",
) -> Series:
    """Simulate postures along walks: every step is a recorded sequence of its microstate, joined to the next.

    Parameters
    ----------
    walks
        Simulated microstates, one per lag.
    postures
        The recorded series from which sequences are taken.
    symbols
        Microstates of the recorded sequences, at their middle frames.
    n_delays
        Frames per sequence.
    rng
        Random seed or generator.
    method
        "matched" follows, from each step to the next, a recorded passage between the two microstates, and fades from
        one passage into the next while both are in the same microstate. "paper" is the published procedure,
        "paper-filled" the same before smoothing, "paper-raw" before the missing frames are filled.

    Notes
    -----
    SI, "C. elegans posture simulations": sequences are drawn at random within a microstate (a walk begins with the
    first one of its microstate), frames missing between them are filled by a cubic spline, and the whole is smoothed
    by a cubic Savitzky–Golay filter over 11 frames. Successive sequences do not continue each other, which leaves a
    comb at the rate of the steps in the spectrum of speeds; "matched" avoids it. Of a few recorded passages, drawn
    evenly, it takes the one whose beginning is closest to the end of the last one, over all frames of a sequence.

    Examples
    --------
    >>> from ethomarkov.markov import MarkovChain
    >>> from ethomarkov.simulation import simulate_symbols
    >>> from ethomarkov.states import DelayEmbedding, Partition
    >>> postures = Series.from_rows(np.stack([np.cos(np.arange(200) / 5), np.sin(np.arange(200) / 5)], axis=1), 10.0)
    >>> sequences = DelayEmbedding(3).transform(postures)
    >>> symbols = Partition(4, seed=1).fit(sequences).label(sequences)
    >>> walks = simulate_symbols(MarkovChain.from_symbols(symbols, 0.5), duration=20.0, n_walks=2)
    >>> unfold_postures(walks, postures, symbols, n_delays=3).values.shape
    (400, 2)
    """
    passage = postures.sampling.seconds(_step_frames(walks, postures))
    repertoire = Repertoire.from_symbols(postures, symbols, n_delays, passage)
    n_walks = walks.segments.n_individuals
    return next(unfold_blocks(walks, repertoire, walks_per_block=n_walks, rng=rng, method=method))


def unfold_blocks(
    walks: Symbols,
    repertoire: Repertoire,
    *,
    walks_per_block: int = 16,
    rng: Rng = 0,
    method: UnfoldMethod = "matched",
    threads: int = 1,
) -> Iterator[Series]:
    """Simulate postures along walks, a few walks at a time, so that large ensembles need not fit in memory.

    Parameters
    ----------
    walks
        Simulated microstates, one per passage.
    repertoire
        Recorded sequences, with passages as long as a step of the walks.
    walks_per_block
        Walks in each series; the postures do not depend on it.
    rng, method
        See `unfold_postures`.
    threads
        Cores to use; the postures do not depend on it.

    Examples
    --------
    >>> from ethomarkov.markov import MarkovChain
    >>> from ethomarkov.simulation import simulate_symbols
    >>> from ethomarkov.states import DelayEmbedding, Partition
    >>> postures = Series.from_rows(np.stack([np.cos(np.arange(200) / 5), np.sin(np.arange(200) / 5)], axis=1), 10.0)
    >>> sequences = DelayEmbedding(3).transform(postures)
    >>> symbols = Partition(4, seed=1).fit(sequences).label(sequences)
    >>> walks = simulate_symbols(MarkovChain.from_symbols(symbols, 0.5), duration=20.0, n_walks=5)
    >>> repertoire = Repertoire.from_symbols(postures, symbols, n_delays=3, passage=0.5)
    >>> [block.segments.n_individuals for block in unfold_blocks(walks, repertoire, walks_per_block=2)]
    [2, 2, 1]
    """
    _check_walks(walks, repertoire)
    keys = stream_keys(rng, walks.segments.n_individuals) ^ UNFOLDING
    blocks = (slice(first, first + walks_per_block) for first in range(0, keys.size, walks_per_block))
    return (_unfold_block(walks, repertoire, keys, block, method, threads) for block in blocks)


def trace_rows(
    walks: Symbols, repertoire: Repertoire, *, rng: Rng = 0, method: UnfoldMethod = "matched"
) -> tuple[IntArray, ...]:
    """List the recorded rows from which `unfold_blocks` takes its passages.

    Parameters
    ----------
    walks, repertoire, rng, method
        As given to `unfold_blocks`; a generator in the state in which it was given.

    Returns
    -------
    For every walk one recorded row per passage. With `n_delays` frames per sequence it is the source of frame
    ``(n_delays - 1) // 2`` of the passage, and the recording is followed from there.
    """
    _check_walks(walks, repertoire)
    keys, edges = stream_keys(rng, walks.segments.n_individuals) ^ UNFOLDING, walks.segments.offsets
    choose = _matched_rows if method == "matched" else _drawn_rows
    return tuple(choose(walks.labels[edges[i] : edges[i + 1]], repertoire, key) for i, key in enumerate(keys))


def _unfold_block(
    walks: Symbols, repertoire: Repertoire, keys: NDArray[np.uint64], block: slice, method: UnfoldMethod, threads: int
) -> Series:
    edges = walks.segments.offsets[block.start : block.stop + 1]
    frames = (edges - edges[0]) * repertoire.passage_frames
    out = np.empty((frames[-1], repertoire.postures.n_components), dtype=np.float32)
    unfold_walk = _match_walk if method == "matched" else _replay_walk

    def unfold_one(i: int) -> None:
        labels, part = walks.labels[edges[i] : edges[i + 1]], out[frames[i] : frames[i + 1]]
        unfold_walk(labels, repertoire, keys[block][i], method, part)

    map_pieces(unfold_one, range(edges.size - 1), threads)
    names = walks.segments.individuals[block]
    if method == "paper-raw":
        return Series.from_rows(out, repertoire.postures.sampling, frames, names)
    runs = np.stack([frames[:-1], frames[1:], np.arange(len(names))], axis=1)
    segments = Segments(bounds=runs, offsets=frames, individuals=names)
    return Series(values=out, segments=segments, sampling=repertoire.postures.sampling)


def _match_walk(labels: IntArray, repertoire: Repertoire, key: np.uint64, _: UnfoldMethod, out: FloatArray) -> None:
    """Follow recorded passages that continue each other."""
    from ethomarkov.simulation.unfold_kernels import fade_rows

    block, values = repertoire.passage_frames, repertoire.postures.values
    chosen, half = _matched_rows(labels, repertoire, key), _fade_frames(repertoire)
    ramp = np.arange(1, 2 * half + 2) / (2 * half + 2)
    weights = 0.5 - 0.5 * np.cos(np.pi * ramp)
    fade_rows(values, repertoire.runs, chosen, (block, (repertoire.n_delays - 1) // 2), weights, out)


def _fade_frames(repertoire: Repertoire) -> int:
    """Frames on either side of a joint in which two passages are mixed."""
    # Around the middle of a sequence both passages are recorded, in the same microstate, and of one length.
    return (min(repertoire.n_delays, repertoire.passage_frames) - 1) // 2


def _matched_rows(labels: IntArray, repertoire: Repertoire, key: np.uint64) -> IntArray:
    """Choose the recorded row at which every passage begins."""
    from ethomarkov.simulation.unfold_kernels import match_rows

    first, count = repertoire.continuations_of(labels).T
    chosen = np.empty(labels.size, dtype=np.int64)
    shape = (repertoire.passage_frames, _fade_frames(repertoire), N_CANDIDATES)
    values, pool = repertoire.postures.values, (repertoire.rows, first, count)
    match_rows(values, repertoire.runs, pool, key, shape, chosen)
    return chosen


def drawn_continuations(labels: IntArray, repertoire: Repertoire, key: np.uint64) -> IntArray:
    """Draw a recorded row for every step of a walk, of those from which the step was recorded."""
    return _draw(repertoire, repertoire.continuations_of(labels), key)


def _drawn_rows(labels: IntArray, repertoire: Repertoire, key: np.uint64) -> IntArray:
    """Draw the middle row of the sequence of every step."""
    ranges = repertoire.sequences_of(labels)
    middle = _draw(repertoire, ranges, key)
    middle[0] = repertoire.rows[ranges[0, 0]]  # as published: the first sequence of the first microstate
    return middle


def _draw(repertoire: Repertoire, ranges: IntArray, key: np.uint64) -> IntArray:
    from ethomarkov.simulation.unfold_kernels import draw_rows

    first, count = ranges.T
    rows = np.empty(first.size, dtype=np.int64)
    draw_rows(repertoire.rows, first, count, key, rows)
    return rows


def _replay_walk(
    labels: IntArray, repertoire: Repertoire, key: np.uint64, method: UnfoldMethod, out: FloatArray
) -> None:
    """Join sequences drawn at random within their microstates."""
    block = repertoire.passage_frames
    length = min(repertoire.n_delays, block)
    begin = _drawn_rows(labels, repertoire, key) - (repertoire.n_delays - 1) // 2
    blocks = out.reshape(labels.size, block, -1)
    blocks[:, :length] = repertoire.postures.values[begin[:, None] + np.arange(length)]
    blocks[:, length:] = np.nan
    if method == "paper-raw":
        return
    whole = _fill(out)
    out[:] = _smooth(whole) if method == "paper" and len(out) >= SMOOTHING_FRAMES else whole


def _fill(rows: FloatArray) -> FloatArray:
    """Fill missing rows by a cubic spline through all others."""
    from ethomarkov.simulation.unfold_kernels import fill_missing

    missing = np.isnan(rows[:, 0])
    at = np.flatnonzero(~missing)
    whole = rows.astype(float)
    if at.size == 1:
        whole[:] = whole[at]
    elif at.size < FEWEST_KNOTS:
        whole[missing] = CubicSpline(at, whole[at])(np.flatnonzero(missing))
    elif missing.any():
        fill_missing(whole, at)
    return whole


def _smooth(rows: FloatArray) -> FloatArray:
    """Smooth rows by the published filter, whose ends follow the cubic through the outermost rows."""
    from ethomarkov.simulation.unfold_kernels import smooth_rows

    half, (weights, ends) = SMOOTHING_FRAMES // 2, _smoothing_weights()
    smooth = np.empty_like(rows)
    smooth_rows(rows, weights, smooth)
    smooth[:half] = ends[:half] @ rows[:SMOOTHING_FRAMES]
    smooth[-half:] = ends[-half:] @ rows[-SMOOTHING_FRAMES:]
    return smooth


@cache
def _smoothing_weights() -> tuple[FloatArray, FloatArray]:
    """Give the weights of a row's neighbours, and those of the outermost rows for each of them."""
    from scipy.signal import savgol_coeffs, savgol_filter

    ends = savgol_filter(np.eye(SMOOTHING_FRAMES), SMOOTHING_FRAMES, SMOOTHING_ORDER, axis=0)
    return savgol_coeffs(SMOOTHING_FRAMES, SMOOTHING_ORDER), ends


def _run_limits(postures: Series) -> IntArray:
    """Find the first and last row of the run of every row; undefined in gaps."""
    limits = np.zeros((len(postures.values), 2), dtype=np.int64)
    for start, stop, _ in postures.segments:
        limits[start:stop] = start, stop - 1
    return limits


def _step_frames(walks: Symbols, postures: Series) -> int:
    """Count the frames of a step of the walk; raise unless it is a whole number."""
    frames = postures.sampling.rate / walks.sampling.rate
    if round(frames) < 1 or abs(frames - round(frames)) > 1e-6 * frames:
        raise SamplingError(
            f"A step of the walk lasts {walks.sampling.interval:g} s, which is not a whole number of frames at "
            f"{postures.sampling.rate:g} Hz. Use the lag of a chain estimated at this rate."
        )
    return round(frames)


def _check_walks(walks: Symbols, repertoire: Repertoire) -> None:
    """Refuse walks through microstates without a recorded sequence, or with other steps."""
    if _step_frames(walks, repertoire.postures) != repertoire.passage_frames:
        raise SamplingError(
            f"A step of the walk lasts {walks.sampling.interval:g} s, a passage of the repertoire "
            f"{repertoire.postures.sampling.seconds(repertoire.passage_frames):g} s. Make it with the lag of the chain."
        )
    visits = np.append(repertoire.state_range[:, 1], 0)
    unseen = np.unique(walks.labels[visits[np.clip(walks.labels, -1, repertoire.n_states)] == 0])
    if unseen.size:
        raise ConnectivityError(
            f"{unseen.size} microstates of the walk (the first is {unseen[0]}) have no recorded sequence to draw from. "
            "Unfold with the state sequences from which the chain was estimated."
        )
