"""What a JSONPath template consists of, and the error about one.

A template is literal text, paths in braces, and ranges. A path is a sequence of selectors, each of
which takes the values that the one before it selected.
"""

from dataclasses import dataclass


class JsonPathError(ValueError):
    """A template that cannot be parsed, or not be evaluated over this object.

    Attributes:
        problem: What is wrong.
        position: Index of the character in the template, from 0.
    """

    def __init__(self, problem: str, position: int) -> None:
        super().__init__(f"character {position + 1}: {problem}")
        self.problem = problem
        self.position = position


@dataclass(frozen=True, slots=True)
class Root:
    """`$`, the object that the template is evaluated over."""

    position: int


@dataclass(frozen=True, slots=True)
class Field:
    """`.name` or `['name']`, the value of a key."""

    name: str
    position: int


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`.*` or `[*]`, all elements of a list or values of a mapping."""

    position: int


@dataclass(frozen=True, slots=True)
class Recursive:
    """`..`, the value itself and everything below it."""

    position: int


@dataclass(frozen=True, slots=True)
class Index:
    """`[n]`, one element; a negative index counts from the end."""

    index: int
    position: int


@dataclass(frozen=True, slots=True)
class Slice:
    """`[start:stop:step]`, elements of a list; None where a bound is left out."""

    start: int | None
    stop: int | None
    step: int
    position: int


@dataclass(frozen=True, slots=True)
class Union:
    """`[a,b]`, the values that each of several paths selects, one path after the other."""

    paths: "tuple[Path, ...]"
    position: int


@dataclass(frozen=True, slots=True)
class Filter:
    """`[?(left operator right)]`, the elements for which it holds; without operator: that exist.

    Attributes:
        left: Evaluated over each element.
        operator: `==`, `!=`, `<`, `<=`, `>` or `>=`; empty for an existence test.
        right: What is compared with; None for an existence test.
        position: Of its bracket.
    """

    left: "Operand"
    operator: str
    right: "Operand | None"
    position: int


@dataclass(frozen=True, slots=True)
class Path:
    """Selectors, applied from the current value on; none selects the current value itself."""

    selectors: "tuple[Selector, ...]" = ()


@dataclass(frozen=True, slots=True)
class Literal:
    """Quoted text, a number or a boolean."""

    value: str | int | float | bool


@dataclass(frozen=True, slots=True)
class Range:
    """`{range path}…{end}`, a template for each value of a path."""

    path: Path
    body: "tuple[Node, ...]"


Selector = Root | Field | Wildcard | Recursive | Index | Slice | Union | Filter
Operand = Path | Literal
Node = Path | Literal | Range
