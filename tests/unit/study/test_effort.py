"""How much is simulated where nobody said it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethomarkov.study.effort import CORE_SECONDS, affordable_runs

LIMITS = {"least": 20, "most": 1000}


@pytest.mark.parametrize(
    ("seconds", "runs"),
    [(0.0, 1000), (0.12, 1000), (0.1201, 500), (0.24, 500), (0.25, 200), (0.6, 200), (1.2, 100), (2.4, 50), (2.5, 20)],
)
def test_round_numbers_within_a_minute_of_two_cores(seconds, runs):
    assert affordable_runs(seconds, **LIMITS) == runs


@given(st.floats(0, 1e9))
def test_never_more_than_is_affordable_nor_less_than_is_needed(seconds):
    runs = affordable_runs(seconds, **LIMITS)
    assert 20 <= runs <= 1000
    assert runs == 20 or runs * seconds <= CORE_SECONDS * (1 + 1e-6)


@given(st.floats(1e-6, 1e6), st.floats(1, 100))
def test_longer_runs_are_no_more(seconds, factor):
    assert affordable_runs(seconds * factor, **LIMITS) <= affordable_runs(seconds, **LIMITS)
