import pickle

import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.readers.plain_pickle import read_plain_pickle

PLAIN = [
    None,
    True,
    -3,
    10**30,
    2.5,
    "Schnauze ü",
    [],
    (),
    {},
    ("a",),
    ("a", 1),
    ("a", 1, None),
    ("a", "b", "c", "d"),
    [("DLC", "m1", "nose", "x"), ("DLC", "m1", "nose", "y")],
    [(1, [("DLC", "nose", "x")])],
    {1: {"names": ["scorer", "bodyparts", "coords"], "type": "MultiIndex"}, "index": {}},
]


class Danger:
    def __reduce__(self):
        return (eval, ("1/0",))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_of_every_protocol(value, protocol):
    assert read_plain_pickle(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("value", [Danger(), print, [Danger()], {1, 2}, b"\xff", complex(1, 2), object])
def test_anything_else_is_refused(value, protocol):
    with pytest.raises(InputFormatError, match="could run code"):
        read_plain_pickle(pickle.dumps(value, protocol))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"rubbish",
        b".",
        b"(lp0\n",
        b"g7\n.",
        b"t.",
        b"a.",
        b"Va\nVb\n.",
        b"(Va\nd.",
        b"(lI1\nd.",
        b"L" + b"9" * 5000 + b"L\n.",
    ],
)
def test_damaged_ones_are_told(data):
    with pytest.raises(InputFormatError, match=r"damaged|could run code"):
        read_plain_pickle(data)


def test_a_list_within_itself_ends():
    value = read_plain_pickle(b"(lp0\ng0\na.")
    assert value[0] is value
