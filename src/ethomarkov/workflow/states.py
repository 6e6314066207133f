"""The states of a study at any level of its tree: what the body does in them, and their names."""

import dataclasses
import itertools
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray, Progress
from ethomarkov.coarse.naming import StateTraits, measure_traits, name_states, rename
from ethomarkov.coarse.stability import compare_seeds
from ethomarkov.coarse.tree import GrowthRule, StateTree, grow_tree
from ethomarkov.exceptions import InputFormatError
from ethomarkov.markov import MarkovChain
from ethomarkov.posture import PostureBasis, wavelength
from ethomarkov.states import DelayEmbedding, Partition, Symbols
from ethomarkov.workflow.config import Settings

if TYPE_CHECKING:
    from ethomarkov.workflow.study import Study

MACRO_LEVEL = 2
WAVELENGTH_FRAMES = 30_000
"""Frames in which the wavelength is measured; medians of states need no more."""


def growth_rule(settings: Settings) -> GrowthRule:
    """Say how the tree of states grows under some settings: the one place where they are translated."""
    if settings.cut == "paper":
        published = GrowthRule.paper()
        n_states = settings.n_behaviours or published.n_states
        return replace(published, n_states=n_states, min_measure=settings.min_measure, seed=settings.seed)
    return GrowthRule(
        n_states=settings.n_behaviours,
        min_measure=settings.min_measure,
        n_resamples=settings.n_resamples,
        seed=settings.seed,
    )


def tree_traits(
    tree: StateTree,
    symbols: Symbols,
    postures: Series,
    basis: PostureBasis | None,
    speed: FloatArray | None,
) -> StateTraits:
    """Measure what the body does in every node of a tree.

    Parameters
    ----------
    tree
        Of states.
    symbols
        Microstate of every frame.
    postures, basis
        Mode amplitudes and the shapes of the modes.
    speed
        Of every frame in body lengths per second, where it is known.

    Returns
    -------
    traits
        One row per node.
    """
    is_worm = has_body_wave(basis, postures)
    waves = sampled_wavelengths(postures, basis) if is_worm and basis is not None else None
    rows: dict[int, dict[str, float]] = {}
    for level in tree.levels:
        states = symbols.relabel(tree.states_at(level))
        found = measure_traits(states, postures, wavelengths=waves, speed=speed, is_worm=is_worm)
        for k, node in enumerate(tree.nodes_at(level)):
            if tree.born[node] == level:
                rows[node] = {item.name: float(getattr(found, item.name)[k]) for item in fields(StateTraits)}
    names = [item.name for item in fields(StateTraits)]
    return StateTraits(**{name: np.array([rows[node][name] for node in range(tree.n_nodes)]) for name in names})


def has_body_wave(basis: PostureBasis | None, postures: Series) -> bool:
    """Tell whether postures describe a body wave: tangent angles in at least three modes."""
    return basis is not None and basis.features == "angle" and postures.n_components >= 3


def sampled_wavelengths(postures: Series, basis: PostureBasis) -> FloatArray:
    """Measure the wavelength in some frames, evenly spread; NaN in the others."""
    rows = np.flatnonzero(postures.segments.valid)
    chosen = rows[:: max(1, rows.size // WAVELENGTH_FRAMES)]
    sampled = np.full_like(postures.values, np.nan)
    sampled[chosen] = postures.values[chosen]
    return wavelength(basis.reconstruct(postures.with_rows(sampled)))


def traits_at(study: "Study", level: int) -> StateTraits:
    """Give the traits of the states of a level."""
    nodes = list(study.tree.nodes_at(level))
    return StateTraits(**{item.name: getattr(study.traits, item.name)[nodes] for item in fields(StateTraits)})


def state_names(study: "Study", level: int) -> tuple[str, ...]:
    """Name the states of a level: by what the body does, or as the settings say."""
    names = given_names(study, level)
    return rename(names, {old: new for old, new in study.settings.names.items() if old in names})


def given_names(study: "Study", level: int) -> tuple[str, ...]:
    """Name the states of a level by what the body does.

    A state keeps its name from level to level: that of the finest level if it is never divided, otherwise that of the
    level where it appears. Two states are always run and pirouette.
    """
    tree = study.tree
    nodes = tree.nodes_at(level)
    own = {at: dict(zip(tree.nodes_at(at), _named(study, at), strict=True)) for at in tree.levels}
    if level <= MACRO_LEVEL:
        return tuple(own[level].values())
    names = [own[max(tree.levels) if tree.divided[node] < 0 else int(tree.born[node])][node] for node in nodes]
    # Names from different levels can meet; then those of the level itself are told apart.
    return tuple(names) if len(set(names)) == len(names) else tuple(own[level].values())


def _named(study: "Study", level: int) -> tuple[str, ...]:
    return name_states(traits_at(study, level), is_worm=study.is_worm)


def rename_states(study: "Study", names: Mapping[str, str], earlier: Mapping[str, str]) -> "Study":
    """Give states new names.

    Parameters
    ----------
    study
        With its tree.
    names
        From names that the study gives to new ones.
    earlier
        The same from before. Those of states that the tree no longer has are kept for when it has them again.
    """
    settings = study.settings.model_copy(update={"names": {**earlier, **names}})
    renamed = dataclasses.replace(study, settings=settings)
    check_renames(renamed, names)
    return renamed


def check_renames(study: "Study", asked: Collection[str] | None = None) -> None:
    """Refuse new names for states that exist at no level, and names that stand for two states of a level.

    Parameters
    ----------
    study
        With its new names.
    asked
        Names that must exist; all that are renamed by default.
    """
    named = (given_names(study, level) for level in study.tree.levels)
    known = set(itertools.chain.from_iterable(named))
    unknown = sorted(set(study.settings.names if asked is None else asked) - known)
    if unknown:
        raise InputFormatError(
            f"No state is named {', '.join(map(repr, unknown))}; there are {', '.join(map(repr, sorted(known)))}. "
            "Rename one of these."
        )
    for level in study.tree.levels:
        state_names(study, level)


def stability_over_seeds(
    study: "Study", n_seeds: int, *, threads: int = 1, progress: Progress | None = None
) -> FloatArray:
    """Measure how well every node of the tree is found again with microstates from other seeds.

    Parameters
    ----------
    study
        Whose tree is looked at.
    n_seeds
        Further partitions of the same sequences.
    threads, progress
        Cores to use; called after every seed.

    Returns
    -------
    overlap
        One row per seed, one column per node; see `match_nodes`.
    """
    sequences = DelayEmbedding(study.settings.n_delays).transform(study.postures)
    growth = replace(growth_rule(study.settings), n_states=max(study.tree.levels), n_resamples=0)
    rows = []
    for k in range(1, n_seeds + 1):
        seed, method = study.settings.seed + k, study.settings.partition
        partition = Partition(study.settings.n_states, method=method, seed=seed, threads=threads).fit(sequences)
        symbols = partition.label(sequences)
        other = grow_tree(MarkovChain.from_symbols(symbols, study.chain.lag), growth, symbols=symbols)
        rows.append(compare_seeds(study.tree, study.symbols, [(other, symbols)])[0])
        if progress is not None:
            progress("other seeds", k, n_seeds)
    return np.array(rows).reshape(n_seeds, study.tree.n_nodes)
