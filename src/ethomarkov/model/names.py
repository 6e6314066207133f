"""Movements of the body in the states of a tree, and names of the states."""

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.naming import StateTraits, measure_traits, name_states
from ethomarkov.coarse.tree import StateTree
from ethomarkov.exceptions import InputFormatError
from ethomarkov.posture import PostureBasis, wavelength
from ethomarkov.states import Symbols

MACRO_LEVEL = 2
WAVELENGTH_FRAMES = 30_000
"""Frames in which the wavelength is measured; medians of states need no more."""


def tree_traits(
    tree: StateTree,
    symbols: Symbols,
    postures: Series,
    basis: PostureBasis | None,
    speed: FloatArray | None,
) -> StateTraits:
    """Measure the movements of the body in every node of a tree.

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
    """Check whether postures describe a body wave: tangent angles in at least three modes."""
    return basis is not None and basis.features == "angle" and postures.n_components >= 3


def sampled_wavelengths(postures: Series, basis: PostureBasis) -> FloatArray:
    """Measure the wavelength in some frames, evenly spread; NaN in the others."""
    rows = np.flatnonzero(postures.segments.valid)
    chosen = rows[:: max(1, rows.size // WAVELENGTH_FRAMES)]
    sampled = np.full_like(postures.values, np.nan)
    sampled[chosen] = postures.values[chosen]
    return wavelength(basis.reconstruct(postures.with_rows(sampled)))


def traits_at(tree: StateTree, traits: StateTraits, level: int) -> StateTraits:
    """Select the traits of the states of a level."""
    nodes = list(tree.nodes_at(level))
    return StateTraits(**{item.name: getattr(traits, item.name)[nodes] for item in fields(StateTraits)})


def given_names(tree: StateTree, traits: StateTraits, level: int, *, is_worm: bool) -> tuple[str, ...]:
    """Name the states of a level by the movements of the body.

    A state keeps its name from level to level: that of the finest level if it is never divided, otherwise that of the
    level where it appears. Two states are always run and pirouette.

    Parameters
    ----------
    tree, traits
        The states, and the movements of the body in each node.
    level
        Number of states.
    is_worm
        Whether there is a body wave to name them by.
    """
    nodes = tree.nodes_at(level)
    own = {
        at: dict(zip(tree.nodes_at(at), name_states(traits_at(tree, traits, at), is_worm=is_worm), strict=True))
        for at in tree.levels
    }
    if level <= MACRO_LEVEL:
        return tuple(own[level].values())
    names = [own[max(tree.levels) if tree.divided[node] < 0 else int(tree.born[node])][node] for node in nodes]
    # Names from different levels can be equal; those of the level itself are not.
    return tuple(names) if len(set(names)) == len(names) else tuple(own[level].values())


def check_renames(given: Mapping[int, tuple[str, ...]], asked: Mapping[str, str]) -> None:
    """Refuse new names for states that exist at no level.

    Parameters
    ----------
    given
        Names at every level.
    asked
        From these to new ones.
    """
    known = {name for names in given.values() for name in names}
    unknown = sorted(set(asked) - known)
    if unknown:
        raise InputFormatError(
            f"No state is named {', '.join(map(repr, unknown))}; there are {', '.join(map(repr, sorted(known)))}. "
            "Rename one of these."
        )
