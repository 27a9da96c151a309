"""What compiled templates run on.

A compiled expression is a function `(frame, dot) -> value`, a compiled statement one that returns
nothing and writes to the frame. Both are made once and hold no state: everything that changes is
in the `Frame`, one for each running template, so one compiled template serves any number of
threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from gotemplate import nodes
from gotemplate.errors import LimitError, TemplateError
from gotemplate.limits import Run


class Frame:
    """One running template: its variables by slot, and where it writes.

    `typed_dot` tells, inside a loop, whether its elements have a type of their own in Go; they
    do when it counts. Only the words of errors show it.
    """

    __slots__ = ("run", "slots", "typed_dot", "write")

    def __init__(self, run: Run, slots: list[object], write: Callable[[str], None]) -> None:
        self.run = run
        self.slots = slots
        self.write = write
        self.typed_dot = True


Eval = Callable[[Frame, object], object]
Exec = Callable[[Frame, object], None]


class BreakLoop(Exception):
    """Leave the innermost loop."""


class ContinueLoop(Exception):
    """Begin the next pass of the innermost loop."""


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled body: what to run, what it costs in steps, how many slots it needs."""

    run: Exec
    cost: int
    slots: int


class Located(Protocol):
    """A node: it has a place, and its text names it in errors."""

    @property
    def pos(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Unit:
    """The template being compiled: where its errors are and what they call it."""

    tree: nodes.Tree
    name: str

    def error(self, node: Located, reason: object) -> TemplateError:
        """Make the error of a node, worded and placed as Go does."""
        line, column = self.tree.place(node.pos)
        return TemplateError(
            self.tree.name,
            str(reason),
            line=line,
            column=column,
            executing=self.name,
            context=str(node),
            limit=reason.limit if isinstance(reason, LimitError) else "",
        )

    def call_error(self, node: Located, name: str, error: Exception) -> TemplateError:
        """Make the error of a function that failed."""
        found = self.error(node, f"error calling {name}: {error}")
        found.limit = error.limit if isinstance(error, LimitError) else ""
        return found
