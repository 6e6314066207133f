"""The kinetics of a study's states at one level of its tree."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.random import generator
from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.dwell_laws import LawChoice, choose_law
from ethomarkov.coarse.kinetics import Dwells, JumpChain, animal_rates, find_dwells, jump_chain, time_budget
from ethomarkov.coarse.passage import (
    ChapmanKolmogorov,
    CoarseTimes,
    Rates,
    chapman_kolmogorov,
    hopping_rates,
    mean_first_passage,
    two_state_times,
)
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.workflow.states import state_names
from ethomarkov.workflow.study import Study

LONGEST_LAG, N_LAGS = 16, 20
"""Longest lag at which the chain of states is counted, in lags of the study, and how many lags up to it."""
ENOUGH_STAYS = 50
"""Stays below which laws of dwell times are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinetics:
    """How long stays last in the states of a level, where they lead, and whether the states form a chain.

    Parameters
    ----------
    level, names
        Number of states, and their names.
    budget
        Share of each animal's time in every state; NaN for animals without any.
    dwells
        Stays as seen every lag.
    leaving
        Rate of leaving every state, per animal, from these stays.
    jumps
        Which state follows which.
    passage
        Mean seconds from each state (row) until each other one is first met, in the chain of microstates.
    times
        Relaxation times of the chain of states against the lag.
    rates
        Rates of hopping, from what changes between one lag of the study and three.
    is_steady
        Whether the relaxation times are steady from some lag on.
    check
        Transitions after many lags, measured and foretold.
    """

    level: int
    names: tuple[str, ...]
    budget: FloatArray = array_field("individual", "macrostate")
    dwells: Dwells
    leaving: FloatArray = array_field("individual", "macrostate", unit="1/s")
    jumps: JumpChain
    passage: FloatArray = array_field("from_state", "to_state", unit="s")
    times: CoarseTimes
    rates: Rates
    is_steady: bool
    check: ChapmanKolmogorov

    def __post_init__(self) -> None:
        freeze_arrays(self)


def study_kinetics(study: Study, level: int) -> Kinetics:
    """Measure the kinetics of the states of a level.

    Parameters
    ----------
    study
        With a tree that has this level.
    level
        Number of states.
    """
    group, symbols = study.tree.states_at(level), study.states(level)
    dwells = find_dwells(symbols, study.chain.lag)
    times, rates, is_steady = steady_rates(study, level)
    return Kinetics(
        level=level,
        names=state_names(study, level),
        budget=time_budget(symbols),
        dwells=dwells,
        leaving=animal_rates(dwells),
        jumps=jump_chain(symbols, study.chain.lag),
        passage=mean_first_passage(study.chain, group),
        times=times,
        rates=rates,
        is_steady=is_steady,
        check=chapman_kolmogorov(study.symbols, group, study.chain.lag, n_steps=8),
    )


def steady_rates(study: Study, level: int) -> tuple[CoarseTimes, Rates, bool]:
    """Find the relaxation times of the chain of states, its rates at the lag of the study, and whether it is steady."""
    group, rate = study.tree.states_at(level), study.symbols.sampling.rate
    longest = min(LONGEST_LAG * study.chain.lag * rate, study.symbols.segments.longest() / 4)
    frames = np.unique(np.geomspace(1, max(longest, 2), N_LAGS).round().astype(int))
    times = two_state_times(study.symbols, group, frames / rate)
    return times, hopping_rates(study.symbols, group, study.chain.lag), times.steady_lag()[1]


def dwell_laws(study: Study, kinetics: Kinetics) -> dict[str, LawChoice]:
    """Compare laws of the stays in every state that was visited often enough."""
    found = {}
    for state, name in enumerate(kinetics.names):
        stays = kinetics.dwells.of(state)
        if len(stays.complete) < ENOUGH_STAYS:
            continue
        try:
            found[name] = choose_law(stays, rng=generator(study.settings.seed, "laws", state))
        except EthomarkovError:  # stays of one length only, for example, have no law to fit
            continue
    return found
