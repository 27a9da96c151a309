"""What a bench reports: figures with their targets, printed as one table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    Attributes:
        name: What was measured.
        target: What it must reach, for people.
        measured: What came out, for people, with the numbers that it was made of.
        ok: Whether the target is reached.
    """

    name: str
    target: str
    measured: str
    ok: bool


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    rows = [("figure", "target", "measured", "ok")]
    rows += [(f.name, f.target, f.measured, "yes" if f.ok else "NO") for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    rows.insert(1, ("-" * widths[0], "-" * widths[1], "-" * widths[2], "-" * widths[3]))
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"| {' | '.join(cells)} |"
