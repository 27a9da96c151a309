"""Draws tables in the form of KUDO 0.19: cells padded to the width of their column, and a tab."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from kubectl_kudo.core.terminal import clean, word


def table(rows: Iterable[Sequence[str]], *, width: int = 0) -> str:
    """Return the table, each line ended.

    Args:
        rows: Rows of equally many cells; a cell with several lines takes several lines, except
            for the first, which names what the row is about.
        width: Columns that a line of a cell may take before it is wrapped at blanks; 0 for any. A
            longer word stays whole.
    """
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


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Return a table in the form of kubectl, each line ended: three blanks between columns.

    Args:
        rows: Rows of equally many cells, each of one line.
    """
    shown = [[*map(word, row)] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "".join(
        "   ".join(f"{text:<{size}}" for text, size in zip(row, widths, strict=True)).rstrip()
        + "\n"
        for row in shown
    )
