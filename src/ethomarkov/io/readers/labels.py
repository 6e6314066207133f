"""Sequences of labels that were given where amplitudes belong."""

import numpy as np
from numpy.typing import NDArray

from ethomarkov.exceptions import InputFormatError

LOWEST_LABEL, MOST_LABELS = -1, 100
BLOCK = 10_000
TIMES_SEEN = 3
"""Labels come back: a sequence holds each this often, on average; a few whole numbers in a row are no evidence."""


def refuse_labels(values: NDArray[np.number], what: str) -> None:
    """Refuse whole numbers that are the labels of states rather than amplitudes of postures.

    Parameters
    ----------
    values
        Of all animals together, NaN where missing. Whole numbers never below minus one, of which there are fewer than
        `MOST_LABELS` different ones, are labels; amplitudes have both signs, even where they are rounded.
    what
        Where they come from, in words.

    Examples
    --------
    >>> refuse_labels(np.array([0.12, -1.5, 0.3] * 50), "a1")  # amplitudes pass
    """
    labels, n_known = np.empty(0), 0
    for block in np.array_split(np.asarray(values).reshape(-1), max(np.size(values) // BLOCK, 1)):
        known = block[np.isfinite(block)]
        labels, n_known = np.union1d(labels, known), n_known + known.size
        if labels.size >= MOST_LABELS or not (labels == np.round(labels)).all():
            return
    if labels.size and labels[0] >= LOWEST_LABEL and n_known >= TIMES_SEEN * labels.size:
        raise InputFormatError(
            f"{what} holds nothing but whole numbers, {labels.size} different ones from {labels[0]:g} to "
            f"{labels[-1]:g}: these are labels of states, not posture amplitudes. Give the postures from which they "
            "were made."
        )
