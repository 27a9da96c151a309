"""Fits the progress of a run on a terminal of any size.

The plan, the steps that run and their reasons are always there, wrapped; everything else is there
as far as there is room, from the nearest to the farthest. What is left out is counted in its place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum

from kubectl_kudo.core.cells import printable
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.tree import Node
from kubectl_kudo.core.wrapping import cut, wrapped
from kubectl_kudo.state.plan_view import (
    capitalised,
    headline,
    is_pending,
    label,
    other_plans,
    shown_node,
    shown_plan,
)
from kubectl_kudo.state.runs import COMPLETE, NEVER_RUN, PENDING, entries, status_of
from kubectl_kudo.state.suspension import suspension

_NARROWEST = 20
_PHASE, _STEP, _EXPLANATION = 1, 2, 3
"""Depths of rows; an explanation of a plan or phase stands as deep as what is in it."""
_NEAR = 8
"""Steps that run whose distance counts."""
_CONTINUED = "  "


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is known of an object that a step waits for, and how long ago it happened.

    Attributes:
        text: One line.
        age: Such as `4s`; empty if it is unknown, or if it is so now.
        minor: Whether it tells nothing where others do: an event that is no Warning.
    """

    text: str
    age: str = ""
    minor: bool = False

    def __str__(self) -> str:
        return f"{self.text} ({self.age} ago)" if self.age else self.text


Explanations = Mapping[str, Sequence[Explanation]]
"""By the dotted name of the step; a time limit also by that of the plan or phase."""
_NOTHING: Explanations = {}


class Rank(IntEnum):
    """How much a row matters."""

    RUNNING = 0
    EXPLANATION = 1
    HEADLINE = 2
    SETTLED = 3
    OTHER = 4


@dataclass(frozen=True, slots=True)
class Row:
    """A line of text before it is wrapped."""

    text: str
    depth: int
    rank: Rank


def rows_of(
    instance: JsonObject, plans: JsonObject, explanations: Explanations = _NOTHING
) -> Iterator[Row]:
    """Yield the rows of an Instance: its run in progress, or its last one, and its other plans."""
    yield Row(headline(instance), 0, Rank.HEADLINE)
    yield Row(label(instance), 0, Rank.HEADLINE)
    if pause := suspension(instance):
        yield Row(capitalised(pause), 0, Rank.RUNNING)
    if shown_plan(instance) is not None:
        yield from _run(instance, plans, explanations)
    for text in other_plans(instance, plans):
        yield Row(text, 0, Rank.OTHER)


def _run(instance: JsonObject, plans: JsonObject, explanations: Explanations) -> Iterator[Row]:
    name = shown_plan(instance) or ""
    entry = entries(instance).get(name) or {}
    phases = [] if is_pending(instance, name) else entry.get("phases") or []
    node = shown_node(instance, plans)
    yield Row(node.text, 0, Rank.RUNNING)
    yield from _explained(explanations.get(name, ()), _PHASE)
    for index, phase in enumerate(node.children):
        state = phases[index] if index < len(phases) else {}
        yield Row(phase.text, _PHASE, Rank.HEADLINE if _is_running(state) else Rank.SETTLED)
        yield from _explained(explanations.get(_path(name, state), ()), _STEP)
        steps = state.get("steps") or []
        for number, step in enumerate(phase.children):
            at = steps[number] if number < len(steps) else {}
            yield from _step(step, at, explanations.get(_path(name, state, at), ()))


def _path(*parts: object) -> str:
    return ".".join(str(part.get("name") if isinstance(part, dict) else part) for part in parts)


def _step(node: Node, state: JsonObject, explained: Iterable[Explanation]) -> Iterator[Row]:
    running = _is_running(state)
    yield Row(node.text, _STEP, Rank.RUNNING if running else Rank.SETTLED)
    yield from _explained(explained if running else (), _EXPLANATION)


def _explained(explanations: Iterable[Explanation], depth: int) -> Iterator[Row]:
    return (Row(str(one), depth, Rank.EXPLANATION) for one in explanations)


def _is_running(state: JsonObject) -> bool:
    return status_of(state) not in {NEVER_RUN, PENDING, COMPLETE}


def fitted(rows: Iterable[Row], columns: int, height: int) -> list[str]:
    """Return lines of less than `columns` cells, `height` of them at most."""
    width = max(columns - 1, _NARROWEST)
    found = list(rows)
    lines = [_wrapped(row, width) for row in found]
    order = _by_importance(found)
    musts = sum(row.rank is Rank.RUNNING for row in found)
    fits = _most(lambda count: len(_laid_out(found, lines, set(order[:count]))) <= height, order)
    if fits >= musts:
        return _laid_out(found, lines, set(order[:fits]))
    return _cut([found[index] for index in sorted(order[:musts])], width, height)


def _most(fits: Callable[[int], bool], order: Sequence[int]) -> int:
    """Return how many of the rows, the most important first, have room."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _wrapped(row: Row, width: int) -> list[str]:
    indent = "  " * row.depth
    return wrapped(printable(row.text), width, indent=indent, more=indent + _CONTINUED)


def _by_importance(rows: Sequence[Row]) -> list[int]:
    """Return the indices of rows, the most important first, and of these the nearest to a step."""
    steps = [i for i, row in enumerate(rows) if row.rank is Rank.RUNNING and row.depth == _STEP]
    near = steps[:_NEAR] or [0]

    def importance(index: int) -> tuple[Rank, int, int]:
        return rows[index].rank, min(abs(index - step) for step in near), index

    return sorted(range(len(rows)), key=importance)


def _laid_out(rows: Sequence[Row], lines: Sequence[list[str]], kept: Set[int]) -> list[str]:
    """Return the lines of rows, with one line in place of those that are left out."""
    found: list[str] = []
    left_out: list[Row] = []
    for index, row in enumerate(rows):
        if index in kept:
            found += _gap(left_out)
            left_out = []
            found += lines[index]
        else:
            left_out.append(row)
    return found + _gap(left_out)


def _gap(left_out: Sequence[Row]) -> list[str]:
    if not left_out:
        return []
    return ["  " * left_out[0].depth + f"… {len(left_out)} more"]


def _cut(rows: Sequence[Row], width: int, height: int) -> list[str]:
    """Return what must be there in too little room: fewer lines of each row, then fewer rows."""
    lines = [_wrapped(row, width) for row in rows]
    for most in range(height, 0, -1):
        short = [_shortened(one, most, width) for one in lines]
        if sum(map(len, short)) <= height:
            return [line for one in short for line in one]
    first = [_shortened(one, 1, width)[0] for one in lines[: max(height - 1, 1)]]
    left_out = len(lines) - len(first)
    return [*first, f"… {left_out} more"][:height]


def _shortened(lines: list[str], most: int, width: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], cut(f"{lines[most - 1]}…", width)]
