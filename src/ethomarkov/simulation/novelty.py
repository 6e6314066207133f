"""The share of a simulation that is new, and the share that repeats a recorded passage."""

from collections.abc import Sequence

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.simulation.postures import Repertoire, UnfoldMethod

LONGEST_NEW = 1.0
"""Seconds for which a simulation may follow a recording and still be new."""
NEAR = 0.1
"""Share of the standard deviation of a component within which a frame counts as a copy. The noise of trackers is below
it; a smaller tolerance would take every passage for new whose ends are mixed with another that looks the same."""


def novelty(
    simulated: Series,
    rows: Sequence[IntArray],
    repertoire: Repertoire,
    *,
    method: UnfoldMethod = "matched",
    tolerance: FloatArray | None = None,
) -> FloatArray:
    """Compute the share of every simulated run that copies no recorded passage longer than a second.

    Parameters
    ----------
    simulated
        Runs, as from `unfold_blocks`.
    rows
        Recorded rows of their passages, as from `trace_rows`.
    repertoire, method
        With which they were unfolded.
    tolerance
        Largest difference of every component between a copy and what it copies; a tenth of its standard deviation by
        default.

    Notes
    -----
    From the middle of every passage that was taken, the simulation is compared with the recording frame by frame,
    forwards and backwards, for as long as no component differs by more than the tolerance: also through joints at which
    the recorded continuation, or one that cannot be told from it, was taken. Copies of passages that the simulation
    did not take, which happen by chance, are not looked for.
    """
    near = copy_tolerance(repertoire.postures) if tolerance is None else np.asarray(tolerance, dtype=float)
    edges = simulated.segments.offsets
    return np.array(
        [
            1.0 - float(copied_frames(simulated.values[edges[i] : edges[i + 1]], own, repertoire, method, near).mean())
            for i, own in enumerate(rows)
        ]
    )


def copied_frames(
    values: FloatArray, rows: IntArray, repertoire: Repertoire, method: UnfoldMethod, tolerance: FloatArray
) -> BoolArray:
    """Flag the frames of one run that lie in a copy longer than a second; see `novelty`."""
    from ethomarkov.simulation.unfold_kernels import mark_copies

    block, lead = repertoire.passage_frames, (repertoire.n_delays - 1) // 2
    # matched passages are mixed at their ends, published ones begin half a sequence before their row
    middle = block // 2 if method == "matched" else 0
    shape = (block, lead, middle, fewest_frames(repertoire.postures))
    copied = np.zeros(len(values), dtype=bool)
    recorded = (repertoire.postures.values, repertoire.runs)
    mark_copies(recorded, rows, shape, values, tolerance, copied)
    return copied


def fewest_frames(postures: Series) -> int:
    """Count the frames of the shortest copy that is longer than a second."""
    return int(np.floor(LONGEST_NEW * postures.sampling.rate + 1e-9)) + 1


def copy_tolerance(postures: Series) -> FloatArray:
    """Compute the largest difference of every component between a frame and its copy."""
    spread: FloatArray = postures.values[postures.segments.valid].std(axis=0, dtype=float)
    return NEAR * spread
