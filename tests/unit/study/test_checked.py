"""Mistakes in settings: errors of the package, one message for all of them."""

import pickle

import pytest

from ethomarkov.exceptions import EthomarkovError, InputFormatError, SettingsError
from ethomarkov.study import Settings
from ethomarkov.study.checked import show_value
from ethomarkov.study.settings import CompleteSettings


def test_all_mistakes_are_told_at_once():
    with pytest.raises(EthomarkovError) as caught:
        Settings(n_delays=11, n_states=0, lag=-1, n_delay=3, names={"run": 1})
    assert isinstance(caught.value, (SettingsError, InputFormatError))
    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == (
        "n_states is 0: Input should be greater than or equal to 2; lag is -1: Input should be greater than 0; "
        "names.run is 1: Input should be a valid string; there is no setting 'n_delay'; did you mean n_delays?. "
        "Correct it, or leave it out."
    )


def test_json_that_is_none():
    with pytest.raises(SettingsError, match="Invalid JSON"):
        CompleteSettings.model_validate_json("{")


def test_settings_travel_between_processes():
    settings = Settings(lag=1.0, names={"a": "b"})
    assert pickle.loads(pickle.dumps(settings)) == settings


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (3, "3"),
        (-0.5, "-0.5"),
        ("word", "word"),
        (10**5000, "a number of 5000 digits"),
        ([10**5000], "[a number of 5000 digits]"),
        ("x" * 1000, "x" * 80 + "…"),
    ],
    ids=["int", "float", "word", "digits", "in a list", "long"],
)
def test_a_message_holds_any_value(value, shown):
    assert show_value(value) == shown


def test_a_message_holds_any_depth():
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert show_value(deep) == "[[[[...]]]]"
