"""Seconds and frames: the one place where they are converted."""

import math
import numbers
from dataclasses import dataclass

from ethomarkov.exceptions import SamplingError

WHOLE_FRAME_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class Sampling:
    """A regular sampling of time.

    Parameters
    ----------
    rate
        Frames per second.

    Examples
    --------
    >>> Sampling(16.0).frames(0.75)
    12
    """

    rate: float

    def __post_init__(self) -> None:
        if not (_is_number(self.rate) and math.isfinite(self.rate) and self.rate > 0):
            raise SamplingError(
                f"The sampling rate is {self.rate!r}; it must be a positive number of frames per second. "
                "State it with sampling_rate= (or --rate on the command line)."
            )
        object.__setattr__(self, "rate", float(self.rate))

    @property
    def interval(self) -> float:
        """Seconds between two frames."""
        return 1.0 / self.rate

    def frames(self, duration: float, name: str = "") -> int:
        """Convert seconds to a whole number of frames, refusing what is not whole to 1 %.

        Parameters
        ----------
        duration
            Seconds.
        name
            What it is, for the error: "lag".
        """
        named = f"{name}={duration:g} s" if name else f"{duration:g} s"
        if not math.isfinite(duration):
            raise SamplingError(f"{named} is not a duration; a number of seconds is needed.")
        exact = duration * self.rate
        whole = round(exact)
        if whole < 1 or abs(exact - whole) > WHOLE_FRAME_TOLERANCE * max(exact, 1.0):
            low = max(1, math.floor(exact)) / self.rate
            high = max(1, math.ceil(exact)) / self.rate
            nearest = f"{low:g} s" if low == high else f"{low:g} s or {high:g} s"
            raise SamplingError(
                f"{named} is {exact:.3g} frames at {self.rate:g} Hz; a whole number of at least one "
                f"is needed. Use {nearest}."
            )
        return whole

    def seconds(self, n_frames: int) -> float:
        """Convert a number of frames to seconds."""
        return n_frames / self.rate


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
