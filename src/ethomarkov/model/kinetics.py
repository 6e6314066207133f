"""Kinetics of the states of a model at one level of its tree."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.interval import Interval, jackknife_interval
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.dwell_laws import LawChoice, choose_law
from ethomarkov.coarse.kinetics import Dwells, JumpChain, animal_rates, find_dwells, jump_chain, time_budget
from ethomarkov.coarse.passage import (
    MOST_CHAINS,
    ChapmanKolmogorov,
    CoarseTimes,
    Rates,
    chapman_kolmogorov,
    count_by_unit,
    hopping_rates,
    mean_first_passage,
    resampled_units,
    two_state_times,
)
from ethomarkov.exceptions import EthomarkovError
from ethomarkov.markov import Spectrum
from ethomarkov.markov.spectrum import slowest_time_by_unit
from ethomarkov.model.behaviour import BehaviourModel

LONGEST_LAG, N_LAGS = 16, 20
"""Longest lag at which the chain of states is counted, in lags of the model, and how many lags up to it."""
ENOUGH_DWELLS = 50
"""Dwells below which laws of dwell times are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinetics(Result):
    """How long the states of a level last, where they lead, and whether the states form a chain.

    Parameters
    ----------
    level, names
        Number of states, and their names.
    budget
        Share of each animal's time in every state; NaN for animals without any.
    dwells
        Dwells as seen every lag.
    leaving
        Rate of leaving every state, per animal, from these dwells.
    jumps
        Which state follows which.
    passage
        Mean seconds from each state (row) until each other one is first met, in the chain of microstates.
    times
        Relaxation times of the chain of states against the lag.
    rates
        Rates of hopping, from what changes between one lag of the chain and three.
    is_steady
        Whether the relaxation times are steady from some lag on.
    check
        Transitions after many lags, measured and predicted.
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


def state_kinetics(model: BehaviourModel, level: int) -> Kinetics:
    """Measure the kinetics of the states of a level.

    Parameters
    ----------
    model
        With a tree that has this level.
    level
        Number of states.
    """
    group, symbols = model.tree.states_at(level), model.states(level)
    dwells = find_dwells(symbols, model.chain.lag)
    times, rates, is_steady = steady_rates(model, level)
    return Kinetics(
        level=level,
        names=model.names(level),
        budget=time_budget(symbols),
        dwells=dwells,
        leaving=animal_rates(dwells),
        jumps=jump_chain(symbols, model.chain.lag),
        passage=mean_first_passage(model.chain, group),
        times=times,
        rates=rates,
        is_steady=is_steady,
        check=chapman_kolmogorov(model.symbols, group, model.chain.lag, n_steps=8),
    )


def steady_rates(model: BehaviourModel, level: int) -> tuple[CoarseTimes, Rates, bool]:
    """Find the relaxation times of the chain of states, its rates at the lag of the model, and whether it is steady."""
    group, rate = model.tree.states_at(level), model.symbols.sampling.rate
    longest = min(LONGEST_LAG * model.chain.lag * rate, model.symbols.segments.longest() / 4)
    frames = np.unique(np.geomspace(1, max(longest, 2), N_LAGS).round().astype(int))
    times = two_state_times(model.symbols, group, frames / rate)
    return times, hopping_rates(model.symbols, group, model.chain.lag), times.steady_lag()[1]


def slowest_relaxation(model: BehaviourModel, spectrum: Spectrum) -> Interval:
    """Give the slowest relaxation time of the chain of all animals its interval over animals, or blocks of one.

    Parameters
    ----------
    model, spectrum
        The model, and the slow modes of its chain.
    """
    unit, n_units, over = resampled_units(model.symbols, MOST_CHAINS)
    _, left_out = slowest_time_by_unit(count_by_unit(model.symbols, model.chain.lag, unit, n_units), model.chain.lag)
    return jackknife_interval(float(spectrum.relaxation_times[0]), left_out, over)


def dwell_laws(kinetics: Kinetics, seed: int) -> dict[str, LawChoice]:
    """Compare laws of the dwell times in every state that was visited often enough."""
    found = {}
    for state, name in enumerate(kinetics.names):
        dwells = kinetics.dwells.in_state(state)
        if len(dwells.complete) < ENOUGH_DWELLS:
            continue
        try:
            found[name] = choose_law(dwells, rng=generator(seed, "laws", state))
        except EthomarkovError:  # dwells of one length only, for example, have no law to fit
            continue
    return found
