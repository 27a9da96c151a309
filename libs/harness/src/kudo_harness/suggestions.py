"""Finds what was probably meant by a name that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_COMPARED: Final = 100
"""Characters of a name that are compared: the time grows with their number."""


def closest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most like another one; empty if none is alike."""
    return next(iter(get_close_matches(name[:_COMPARED], [*known], n=1)), "")
