"""Tables in the bytes of KUDO 0.19: columns joined by a tab, each cell padded to its column."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of equally many cells as text; a cell with line breaks takes several lines."""
    lines = [line for row in rows for line in _lines(row)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        "\t".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + "\n"
        for line in lines
    )


def _lines(row: Sequence[str]) -> list[list[str]]:
    cells = [cell.split("\n") for cell in row]
    height = max(map(len, cells))
    return [[cell[n] if n < len(cell) else "" for cell in cells] for n in range(height)]
