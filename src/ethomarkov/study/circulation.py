"""In which order behaviour goes round: net transitions between states that the way back does not balance."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.interval import jackknife_interval, leave_one_out
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.passage import resampled_units
from ethomarkov.model.behaviour import BehaviourModel
from ethomarkov.states import Symbols
from ethomarkov.study.stage import stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Circulation(Result):
    """Net transitions between states.

    Parameters
    ----------
    names
        Of the states.
    net
        Transitions per second from each state (row) to each other one (column), less those back.
    low, high
        Limits of the 95 % interval.
    share
        Of all changes of state, those that no change back balances: 0 where time has no direction, 1 on a one-way ring.
        Chance alone makes it larger than 0, so that `low` and `high` decide whether a state really follows another.
    over, n
        Units of the intervals, in words, and how many.
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


@stage(role="analysis", seconds=lambda size: 1e-6 * size.n_frames)
def circulation(model: BehaviourModel, *, level: int) -> Circulation:
    """Measure net transitions between the states of a level, seen one lag apart."""
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
