"""The states of a study at any level of its tree: what the body does in them, and their names."""

import itertools
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.coarse.naming import StateTraits, measure_traits, name_states, rename
from ethomarkov.coarse.tree import StateTree
from ethomarkov.exceptions import InputFormatError
from ethomarkov.posture import PostureBasis, wavelength
from ethomarkov.states import Symbols

if TYPE_CHECKING:
    from ethomarkov.workflow.study import Study

WAVELENGTH_FRAMES = 30_000
"""Frames in which the wavelength is measured; medians of states need no more."""


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
    names = name_states(traits_at(study, level), is_worm=study.is_worm)
    return rename(names, {old: new for old, new in study.settings.names.items() if old in names})


def check_renames(study: "Study") -> None:
    """Refuse new names for states that exist at no level."""
    named = (name_states(traits_at(study, level), is_worm=study.is_worm) for level in study.tree.levels)
    known = set(itertools.chain.from_iterable(named))
    unknown = sorted(set(study.settings.names) - known)
    if unknown:
        raise InputFormatError(
            f"No state is named {', '.join(map(repr, unknown))}; there are {', '.join(map(repr, sorted(known)))}. "
            "Rename one of these."
        )
