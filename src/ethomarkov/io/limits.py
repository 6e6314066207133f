"""What a file of somebody else may ask for: to be a file at all, and no more memory than it could fill."""

import math
import stat
from collections.abc import Iterable
from pathlib import Path

from ethomarkov.exceptions import InputFormatError

MEGABYTE = 2**20
FREE_BYTES = 256 * MEGABYTE
BYTES_PER_BYTE = 20
"""Arrays may unpack to this many bytes per byte of their file, beyond the free ones."""
FLOAT_BYTES = 8
"""Numbers of fewer bytes take this many at some time on their way into a recording."""

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def check_regular(path: str | Path) -> None:
    """Refuse what is not a regular file, without opening it: a pipe or a device may never end.

    Parameters
    ----------
    path
        As the user named it; links are followed.
    """
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError as error:
        where = "is a link to a file that is not there." if Path(path).is_symlink() else "no such file."
        raise InputFormatError(f"{path}: {where} Check the path.") from error
    except (OSError, ValueError) as error:  # a link to itself, a name too long, a folder that is closed
        raise InputFormatError(f"{path}: cannot be read ({_reason(error)}). Check the path.") from error
    if stat.S_ISDIR(mode):
        raise InputFormatError(f"{path}: is a directory; name the files in it.")
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise InputFormatError(f"{path}: is {kind}, not a file. Copy what it gives into a file, and name that.")


def check_declared(what: str, declared: int, file_bytes: int) -> None:
    """Refuse arrays that declare far more bytes than their file can hold, before room is made for them.

    Parameters
    ----------
    what
        The array, or all of them, in words.
    declared
        Bytes that they would take, as from `array_bytes`.
    file_bytes
        Size of the file.
    """
    allowed = FREE_BYTES + BYTES_PER_BYTE * file_bytes
    if declared > allowed:
        raise InputFormatError(
            f"{what} needs {declared / MEGABYTE:,.0f} MB, more than the {allowed / MEGABYTE:,.0f} MB that a file "
            "of this size is given. It is damaged, or packed beyond use; save it again with weaker compression."
        )


def array_bytes(shape: Iterable[int], item_bytes: int) -> int:
    """Tell how many bytes an array takes once its numbers are floats, by what it declares."""
    return math.prod(int(extent) for extent in shape) * max(item_bytes, FLOAT_BYTES)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
