"""Limits for reading and writing YAML from untrusted sources, and the error of writing."""

from dataclasses import dataclass
from typing import Final

CALL_NODES: Final = 10
"""What a call of `load` costs a shared budget beside its values: a parser is set up each time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a document may be.

    Attributes:
        size: Characters (bytes, where bytes are read) of the text.
        depth: Nesting of mappings and sequences, including those behind aliases.
        nodes: Scalars, mappings and sequences in all documents, including those behind aliases.
        aliased: Characters and nodes that aliases repeat, so that a small text cannot stand for
            a huge value.
        directives: `%TAG` lines; libyaml compares each with all before it.
    """

    size: int = 8 * 1024 * 1024
    depth: int = 100
    nodes: int = 400_000
    aliased: int = 1024 * 1024
    directives: int = 100


DEFAULT_LIMITS: Final = Limits()

INLINE: Final = Limits(size=64 * 1024, nodes=2_000, aliased=2_000, directives=10)
"""What may be read on an event loop: the worst texts of this size take about 10 ms."""


@dataclass(slots=True)
class Budget:
    """What several calls of `load` may cost together. Not shared between threads.

    `limits` bounds all of them; the other attributes count what has been used, as in `Limits`. A
    text that exceeds a limit has used it up, so the next call fails, too.
    """

    limits: Limits = DEFAULT_LIMITS
    size: int = 0
    nodes: int = 0
    aliased: int = 0
    directives: int = 0


class DumpError(ValueError):
    """The value cannot be written: too deep, too large, or of a type that YAML does not have.

    Attributes:
        limit: Name of the exceeded field of `Limits`, else "".
    """

    def __init__(self, message: str, *, limit: str = "") -> None:
        super().__init__(message)
        self.limit = limit
