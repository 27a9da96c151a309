"""The runtime of compiled templates: frames, jumps and errors.

A compiled expression is a function `(frame, dot) -> value`, a compiled statement one that returns
nothing and writes to the frame. Both are made once and hold no state: everything that changes is
in the `Frame`, one for each running template, so one compiled template serves any number of
threads.

`Scope` maps variables to slots of a frame at compile time. Scopes nest as blocks do. A declaration
always takes a new slot, also when it hides a variable of the same name, so that closing the scope
only has to forget it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from gotemplate.errors import LimitError, TemplateError
from gotemplate.parse import nodes
from gotemplate.rendering import Located, Rendering


class Frame:
    """One running template: its variables by slot, and where it writes.

    `typed_dot` tells, inside a loop, whether its elements have a type of their own in Go, and
    `typed_slots` which variables hold such elements. Only the texts of errors show it.
    """

    __slots__ = ("run", "slots", "typed_dot", "typed_slots", "write")

    def __init__(self, run: Rendering, slots: list[object], write: Callable[[str], None]) -> None:
        self.run = run
        self.slots = slots
        self.write = write
        self.typed_dot = True
        self.typed_slots: frozenset[int] = frozenset()


Eval = Callable[[Frame, object], object]
Exec = Callable[[Frame, object], None]
# Whether a value has a type of its own in Go, or is an interface {}: only words of errors show it.
Typed = Callable[[Frame], bool]


def always(_frame: Frame) -> bool:
    """Return True: the value has a type of its own."""
    return True


def never(_frame: Frame) -> bool:
    """Return False: the value was in a container."""
    return False


def in_loop(frame: Frame) -> bool:
    """Return whether the dot of a loop has a type of its own."""
    return frame.typed_dot


def in_slot(slot: int) -> Typed:
    """Return the check whether a variable of a loop has a type of its own."""
    return lambda frame: slot in frame.typed_slots


class BreakLoop(Exception):
    """Leave the innermost loop."""


class ContinueLoop(Exception):
    """Start the next iteration of the innermost loop."""


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled body.

    Attributes:
        run: what to run.
        cost: what it costs in steps.
        slots: how many slots it needs.
        changes_data: whether it calls a function that changes the map it is given.
    """

    run: Exec
    cost: int
    slots: int
    changes_data: bool


@dataclass(frozen=True, slots=True)
class Ending:
    """Where an `and` or `or` of several arguments ends: at one of them, known when it has run."""

    last: Located

    @property
    def pos(self) -> int:
        return self.last.pos

    def __str__(self) -> str:
        return str(self.last)


class UnplacedError(Exception):
    """An error after an `and` or `or`; `Template.render` knows where that ended."""

    def __init__(self, unit: "Unit", node: Ending, reason: object) -> None:
        self._unit = unit
        self._node = node
        self._reason = reason
        super().__init__(reason)

    def at(self, node: Located | None) -> TemplateError:
        """Make the error with its place."""
        return self._unit.placed(node or self._node.last, self._reason)


@dataclass(frozen=True, slots=True)
class Unit:
    """The template being compiled: where its errors are and what they call it."""

    tree: nodes.Tree
    name: str

    def error(self, node: Located, reason: object) -> TemplateError | UnplacedError:
        """Make the error of a node, worded and placed as Go does."""
        if isinstance(node, Ending):
            return UnplacedError(self, node, reason)
        return self.placed(node, reason)

    def placed(self, node: Located, reason: object) -> TemplateError:
        """Make the error of a node whose place is known."""
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
        failure = self.placed(node, f"error calling {name}: {error}")
        failure.limit = error.limit if isinstance(error, LimitError) else ""
        return failure


class Known(NamedTuple):
    """Where a variable lives, and whether its value has a type of its own in Go."""

    slot: int
    typed: Typed


class Scope:
    """The variables of one template body by scope; `$` has slot 0."""

    def __init__(self) -> None:
        self.size = 1
        self._known: dict[str, Known] = {"$": Known(0, always)}
        self._hidden: list[tuple[str, Known | None]] = []

    def declare(self, name: str, *, typed: Typed) -> int:
        """Declare a variable and return its slot."""
        slot = self.size
        self.size += 1
        self._hidden.append((name, self._known.get(name)))
        self._known[name] = Known(slot, typed)
        return slot

    def find(self, name: str) -> Known | None:
        """Look up a variable of the scope."""
        return self._known.get(name)

    def untype(self, name: str) -> None:
        """Note that a variable holds what a container held."""
        if (variable := self._known.get(name)) is not None:
            self._known[name] = variable._replace(typed=in_slot(variable.slot))

    def mark(self) -> int:
        """Begin a scope."""
        return len(self._hidden)

    def close(self, mark: int) -> None:
        """End the scope that began at `mark`."""
        while len(self._hidden) > mark:
            name, variable = self._hidden.pop()
            if variable is None:
                del self._known[name]
            else:
                self._known[name] = variable
