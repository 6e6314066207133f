"""Published values of the paper: from its text, its plots (read off by pixel), and calculated from its tables.

The values stand in ``published.toml``, and nowhere else.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

Source = Literal["printed", "plot", "calculated", "truth"]
Spread = Literal["95 % of means", "95 % of events", "95 % of runs", "range over worms", "reading error", "rounding"]

N_WORMS = 12
NORMAL = 1.96
MIDDLE = 0.41
"""Half-width of the 95 % interval of the median of twelve normal values, in distances from the median to an end of
their range: 1.96 · 0.343 / 1.629."""
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """One figure of the paper.

    Parameters
    ----------
    key
        Name of the figure in tables.
    section
        Section of the scoreboard.
    what
        The quantity, in words.
    unit
        Unit of the figure.
    value
        The published figure.
    low, high
        Limits of the figure.
    spread
        What the limits are: of the mean over worms, or over events (dwell times, windows, pairs of frames), which say
        nothing of how worms differ; of single runs; of single worms; how well a plot could be read; or how the figure
        was rounded.
    source
        Printed in the paper or its notebooks, read off a plot, calculated from its tables, or the truth of synthetic
        worms.
    how
        How we compute ours, where it differs from the paper's way.
    worms
        Least and largest value of single worms, where they were published.
    of_worms
        How many worms the figure describes: twelve, or one.
    pooled
        Whether it rests on the one partition of all twelve worms. As many microstates for fewer worms are visited more
        rarely, which lengthens all relaxation times, those of shuffled state sequences too; so fewer worms
        cannot tell.
    """

    key: str
    section: str
    what: str
    unit: str = ""
    value: float
    low: float
    high: float
    spread: Spread
    source: Source
    how: str = ""
    worms: tuple[float, float] | None = None
    of_worms: int = N_WORMS
    pooled: bool = False

    def limits_of(self, n_worms: int) -> tuple[float, float] | None:
        """Between which the mean of so many worms is expected, from the spread of single ones, published or implied.

        Parameters
        ----------
        n_worms
            Worms of which the mean is taken; their mean spreads less than they do, by the root of their number.
        """
        (low, high), wider = self.worms or (self.low, self.high), 1 / math.sqrt(n_worms)
        if self.worms is None and self.spread != "range over worms":
            if self.spread != "95 % of means" or self.of_worms != N_WORMS:
                return None
            wider = math.sqrt(N_WORMS / n_worms)
        return self.value - wider * (self.value - low), self.value + wider * (high - self.value)

    def reach(self, estimate: float) -> float | None:
        """Half-width of the 95 % interval of the figure, on the side of our estimate; None where it has no interval."""
        side = self.high - self.value if estimate > self.value else self.value - self.low
        if self.spread in ("95 % of means", "95 % of events"):
            return side
        return MIDDLE * side if self.spread == "range over worms" else None

    def gap(self, estimate: float) -> float:
        """Give the distance of our estimate from the figure, or from what it may be as it was read or rounded."""
        is_bounded = self.spread in ("reading error", "rounding")
        nearest = min(max(estimate, self.low), self.high) if is_bounded else self.value
        gap = abs(estimate - nearest)
        return gap if gap > ROUNDING * abs(self.value) else 0.0


def published_figures(worms: Sequence[int] = range(N_WORMS)) -> tuple[Published, ...]:
    """List every published figure that this package computes.

    Parameters
    ----------
    worms
        Numbers of the paper's worms whose own figures are wanted.
    """
    by_worm: dict[int | None, list[Published]] = {}
    for figure in read_published():
        by_worm.setdefault(_worm_of(figure), []).append(figure)
    return (*by_worm[None], *(figure for worm in worms for figure in by_worm[worm]))


@cache
def read_published() -> tuple[Published, ...]:
    """Read all figures in the order of the data file, which has those of single worms by quantity."""
    text = resources.files("ethomarkov.paper").joinpath("published.toml").read_text(encoding="utf-8")
    figures: list[Published] = []
    for group in tomllib.loads(text)["group"]:
        shared = {name: value for name, value in group.items() if name != "figures"}
        figures += [_figure(shared | row) for row in group["figures"]]
    return tuple(figures)


def _figure(entry: Mapping[str, Any]) -> Published:
    """Make a figure of its entry in the data file, with limits from its error where none are given."""
    fields, value = dict(entry), entry["value"]
    if "low" not in fields:
        half = _half_width(fields)
        fields |= {"low": value - half, "high": value + half}
    if "worms" in fields:
        fields["worms"] = tuple(fields["worms"])
    return Published(**fields)


def _half_width(fields: dict[str, Any]) -> float:
    """Take the error out of the fields of a figure, whichever way it is stated; give half the width of its limits."""
    half: float
    if "sd" in fields:
        half = NORMAL * fields.pop("sd") / math.sqrt(N_WORMS)
    elif "relative_error" in fields:
        half = fields.pop("relative_error") * fields["value"]
    else:
        half = fields.pop("error")
    return half


def _worm_of(figure: Published) -> int | None:
    """Tell of which single worm a figure is; None for one of all worms."""
    match = re.match(r"worm (\d+) ", figure.key)
    return int(match[1]) if match else None


def _in_keys(pattern: str) -> Iterator[str]:
    """Give what a pattern captures in the keys of all figures: the conditions that figures were published for."""
    matches = (re.fullmatch(pattern, figure.key) for figure in read_published())
    return (match[1] for match in matches if match)


# What was published sets what is computed: the keys name the conditions, so that no condition is written twice.
ENTROPY_RATES = tuple(
    (int(n_delays), int(n_states))
    for n_delays, n_states in (pair.split(" N=") for pair in _in_keys(r"entropy rate K=(\d+ N=\d+)"))
)
"""Frames per sequence K and microstates N of the entropy rates."""
GAINS = tuple(int(n_delays) for n_delays in _in_keys(r"gain K=(\d+)"))
"""Frames per sequence K of the falls of the entropy rate from K to K + 1."""
EXPONENTS = tuple(int(seconds) for seconds in _in_keys(r"exponent at (\d+) s"))
"""Lags, in seconds, of the mean local exponents of the squared displacement."""
MSD_LAGS = tuple(float(seconds) for seconds in _in_keys(r"worm 0 MSD (\S+) s"))
"""Lags, in seconds, of the squared displacements of single worms."""
RADII = tuple(float(radius) for radius in _in_keys(r"food of the average worm at (\S+) L"))
"""Distances, in body lengths, of the probabilities to find food."""
WAVELENGTHS = tuple(_in_keys(r"wavelength of (.+)"))
"""States with a median wavelength."""
