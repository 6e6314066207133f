"""Kinetics of the states of a model at one level of its tree."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.interval import Interval, jackknife_interval
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.showing import frame_of_columns
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.coarse.dwell_laws import LawChoice, choose_law
from ethomarkov.coarse.kinetics import Dwells, JumpChain, animal_rates, find_dwells, jump_chain, mean_dwell, time_budget
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

if TYPE_CHECKING:
    import pandas as pd

LONGEST_LAG, N_LAGS = 16, 20
"""Longest lag at which the chain of states is counted, in lags of the model, and how many lags up to it."""
ENOUGH_DWELLS = 50
"""Dwells below which laws of dwell times are not compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinetics(Result):
    """Dwell times and transition rates of the states of a level, and whether the states form a Markov chain.

    Parameters
    ----------
    level, names
        Number of states, and their names.
    budget
        Share of each animal's time in every state; NaN for animals without any.
    dwells
        Dwells, with the state sequence sampled every lag.
    leaving
        Total transition rate out of every state, per animal, from these dwells.
    jumps
        Jumps from state to state.
    passage
        Mean first-passage time in seconds from each state (row) to each other one, in the chain of microstates.
    times
        Relaxation times of the chain of states against the lag.
    rates
        Transition rates between states, from the change between one lag of the chain and three.
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

    def headline(self) -> str:
        """Give the number of states, of complete dwells, and the slowest relaxation time."""
        n_dwells = count_of(int(np.count_nonzero(~(self.dwells.starts_cut | self.dwells.ends_cut))), "complete dwell")
        time = self.rates.relaxation.estimate
        relaxation = f"relaxation time {time:.3g} s" if np.isfinite(time) else "transition rates undetermined"
        return f"{count_of(len(self.names), 'state')}, {n_dwells}, {relaxation}"

    def table(self) -> "pd.DataFrame":
        """List the states: share of the sampled time, mean dwell time with its interval, and number of dwells."""
        time = np.bincount(self.dwells.state, self.dwells.duration, len(self.names))
        means = [mean_dwell(self.dwells, state) for state in range(len(self.names))]
        return frame_of_columns(
            {
                "state": self.names,
                "share": time / max(float(time.sum()), np.finfo(float).tiny),
                "mean_dwell_s": [mean.estimate for mean in means],
                "mean_dwell_low_s": [mean.low for mean in means],
                "mean_dwell_high_s": [mean.high for mean in means],
                "complete_dwells": [len(self.dwells.in_state(state).complete) for state in range(len(self.names))],
            }
        )

    def transitions(self) -> "pd.DataFrame":
        """List the ordered pairs of different states: jumps, transition rate with its interval, first passage."""
        before, after = np.nonzero(~np.eye(len(self.names), dtype=bool))
        names = np.array(self.names, dtype=object)
        return frame_of_columns(
            {
                "level": self.level,
                "from": names[before],
                "to": names[after],
                "jumps": self.jumps.counts[before, after],
                "jump_probability": self.jumps.probabilities[before, after],
                "rate_per_s": self.rates.rates[before, after],
                "rate_low": self.rates.low[before, after],
                "rate_high": self.rates.high[before, after],
                "first_passage_s": self.passage[before, after],
            }
        )


def state_kinetics(model: BehaviourModel, level: int) -> Kinetics:
    """Compute dwell times, transition rates and Markov tests of the states of a level.

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
    """Estimate relaxation times of the chain of states, its rates at the lag, and whether the times are steady."""
    group, rate = model.tree.states_at(level), model.symbols.sampling.rate
    longest = min(LONGEST_LAG * model.chain.lag * rate, model.symbols.segments.longest() / 4)
    frames = np.unique(np.geomspace(1, max(longest, 2), N_LAGS).round().astype(int))
    times = two_state_times(model.symbols, group, frames / rate)
    return times, hopping_rates(model.symbols, group, model.chain.lag), times.steady_lag()[1]


def slowest_relaxation(model: BehaviourModel, spectrum: Spectrum) -> Interval:
    """Estimate the interval of the slowest relaxation time over animals, or over blocks of one animal.

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
    laws = {}
    for state, name in enumerate(kinetics.names):
        dwells = kinetics.dwells.in_state(state)
        if len(dwells.complete) < ENOUGH_DWELLS:
            continue
        try:
            laws[name] = choose_law(dwells, rng=generator(seed, "laws", state))
        except EthomarkovError:  # dwells of one length only, for example, have no law to fit
            continue
    return laws
