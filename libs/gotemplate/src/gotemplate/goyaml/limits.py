"""Bounds on what is read and written, because the texts come from others."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a document may be.

    Attributes:
        size: Characters (bytes, where bytes are read) of the text.
        depth: Mappings and sequences inside each other, aliases followed.
        nodes: Scalars, mappings and sequences in all documents of the text, aliases followed.
        aliased: Characters and nodes that aliases repeat, so that a small text cannot stand for
            a huge value.
    """

    size: int = 8 * 1024 * 1024
    depth: int = 100
    nodes: int = 400_000
    aliased: int = 1024 * 1024


DEFAULT_LIMITS: Final = Limits()
