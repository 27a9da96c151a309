"""What commands show: texts, tables, trees and sections, described once, and the texts of cells.

`session.output.show` writes them to stdout. In a pipe they are plain text, in the columns and with
the times that scripts read; on a terminal `session.screen` draws them. No command knows which. A
text of a cell is one line without control characters, with times and ages as kubectl shows them.
"""

import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import zip_longest

from kubectl_kudo.session.terminal import clean, visible, word

NONE = "<none>"
UNKNOWN = "<unknown>"

_SPACE = re.compile(r"\s+")
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_YEAR = 365 * _DAY


def printable(text: str, longest: int = 0) -> str:
    """Return a text on one line; characters that cannot be printed are shown as escapes.

    Args:
        text: A text that anybody may have written.
        longest: Characters after which it is cut; 0 for any number.
    """
    line = _SPACE.sub(" ", text).strip()
    shown = (
        line if line.isprintable() else "".join(c if c.isprintable() else visible(c) for c in line)
    )
    return f"{shown[: longest - 1]}…" if 0 < longest < len(shown) else shown


def cell(value: object) -> str:
    """Return a value as the text of a cell."""
    return (printable(str(value)) if value not in (None, "") else "") or NONE


def age(metadata: Mapping[str, object], now: datetime) -> str:
    """Return how long ago an object was created."""
    return since(str(metadata.get("creationTimestamp") or ""), now)


def since(timestamp: str, now: datetime) -> str:
    """Return the time since a timestamp of the API, in the units of `kubectl get`."""
    seconds = seconds_since(timestamp, now)
    return UNKNOWN if seconds is None else duration(seconds)


def ago(timestamp: str | None) -> str:
    """Return how long ago a time of the API was, such as `2m ago`; empty if there is none."""
    return f"{since(timestamp, datetime.now(UTC))} ago" if timestamp else ""


def seconds_since(timestamp: str, now: datetime) -> float | None:
    """Return the seconds since a timestamp of the API; None if it is unreadable."""
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    # A timestamp without a zone is none of the API server's.
    return (now - (then if then.tzinfo else then.replace(tzinfo=UTC))).total_seconds()


def local_time(timestamp: str | None, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a time of the API in the local zone, as KUDO 0.19 prints it."""
    if not timestamp:
        return ""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    return moment.astimezone().strftime(form)


def duration(seconds: float) -> str:
    """Return a duration in at most two units, such as `5m10s`, `3h` or `2y30d`."""
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    if whole < 10 * _MINUTE:
        return _two(whole, _MINUTE, "m", 1, "s")
    if whole < 3 * _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < 8 * _HOUR:
        return _two(whole, _HOUR, "h", _MINUTE, "m")
    if whole < 2 * _DAY:
        return f"{whole // _HOUR}h"
    if whole < 8 * _DAY:
        return _two(whole, _DAY, "d", _HOUR, "h")
    if whole < 2 * _YEAR:
        return f"{whole // _DAY}d"
    if whole < 8 * _YEAR:
        return _two(whole, _YEAR, "y", _DAY, "d")
    return f"{whole // _YEAR}y"


def _two(seconds: int, unit: int, name: str, smaller: int, its_name: str) -> str:
    rest = seconds % unit // smaller
    return f"{seconds // unit}{name}" + (f"{rest}{its_name}" if rest else "")


_THROUGH = "│\u00a0\u00a0 "
"""Beside the children of a node that has a next sibling: two no-break spaces, one space."""
_PAST = "    "
_INDENT = "  "


class Mark(enum.Enum):
    """How something is; on a terminal a sign in a colour."""

    GOOD = "✓"
    BAD = "✗"
    BUSY = "…"
    IDLE = "\N{EN DASH}"
    WARNING = "!"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell says.

    Attributes:
        text: In a pipe.
        shown: On a terminal, if that is something else.
        mark: On a terminal before it.
    """

    text: str
    shown: str = ""
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        heading: Its first line.
        shown: That on a terminal, if it is something else.
        kept: Whether it is there on a terminal even if all its cells are equal, as of a state.
        plain: Whether a pipe has it.
        drawn: Whether a terminal has it.
    """

    heading: str
    shown: str = ""
    kept: bool = False
    plain: bool = True
    drawn: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equally many cells, each about what its first cell names.

    Attributes:
        columns: The headings; a text is a column that is left out where all its cells are equal.
        rows: The cells; a text says the same in a pipe and on a terminal.
        headers: Whether the headings are shown.
        titled: Whether they are shown on a terminal, too.
        original: Whether a pipe gets the form of KUDO 0.19: cells of several lines, padded, and a
            tab between them. Else it is that of kubectl.
        width: Columns that a line of the original form may take before it is wrapped at blanks; 0
            for any.
    """

    columns: Sequence[Column | str]
    rows: Sequence[Sequence[Cell | str]]
    headers: bool = True
    titled: bool = True
    original: bool = False
    width: int = 0

    def headings(self) -> list[Column]:
        return [Column(column) if isinstance(column, str) else column for column in self.columns]

    def cells(self) -> list[list[Cell]]:
        return [
            [Cell(cell) if isinstance(cell, str) else cell for cell in row] for row in self.rows
        ]

    def plain(self) -> str:
        """Return the table for a pipe, each line ended."""
        columns = self.headings()
        texts = [[cell.text for cell in row] for row in self.cells()]
        if self.headers:
            texts.insert(0, [column.heading for column in columns])
        texts = [
            [text for text, column in zip(row, columns, strict=True) if column.plain]
            for row in texts
        ]
        if not texts:
            return ""
        return _original(texts, self.width) if self.original else _of_kubectl(texts)


@dataclass(slots=True)
class Node:
    """A line of a tree, and the nodes below it.

    `shown` and `mark` are as those of a `Cell`, `plain` and `drawn` as those of a `Column`, `most`
    as that of a `Prose`.
    """

    text: str
    children: list["Node"] = field(default_factory=list)
    shown: str = ""
    mark: Mark | None = None
    plain: bool = True
    drawn: bool = True
    most: int = 0


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes below a root; without a root they begin at the margin.

    Attributes:
        nodes: Those at the top.
        root: Its line; that of KUDO 0.19 is `.`, which a terminal does without.
    """

    nodes: Sequence[Node]
    root: str = "."

    def plain(self) -> str:
        """Return the tree for a pipe, each line ended."""
        if self.root:
            lines: Iterable[str] = (word(self.root), *_below(self.nodes, ""))
        else:
            lines = (
                line
                for node in self.nodes
                for line in (word(node.text), *_below(node.children, ""))
            )
        return "".join(f"{line}\n" for line in lines)


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph.

    Attributes:
        text: Its text; blanks before it are its indentation.
        whole: Whether a terminal wraps it by itself, so that it can be copied: a command.
        most: Lines of a terminal that it takes at most; 0 for any number.
        mark: As that of a `Cell`.
    """

    text: str = ""
    whole: bool = False
    most: int = 0
    mark: Mark | None = None

    def plain(self) -> str:
        return f"{self.text}\n"


@dataclass(frozen=True, slots=True)
class Section:
    """A title, and below it something indented, or that there is nothing."""

    title: str
    body: Table | Tree

    @property
    def is_empty(self) -> bool:
        return not (self.body.rows if isinstance(self.body, Table) else self.body.nodes)

    def plain(self) -> str:
        if self.is_empty:
            return f"{self.title}: {NONE}\n"
        lines = self.body.plain().splitlines()
        return f"{self.title}:\n" + "".join(f"{_INDENT}{line}\n" for line in lines)


Block = Prose | Table | Tree | Section


def _of_kubectl(rows: Sequence[Sequence[str]]) -> str:
    """Return a table in the form of kubectl: three blanks between columns."""
    shown = [[*map(word, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "".join(
        "   ".join(f"{text:<{size}}" for text, size in zip(row, widths, strict=True)).rstrip()
        + "\n"
        for row in shown
    )


def _original(rows: Sequence[Sequence[str]], width: int) -> str:
    """Return a table in the form of KUDO 0.19; only the first cell of a row has one line."""
    cells = [
        [[*_lines(cell, width)] for cell in (word(first), *map(clean, more))]
        for first, *more in rows
    ]
    columns = zip(*cells, strict=True)
    widths = [max(len(line) for cell in column for line in cell) for column in columns]
    return "".join(
        "\t".join(f"{text:<{size}}" for text, size in zip(texts, widths, strict=True)) + "\n"
        for row in cells
        for texts in zip_longest(*row, fillvalue="")
    )


def _lines(cell: str, width: int) -> Iterator[str]:
    for line in cell.split("\n"):
        yield from _wrapped(line, width) if 0 < width < len(line) else [line]


def _wrapped(line: str, width: int) -> Iterator[str]:
    current, *rest = line.split(" ")
    for part in rest:
        if len(current) + 1 + len(part) <= width:
            current += f" {part}"
        else:
            yield current
            current = part
    yield current


def _below(nodes: Sequence[Node], indent: str) -> Iterator[str]:
    children = [node for node in nodes if node.plain]
    for node in children:
        last = node is children[-1]
        # A message of several lines stays one, or it could draw nodes of its own.
        yield f"{indent}{'└──' if last else '├──'} {word(node.text)}"
        yield from _below(node.children, indent + (_PAST if last else _THROUGH))
