"""Files that appear whole or not at all."""

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path

from ethomarkov.exceptions import OutputError


@contextlib.contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Give a temporary name beside `target`, and rename it when the writing succeeded.

    The temporary name keeps the target's ending, because writers choose their format by it.
    """
    temporary = target.parent / f".{uuid.uuid4().hex[:12]}.{target.name}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"{target}: cannot be written ({error.strerror or error}). Choose another place with --out, or free "
            "space and permissions there."
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
