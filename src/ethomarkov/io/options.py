"""What a user may have to add to a file for it to be understood."""

from dataclasses import dataclass

from ethomarkov._core.sampling import Sampling
from ethomarkov.exceptions import InputFormatError


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Facts that some formats do not hold.

    Parameters
    ----------
    sampling_rate
        Frames per second; overrides the file's own.
    min_confidence
        Keypoints with a lower likelihood are missing.
    keypoints
        Names of the keypoints to keep, in this order.
    as_centerline
        Take the keypoints, in order, as points along the body from head to tail.
    """

    sampling_rate: float | None = None
    min_confidence: float = 0.6
    keypoints: tuple[str, ...] | None = None
    as_centerline: bool = False

    def __post_init__(self) -> None:
        if self.sampling_rate is not None:
            Sampling(self.sampling_rate)
        if not 0 <= self.min_confidence <= 1:
            raise InputFormatError(
                f"min_confidence is {self.min_confidence!r}; it is a likelihood, so a number from 0 to 1 is needed."
            )
