"""Texts of packages, as notes and comments show them: one line, bounded, no control characters."""

import re
from typing import Final

_LONGEST: Final = 100
_API_VERSION: Final = re.compile(r"([a-z0-9][-a-z0-9.]{0,252}/)?v[a-z0-9]{1,30}")
_KIND: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}")


def plain(text: str, longest: int = _LONGEST) -> str:
    """Return the beginning of a text that anybody may have written."""
    begin = " ".join(text[: 4 * longest].split())
    line = "".join(c if c.isprintable() else "?" for c in begin)
    cut = len(line) > longest or len(text) > 4 * longest
    return f"{line[: longest - 1]}…" if cut else line


def is_kind(api_version: str, kind: str) -> bool:
    """Return whether a cluster can serve such a kind."""
    # Lengths come first: they bound how long the expressions can take.
    if len(api_version) > 300 or len(kind) > 100:
        return False
    return bool(_API_VERSION.fullmatch(api_version) and _KIND.fullmatch(kind))
