"""Facts about a recording that its file does not hold."""

from dataclasses import dataclass

from ethomarkov._core.sampling import Sampling
from ethomarkov.exceptions import InputFormatError


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Facts about a recording that some formats do not hold.

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
    view
        Camera or view to read where a file holds several.
    untracked
        Take instances that no track holds together as animals of their own, one per place in the frame.
    min_frames
        Animals with fewer complete frames are left out.
    min_share
        Animals with a smaller share of complete frames are left out.

    Examples
    --------
    >>> ReadOptions(sampling_rate=30.0, min_frames=100).min_confidence
    0.6
    """

    sampling_rate: float | None = None
    min_confidence: float = 0.6
    keypoints: tuple[str, ...] | None = None
    as_centerline: bool = False
    view: str | None = None
    untracked: bool = False
    min_frames: int = 0
    min_share: float = 0.0

    def __post_init__(self) -> None:
        if self.sampling_rate is not None:
            Sampling(self.sampling_rate)
        for name, what in (("min_confidence", "likelihood"), ("min_share", "share")):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise InputFormatError(f"{name} is {value!r}; it is a {what}, so a number from 0 to 1 is needed.")
        if self.min_frames < 0:
            raise InputFormatError(f"min_frames is {self.min_frames!r}; a number of frames from 0 upwards is needed.")
