"""The numbers of the rows that a database acknowledged, in a file that outlives the writer."""

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A row that was acknowledged.

    Attributes:
        number: Of the row.
        time: Seconds of the machine's monotonic clock, which all processes share.
    """

    number: int
    time: float


class Notes:
    """Writes acknowledgements to a file, each of them to the disk before the next row."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="ascii")

    def add(self, one: Acknowledgement) -> None:
        self._file.write(f"{one.number} {one.time:.6f}\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._file.close()


def read(path: Path) -> list[Acknowledgement]:
    """Read what was noted so far; a line that is being written is left out."""
    if not path.exists():
        return []
    *lines, _ = path.read_text(encoding="ascii").split("\n")
    pairs = (line.split() for line in lines)
    return [Acknowledgement(int(number), float(time)) for number, time in pairs]


def longest_gap(found: Sequence[Acknowledgement], start: float, end: float) -> float:
    """Return the longest time without an acknowledgement between two moments, in seconds.

    A gap that begins before `start` or ends after `end` counts with its part in between.
    """
    inside = [one.time for one in found if start <= one.time <= end]
    return max(later - earlier for earlier, later in itertools.pairwise([start, *inside, end]))
