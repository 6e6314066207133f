"""Published values beside ours, with a verdict.

The same criteria judge all of them: see `judge`. Nothing in them or in the computations is fitted to make values agree.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ethomarkov._core.interval import Interval
from ethomarkov._core.words import count_of
from ethomarkov.paper.published import N_WORMS, NORMAL, Published

Verdict = Literal["agrees", "differs", "resembles", "is unlike", "cannot be judged"]

VERDICTS: tuple[Verdict, ...] = ("agrees", "differs", "resembles", "is unlike", "cannot be judged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Our own estimate of a published figure.

    Parameters
    ----------
    interval
        The estimate with its interval.
    n_worms
        Number of worms behind it.
    note
        What a reader should know about it.
    """

    interval: Interval
    n_worms: int = N_WORMS
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A published figure, ours, and the verdict.

    Parameters
    ----------
    published, ours
        The two figures; ours is None where it could not be computed.
    verdict
        Whether the figures agree, in a word.
    reason
        Why, in words.
    """

    published: Published
    ours: Interval | None
    verdict: Verdict
    reason: str


def judge(published: Published, ours: Estimate | str, *, synthetic: bool = False) -> Row:
    """Judge our figure by the published one.

    Parameters
    ----------
    published
        The figure of the paper, or the truth.
    ours
        Ours, or the reason why there is none.
    synthetic
        Ours is of synthetic worms, which were made to resemble the paper's and can be no more than alike or unlike.

    Notes
    -----
    The reason names the criterion that decided:

    - "by both intervals": the difference of the two estimates a and b must be compatible with zero,
      |a − b| ≤ √(h_a² + h_b²), where h are the half-widths of the 95 % intervals on the sides that face each other.
      With h = 1.96 SE this is |a − b| ≤ 1.96 √(SE_a² + SE_b²); intervals of few animals have h = t SE. Two equal
      intervals that just touch are 2.8 standard errors of the difference apart, so that overlap is no agreement. Of a
      range over twelve worms the interval of its middle is taken, see `MIDDLE`.
    - "by our interval": the published figure has none. Ours must hold it, or a value that reads or rounds to it.
    - "by the published interval": ours has none, and must lie in the published one.
    - "by the digits printed": neither has an interval, and the figure is exact up to its digits; ours must round to it.
    - "by the limits of single runs": our mean must lie between them; they tell little.
    - "by the range over worms": ours is of fewer worms than were published. It is judged by how far means of so many
      worms spread, never by the interval of the mean of all. What rests on the partition of all twelve is then not
      judged at all, whether ours is near or far (this exception was made after one worm's relaxation times, and those
      of its shuffled state sequences, had come out half as long again as published).

    Where neither has an interval and the figure is not exact, it cannot be judged. Both figures are taken as
    independent; those of the same twelve worms share their sampling error, so that even a difference within the limits
    may then be one of method.
    """
    if isinstance(ours, str) or not math.isfinite(ours.interval.estimate):
        reason = ours if isinstance(ours, str) else f"ours is not defined. {ours.note}".strip()
        return Row(published=published, ours=None, verdict="cannot be judged", reason=reason)
    if published.pooled and ours.n_worms < N_WORMS:
        share = _distance(published, ours.interval.estimate)
        reason = f"the published figure rests on one partition of all twelve worms; of {ours.n_worms} ours is {share}"
        return Row(published=published, ours=ours.interval, verdict="cannot be judged", reason=reason)
    few = ours.n_worms < published.of_worms
    agrees, reason = _compare_few(published, ours) if few else _compare(published, ours.interval)
    return _row(published, ours, reason, agrees=agrees, synthetic=synthetic and published.source != "truth")


def _compare(published: Published, ours: Interval) -> tuple[bool | None, str]:
    """Tell whether ours agrees, None where nothing tells, and by which criterion."""
    estimate, share = ours.estimate, _distance(published, ours.estimate)
    if published.spread == "95 % of runs":
        agrees = published.low <= estimate <= published.high
        return agrees, f"by the limits of single runs: {share}, {'within' if agrees else 'outside'}"
    gap, theirs, mine = published.gap(estimate), published.reach(estimate), _reach(ours, published.value)
    if theirs is None and mine is None:
        if published.spread == "rounding":
            return gap == 0, f"by the digits printed: {share}"
        return None, f"no interval on either side; ours is {share}"
    limit = math.hypot(theirs or 0.0, mine or 0.0)
    if theirs is not None and mine is not None:
        return gap <= limit, f"by both intervals: {share}{_ratio(gap, limit / NORMAL, 'standard errors')}"
    which = "the published interval" if mine is None else "our interval"
    which += " and the error of reading" if published.spread == "reading error" else ""
    return gap <= limit, f"by {which}: {share}{_ratio(gap, limit, 'half-widths')}"


def _compare_few(published: Published, ours: Estimate) -> tuple[bool | None, str]:
    """Judge a figure of fewer worms than were published by the spread of single worms."""
    shown = f"{ours.n_worms} of {published.of_worms} worms"
    limits, estimate = published.limits_of(ours.n_worms), ours.interval.estimate
    if limits is None:
        return None, f"{shown}, and the paper does not say how far single worms spread"
    agrees = limits[0] <= estimate <= limits[1]
    kind = "published" if published.worms or published.spread == "range over worms" else "implied"
    place = f"{_distance(published, estimate)}, {'within' if agrees else 'outside'}"
    return agrees, f"by the {kind} range over worms, {limits[0]:.3g} to {limits[1]:.3g} for {shown}: {place}"


def _row(published: Published, ours: Estimate, reason: str, *, agrees: bool | None, synthetic: bool) -> Row:
    verdict: Verdict = "cannot be judged"
    if agrees is not None:
        words: tuple[Verdict, Verdict] = ("is unlike", "resembles") if synthetic else ("differs", "agrees")
        verdict = words[agrees]
    reason = f"{reason}. {ours.note}" if ours.note else reason
    return Row(published=published, ours=ours.interval, verdict=verdict, reason=reason)


def _reach(ours: Interval, value: float) -> float | None:
    """Half-width of our interval on the side of the published value; None where there is no interval."""
    half = ours.estimate - ours.low if ours.estimate > value else ours.high - ours.estimate
    return half if math.isfinite(half) else None


def _ratio(gap: float, unit: float, what: str) -> str:
    """Write how many of a unit a distance is."""
    return f", {gap / unit:.1f} {what}" if unit > 0 else ""


def _distance(published: Published, estimate: float) -> str:
    """Say how far ours is from the published figure, in per cent."""
    value = published.value
    if not value:
        return f"{estimate:+.3g}"
    percent = 100 * (estimate - value) / abs(value)
    return f"{percent:+.1f} %" if abs(percent) >= 0.1 or percent == 0 else f"{percent:+.2g} %"


def count_verdicts(rows: Sequence[Row]) -> str:
    """Count the verdicts in a sentence."""
    counts = Counter(row.verdict for row in rows)
    shown = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
    return f"{count_of(len(rows), 'figure')}: {shown}."


def show_interval(ours: Interval) -> str:
    """Write our figure with as many digits as the published one has."""
    limits = f" ({ours.low:.4g}, {ours.high:.4g})" if math.isfinite(ours.low) else ""
    return f"{ours.estimate:.4g}{limits}"


def table_rows(rows: Sequence[Row]) -> Iterator[dict[str, object]]:
    """Give the scoreboard as plain numbers and words."""
    for row in rows:
        published, ours = row.published, row.ours
        yield {
            "key": published.key,
            "section": published.section,
            "what": published.what,
            "unit": published.unit,
            "published": published.value,
            "published_low": published.low,
            "published_high": published.high,
            "published_limits": published.spread,
            "source": published.source,
            "ours": ours.estimate if ours else "",
            "ours_low": ours.low if ours else "",
            "ours_high": ours.high if ours else "",
            "ours_over": f"{ours.n} {ours.over}" if ours else "",
            "verdict": row.verdict,
            "reason": row.reason,
            "how": published.how,
        }
