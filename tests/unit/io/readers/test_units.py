"""Units as WCON writes them."""

import pytest

from ethomarkov.exceptions import InputFormatError
from ethomarkov.io.readers.units import parse_unit


@pytest.mark.parametrize(
    ("text", "dimension", "size"),
    [
        ("s", "time", 1),
        ("ms", "time", 1e-3),
        ("msec", "time", 1e-3),
        ("milliseconds", "time", 1e-3),
        ("min", "time", 60),
        ("hours", "time", 3600),
        ("7*day", "time", 7 * 86400),
        ("0.04*s", "time", 0.04),
        ("s/25", "time", 0.04),
        ("1/25*s", "time", 0.04),
        ("mm", "length", 1),
        ("m", "length", 1000),
        ("micrometers", "length", 1e-3),
        ("microns", "length", 1e-3),
        ("um", "length", 1e-3),
        ("\u00b5m", "length", 1e-3),
        ("\u03bcm", "length", 1e-3),
        ("in/72", "length", 25.4 / 72),
        ("12 * inch", "length", 12 * 25.4),
        ("1e-3*m", "length", 1),
        # what the test files of the standard use, beside the above
        ("sec", "time", 1),
        ("cs", "time", 1e-2),
        ("centisecond", "time", 1e-2),
        ("s/100", "time", 1e-2),
        ("Gs", "time", 1e9),
        ("kiloseconds", "time", 1e3),
        ("h", "time", 3600),
        ("hr", "time", 3600),
        ("minutes", "time", 60),
        ("d", "time", 86400),
        ("ft", "length", 304.8),
        ("foot", "length", 304.8),
        ("feet", "length", 304.8),
        ("inches", "length", 25.4),
        ("mm/1000", "length", 1e-3),
        ("m*1e-6", "length", 1e-3),
        ("megametre", "length", 1e9),
        ("Km", "length", 1e6),
        ("50*%*cm", "length", 5),
        ("mm^2/(10*mm)", "length", 0.1),
        ("(mm^2)/(mm)", "length", 1),
        ("1/(1/s)", "time", 1),
        ("mm^-1*mm^2", "length", 1),
        ("s^2/min", "time", 1 / 60),
    ],
)
def test_understands_units(text, dimension, size):
    assert parse_unit(text, dimension) == pytest.approx(size)


@pytest.mark.parametrize("text", ["(" * 99 + "s", "(" * 5000, "s*" * 3000 + "s", "9" * 5000 + "*s"])
def test_long_units_are_cut_in_the_message(text):
    with pytest.raises(InputFormatError, match="is not a unit of time") as caught:
        parse_unit(text, "time")
    assert len(str(caught.value)) < 400
