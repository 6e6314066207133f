"""The tree of states, from all behaviour to its finest parts."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from ethomarkov.coarse.tree import ROOT, StateTree
from ethomarkov.exceptions import InputFormatError
from ethomarkov.figures.style import MISSING, state_colours, state_labels

LARGEST_DISC = 700.0
"""Area in points² of the disc of all behaviour."""
LINK = "#777777"
ALL_LETTERS, LEAST_WIDTH = 112, 8
"""Letters that fit side by side over all levels, and the least of one name."""
HALF = 0.5


def draw_tree(axes: Axes, tree: StateTree, names: Mapping[int, Sequence[str]], *, level: int | None = None) -> None:
    """Draw how states are divided, from left to right: discs of the area of their time, finest states in colour.

    Parameters
    ----------
    axes
        To draw on; about half an inch of height per state is enough.
    tree
        Of states.
    names
        Of the states of each level, in the order of `StateTree.nodes_at`; levels without names show shares only.
    level
        Last level to draw; the finest of the tree when None.

    Notes
    -----
    Fig. 4(c). The number at a division is its stability, see `StateTree.split_stability`; none is written where it was
    not measured.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> axes = Figure().subplots()
    >>> import ethomarkov as em
    >>> from ethomarkov.coarse.tree import GrowthSettings
    >>> from ethomarkov.synthetic import hopping_chain
    >>> wells = hopping_chain([[0.9, 0.1, 0.0], [0.1, 0.88, 0.02], [0.0, 0.1, 0.9]], 2000, rng=1)
    >>> tree = em.grow_tree(em.MarkovChain.from_symbols(wells, lag=1.0), GrowthSettings(n_states=2, n_resamples=0))
    >>> draw_tree(axes, tree, {2: ("left", "right")})
    >>> axes.get_xlabel()
    'number of states'
    """
    level = max(tree.levels) if level is None else level
    leaves = tree.nodes_at(level)
    if level not in names:
        raise InputFormatError(f"There are no names for level {level}, the last one drawn; names need this level.")
    height = node_heights(tree, level)
    stabilities = [_draw_division(axes, tree, node, height, level) for node in height if node not in leaves]
    inner = [node for node in height if node not in leaves]
    for nodes, colours in ((inner, [MISSING] * len(inner)), (list(leaves), list(state_colours(len(leaves))))):
        place = [height[node] for node in nodes]
        area = LARGEST_DISC * tree.measure[nodes]
        axes.scatter(tree.born[nodes], place, s=area, c=colours, ec="white", lw=0.5, zorder=3)
    width = max(ALL_LETTERS // level, LEAST_WIDTH)
    _name_inner(axes, tree, names, {node: height[node] for node in inner}, width)
    _name_leaves(axes, tree, names[level], level)
    measured = bool(np.isfinite(stabilities).any())
    axes.set_title("Tree of states" + (" (numbers: stability of the division, 1 is best)" if measured else ""))
    axes.set(xlim=(0.4, level + 0.4), ylim=(len(leaves) - 0.4, -0.9), yticks=[], xlabel="number of states")
    axes.set_xticks([born for born in tree.levels if born <= level])
    axes.spines["left"].set_visible(False)


def node_heights(tree: StateTree, level: int) -> dict[int, float]:
    """Place the states of a level in rows from zero, and every other node half way between its children."""
    height = {node: float(row) for row, node in enumerate(tree.nodes_at(level))}

    def place(node: int) -> float:
        if node not in height:
            height[node] = float(np.mean([place(child) for child in tree.children(node)]))
        return height[node]

    place(ROOT)
    return height


def _draw_division(axes: Axes, tree: StateTree, node: int, height: Mapping[int, float], level: int) -> float:
    """Link a node with its children, and write how stable the division is."""
    fork = tree.divided[node] - HALF
    axes.plot([tree.born[node], fork], [height[node]] * 2, color=LINK, lw=1, zorder=1)
    for child in tree.children(node):
        stop = level if tree.divided[child] < 0 or tree.divided[child] > level else tree.born[child]
        axes.plot([fork, fork, tree.born[child]], [height[node]] + [height[child]] * 2, color=LINK, lw=1, zorder=1)
        axes.plot([tree.born[child], stop], [height[child]] * 2, color=LINK, lw=1, ls=":", zorder=1)
    stability = tree.split_stability(node)
    if np.isfinite(stability):
        box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": LINK, "lw": 0.6}
        axes.text(
            fork, height[node], f"{stability:.2f}", fontsize="small", ha="center", va="center", bbox=box, zorder=4
        )
    return stability


def _name_inner(
    axes: Axes, tree: StateTree, names: Mapping[int, Sequence[str]], height: Mapping[int, float], width: int
) -> None:
    """Write name and share above the nodes that are divided, as they are called where they appear."""
    for node, place in height.items():
        born = int(tree.born[node])
        share = f"{100 * tree.measure[node]:.0f} %"
        nodes = tree.nodes_at(born)
        if node == ROOT:
            text = "all"
        elif born in names:
            text = f"{state_labels(names[born], len(nodes), width)[nodes.index(node)]}\n{share}"
        else:
            text = share
        radius = np.sqrt(LARGEST_DISC * tree.measure[node] / np.pi)
        axes.annotate(
            text,
            (born, place),
            xytext=(0, radius + 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize="small",
            linespacing=0.95,
            bbox={"boxstyle": "square,pad=0.05", "fc": "white", "ec": "none"},  # above links, below discs
            zorder=2,
        )


def _name_leaves(axes: Axes, tree: StateTree, names: Sequence[str], level: int) -> None:
    """Write name and share of the finest states at the right end of their lines."""
    nodes = tree.nodes_at(level)
    radius = np.sqrt(LARGEST_DISC * tree.measures_at(level).max() / np.pi)
    for row, (node, label) in enumerate(zip(nodes, state_labels(names, len(nodes)), strict=True)):
        axes.annotate(
            f"{label}, {100 * tree.measure[node]:.0f} %",
            (level, row),
            xytext=(radius + 4, 0),
            textcoords="offset points",
            va="center",
            annotation_clip=False,
        )
