"""Compares an assert with the objects that it may mean."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kudo_harness.matching.difference import Difference
from kudo_harness.matching.subset import Comparison, total_weight
from kudo_harness.suite import Document, ListMatching

MOST_DIFFERENCES: Final = 20
"""Differences that a message lists."""

JsonObject = dict[str, object]


@dataclass(frozen=True, slots=True)
class Match:
    """The object that fits an assert best.

    Attributes:
        candidate: The object; None if there is none.
        differences: How it differs, smallest first; nothing if it matches.
        candidates: Number of objects that were compared.
    """

    candidate: JsonObject | None
    differences: tuple[Difference, ...]
    candidates: int

    @property
    def holds(self) -> bool:
        """Whether an object matches."""
        return self.candidate is not None and not self.differences


def best_match(
    document: Document,
    candidates: Iterable[JsonObject],
    lists: ListMatching = ListMatching.POSITION,
) -> Match:
    """Return the first object that matches an assert, else the one that differs least.

    Args:
        document: The assert.
        candidates: The object of its name, or all that it may mean.
        lists: How lists are compared.

    Raises:
        TooLargeToCompare: it would take too long.
    """
    comparison = Comparison(document, lists)
    best: JsonObject | None = None
    found: list[Difference] = []
    count = 0
    for candidate in candidates:
        count += 1
        differences = comparison.differences(candidate)
        if not differences:
            return Match(candidate, (), count)
        if best is None or total_weight(differences) < total_weight(found):
            best, found = candidate, differences
    return Match(best, tuple(smallest_first(found)), count)


def smallest_first(differences: Iterable[Difference]) -> list[Difference]:
    """Return differences by the number of values that they concern; equal ones as they come."""
    return sorted(differences, key=lambda difference: difference.weight)


def difference_lines(differences: Sequence[Difference]) -> list[str]:
    """Return a line for each of the first differences, and one for the rest."""
    lines = [str(difference) for difference in islice(differences, MOST_DIFFERENCES)]
    more = len(differences) - MOST_DIFFERENCES
    return [*lines, f"and {more} more differences"] if more > 0 else lines
