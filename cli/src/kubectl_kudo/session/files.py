"""Writes files whole or not at all."""

import os
from pathlib import Path


def write_file(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write a file beside its place and rename it, so that no reader ever sees half of it.

    Args:
        path: Where.
        content: What.
        mode: Permissions; None for those of the file that it replaces, or the usual ones.

    Raises:
        OSError: it cannot be written; then nothing has changed.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    if mode is None and path.exists():
        mode = path.stat().st_mode & 0o777
    # O_EXCL: a link that somebody put there is not followed.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    descriptor = os.open(beside, flags, 0o666 if mode is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            # Without it a crash of the machine could leave an empty file under the name.
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
