"""Seconds and frames: the one place where they are converted."""

import math
import numbers
from dataclasses import dataclass

from ethomarkov.exceptions import SamplingError

WHOLE_FRAME_TOLERANCE = 0.01
"""Of a frame: what rounding of a time written with a few digits may come to."""
SHOWN_DIGITS, ALL_DIGITS = 6, 17


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
    >>> Sampling(29.97).nearest_frames(10.0)
    300
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
        """Convert seconds to a whole number of frames, refusing what is not whole to 1 % of a frame.

        Parameters
        ----------
        duration
            Seconds between two frames that belong together, such as a lag.
        name
            What it is, for the error: "lag".

        Examples
        --------
        >>> Sampling(16.0).frames(3.03, "lag")
        Traceback (most recent call last):
        ethomarkov.exceptions.SamplingError: lag=3.03 s is 48.48 frames at 16 Hz; a whole number of at least one is \
needed. Use 3 s or 3.0625 s.
        """
        exact = self._exact_frames(duration, name)
        whole = round(exact)
        if whole < 1 or abs(exact - whole) > WHOLE_FRAME_TOLERANCE:
            near = dict.fromkeys(max(1, side(exact)) for side in (math.floor, math.ceil))
            raise SamplingError(
                f"{_named(duration, name)} is {exact:.9g} frames at {self.rate:g} Hz; a whole number of at least one "
                f"is needed. Use {' or '.join(f'{self._in_digits(n)} s' for n in near)}."
            )
        return whole

    def nearest_frames(self, duration: float, name: str = "") -> int:
        """Round seconds to the nearest number of frames, for durations that only bound something.

        Parameters
        ----------
        duration
            Seconds of a run, of a window, of the longest lag of a curve; never a lag itself, see `frames`.
        name
            What it is, for the error: "window".

        Examples
        --------
        >>> Sampling(16.0).nearest_frames(3.03)
        48
        """
        exact = self._exact_frames(duration, name)
        if round(exact) < 1:
            raise SamplingError(
                f"{_named(duration, name)} is {exact:.9g} frames at {self.rate:g} Hz; at least one is needed. "
                f"Use {self._in_digits(1)} s or more."
            )
        return round(exact)

    def seconds(self, n_frames: int) -> float:
        """Convert a number of frames to seconds."""
        return n_frames / self.rate

    def _exact_frames(self, duration: float, name: str) -> float:
        if not _is_number(duration) or not math.isfinite(duration * self.rate):
            raise SamplingError(f"{_named(duration, name)} is not a duration; a number of seconds is needed.")
        return float(duration) * self.rate

    def _in_digits(self, n_frames: int) -> str:
        """Write frames as seconds, with as many digits as it takes to be accepted again."""
        seconds = self.seconds(n_frames)
        texts = (f"{seconds:.{digits}g}" for digits in range(SHOWN_DIGITS, ALL_DIGITS))
        close = (text for text in texts if abs(float(text) * self.rate - n_frames) <= WHOLE_FRAME_TOLERANCE / 2)
        return next(close, repr(seconds))


def _named(duration: object, name: str) -> str:
    value = f"{duration:.9g} s" if _is_number(duration) else repr(duration)
    return f"{name}={value}" if name else value


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
