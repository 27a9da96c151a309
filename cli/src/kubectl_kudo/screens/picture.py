"""The picture of a run, drawn again in place while somebody waits, on a terminal of any size.

The plan, the steps that run and their reasons are always there, wrapped; everything else is there
as far as there is room, from the nearest to the farthest. What is left out is counted in its place.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby
from typing import TextIO

from kubectl_kudo.reading.instance_state import suspension
from kubectl_kudo.reading.plan_view import (
    Explanation,
    Explanations,
    capitalised,
    headline,
    instance_node,
    is_pending,
    other_plans,
    shown_node,
    shown_plan,
)
from kubectl_kudo.reading.run_progress import TimeLimits, details
from kubectl_kudo.reading.runs import COMPLETE, NEVER_RUN, PENDING, entries, status_of
from kubectl_kudo.screens.progress import Clock, Now, utc_now
from kubectl_kudo.session.blocks import Mark, Node, ago, printable
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.screen import Line, LiveView, cut, folded
from kubectl_kudo.session.terminal import terminal_size

Size = Callable[[], tuple[int, int]]
_NARROWEST = 20
_PHASE, _STEP, _EXPLANATION = 1, 2, 3
"""Depths of rows; an explanation of a plan or phase stands as deep as what is in it."""
_NEAR = 8
"""Steps that run whose distance counts."""
_CONTINUED = "  "
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
    mark: Mark | None = None


def _row(node: Node, depth: int, rank: Rank) -> Row:
    return Row(node.shown or node.text, depth, rank, node.mark)


def rows_of(
    instance: JsonObject, plans: JsonObject, explanations: Explanations = _NOTHING
) -> Iterator[Row]:
    """Yield the rows of an Instance: its run in progress, or its last one, and its other plans."""
    yield Row(headline(instance), 0, Rank.HEADLINE)
    yield _row(instance_node(instance), 0, Rank.HEADLINE)
    if pause := suspension(instance, ago):
        yield Row(capitalised(pause), 0, Rank.RUNNING)
    if shown_plan(instance) is not None:
        yield from _run(instance, plans, explanations)
    for node in other_plans(instance, plans):
        yield _row(node, 0, Rank.OTHER)


def _run(instance: JsonObject, plans: JsonObject, explanations: Explanations) -> Iterator[Row]:
    name = shown_plan(instance) or ""
    entry = entries(instance).get(name) or {}
    phases = [] if is_pending(instance, name) else entry.get("phases") or []
    node = shown_node(instance, plans)
    yield _row(node, 0, Rank.RUNNING)
    yield from _explained(explanations.get(name, ()), _PHASE)
    for index, phase in enumerate(node.children):
        state = phases[index] if index < len(phases) else {}
        yield _row(phase, _PHASE, Rank.HEADLINE if _is_running(state) else Rank.SETTLED)
        yield from _explained(explanations.get(_path(name, state), ()), _STEP)
        steps = state.get("steps") or []
        for number, step in enumerate(phase.children):
            at = steps[number] if number < len(steps) else {}
            yield from _step(step, at, explanations.get(_path(name, state, at), ()))


def _path(*parts: object) -> str:
    return ".".join(str(part.get("name") if isinstance(part, dict) else part) for part in parts)


def _step(node: Node, state: JsonObject, explained: Iterable[Explanation]) -> Iterator[Row]:
    running = _is_running(state)
    yield _row(node, _STEP, Rank.RUNNING if running else Rank.SETTLED)
    yield from _explained(explained if running else (), _EXPLANATION)


def _explained(explanations: Iterable[Explanation], depth: int) -> Iterator[Row]:
    return (Row(str(line), depth, Rank.EXPLANATION) for line in explanations)


def _is_running(state: JsonObject) -> bool:
    return status_of(state) not in {NEVER_RUN, PENDING, COMPLETE}


def fitted(rows: Iterable[Row], columns: int, height: int) -> list[Line]:
    """Return lines of less than `columns` cells, `height` of them at most."""
    # A line that fills the last column makes some terminals go to the next line.
    width = max(columns - 1, _NARROWEST)
    rows = list(rows)
    lines = [_wrapped(row, width) for row in rows]
    order = _by_importance(rows)
    musts = sum(row.rank is Rank.RUNNING for row in rows)
    # How many of the rows, the most important first, have room: one row more never takes less.
    fitting, high = 0, len(order)
    while fitting < high:
        middle = (fitting + high + 1) // 2
        if len(_laid_out(rows, lines, set(order[:middle]))) <= height:
            fitting = middle
        else:
            high = middle - 1
    if fitting >= musts:
        return _laid_out(rows, lines, set(order[:fitting]))
    return _cut([rows[index] for index in sorted(order[:musts])], width, height)


def _wrapped(row: Row, width: int) -> list[Line]:
    more = "" if row.mark else _CONTINUED
    return folded(f"{'  ' * row.depth}{printable(row.text)}", width, row.mark, more)


def _by_importance(rows: Sequence[Row]) -> list[int]:
    """Return the indices of rows, the most important first, and of these the nearest to a step."""
    steps = [i for i, row in enumerate(rows) if row.rank is Rank.RUNNING and row.depth == _STEP]
    near = steps[:_NEAR] or [0]

    def importance(index: int) -> tuple[Rank, int, int]:
        return rows[index].rank, min(abs(index - step) for step in near), index

    return sorted(range(len(rows)), key=importance)


def _laid_out(rows: Sequence[Row], lines: Sequence[list[Line]], kept: Set[int]) -> list[Line]:
    """Return the lines of rows, with one line in place of neighbours that are left out."""
    result: list[Line] = []
    for is_kept, group in groupby(range(len(rows)), lambda index: index in kept):
        indices = list(group)
        if is_kept:
            result += [line for index in indices for line in lines[index]]
        else:
            indent = "  " * rows[indices[0]].depth
            result.append(Line(f"{indent}… {len(indices)} more"))
    return result


def _cut(rows: Sequence[Row], width: int, height: int) -> list[Line]:
    """Return what must be there in too little room: fewer lines of each row, then fewer rows."""
    lines = [_wrapped(row, width) for row in rows]
    for most in range(height, 0, -1):
        short = [_shortened(wrapped, most, width) for wrapped in lines]
        if sum(map(len, short)) <= height:
            return [line for wrapped in short for line in wrapped]
    first = [_shortened(wrapped, 1, width)[0] for wrapped in lines[: max(height - 1, 1)]]
    left_out = len(lines) - len(first)
    return [*first, Line(f"… {left_out} more")][:height]


def _shortened(lines: list[Line], most: int, width: int) -> list[Line]:
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    return [*lines[: most - 1], Line(cut(f"{last.text}…", width), last.mark)]


class Picture:
    """The plan that runs, the reasons of its steps and the time that has passed.

    Never wider or higher than the terminal: the cursor could not go back to the first line.
    """

    def __init__(
        self,
        stream: TextIO,
        plans: JsonObject,
        *,
        limits: TimeLimits | None = None,
        clock: Clock = time.monotonic,
        now: Now = utc_now,
        size: Size | None = None,
    ) -> None:
        self._stream = stream
        self._plans = plans
        self._limits = limits or TimeLimits()
        self._clock = clock
        self._now = now
        self._size = size or (lambda: terminal_size(stream))
        self._start = clock()
        self._instance: JsonObject | None = None
        self._explanations: Explanations = {}
        self._view = LiveView(stream, self._size)

    def show(self, instance: JsonObject | None) -> None:
        if instance is not None:
            self._instance = instance
            self.tick()

    def explain(self, explanations: Explanations) -> None:
        self._explanations = explanations
        self.tick()

    def tick(self) -> None:
        if self._instance is None:
            return
        columns, rows = self._size()
        elapsed = f"elapsed time {int(self._clock() - self._start)}s"
        # Below the steps stand the tasks that run before what they wait for.
        now = self._now()
        below: dict[str, list[Explanation]] = defaultdict(list)
        for part, tasks in details(self._instance, now).items():
            below[part] += tasks
        if limit := self._limits.next(self._instance, now):
            below[limit.part].append(Explanation(limit.text))
        for part, texts in self._explanations.items():
            below[part] += texts
        shown = rows_of(self._instance, self._plans, below)
        # The last row of the terminal is where the cursor stands below the picture.
        lines = fitted(shown, columns, max(rows - 2, 1))
        self._view.draw([*lines, Line(elapsed)])

    def close(self, *, keep: bool = True) -> None:
        self._view.close(keep=keep)
