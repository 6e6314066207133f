"""From posture sequences to symbols."""

from ethomarkov._core.series import Series
from ethomarkov.states.delays import DelayEmbedding
from ethomarkov.states.partition import Microstates, Partition
from ethomarkov.states.symbols import Symbols

__all__ = ["DelayEmbedding", "Microstates", "Partition", "Series", "Symbols"]
