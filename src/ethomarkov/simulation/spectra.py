"""Power spectra of postures, in which joints between simulated sequences would be visible."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ethomarkov._core.result import Result, array_field, freeze_arrays
from ethomarkov._core.series import Series
from ethomarkov._core.types import FloatArray
from ethomarkov.exceptions import SamplingError
from ethomarkov.simulation.animal import MarkovAnimal
from ethomarkov.simulation.postures import UnfoldMethod

SPECTRUM_SECONDS, N_RUNS = 600.0, 4
UNFOLDINGS: Mapping[str, UnfoldMethod] = {"matched": "matched", "as published": "paper"}
"""Methods of unfolding by their names in figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PostureSpectrum(Result):
    """Power spectra of the modes and of the speed of posture.

    Parameters
    ----------
    frequency
        Hertz.
    modes
        Density, squared unit of the modes per hertz.
    speed
        The same of the distance between successive postures per second.
    """

    frequency: FloatArray = array_field("frequency", unit="Hz")
    modes: FloatArray = array_field("component", "frequency", unit="1/Hz")
    speed: FloatArray = array_field("frequency", unit="1/(s^2 Hz)")

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def from_postures(cls, postures: Series, segment: float = 30.0) -> "PostureSpectrum":
        """Estimate the spectra of all modes and of the speed; see `welch_spectrum`."""
        modes = [welch_spectrum(postures, component, segment) for component in range(postures.n_components)]
        frequency, speed = welch_spectrum(posture_speed(postures), 0, segment)
        return cls(frequency=frequency, modes=np.array([power for _, power in modes]), speed=speed)


def unfolding_spectra(animal: MarkovAnimal, postures: Series, seed: int) -> Mapping[str, PostureSpectrum]:
    """Estimate the spectra of an animal, and of simulated runs by both methods of unfolding.

    Parameters
    ----------
    animal
        The model.
    postures
        Of the animal itself.
    seed
        Random seed of the runs.
    """
    runs = {
        name: next(animal.behave(SPECTRUM_SECONDS, N_RUNS, method=method, rng=seed))
        for name, method in UNFOLDINGS.items()
    }
    return {name: PostureSpectrum.from_postures(rows) for name, rows in ({"data": postures} | runs).items()}


def posture_speed(postures: Series) -> Series:
    """Compute the speed of posture change: distance between successive frames per second, at the first of them."""
    first, last = postures.segments.pairs(1)
    speed = np.full((len(postures.values), 1), np.nan)
    step = postures.values[last].astype(float) - postures.values[first]
    speed[first, 0] = np.linalg.norm(step, axis=1) * postures.sampling.rate
    return postures.with_rows(speed)


def welch_spectrum(series: Series, component: int, segment: float = 30.0) -> tuple[FloatArray, FloatArray]:
    """Estimate the power spectrum of one component, over all gap-free stretches of all animals.

    Parameters
    ----------
    series
        Rows in time.
    component
        Which column.
    segment
        Seconds per Hann-windowed segment, half overlapping; the mean of each is removed.

    Returns
    -------
    frequency
        Hertz.
    power
        Density, squared unit of the component per hertz.
    """
    from scipy.signal import periodogram

    length = series.sampling.nearest_frames(segment, "segment")
    starts = [np.arange(start, stop - length + 1, max(1, length // 2)) for start, stop, _ in series.segments]
    rows = np.concatenate([np.empty(0, dtype=np.int64), *starts])
    if rows.size == 0:
        raise SamplingError(
            f"segment={segment:g} s is longer than the longest gap-free stretch, "
            f"{series.sampling.seconds(series.segments.longest()):g} s. Use a shorter segment."
        )
    pieces = series.values[rows[:, None] + np.arange(length), component].astype(float)
    frequency, power = periodogram(pieces, series.sampling.rate, "hann", detrend="constant")
    return frequency, power.mean(axis=0)
