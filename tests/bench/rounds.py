"""Paired rounds: each subject is measured in every round, one right after the other.

The machine is shared and its speed moves, so single values say little; the ratio of two subjects
within one round does. Figures are the median over the rounds, the minimum is shown beside it.
"""

import math
import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from os import sysconf
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_TICKS = sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its worker processes, in ticks of 10 ms.

    User and system time count, and those of workers that have ended as well.
    """
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    workers = [int(child) for path in listed for child in path.read_text("ascii").split()]
    return (sum(_ticks(pid)) + sum(sum(_ticks(worker)[:2]) for worker in workers)) / _TICKS


def _ticks(pid: int) -> list[int]:
    """Return user and system time, and those of children that have been reaped."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    # The command's name stands in parentheses and may itself hold spaces.
    return [int(field) for field in stat.rpartition(")")[2].split()[11:15]]


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one subject, one of each round, in its unit."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def minimum(self) -> float:
        return min(self.values)

    @property
    def maximum(self) -> float:
        return max(self.values)

    def told(self, digits: int = 2, *, factor: float = 1.0, unit: str = "") -> str:
        """Return median and spread for people, such as `0.62 (0.58 to 0.66)`."""
        low, middle, high = (
            f"{value * factor:.{digits}f}" for value in (self.minimum, self.median, self.maximum)
        )
        return f"{middle}{unit and f' {unit}'} ({low} to {high})"

    def over(self, other: "Values") -> "Values":
        """Return the ratios within each round."""
        pairs = zip(self.values, other.values, strict=True)
        return Values(tuple(mine / theirs for mine, theirs in pairs))


Measure = Callable[[], Awaitable[float]]


async def paired(rounds: int, subjects: Mapping[str, Measure]) -> dict[str, Values]:
    """Measure every subject in every round; the order turns round by round."""
    found = await alternating(rounds, subjects)
    return {name: Values(tuple(values)) for name, values in found.items()}


async def alternating(
    rounds: int, subjects: Mapping[str, Callable[[], Awaitable[T]]]
) -> dict[str, list[T]]:
    """Return what each subject gave in each round; the order turns round by round."""
    found: dict[str, list[T]] = {name: [] for name in subjects}
    for number in range(rounds):
        for name in _turned(list(subjects), number):
            found[name].append(await subjects[name]())
    return found


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that this share of the values does not exceed (nearest rank).

    Raises:
        ValueError: there is no value, or the share is not within 0 and 1.
    """
    if not values or not 0 <= share <= 1:
        raise ValueError(f"no percentile {share} of {len(values)} values")
    return sorted(values)[max(1, math.ceil(share * len(values))) - 1]


def _turned(names: Sequence[str], number: int) -> Sequence[str]:
    return names if number % 2 == 0 else names[::-1]
