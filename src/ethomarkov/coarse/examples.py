"""Example dwells of every state: a typical one and the longest."""

import numpy as np

from ethomarkov._core.types import IntArray
from ethomarkov.coarse.kinetics import Dwells, find_dwells
from ethomarkov.states import Symbols

LONGEST_SHARE = 0.1
"""A typical dwell is chosen from this share of the dwells in a state, the longest ones."""


def typical_dwells(symbols: Symbols) -> IntArray:
    """Find a typical long dwell in every state: that of median length among the longest tenth.

    Most dwells are flicker, and the longest is often an oddity.

    Returns
    -------
    dwells
        First row and one past the last, one line per state; ``-1`` if it was never visited.
    """
    dwells = find_dwells(symbols)
    chosen = {}
    for state in np.unique(dwells.state).tolist():
        mine = np.flatnonzero(dwells.state == state)
        ordered = mine[np.argsort(dwells.n_steps[mine], kind="stable")]
        longest = ordered[-max(1, round(LONGEST_SHARE * mine.size)) :]
        chosen[state] = int(longest[longest.size // 2])
    return _rows(symbols, dwells, chosen)


def longest_dwells(symbols: Symbols) -> IntArray:
    """Find the longest uninterrupted dwell in every state, the first of equals; see `typical_dwells`."""
    dwells = find_dwells(symbols)
    chosen = {}
    for state in np.unique(dwells.state).tolist():
        mine = np.flatnonzero(dwells.state == state)
        chosen[state] = int(mine[dwells.n_steps[mine].argmax()])
    return _rows(symbols, dwells, chosen)


def _rows(symbols: Symbols, dwells: Dwells, chosen: dict[int, int]) -> IntArray:
    """Give the rows of one dwell per state."""
    first = symbols.segments.offsets[dwells.individual] + np.rint(dwells.start * symbols.sampling.rate).astype(int)
    rows = np.full((symbols.n_states, 2), -1)
    for state, dwell in chosen.items():
        rows[state] = first[dwell], first[dwell] + dwells.n_steps[dwell]
    return rows
