"""Probability that animals which never leave a state find food."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.parallel import map_tasks
from ethomarkov._core.random import generator
from ethomarkov._core.result import Result
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov._core.words import count_of
from ethomarkov.coarse.kinetics import time_budget
from ethomarkov.coarse.tree import StateTree
from ethomarkov.foraging.coverage import SweepSettings
from ethomarkov.foraging.food import FoodCurve, Matching, StateCoverage, cover_states, food_curve, match_time
from ethomarkov.locomotion.ensemble import CrawlSettings
from ethomarkov.model.behaviour import BehaviourModel

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class ForageSettings:
    """Settings of foraging animals.

    Parameters
    ----------
    n_runs
        Number of runs in every state.
    seconds
        Duration of every run in seconds.
    sweep
        Width of the body and the grid; 5 % of the length by default, or the published raster.
    seed
        Random seed of the runs.
    """

    n_runs: int = 1000
    seconds: float = 100.0
    sweep: SweepSettings = field(default_factory=SweepSettings)
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Foraging(Result):
    """Food found in the states of a level.

    Parameters
    ----------
    level
        Number of states at the level.
    coverage
        Share of discs around the start that runs in each state cover.
    curve
        Probability that food is found in each state, against its distance.
    matching
        Probability that food is found in the largest disc, against the time that animals spend in each state.
    """

    level: int
    coverage: StateCoverage
    curve: FoodCurve
    matching: Matching

    def headline(self) -> str:
        """Give the number of states and runs, and the correlation of time and food."""
        return f"{count_of(self.curve.n_runs, 'run')} in each of {self.level} states; {self.matching.headline()}"

    def table(self) -> "pd.DataFrame":
        """List the probability to find food in every state at every radius in body lengths."""
        curve = self.curve
        return frame_of(
            {
                "state": name,
                "radius": float(radius),
                "coverage": float(self.coverage.share[k, :, r].mean()),
                "probability": float(curve.probability[k, r]),
                "low": float(curve.low[k, r]),
                "high": float(curve.high[k, r]),
                "time_share": float(self.matching.time_share[k]),
            }
            for k, name in enumerate(curve.names)
            for r, radius in enumerate(curve.radii)
        )


def state_shares(tree: StateTree, level: int) -> FloatArray:
    """Compute the shares of time of the states of a level, of the time that has a state.

    The published tree leaves some microstates without one, so that its measures need not sum to one.

    Parameters
    ----------
    tree
        Tree of states.
    level
        Number of states.
    """
    measures = tree.measures_at(level)
    covered = float(measures.sum())
    return measures if np.isclose(covered, 1.0) else measures / covered


def forage_states(
    model: BehaviourModel,
    level: int,
    how: ForageSettings | None = None,
    *,
    threads: int = 1,
    progress: Progress | None = None,
) -> Foraging:
    """Simulate animals that never leave a state, and measure how likely they are to find food.

    Parameters
    ----------
    model
        With tangent angles.
    level
        Number of states.
    how
        Runs and body; as published by default, but for the swept body.
    threads, progress
        Cores to use; called after every state.
    """
    how = how or ForageSettings()
    settings = CrawlSettings(
        duration=model.whole_steps(how.seconds),
        n_runs=how.n_runs,
        drag_ratio=model.drag_ratio,
        scheme=model.scheme,
        method=model.unfolding,
    )
    basis, n_states = model.body_basis(), len(model.tree.nodes_at(level))
    inside = threads if n_states == 1 else 1

    def cover(state: int) -> StateCoverage:
        # From anywhere in the state: runs from one microstate would all begin alike.
        animal = model.confined(level, state, start="stationary")
        rng = generator(how.seed, "forage", state)
        return cover_states([animal], basis, settings, sweep=how.sweep, rng=rng, threads=inside)

    found = map_tasks(cover, range(n_states), threads=threads, progress=progress, what="states")
    coverage = StateCoverage(
        names=tuple(name for one in found for name in one.names),
        radii=found[0].radii,
        share=np.concatenate([one.share for one in found]),
    )
    shares = time_budget(model.states(level))
    known = shares[np.isfinite(shares).all(axis=1)]
    return Foraging(
        level=level,
        coverage=coverage,
        curve=food_curve(coverage, state_shares(model.tree, level), rng=generator(how.seed, "food curve")),
        matching=match_time(coverage, known, rng=generator(how.seed, "matching")),
    )
