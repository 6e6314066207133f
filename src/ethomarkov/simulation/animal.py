"""A simulated animal: a chain to walk on, and recorded postures to unfold."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ethomarkov._core.random import Rng, as_generator
from ethomarkov._core.series import Series
from ethomarkov._core.types import BoolArray
from ethomarkov.coarse.tree import restrict
from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.simulation.bridges import Bridges
from ethomarkov.simulation.postures import Repertoire, UnfoldMethod, unfold_blocks
from ethomarkov.simulation.symbols import simulate_symbols
from ethomarkov.states.symbols import Symbols

Start = Literal["first", "stationary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkovAnimal:
    """Model of a simulated animal: one animal, all of them, or one that never leaves a state.

    Parameters
    ----------
    name
        Of the animal or state.
    chain
        To walk on.
    repertoire
        Recorded sequences to unfold.
    start
        Microstate where walks begin; None draws it from the stationary law.
    bridges
        What was recorded between the steps of the chain; None where passages are as long as a step.
    """

    name: str
    chain: MarkovChain
    repertoire: Repertoire
    start: int | None = None
    bridges: Bridges | None = None

    @classmethod
    def from_symbols(  # noqa: PLR0913 — what is learned from, and how
        cls,
        name: str,
        symbols: Symbols,
        postures: Series,
        n_delays: int,
        lag: float,
        *,
        passage: float | None = None,
        start: Start = "first",
    ) -> "MarkovAnimal":
        """Learn an animal from its own state sequence and postures.

        Parameters
        ----------
        name
            Of the animal.
        symbols
            Microstates of its sequences, as from `Symbols.mask`; of all animals for their ensemble.
        postures, n_delays
            The recorded series and the frames per sequence.
        lag
            Seconds of a step of the chain.
        passage
            Seconds for which a recording is followed at a time, of which a whole number makes a lag; a lag by default.
        start
            "first" begins every walk in the first recorded state, as published; "stationary" anywhere.
        """
        chain, followed = MarkovChain.from_symbols(symbols, lag), lag if passage is None else passage
        repertoire, bridges = Repertoire.from_symbols(postures, symbols, n_delays, followed), None
        if followed != lag:
            bridges = Bridges.from_symbols(postures, symbols, n_delays, lag=lag, passage=followed)
        first = _start(chain, symbols, start)
        return cls(name=name, chain=chain, repertoire=repertoire, start=first, bridges=bridges)

    def confined(self, name: str, members: BoolArray, symbols: Symbols, *, start: Start = "first") -> "MarkovAnimal":
        """Confine the animal to some of its microstates.

        Parameters
        ----------
        name
            Of the state.
        members
            One flag per microstate of the partition.
        symbols
            From which the animal was learned.
        start
            See `from_symbols`.
        """
        chain = restrict(self.chain, members)
        return replace(self, name=name, chain=chain, start=_start(chain, symbols, start))

    def walk(self, duration: float, n_walks: int, *, rng: Rng = 0, threads: int = 1) -> Symbols:
        """Simulate state sequences; see `simulate_symbols`."""
        return simulate_symbols(self.chain, duration, n_walks=n_walks, start=self.start, rng=rng, threads=threads)

    def behave(
        self,
        duration: float,
        n_walks: int,
        *,
        method: UnfoldMethod = "matched",
        walks_per_block: int = 16,
        rng: Rng = 0,
        threads: int = 1,
    ) -> Iterator[Series]:
        """Simulate postures, a few walks at a time.

        Parameters
        ----------
        duration
            Seconds of every walk.
        n_walks
            Number of walks.
        method
            See `unfold_postures`.
        walks_per_block
            Walks in each series.
        rng, threads
            Random seed or generator, and cores; the postures do not depend on cores or blocks.
        """
        # One seed for both, whose streams are set apart: a run is the same whatever the number of runs.
        seed = int(as_generator(rng).integers(2**63))
        walks = self.passages(self.walk(duration, n_walks, rng=seed, threads=threads), rng=seed)
        return unfold_blocks(
            walks, self.repertoire, walks_per_block=walks_per_block, rng=seed, method=method, threads=threads
        )

    def passages(self, walks: Symbols, *, rng: Rng = 0) -> Symbols:
        """List the microstates at the ends of the passages along walks, one or several per step.

        Parameters
        ----------
        walks
            One microstate per lag of the chain.
        rng
            Seed or generator.
        """
        return walks if self.bridges is None else self.bridges.cross(walks, rng=rng)


def _start(chain: MarkovChain, symbols: Symbols, start: Start) -> int | None:
    if start == "stationary":
        return None
    if start != "first":
        raise InputFormatError(f"start={start!r} is not known. Use 'first' or 'stationary'.")
    labels = symbols.labels[symbols.segments.valid]
    connected = np.flatnonzero(chain.state_index[labels] >= 0)
    if connected.size == 0:
        raise ConnectivityError(
            "No recorded frame lies in a connected microstate of the chain; use the state sequences of the chain."
        )
    return int(labels[connected[0]])
