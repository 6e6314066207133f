"""What was lost, and why."""

import numpy as np
import pytest

from ethomarkov._core.ledger import Ledger, LedgerEntry


def entry(**changes):
    fields = {"step": "recording", "individual": "a", "unit": "frames", "before": 10, "after": 7, "reason": "gap"}
    return LedgerEntry(**(fields | changes))


def test_lost_is_the_difference():
    assert entry().lost == 3
    assert entry(after=10).lost == 0


def test_note_adds_one_entry_per_animal_and_leaves_the_old_ledger():
    empty = Ledger()
    book = empty.note("recording", ("a", "b"), "frames", np.array([10, 20]), np.array([7, 20]), reason="gap")
    assert empty.entries == ()
    assert book.entries == (entry(), entry(individual="b", before=20, after=20))
    assert all(type(one.before) is int for one in book.entries)


def test_counts_must_match_the_animals():
    with pytest.raises(ValueError, match="shorter"):
        Ledger().note("recording", ("a", "b"), "frames", np.array([1, 2]), np.array([1]), reason="gap")


def test_extend_keeps_the_order():
    later = entry(step="embedding")
    assert Ledger((entry(),)).extend([later]).entries == (entry(), later)


def test_totals_sum_over_animals_step_by_step():
    book = Ledger().note("recording", ("a", "b"), "frames", np.array([10, 20]), np.array([7, 18]), reason="gap")
    book = book.note("embedding", ("a", "b"), "windows", np.array([7, 18]), np.array([0, 8]), reason="too short")
    book = book.note("recording", ("c",), "frames", np.array([5]), np.array([5]), reason="gap")
    assert book.totals() == (
        entry(individual="all", before=35, after=30),
        entry(step="embedding", individual="all", unit="windows", before=25, after=8, reason="too short"),
    )
    assert Ledger().totals() == ()
