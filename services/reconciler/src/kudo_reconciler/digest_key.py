"""Reads the key for the digests of Secrets in Inventories."""

from pathlib import Path
from typing import Final

SHORTEST: Final = 32
"""Bytes of a key: as many as the digest that it is used with."""
_LONGEST: Final = 4096


def read_digest_key(path: Path) -> bytes | None:
    """Return the content of a file as it is; None if there is no file.

    A missing file is no error: the Secret that is mounted there may not exist yet.

    Raises:
        ValueError: it cannot be read, or is no key; the text has nothing of its content.
    """
    option = f"--digest-key-file: {path}"
    try:
        with path.open("rb") as file:
            key = file.read(_LONGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ValueError(f"{option}: {error.strerror}") from None
    if not SHORTEST <= len(key) <= _LONGEST:
        size = f"more than {_LONGEST}" if len(key) > _LONGEST else str(len(key))
        text = f"has {size} bytes, and a key has {SHORTEST} to {_LONGEST}"
        raise ValueError(f"{option} {text}; `openssl rand 32` prints one")
    return key
