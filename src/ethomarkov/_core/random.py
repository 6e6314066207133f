"""One seed per study, and from it a generator for every named piece of work.

The generator depends on the seed and the names alone, so that worm 7's simulation is the same on one core,
on eight, or on a cluster.
"""

import hashlib

import numpy as np

Rng = np.random.Generator | int


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Make the generator of one named piece of work.

    Examples
    --------
    >>> float(generator(0, "walk", 7).random()) == float(generator(0, "walk", 7).random())
    True
    """
    digest = hashlib.sha256("\x1f".join(str(name) for name in names).encode()).digest()
    words = tuple(int(word) for word in np.frombuffer(digest[:16], dtype="<u4"))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=words))


def as_generator(rng: Rng) -> np.random.Generator:
    """Accept a generator or a seed."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)
