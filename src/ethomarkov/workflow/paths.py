"""Paths of a study's animals: measured, and computed from their own postures."""

from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import array_field, freeze_arrays
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion import Path as AnimalPath
from ethomarkov.locomotion import propel
from ethomarkov.locomotion.drag import DragFit, DragSearch, fit_drag_ratio
from ethomarkov.posture import PostureBasis
from ethomarkov.workflow.study import Study


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction:
    """Paths computed from recorded postures, beside the measured ones.

    Parameters
    ----------
    computed
        By resistive force theory, in the unit of the measured path; every gap-free run starts anew at the origin.
    measured
        Of the same animals; None where it was not recorded.
    body_length
        Of every animal in that unit; 1 where nothing was measured.
    is_fitted
        Whether a body length was not recorded and had to be fitted to the measured speed.
    speed_correlation
        Of measured and computed speed over one second, per animal; NaN without a measured path.
    drag
        The drag ratio that fits best; None without a measured path.
    """

    computed: AnimalPath
    measured: AnimalPath | None
    body_length: FloatArray = array_field("individual")
    is_fitted: bool
    speed_correlation: FloatArray = array_field("individual")
    drag: DragFit | None

    def __post_init__(self) -> None:
        freeze_arrays(self)


def body_basis(study: Study) -> PostureBasis:
    """Give the basis that turns postures into a body, or say that there is none."""
    if study.basis is None or study.basis.features != "angle":
        raise InputFormatError(
            "Paths need tangent angles along the body, and this study has none. For amplitudes, run it again with the "
            "shapes of their modes (--basis)."
        )
    return study.basis


def body_lengths(study: Study) -> tuple[FloatArray, bool]:
    """Find the body length of every individual in the unit of its measured path.

    Where it was not recorded it is fitted: the length at which computed and measured paths are equally fast over one
    second, which is as good as the drag ratio.

    Returns
    -------
    lengths
        NaN where there is no measured path either.
    fitted
        Whether any of them was fitted.
    """
    lengths = np.array(study.measured.body_length, dtype=float)
    missing = np.flatnonzero(~np.isfinite(lengths))
    measured = measured_path(study)
    if missing.size == 0 or measured is None:
        return lengths, False
    computed = propel(study.postures, study.settings.drag_ratio, basis=body_basis(study), scheme=study.settings.scheme)
    for individual in missing:
        lengths[individual] = _matching_length(measured.of(int(individual)), computed.of(int(individual)))
    return lengths, True


def _matching_length(measured: AnimalPath, computed: AnimalPath) -> float:
    there, here = measured.speed(), computed.speed()
    known = np.isfinite(there) & np.isfinite(here)
    if not known.any():
        return float("nan")
    return float((there[known] @ here[known]) / (here[known] @ here[known]))


def measured_path(study: Study) -> AnimalPath | None:
    """Give the measured paths of a study, in their own unit; None where there is none."""
    if not np.isfinite(study.measured.centroid).any():
        return None
    return AnimalPath.from_points(study.measured.centroid, study.postures, study.measured.length_unit or "mm")


def reconstruct_paths(study: Study, search: DragSearch | None = None, *, threads: int = 1) -> Reconstruction:
    """Compute the paths of a study's animals from their postures and compare them with the measured ones.

    Parameters
    ----------
    study
        With tangent angles.
    search
        How to look for the drag ratio.
    threads
        Cores to use.
    """
    basis, measured = body_basis(study), measured_path(study)
    lengths, is_fitted = body_lengths(study)
    lengths = np.where(np.isfinite(lengths) & (measured is not None), lengths, 1.0)
    computed = propel(
        study.postures,
        study.settings.drag_ratio,
        lengths,
        measured.length_unit if measured is not None else "body lengths",
        basis=basis,
        scheme=study.settings.scheme,
        threads=threads,
    )
    return Reconstruction(
        computed=computed,
        measured=measured,
        body_length=lengths,
        is_fitted=is_fitted,
        speed_correlation=_speed_correlations(computed, measured),
        drag=None if measured is None else _fitted_drag(study, measured, lengths, search),
    )


def _fitted_drag(study: Study, measured: AnimalPath, lengths: FloatArray, search: DragSearch | None) -> DragFit | None:
    """Fit the drag ratio; None where no gap-free stretch is long enough."""
    try:
        return fit_drag_ratio(
            study.postures,
            measured.centroid,
            lengths,
            basis=body_basis(study),
            search=search,
            rng=study.settings.seed,
        )
    except InputFormatError:
        return None


def _speed_correlations(computed: AnimalPath, measured: AnimalPath | None) -> FloatArray:
    n = computed.segments.n_individuals
    found = np.full(n, np.nan)
    for k in range(n if measured is not None else 0):
        here, there = computed.of(k).speed(), measured.of(k).speed() if measured is not None else np.empty(0)
        known = np.isfinite(here) & np.isfinite(there)
        if known.sum() > 2 and np.ptp(here[known]) > 0 and np.ptp(there[known]) > 0:
            found[k] = np.corrcoef(here[known], there[known])[0, 1]
    return found
