"""Writes files whole or not at all."""

import os
from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file beside its place and rename it, so that no reader ever sees half of it.

    A file that exists keeps its mode.

    Raises:
        OSError: it cannot be written; then nothing has changed.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    mode = path.stat().st_mode & 0o777 if path.exists() else None
    # O_EXCL: a link that somebody put there is not followed.
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        if mode is not None:
            beside.chmod(mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
