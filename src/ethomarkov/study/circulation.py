"""Circulation: net transitions between states, which the reverse transitions do not balance."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.interval import jackknife_interval, leave_one_out
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.coarse.passage import resampled_units
from ethomarkov.model.behaviour import BehaviourModel
from ethomarkov.states import Symbols
from ethomarkov.study.stage import stage

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Circulation(Result):
    """Net transitions between states.

    Parameters
    ----------
    names
        Names of the states.
    net
        Transitions per second from each state (row) to each other one (column), less the reverse transitions.
    low, high
        Limits of the 95 % interval of the net transitions.
    share
        Share of transitions that no reverse transition balances: 0 under detailed balance, 1 on a one-way ring.
        Chance alone makes it larger than 0, so that `low` and `high` decide whether a state really follows another.
    over
        What the intervals were taken over, in words: "animals", or "blocks" of a single one.
    n
        Number of animals or blocks.
    """

    names: tuple[str, ...]
    net: FloatArray = array_field("from_state", "to_state", unit="1/s")
    low: FloatArray = array_field("from_state", "to_state", unit="1/s")
    high: FloatArray = array_field("from_state", "to_state", unit="1/s")
    share: float
    over: str
    n: int

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the share of transitions that no reverse transition balances."""
        return f"{self.share:.0%} of transitions between {count_of(len(self.names), 'state')} unbalanced"

    def table(self) -> "pd.DataFrame":
        """List net transitions per second between every two states, with their 95 % intervals."""
        return frame_of(
            {
                "from": before,
                "to": after,
                "net": float(self.net[i, j]),
                "low": float(self.low[i, j]),
                "high": float(self.high[i, j]),
            }
            for i, before in enumerate(self.names)
            for j, after in enumerate(self.names)
            if i != j
        )


@stage(role="analysis", seconds=lambda size: 1e-6 * size.n_frames)
def circulation(model: BehaviourModel, *, level: int) -> Circulation:
    """Measure net transitions between the states of a level, one lag apart.

    Parameters
    ----------
    level
        Number of states at the level; the finest by default.
    """
    states, names = model.states(level), model.names(level)
    counts, over = _count_pairs(states, model.chain.lag)
    net = _net_flux(counts.sum(axis=0), model.chain.lag)
    left_out = np.array([_net_flux(one, model.chain.lag) for one in leave_one_out(counts)])
    limits = np.zeros((2, *net.shape))
    for i, j in zip(*np.triu_indices(len(net), 1), strict=True):
        found = jackknife_interval(float(net[i, j]), left_out[:, i, j], over, scale="signed")
        limits[:, i, j], limits[:, j, i] = (found.low, found.high), (-found.high, -found.low)
    changes = counts.sum(axis=0) / counts.sum() / model.chain.lag
    np.fill_diagonal(changes, 0.0)
    share = float(np.abs(net).sum() / 2 / changes.sum()) if changes.any() else float("nan")
    return Circulation(names=names, net=net, low=limits[0], high=limits[1], share=share, over=over, n=len(counts))


def _count_pairs(states: Symbols, lag: float) -> tuple[FloatArray, str]:
    """Count pairs of states one lag apart, in every animal, or in blocks of the only one."""
    unit, n_units, over = resampled_units(states)
    first, last = states.segments.pairs(states.sampling.frames(lag, "lag"))
    n = states.n_states
    place = (unit[first] * n + states.labels[first]) * n + states.labels[last]
    return np.bincount(place, minlength=n_units * n * n).reshape(n_units, n, n).astype(float), over


def _net_flux(counts: FloatArray, lag: float) -> FloatArray:
    flux = counts / counts.sum() / lag
    return np.asarray(flux - flux.T)
