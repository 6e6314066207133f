"""Files that appear whole or not at all."""

import contextlib
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
        temporary.replace(target)
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
