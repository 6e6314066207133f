"""Microstates between the steps of a walk, as recorded between the same two microstates."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.random import Rng
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.sampling import Sampling
from ethomarkov._core.segments import Segments
from ethomarkov._core.series import Series
from ethomarkov._core.types import IntArray
from ethomarkov.exceptions import SamplingError
from ethomarkov.simulation.postures import Repertoire, drawn_continuations
from ethomarkov.simulation.symbols import stream_keys
from ethomarkov.states.symbols import Symbols

BRIDGING = np.uint64(0xA0761D6478BD642F)  # sets these random streams apart from those of walks and passages


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridges:
    """Recorded microstates between the two ends of a step, for walks in smaller steps than those of the chain.

    Parameters
    ----------
    recorded
        Steps of the chain, by the microstates at their ends.
    labels
        Recorded microstate of every row; ``-1`` where there is none.
    passage_frames
        Frames of the smaller steps, of which a whole number makes a step of the chain.
    """

    recorded: Repertoire
    labels: IntArray = array_field("frame")
    passage_frames: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_symbols(
        cls, postures: Series, symbols: Symbols, n_delays: int, *, lag: float, passage: float
    ) -> "Bridges":
        """List the recorded steps by their microstates.

        Parameters
        ----------
        postures, symbols, n_delays
            See `Repertoire.from_symbols`.
        lag, passage
            Seconds of a step of the chain, and of the smaller ones.
        """
        lag_frames, passage_frames = (postures.sampling.frames(seconds, "lag") for seconds in (lag, passage))
        if lag_frames % passage_frames:
            raise SamplingError(
                f"A lag of {lag:g} s is no whole number of passages of {passage:g} s. Choose a passage that divides it."
            )
        return cls(
            recorded=Repertoire.from_symbols(postures, symbols, n_delays, lag),
            labels=np.where(symbols.segments.valid, symbols.labels, -1).astype(np.int32),
            passage_frames=passage_frames,
        )

    def cross(self, walks: Symbols, *, rng: Rng = 0) -> Symbols:
        """Insert recorded microstates between the steps of walks.

        Parameters
        ----------
        walks
            One microstate per lag of the chain.
        rng
            Seed or generator.

        Notes
        -----
        For every step from i to j one of the recorded steps from i to j is drawn, and the microstates are those through
        which it went. After the last step of a walk, and after a step that was never recorded, any recorded sequence of
        the microstate is followed, for as long as its recording goes on.
        """
        n_inner = self.recorded.passage_frames // self.passage_frames
        keys, edges = stream_keys(rng, walks.segments.n_individuals) ^ BRIDGING, walks.segments.offsets
        chosen = [
            drawn_continuations(walks.labels[edges[i] : edges[i + 1]], self.recorded, key) for i, key in enumerate(keys)
        ]
        rows = np.concatenate([np.empty(0, dtype=np.int64), *chosen])
        inner = rows[:, None] + self.passage_frames * np.arange(n_inner)
        inside = inner <= self.recorded.runs[rows, 1][:, None]
        between = np.where(inside, self.labels[np.where(inside, inner, 0)], -1)
        labels = np.where(between < 0, walks.labels[:, None], between).astype(np.int32).ravel()
        offsets, names = edges * n_inner, walks.segments.individuals
        return Symbols(
            labels=labels,
            n_states=walks.n_states,
            segments=Segments.from_valid(labels >= 0, offsets, names),
            sampling=Sampling(self.recorded.postures.sampling.rate / self.passage_frames),
        )
