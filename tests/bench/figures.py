"""What a bench reports: figures with their targets, printed as one table or written as JSON."""

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure.

    Attributes:
        name: What was measured.
        target: What it must reach, for people.
        measured: What came out, for people, with the numbers that it was made of.
        ok: Whether the target is reached.
        values: The numbers of each round by name, for programs; nothing where a bench has none.
    """

    name: str
    target: str
    measured: str
    ok: bool
    values: Mapping[str, Any] = field(default_factory=dict)


def table(figures: Sequence[Figure]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    rows = [("figure", "target", "measured", "ok")]
    rows += [(f.name, f.target, f.measured, "yes" if f.ok else "NO") for f in figures]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    rows.insert(1, ("-" * widths[0], "-" * widths[1], "-" * widths[2], "-" * widths[3]))
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield f"| {' | '.join(cells)} |"


def write_json(file: Path, figures: Sequence[Figure], options: Mapping[str, Any]) -> None:
    """Write figures, what they were measured with, and how busy the machine is, as JSON."""
    found = {
        "machine": {
            "cores": len(os.sched_getaffinity(0)),
            "load": os.getloadavg(),
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "options": dict(options),
        "figures": [asdict(figure) for figure in figures],
    }
    file.write_text(f"{json.dumps(found, indent=2)}\n", encoding="utf-8")
