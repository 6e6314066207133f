"""The tree of states: states are divided into two repeatedly, as long as the recording supports the division."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.showing import frame_of_columns
from ethomarkov._core.types import BoolArray, FloatArray, IntArray
from ethomarkov._core.words import count_of
from ethomarkov.coarse.coherence import Cut, Rule, best_cut, cut_at
from ethomarkov.coarse.division import (
    FEWEST_MICROSTATES,
    Division,
    Evidence,
    Leaf,
    measure_stability,
    propose_divisions,
)
from ethomarkov.exceptions import ConnectivityError, InputFormatError
from ethomarkov.markov.chain import MarkovChain
from ethomarkov.markov.spectrum import relaxation_time
from ethomarkov.states.symbols import Symbols

if TYPE_CHECKING:
    import pandas as pd

Leftover = Literal["flux", "unassigned"]

ROOT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTree(Result):
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
        Deepest node of every microstate; ``-1`` outside the chain. It is not a leaf where the microstate was left
        unassigned when that node was divided.
    coherence, persistence, undecided
        Of the cut that divides the node; NaN for leaves. See `Cut`.
    held_out
        Persistence of labels that are defined by the other animals; NaN where it was not computed. See `Division`.
    is_supported
        Whether the recording supports the node: the division that made it, and those above, passed all tests. True for
        the root, and where nothing was tested.
    mode
        Which slow mode of the node's own chain was cut; 0 for leaves.
    relaxation
        Relaxation time in seconds of that mode, an upper bound.
    noise
        Persistence of shuffled state sequences of the node; NaN where it was not computed.
    left_over
        Number of microstates of the node that are not connected in its own chain; see `leftover`.
    stability
        Mean overlap (Jaccard) of the node with those of resampled animals (or blocks) within its parent, 1 for always
        the same; NaN where it was not computed.
    remark
        Why a leaf was not divided, or the objections to the division of a node; empty elsewhere.
    leftover
        What is done with microstates that are not connected in a node's own chain: "flux" or "unassigned".
    lag
        Of the chain, in seconds.

    Examples
    --------
    >>> counts = np.array([[80.0, 20, 0, 0], [20, 78, 2, 0], [0, 2, 78, 20], [0, 0, 20, 80]])
    >>> tree = grow_tree(MarkovChain.from_counts(sparse.csr_array(counts), lag=1.0), 2)
    >>> tree.levels, tree.n_nodes, tree.children(0), tree.ancestors(2)
    ((1, 2), 3, (1, 2), (2, 0))
    >>> states = tree.states_at(2)
    >>> bool(states[0] == states[1] != states[2] == states[3])
    True
    >>> tree.measures_at(2).round(3).tolist()
    [0.5, 0.5]
    >>> tree.table()[["node", "parent", "born", "divided"]].values.tolist()
    [[0, -1, 1, 2], [1, 0, 2, -1], [2, 0, 2, -1]]
    """

    parent: IntArray = array_field("node")
    born: IntArray = array_field("node")
    divided: IntArray = array_field("node")
    measure: FloatArray = array_field("node")
    node_of: IntArray = array_field("microstate")
    coherence: FloatArray = array_field("node")
    persistence: FloatArray = array_field("node")
    undecided: FloatArray = array_field("node")
    held_out: FloatArray = array_field("node")
    is_supported: BoolArray = array_field("node")
    mode: IntArray = array_field("node")
    relaxation: FloatArray = array_field("node", unit="s")
    noise: FloatArray = array_field("node")
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
        """Numbers of states at which the tree can be cut: from 1 for the root to the number of leaves."""
        return tuple(int(level) for level in np.unique(self.born))

    @property
    def n_supported(self) -> int:
        """Number of states that the recording supports; 1 for "no slow states"."""
        divided = [node for node in range(self.n_nodes) if self.divided[node] > 0]
        return 1 + sum(all(self.is_supported[child] for child in self.children(node)) for node in divided)

    def children(self, node: int) -> tuple[int, ...]:
        """List the nodes into which a node was divided, the larger first.

        Parameters
        ----------
        node
            Number of the node; 0 is the root.
        """
        return tuple(int(child) for child in np.flatnonzero(self.parent == node))

    def nodes_at(self, level: int) -> tuple[int, ...]:
        """List the nodes that are the states of a level, in the order of the tree from larger to smaller branches.

        Parameters
        ----------
        level
            Number of states; one of `levels`.
        """
        if level not in self.levels:
            raise InputFormatError(
                f"The tree has no level of {level} states; it has {', '.join(map(str, self.levels))}. Grow it with "
                f"n_states={level}, or use one of these levels."
            )
        return tuple(self._walk(ROOT, level))

    def _walk(self, node: int, level: int) -> list[int]:
        if not 0 < self.divided[node] <= level:
            return [node]
        return [below for child in self.children(node) for below in self._walk(child, level)]

    def ancestors(self, node: int) -> tuple[int, ...]:
        """List the node itself, its parent, and so on up to the root."""
        line = [node]
        while self.parent[line[-1]] >= 0:
            line.append(int(self.parent[line[-1]]))
        return tuple(line)

    def states_at(self, level: int) -> IntArray:
        """Give the state of every microstate at a level, numbered as in `nodes_at`; ``-1`` where there is none.

        Parameters
        ----------
        level
            Number of states; one of `levels`.
        """
        number = {node: k for k, node in enumerate(self.nodes_at(level))}
        table = np.full(self.n_nodes + 1, -1, dtype=np.int32)
        for node in range(self.n_nodes):
            table[node] = next((number[above] for above in self.ancestors(node) if above in number), -1)
        states: IntArray = table[self.node_of]
        return states

    def upto(self, level: int) -> "StateTree":
        """Truncate the tree to its first levels, without the tests of its divisions.

        Parameters
        ----------
        level
            Number of states at its finest level; one of `levels`.
        """
        upper = np.flatnonzero(self.born <= level)
        number = {int(node): k for k, node in enumerate(upper)}
        above = np.array([next(number[up] for up in self.ancestors(k) if up in number) for k in range(self.n_nodes)])
        unknown = np.full(upper.size, np.nan)
        return StateTree(
            parent=np.array([number.get(int(self.parent[node]), -1) for node in upper]),
            born=self.born[upper],
            divided=np.where(self.divided[upper] <= level, self.divided[upper], -1),
            measure=self.measure[upper],
            node_of=np.append(above, -1)[self.node_of].astype(self.node_of.dtype),
            coherence=unknown,
            persistence=unknown,
            undecided=unknown,
            held_out=unknown,
            is_supported=np.ones(upper.size, dtype=bool),
            mode=np.zeros(upper.size, dtype=int),
            relaxation=unknown,
            noise=unknown,
            left_over=np.zeros(upper.size, dtype=int),
            stability=unknown,
            remark=("",) * upper.size,
            leftover=self.leftover,
            lag=self.lag,
        )

    def measures_at(self, level: int) -> FloatArray:
        """Give the share of time of the states of a level."""
        return self.measure[list(self.nodes_at(level))]

    def members(self, node: int) -> BoolArray:
        """Flag the microstates of a node."""
        below = np.array([node in self.ancestors(k) for k in range(self.n_nodes)] + [False])
        flags: BoolArray = below[self.node_of]
        return flags

    def verdict(self) -> str:
        """Say in a sentence how many states the recording supports."""
        if not np.isfinite(self.held_out).any():
            return f"{max(self.levels)} states as requested; whether the recording supports them was not tested."
        n = self.n_supported
        if n > 1:
            more = " Further divisions were requested and are not supported." if max(self.levels) > n else ""
            return f"The recording supports {n} states; labels defined by other animals confirm each division.{more}"
        return f"No slow states: the first division is {self.remark[0] or 'not possible'}."

    def split_stability(self, node: int) -> float:
        """Give the stability of a division, that of its less stable child; NaN for leaves."""
        below = [float(self.stability[child]) for child in self.children(node)]
        return min(below) if below else float("nan")

    def headline(self) -> str:
        """Give the number of states at the finest level and how many of them are supported."""
        n_states, n_tested = max(self.levels, default=1), int(np.isfinite(self.held_out).sum())
        tested = f"{self.n_supported} supported by held-out animals" if n_tested else "not tested"
        n_microstates = count_of(int(np.count_nonzero(self.node_of >= 0)), "microstate")
        return f"{count_of(n_states, 'state')} of {n_microstates}, {tested}"

    def table(self) -> "pd.DataFrame":
        """List the nodes, one row each; columns are the fields of the tree, times in seconds."""
        columns = {"node": np.arange(self.n_nodes)}
        columns |= {item.name: getattr(self, item.name) for item in fields(TreeNode)}
        return frame_of_columns(columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowthSettings:
    """Settings of the division of states.

    Parameters
    ----------
    n_states
        States at the last level, whether or not the recording supports them; None for as many as it supports, at
        least two where the chain can be divided at all. The tree ends earlier where no state can be divided.
    min_measure
        Least share of its parent's time of each child.
    rule
        Criterion of the cut; see `best_cut`. With "paper" the state of largest measure is divided first, as published,
        and nothing is tested; with "best" the one with the most persistent division.
    leftover
        Microstates of a state that are not connected in its own chain: "flux" assigns them to the child with which
        they exchange more probability, "unassigned" leaves them without a state, as published.
    n_resamples
        Number of resamples of animals, from which the stability of the states is computed; 0 for none.
    seed
        Random seed of shuffles and resamples.

    Examples
    --------
    >>> GrowthSettings(n_states=4).rule, GrowthSettings.paper().n_states
    ('best', 7)
    """

    n_states: int | None = None
    min_measure: float = 0.02
    rule: Rule = "best"
    leftover: Leftover = "flux"
    n_resamples: int = 12
    seed: int = 0

    @classmethod
    def paper(cls) -> "GrowthSettings":
        """Give the published settings: seven states, the published cut, leftovers without a state, no test."""
        return cls(n_states=7, min_measure=0.0, rule="paper", leftover="unassigned", n_resamples=0)


def restrict(chain: MarkovChain, members: BoolArray) -> MarkovChain:
    """Confine a chain to some of its microstates.

    Both ends of a transition lie inside; the frames in between need not. Rows are normalised again on the largest
    connected set.

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


def grow_tree(
    chain: MarkovChain, growth: GrowthSettings | int | None = None, *, symbols: Symbols | None = None
) -> StateTree:
    """Divide states into two repeatedly, and arrange them in a tree.

    Parameters
    ----------
    chain
        Of all microstates.
    growth
        Settings of the division, or simply the number of states; as many as the data support by default.
    symbols
        The state sequences from which the chain was estimated. With them, divisions are proposed from several lags and
        tested on held-out animals (see `Division`); without, they follow from the chain alone and are not tested.

    Notes
    -----
    SI, "Metastable states" and "Operator-based state space subdivision". A state that cannot be divided remains a
    leaf, with the reason; the published procedure has no such test.

    Examples
    --------
    >>> counts = np.array([[80.0, 20, 0, 0], [20, 78, 2, 0], [0, 2, 78, 20], [0, 0, 20, 80]])
    >>> tree = grow_tree(MarkovChain.from_counts(sparse.csr_array(counts), lag=1.0), 2)
    >>> tree.headline()
    '2 states of 4 microstates, not tested'
    """
    return grow_with_cut(chain, growth, symbols=symbols)[0]


def grow_with_cut(
    chain: MarkovChain, growth: GrowthSettings | int | None = None, *, symbols: Symbols | None = None
) -> tuple[StateTree, Cut | None]:
    """Grow a tree as `grow_tree` does, and give its first cut; None where there is none."""
    settings = growth if isinstance(growth, GrowthSettings) else GrowthSettings(n_states=growth)
    if settings.n_states is None and (symbols is None or settings.rule == "paper"):
        raise InputFormatError(
            "The number of states is determined from the state sequences of the chain: pass symbols= with rule='best', "
            "or a number of states."
        )
    grown = _Growth(chain, settings, symbols)
    while grown.divide_next():
        pass
    return grown.tree(), grown.first_cut


@dataclass(slots=True)
class TreeNode:
    """A node while the tree grows.

    Parameters
    ----------
    parent, born, measure, divided, coherence, persistence, undecided, held_out, is_supported, mode
        As in `StateTree`.
    relaxation, noise, left_over, stability, remark
        As in `StateTree`.
    """

    parent: int
    born: int
    measure: float
    divided: int = -1
    coherence: float = np.nan
    persistence: float = np.nan
    undecided: float = np.nan
    held_out: float = np.nan
    is_supported: bool = True
    mode: int = 0
    relaxation: float = np.nan
    noise: float = np.nan
    left_over: int = 0
    stability: float = np.nan
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposal:
    """The best division of a leaf, and its tests.

    Parameters
    ----------
    states
        Microstates that are divided.
    cut
        Their division.
    evidence
        Tests of it; None where nothing was tested.
    """

    states: IntArray
    cut: Cut
    evidence: Division | None = None

    @property
    def objections(self) -> tuple[str, ...]:
        return self.evidence.objections if self.evidence is not None else ()


class _Growth:
    """A tree while it grows."""

    def __init__(self, chain: MarkovChain, settings: GrowthSettings, symbols: Symbols | None) -> None:
        self.chain, self.settings = chain, settings
        self.law = np.zeros(chain.n_states)
        self.law[chain.states] = chain.stationary
        self.node_of = np.where(chain.state_index >= 0, ROOT, -1).astype(np.int32)
        self.nodes = [TreeNode(parent=-1, born=1, measure=1.0)]
        tested = symbols is not None and settings.rule == "best"
        self.evidence = Evidence.from_symbols(symbols, chain.lag) if tested and symbols is not None else None
        self.continuous: dict[int, list[FloatArray]] = {ROOT: []}
        self.proposals: dict[int, _Proposal | None] = {}
        self.first_cut: Cut | None = None

    def leaves(self) -> list[int]:
        return [k for k, node in enumerate(self.nodes) if node.divided < 0]

    def divide_next(self) -> bool:
        """Divide the next leaf; False where none can be divided."""
        leaves = self.leaves()
        enough = self.settings.n_states
        if enough is not None and len(leaves) >= enough:
            return False
        ready = [(node, found) for node in leaves if (found := self._proposed(node)) is not None]
        supported = [one for one in ready if not one[1].objections]
        if enough is None and len(leaves) > 1:
            ready = []
        candidates = supported or ready
        if not candidates:
            return False
        self._divide(*max(candidates, key=lambda one: (self._turn(*one), -one[0])))
        return True

    def _turn(self, node: int, proposal: _Proposal) -> float:
        return self.nodes[node].measure if self.settings.rule == "paper" else proposal.cut.persistence

    def _proposed(self, node: int) -> _Proposal | None:
        """Propose a division of a leaf once; None, with a remark, where there is none."""
        if node not in self.proposals:
            try:
                self.proposals[node] = self._from_symbols(node) if self.evidence else self._from_chain(node)
            except ConnectivityError as error:
                self.nodes[node].remark = str(error)
                self.proposals[node] = None
        return self.proposals[node]

    def _from_chain(self, node: int) -> _Proposal:
        members = np.asarray(self.node_of == node)
        inner = self.chain if node == ROOT else restrict(self.chain, members)
        return _Proposal(states=inner.states, cut=best_cut(inner, self.settings.min_measure, self.settings.rule))

    def _from_symbols(self, node: int) -> _Proposal:
        """Choose the slowest division without objections, or else the one with fewest."""
        leaf = self._leaf(node)
        if node == ROOT and leaf.states.size < FEWEST_MICROSTATES:
            return self._from_chain(node)  # too few to be tested
        proposed: list[Division] = []
        for division in propose_divisions(
            leaf, self.settings.min_measure, self.settings.n_resamples, self.settings.seed
        ):
            proposed.append(division)
            if not division.objections:
                break
        self.continuous[node] = leaf.continuous
        if not proposed:
            raise ConnectivityError(
                f"None of its slow modes divides it into two sets that each hold {self.settings.min_measure:.0%} of "
                "its time. Use fewer microstates, more data, or a smaller min_measure."
            )
        best = min(proposed, key=lambda one: (len(one.objections), -one.cut.persistence))
        self.nodes[node].remark = "; ".join(best.objections)
        return _Proposal(states=best.states, cut=best.cut, evidence=best)

    def _leaf(self, node: int) -> Leaf:
        if self.evidence is None:
            raise AssertionError("only called with evidence")
        members = np.asarray(self.node_of == node)
        return Leaf(evidence=self.evidence, members=members, continuous=list(self.continuous[node]))

    def _divide(self, which: int, proposal: _Proposal) -> None:
        node, cut, evidence = self.nodes[which], proposal.cut, proposal.evidence
        members = np.flatnonzero(self.node_of == which)
        outside = np.setdiff1d(members, proposal.states)
        node.coherence, node.undecided, node.mode = cut.coherence, cut.undecided, cut.mode
        node.persistence = cut.persistence
        node.relaxation = relaxation_time(cut.eigenvalue, self.chain.lag)
        node.left_over, node.divided = outside.size, len(self.leaves()) + 1
        stability = self._note(which, evidence)
        if which == ROOT:
            self.first_cut = self._describe(proposal)
        given = outside if self.settings.leftover == "flux" else outside[:0]
        for child, stable in self._children(proposal, given, stability):
            self.node_of[child] = len(self.nodes)
            self.continuous[len(self.nodes)] = list(self.continuous[which])
            self.nodes.append(
                TreeNode(
                    parent=which,
                    born=node.divided,
                    measure=float(self.law[child].sum()),
                    is_supported=node.is_supported and not proposal.objections,
                    stability=stable,
                )
            )

    def _note(self, which: int, evidence: Division | None) -> tuple[float, float]:
        """Record the tests of a division; give the stability of its lower and of its upper set."""
        if evidence is None:
            return np.nan, np.nan
        node = self.nodes[which]
        node.held_out, node.noise = evidence.held_out, evidence.floor
        if self.settings.n_resamples and np.isnan(evidence.stability).any():
            return measure_stability(self._leaf(which), evidence, self.settings.n_resamples, self.settings.seed)
        return evidence.stability

    def _describe(self, proposal: _Proposal) -> Cut:
        """Compute the first cut on the microstates of the chain."""
        if proposal.evidence is None:
            return proposal.cut
        phi = np.full(self.chain.n_states, np.nan)
        phi[proposal.states] = proposal.cut.phi
        mine = phi[self.chain.states]
        # A microstate that the chain connects and the symmetric counts do not cannot be: they hold all transitions.
        return cut_at(self.chain, mine, proposal.cut.threshold, proposal.cut.eigenvalue, proposal.cut.mode)

    def _children(
        self, proposal: _Proposal, outside: IntArray, stability: tuple[float, float]
    ) -> list[tuple[IntArray, float]]:
        """List the microstates of the two children and their stability, the larger first."""
        upper, lower = (proposal.states[proposal.cut.upper == side] for side in (1, 0))
        to_upper = _exchanges_more(self.chain, outside, upper, lower)
        upper, lower = np.append(upper, outside[to_upper]), np.append(lower, outside[~to_upper])
        pair = [(lower, stability[0]), (upper, stability[1])]
        return pair[::-1] if self.law[upper].sum() > self.law[lower].sum() else pair

    def tree(self) -> StateTree:
        return tree_of(self.nodes, self.node_of, self.settings.leftover, self.chain.lag)


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
    """Flag the microstates that exchange at least as much probability with the first set as with the second."""
    flux = sparse.diags_array(chain.stationary) @ chain.transition
    both = (flux + flux.T).tocsr()[chain.state_index[outside]]
    to_first, to_second = (np.asarray(both[:, chain.state_index[child]].sum(axis=1)) for child in (first, second))
    return np.asarray(to_first >= to_second)
