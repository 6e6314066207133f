"""Numbers in sentences."""


def count_of(number: int, noun: str) -> str:
    """Write a number with its noun, in the plural where it needs one.

    Examples
    --------
    >>> count_of(1, "animal"), count_of(12000, "frame")
    ('1 animal', '12,000 frames')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
