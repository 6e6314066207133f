"""Files that appear whole or not at all."""

import contextlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

from ethomarkov.exceptions import OutputError


@contextlib.contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Give a temporary name beside `target`, and rename it when the writing succeeded.

    The temporary name keeps the target's ending, because writers choose their format by it. Several of these around one
    block of writing make files that appear together.
    """
    temporary = target.parent / f".{uuid.uuid4().hex[:12]}.{target.name}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        _settle(temporary)
        temporary.replace(target)
        _settle(target.parent)
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"{target}: cannot be written ({error.strerror or error}). Choose another place with --out, or free "
            "space and permissions there."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _settle(path: Path) -> None:
    """Wait until a file, or the names in a directory, are on the disk, so that not even a power cut undoes them."""
    with contextlib.suppress(OSError):  # some file systems cannot tell
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_writable(directory: Path) -> None:
    """Refuse a directory that cannot be made or written to, without leaving a trace."""
    existing = next(path for path in (directory, *directory.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise OutputError(
            f"{directory}: results cannot be written there ({error.strerror}). Choose another directory with --out."
        ) from error
