"""The tree of states: the state of largest measure is divided again and again."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from scipy import sparse

from ethomarkov._core.random import generator
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov.coarse.coherence import Cut, Rule, best_cut
from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.spectrum import relaxation_time, reversible_modes
from ethomarkov.states.symbols import Symbols

Leftover = Literal["flux", "unassigned"]

ROOT = 0
NOISE_LEVEL = 0.975


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTree:
    """States that are divided into finer ones; every level is a partition of the microstates.

    Nodes are numbered in the order of their birth, the root first; of two children the larger has the lower number.

    Parameters
    ----------
    parent
        Node from which a node was divided; ``-1`` for the root.
    born
        Level, counted in states, at which a node appears.
    divided
        Level at which it is divided; ``-1`` for a leaf.
    measure
        Share of time, by the stationary law of the whole chain.
    node_of
        Deepest node of every microstate; ``-1`` outside the chain. It is no leaf where the microstate was left
        unassigned when that node was divided.
    coherence, undecided
        Of the cut that divides the node; NaN for leaves. See `Cut`.
    mode
        Which slow mode of the node's own chain was cut; 0 for leaves.
    relaxation
        Relaxation time in seconds of that mode, an upper bound.
    noise
        What shuffled symbols of the node reach, in seconds; NaN where it was not asked for.
    left_over
        Number of microstates of the node that its own chain does not connect; see `leftover`.
    stability
        How well the node is found again when animals (or blocks, or seeds) are resampled: mean overlap (Jaccard) with
        its best match, 1 for always the same; NaN where it was not asked for.
    remark
        Why a leaf was not divided; empty elsewhere.
    leftover
        What became of microstates that a node's own chain does not connect.
    lag
        Of the chain, in seconds.
    """

    parent: IntArray = array_field("node")
    born: IntArray = array_field("node")
    divided: IntArray = array_field("node")
    measure: FloatArray = array_field("node")
    node_of: IntArray = array_field("microstate")
    coherence: FloatArray = array_field("node")
    undecided: FloatArray = array_field("node")
    mode: IntArray = array_field("node")
    relaxation: FloatArray = array_field("node", unit="s")
    noise: FloatArray = array_field("node", unit="s")
    left_over: IntArray = array_field("node")
    stability: FloatArray = array_field("node")
    remark: tuple[str, ...]
    leftover: str
    lag: float

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root included."""
        return int(self.parent.size)

    @property
    def levels(self) -> tuple[int, ...]:
        """Numbers of states at which the tree can be read: 1 for the root alone, up to all leaves."""
        return tuple(int(level) for level in np.unique(self.born))

    def children(self, node: int) -> tuple[int, ...]:
        """Nodes into which a node was divided, the larger first."""
        return tuple(int(child) for child in np.flatnonzero(self.parent == node))

    def nodes_at(self, level: int) -> tuple[int, ...]:
        """Nodes that are the states of a level, in the order of the tree from its larger to its smaller branches.

        Parameters
        ----------
        level
            Number of states; one of `levels`.
        """
        if level not in self.levels:
            raise InputFormatError(
                f"The tree has no level of {level} states; it has {', '.join(map(str, self.levels))}. Grow it with "
                f"n_states={level}, or read one of these."
            )
        return tuple(self._walk(ROOT, level))

    def _walk(self, node: int, level: int) -> list[int]:
        if not 0 < self.divided[node] <= level:
            return [node]
        return [below for child in self.children(node) for below in self._walk(child, level)]

    def ancestors(self, node: int) -> tuple[int, ...]:
        """Give the node itself, its parent, and so on up to the root."""
        line = [node]
        while self.parent[line[-1]] >= 0:
            line.append(int(self.parent[line[-1]]))
        return tuple(line)

    def states_at(self, level: int) -> IntArray:
        """State of every microstate at a level, numbered as in `nodes_at`; ``-1`` where there is none."""
        number = {node: k for k, node in enumerate(self.nodes_at(level))}
        table = np.full(self.n_nodes + 1, -1, dtype=np.int32)
        for node in range(self.n_nodes):
            table[node] = next((number[above] for above in self.ancestors(node) if above in number), -1)
        states: IntArray = table[self.node_of]
        return states

    def measures_at(self, level: int) -> FloatArray:
        """Share of time of the states of a level."""
        return self.measure[list(self.nodes_at(level))]

    def members(self, node: int) -> BoolArray:
        """Flag the microstates of a node."""
        below = np.array([node in self.ancestors(k) for k in range(self.n_nodes)] + [False])
        flags: BoolArray = below[self.node_of]
        return flags

    def split_stability(self, node: int) -> float:
        """Tell how well a division is found again: the stability of the less stable child; NaN for leaves."""
        below = [float(self.stability[child]) for child in self.children(node)]
        return min(below) if below else float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthRule:
    """When and how states are divided.

    Parameters
    ----------
    n_states
        States at the last level; the tree ends earlier where no state can be divided.
    min_measure
        Share of its parent's time that either child must hold.
    rule
        Of the cut; see `best_cut`.
    leftover
        Microstates of a state that its own chain does not connect: "flux" gives them to the child with which they
        exchange more probability, "unassigned" leaves them without a state, as published.
    n_shuffles
        Divide a state only where its slow mode exceeds what this many shuffles of its symbols reach; 0 does not ask.
    seed
        Of the shuffles.
    """

    n_states: int = 7
    min_measure: float = 0.02
    rule: Rule = "best"
    leftover: Leftover = "flux"
    n_shuffles: int = 0
    seed: int = 0

    @classmethod
    def paper(cls) -> "GrowthRule":
        """Give the published rule: seven states, the published cut, leftovers without a state, no test."""
        return cls(n_states=7, min_measure=0.0, rule="paper", leftover="unassigned", n_shuffles=0)


def restrict(chain: MarkovChain, members: BoolArray) -> MarkovChain:
    """Confine a chain to some of its microstates.

    Both ends of a transition lie inside; what happens in between does not matter. Rows are normalised anew, and the
    largest connected part is kept.

    Parameters
    ----------
    chain
        Of all microstates.
    members
        One flag per microstate of the partition.
    """
    inside = np.flatnonzero(np.asarray(members, dtype=bool)[chain.states])
    if inside.size < 2:
        raise ConnectivityError(
            f"{inside.size} connected microstates lie in the set; a chain confined to it needs at least two."
        )
    flux = (sparse.diags_array(chain.stationary[inside]) @ chain.transition[inside][:, inside]).tocsr()
    inner = MarkovChain.from_counts(flux, chain.lag)
    return MarkovChain(
        transition=inner.transition,
        stationary=inner.stationary,
        states=chain.states[inside[inner.states]],
        n_states=chain.n_states,
        lag=chain.lag,
    )


def grow_tree(chain: MarkovChain, growth: GrowthRule | int = 7, *, symbols: Symbols | None = None) -> StateTree:
    """Divide the state of largest measure with its own chain, again and again.

    Parameters
    ----------
    chain
        Of all microstates.
    growth
        When and how states are divided, or simply the number of states.
    symbols
        From which the chain was estimated; only needed to compare divisions with shuffles.

    Notes
    -----
    SI, "Metastable states" and "Operator-based state space subdivision". A state that cannot be divided stays a leaf,
    with the reason, and the next largest is tried; the published procedure has no such rule.
    """
    growth = GrowthRule(n_states=growth) if isinstance(growth, int) else growth
    if growth.n_shuffles and symbols is None:
        raise InputFormatError("Comparing divisions with shuffles needs the symbols of the chain: pass symbols=.")
    grown = _Growth(chain)
    while len(grown.leaves()) < growth.n_states:
        open_leaves = [node for node in grown.leaves() if not grown.nodes[node].remark]
        if not open_leaves:
            break
        largest = max(open_leaves, key=lambda k: (grown.nodes[k].measure, -k))
        try:
            grown.divide(largest, growth, symbols)
        except ConnectivityError as error:
            grown.nodes[largest].remark = str(error)
    return grown.tree(growth.leftover)


@dataclass(slots=True)
class TreeNode:
    """A node while the tree grows; see `StateTree`."""

    parent: int
    born: int
    measure: float
    divided: int = -1
    coherence: float = np.nan
    undecided: float = np.nan
    mode: int = 0
    relaxation: float = np.nan
    noise: float = np.nan
    left_over: int = 0
    stability: float = np.nan
    remark: str = ""


class _Growth:
    """A tree while it grows."""

    def __init__(self, chain: MarkovChain) -> None:
        self.chain = chain
        self.law = np.zeros(chain.n_states)
        self.law[chain.states] = chain.stationary
        self.node_of = np.where(chain.state_index >= 0, ROOT, -1).astype(np.int32)
        self.nodes = [TreeNode(parent=-1, born=1, measure=1.0)]

    def leaves(self) -> list[int]:
        return [k for k, node in enumerate(self.nodes) if node.divided < 0]

    def divide(self, which: int, growth: GrowthRule, symbols: Symbols | None) -> None:
        """Divide a leaf, or raise the reason why not."""
        members = np.asarray(self.node_of == which)
        inner = self.chain if which == ROOT else restrict(self.chain, members)
        cut = best_cut(inner, growth.min_measure, growth.rule)
        node = self.nodes[which]
        if symbols is not None and growth.n_shuffles:
            node.noise = relaxation_time(_noise(symbols, members, inner, growth), self.chain.lag)
        node.relaxation = relaxation_time(cut.eigenvalue, self.chain.lag)
        if node.relaxation <= node.noise:
            raise ConnectivityError(
                f"Its slowest mode ({node.relaxation:.2g} s) is within the noise of shuffled symbols "
                f"({node.noise:.2g} s)."
            )
        node.coherence, node.undecided, node.mode = cut.coherence, cut.undecided, cut.mode
        outside = np.setdiff1d(np.flatnonzero(members), inner.states)
        node.left_over, node.divided = outside.size, len(self.leaves()) + 1
        for child in self._children(inner, cut, outside if growth.leftover == "flux" else outside[:0]):
            self.node_of[child] = len(self.nodes)
            self.nodes.append(TreeNode(parent=which, born=node.divided, measure=float(self.law[child].sum())))

    def _children(self, inner: MarkovChain, cut: Cut, outside: IntArray) -> tuple[IntArray, IntArray]:
        """Microstates of the two children, the larger first."""
        upper, lower = inner.states[cut.upper == 1], inner.states[cut.upper == 0]
        to_upper = _exchanges_more(self.chain, outside, upper, lower)
        upper, lower = np.append(upper, outside[to_upper]), np.append(lower, outside[~to_upper])
        return (upper, lower) if self.law[upper].sum() > self.law[lower].sum() else (lower, upper)

    def tree(self, leftover: Leftover) -> StateTree:
        return tree_of(self.nodes, self.node_of, leftover, self.chain.lag)


def tree_of(nodes: Sequence[TreeNode], node_of: IntArray, leftover: Leftover, lag: float) -> StateTree:
    """Assemble a tree from its nodes."""
    columns: dict[str, Any] = {
        item.name: np.array([getattr(node, item.name) for node in nodes])
        for item in fields(TreeNode)
        if item.name != "remark"
    }
    remarks = tuple(node.remark for node in nodes)
    return StateTree(node_of=node_of, leftover=leftover, lag=lag, remark=remarks, **columns)


def _exchanges_more(chain: MarkovChain, outside: IntArray, first: IntArray, second: IntArray) -> BoolArray:
    """Tell which microstates exchange at least as much probability with the first set as with the second."""
    flux = sparse.diags_array(chain.stationary) @ chain.transition
    both = (flux + flux.T).tocsr()[chain.state_index[outside]]
    to_first, to_second = (np.asarray(both[:, chain.state_index[child]].sum(axis=1)) for child in (first, second))
    return np.asarray(to_first >= to_second)


def _noise(symbols: Symbols, members: BoolArray, inner: MarkovChain, growth: GrowthRule) -> float:
    """Second eigenvalue that shuffled symbols of a state reach, 97.5 % of them."""
    lag_frames = symbols.sampling.frames(inner.lag)
    values = []
    for k in range(growth.n_shuffles):
        rng = generator(growth.seed, "division", int(np.flatnonzero(members)[0]), k)
        counts = _shuffled_counts(symbols, members, lag_frames, rng)
        try:
            shuffled = MarkovChain.from_counts(counts, inner.lag)
            values.append(float(reversible_modes(shuffled, 1)[0][0]))
        except ConnectivityError:  # too few visits to connect even two states: nothing stands above such noise
            values.append(1.0)
    return float(np.quantile(values, NOISE_LEVEL))


def _shuffled_counts(
    symbols: Symbols, members: BoolArray, lag_frames: int, rng: np.random.Generator
) -> sparse.csr_array:
    """Count transitions between frames of a state after their symbols were exchanged within every gap-free run."""
    labels = np.where(symbols.segments.valid, symbols.labels, 0)
    inside = members[labels] & symbols.segments.valid
    mixed = np.array(symbols.labels)
    run = np.repeat(np.arange(len(symbols.segments)), symbols.segments.lengths)
    rows = np.flatnonzero(symbols.segments.valid)
    rows, run = rows[inside[rows]], run[inside[rows]]
    order = np.lexsort((rng.random(rows.size), run))  # random within a run, runs in place
    mixed[rows] = symbols.labels[rows[order]]
    first, last = symbols.segments.pairs(lag_frames)
    both = inside[first] & inside[last]
    pairs = (mixed[first[both]], mixed[last[both]])
    counts = sparse.coo_array((np.ones(pairs[0].size), pairs), shape=(symbols.n_states,) * 2).tocsr()
    counts.sum_duplicates()
    return counts
