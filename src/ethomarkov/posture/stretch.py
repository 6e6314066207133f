"""The longest gap-free stretch of postures, as an example of a recording."""

from ethomarkov._core.series import Series


def longest_animal(postures: Series) -> int:
    """Find the animal with the longest gap-free stretch."""
    segments = postures.segments
    return int(segments.bounds[segments.lengths.argmax(), 2])


def longest_stretch(postures: Series, individual: int | None = None) -> Series:
    """Select the longest gap-free stretch of one animal, or of all animals."""
    mine = postures.cut(longest_animal(postures) if individual is None else individual)
    start, stop, _ = mine.segments.bounds[mine.segments.lengths.argmax()]
    return Series.from_rows(mine.values[start:stop], mine.sampling)
