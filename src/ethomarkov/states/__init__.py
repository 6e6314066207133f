"""From posture sequences to symbols."""

from ethomarkov.states.delays import DelayEmbedding
from ethomarkov.states.partition import Partition
from ethomarkov.states.symbols import Symbols

__all__ = ["DelayEmbedding", "Partition", "Symbols"]
