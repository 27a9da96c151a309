"""Writes files whole: beside their place first, and renamed when everything is in them."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes, *, mode: int = 0o644) -> None:
    """Write a file, or leave what is there: nobody ever reads half of it.

    Raises:
        OSError: it cannot be written.
    """
    # In the same folder, because a rename to another file system is a copy.
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), mode)
            # Without it a crash of the machine could leave an empty file under the new name.
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
