"""Paths of the training animals of a model: measured, and computed from their postures."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ethomarkov._core.random import Rng
from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.showing import frame_of
from ethomarkov._core.types import FloatArray
from ethomarkov._core.words import count_of
from ethomarkov.exceptions import InputFormatError
from ethomarkov.locomotion import Trajectory, propel
from ethomarkov.locomotion.displacement import Diffusion, diffusion, msd, paper_lags
from ethomarkov.locomotion.drag import DragFit, DragSettings, fit_drag_ratio
from ethomarkov.model.behaviour import BehaviourModel

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconstruction(Result):
    """Paths computed from recorded postures, beside the measured ones.

    Parameters
    ----------
    computed
        By resistive force theory, in the unit of the measured path; every gap-free run starts at the origin.
    measured
        Of the same animals; None where it was not recorded.
    body_length
        Of every animal in that unit; 1 where nothing was measured.
    is_fitted
        Whether a body length was not recorded and was fitted to the measured speed.
    speed_correlation
        Of measured and computed speed over one second, per animal; NaN without a measured path.
    drag
        Fit of the drag ratio; None without a measured path.
    """

    computed: Trajectory
    measured: Trajectory | None
    body_length: FloatArray = array_field("individual", unit="length")
    is_fitted: bool
    speed_correlation: FloatArray = array_field("individual")
    drag: DragFit | None

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def headline(self) -> str:
        """Give the number of animals, the mean correlation of speeds and the drag ratio."""
        n_animals = count_of(self.computed.segments.n_individuals, "animal")
        if self.measured is None:
            return f"{n_animals}, no measured path"
        known = self.speed_correlation[np.isfinite(self.speed_correlation)]
        words = [f"mean speed correlation {known.mean():.2f}"] if known.size else []
        words += [] if self.drag is None else [f"drag ratio {self.drag.median}"]
        return ", ".join([n_animals, *words])

    def table(self) -> "pd.DataFrame":
        """List the animals: body length, computed speed, correlation with the measured speed, drag ratio."""
        return frame_of([self._row(k, name) for k, name in enumerate(self.computed.segments.individuals)])

    def _row(self, individual: int, name: str) -> dict[str, object]:
        computed = self.computed.cut(individual).speed()
        row: dict[str, object] = {
            "animal": name,
            "length_unit": self.computed.length_unit,
            "body_length": float(self.body_length[individual]),
            "body_length_is_fitted": self.is_fitted,
            "speed_computed": float(np.nanmean(computed)) if np.isfinite(computed).any() else float("nan"),
            "speed_correlation": float(self.speed_correlation[individual]),
        }
        if self.drag is not None:
            fit = self.drag.median_by_individual[individual]
            row |= {"drag_ratio": fit.estimate, "drag_low": fit.low, "drag_high": fit.high}
        return row


def body_lengths(model: BehaviourModel) -> tuple[FloatArray, bool]:
    """Give the body length of every individual in the unit of its measured path.

    Where it was not recorded it is fitted: the length at which computed and measured speeds over one second are equal,
    which is as accurate as the drag ratio.

    Returns
    -------
    lengths
        NaN where there is no measured path either.
    fitted
        Whether any of them was fitted.
    """
    measured = measured_path(model)
    if model.measured is None:
        return np.full(len(model.individuals), np.nan), False
    lengths = np.array(model.measured.body_length, dtype=float)
    missing = np.flatnonzero(~np.isfinite(lengths))
    if missing.size == 0 or measured is None:
        return lengths, False
    computed = propel(model.postures, model.drag_ratio, basis=model.body_basis(), scheme=model.scheme)
    for individual in missing:
        lengths[individual] = _matching_length(measured.cut(int(individual)), computed.cut(int(individual)))
    return lengths, True


def _matching_length(measured: Trajectory, computed: Trajectory) -> float:
    there, here = measured.speed(), computed.speed()
    known = np.isfinite(there) & np.isfinite(here)
    if not known.any():
        return float("nan")
    return float((there[known] @ here[known]) / (here[known] @ here[known]))


def measured_path(model: BehaviourModel) -> Trajectory | None:
    """Give the measured paths of a model's animals, in their own unit; None where there is none."""
    measured = model.measured
    if measured is None or not measured.has_path:
        return None
    return Trajectory.from_points(measured.centroid, model.postures, measured.length_unit or "mm")


def reconstruct_paths(
    model: BehaviourModel, settings: DragSettings | None = None, *, rng: Rng = 0, threads: int = 1
) -> Reconstruction:
    """Compute the paths of animals from their postures and compare them with the measured ones.

    Parameters
    ----------
    model
        With tangent angles.
    settings
        Of the fit of the drag ratio.
    rng, threads
        Random seed or generator of windows, and cores to use.
    """
    basis, measured = model.body_basis(), measured_path(model)
    lengths, is_fitted = body_lengths(model)
    lengths = np.where(np.isfinite(lengths) & (measured is not None), lengths, 1.0)
    computed = propel(
        model.postures,
        model.drag_ratio,
        lengths,
        measured.length_unit if measured is not None else "body lengths",
        basis=basis,
        scheme=model.scheme,
        threads=threads,
    )
    return Reconstruction(
        computed=computed,
        measured=measured,
        body_length=lengths,
        is_fitted=is_fitted,
        speed_correlation=_speed_correlations(computed, measured),
        drag=None if measured is None else _fitted_drag(model, measured, lengths, settings, rng),
    )


def _fitted_drag(
    model: BehaviourModel, measured: Trajectory, lengths: FloatArray, settings: DragSettings | None, rng: Rng
) -> DragFit | None:
    """Fit the drag ratio; None where no gap-free stretch is long enough."""
    try:
        return fit_drag_ratio(
            model.postures,
            measured.centroid,
            lengths,
            basis=model.body_basis(),
            settings=settings,
            rng=rng,
        )
    except InputFormatError:
        return None


def _speed_correlations(computed: Trajectory, measured: Trajectory | None) -> FloatArray:
    n = computed.segments.n_individuals
    correlations = np.full(n, np.nan)
    for k in range(n if measured is not None else 0):
        here, there = computed.cut(k).speed(), measured.cut(k).speed() if measured is not None else np.empty(0)
        known = np.isfinite(here) & np.isfinite(there)
        if known.sum() > 2 and np.ptp(here[known]) > 0 and np.ptp(there[known]) > 0:
            correlations[k] = np.corrcoef(here[known], there[known])[0, 1]
    return correlations


def measured_diffusion(found: Reconstruction) -> Diffusion | None:
    """Fit the diffusion coefficient of the measured paths; None where there are none, or they are short."""
    if found.measured is None:
        return None
    rate = found.measured.sampling.rate
    lags = np.unique(np.rint(paper_lags() * rate).astype(int)) / rate
    displacement = msd(found.measured, lags, across_gaps=True)
    known = np.isfinite(displacement.msd[:, displacement.lags <= 100]).any()
    return diffusion(displacement) if known else None
