"""The data ledger: what was lost at each step, per animal, and why."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ethomarkov._core.result import Result
from ethomarkov._core.types import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(Result):
    """What one step did to one animal.

    Parameters
    ----------
    step
        The step of the study: "reading", "recording", "embedding", "transitions" …
    individual
        Name of the animal.
    unit
        What is counted: "animals", "frames", "windows", "transitions" or "states".
    before, after
        Count that entered and that left the step.
    reason
        Why the difference was lost.
    """

    step: str
    individual: str
    unit: str
    before: int
    after: int
    reason: str

    @property
    def lost(self) -> int:
        """How many were lost."""
        return self.before - self.after


@dataclass(frozen=True, slots=True)
class Ledger(Result):
    """All entries of a study, in the order of its steps.

    Parameters
    ----------
    entries
        What each step did to each animal.
    """

    entries: tuple[LedgerEntry, ...] = ()

    def note(
        self,
        step: str,
        individuals: Sequence[str],
        unit: str,
        before: IntArray,
        after: IntArray,
        *,
        reason: str,
    ) -> "Ledger":
        """Add one entry per animal and return the longer ledger."""
        added = (
            LedgerEntry(step=step, individual=name, unit=unit, before=int(b), after=int(a), reason=reason)
            for name, b, a in zip(individuals, before, after, strict=True)
        )
        return Ledger((*self.entries, *added))

    def extend(self, entries: Iterable[LedgerEntry]) -> "Ledger":
        """Add entries and return the longer ledger."""
        return Ledger((*self.entries, *entries))

    def totals(self) -> "tuple[LedgerEntry, ...]":
        """Sum over animals, step by step."""
        sums: dict[tuple[str, str, str], list[int]] = {}
        for entry in self.entries:
            row = sums.setdefault((entry.step, entry.unit, entry.reason), [0, 0])
            row[0] += entry.before
            row[1] += entry.after
        return tuple(
            LedgerEntry(step=step, individual="all", unit=unit, before=b, after=a, reason=reason)
            for (step, unit, reason), (b, a) in sums.items()
        )
