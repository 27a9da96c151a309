"""What an assert says that did not hold: its differences, or values that must not match."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from kubeio.resource import Resource
from kudo.api.known_secrets import is_sensitive
from kudo_harness.findings import Place
from kudo_harness.matching import (
    Difference,
    Match,
    Mismatch,
    Path,
    TooLargeToCompare,
    best_match,
    difference_lines,
    is_secret,
    path_text,
    shown_value,
    total_weight,
)
from kudo_harness.suite import Document, ListMatching

# Larger than any number of values in an assert: these come last.
_ABSENT: Final = 1_000_000
_UNREADABLE: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class FailedAssert:
    """An assert that did not hold when its time was up, or an object that must not match and does.

    Attributes:
        document: The assert.
        match: The object that fits best, from the last round; None if nothing was compared.
        forbidden: Whether the document must not match.
        error: Why the objects could not be read or compared; empty if they were.
        resource: Where objects of its kind are served; None asks discovery.
    """

    document: Document
    match: Match | None = None
    forbidden: bool = False
    error: str = ""
    resource: Resource | None = None

    @property
    def weight(self) -> int:
        """How far it is from holding, to tell the nearest first; an absent object is far away."""
        if self.error:
            return _UNREADABLE
        if self.match is None or self.match.candidate is None:
            return _ABSENT
        return total_weight(self.match.differences)

    @property
    def kind(self) -> str:
        return str(self.document.value.get("kind") or "object")

    @property
    def name(self) -> str:
        """Name of the object that is meant; empty if labels, or nothing, say which."""
        return str(self._metadata.get("name") or "")

    @property
    def labels(self) -> dict[str, str]:
        labels = self._metadata.get("labels")
        if not isinstance(labels, dict):
            return {}
        return {str(key): str(value) for key, value in labels.items()}

    def namespace(self, of_case: str) -> str:
        """Return the namespace in which the object is looked for."""
        return str(self._metadata.get("namespace") or of_case)

    @property
    def _metadata(self) -> dict[str, object]:
        metadata = self.document.value.get("metadata")
        return metadata if isinstance(metadata, dict) else {}


_MOST: Final = 20
_IDENTITY: Final = (
    ("apiVersion",),
    ("kind",),
    ("metadata", "name"),
    ("metadata", "namespace"),
)
_MOST_FURTHER: Final = 10
_HOLDS: Final = (
    "it matches: with `listMatching: name` in the TestAssert of the step, items are compared with "
    "those of the same name, type or key, wherever they are"
)


def discreet(difference: Difference) -> Difference:
    """Return a difference without its values, if the name of a field says that they are secret."""
    secret = any(isinstance(element, str) and is_sensitive(element) for element in difference.path)
    return replace(difference, secret=difference.secret or secret)


def further_lines(differences: Sequence[Difference]) -> tuple[str, ...]:
    """Return a line for each of the first differences, and one for the rest."""
    lines = difference_lines(differences[:_MOST_FURTHER])
    more = len(differences) - _MOST_FURTHER
    return (*lines, f"and {more} more differences") if more > 0 else tuple(lines)


def by_name_lines(document: Document, match: Match) -> tuple[str, ...]:
    """Return what differs if lists are compared by name; nothing if that tells no more.

    Lists are compared by position unless a suite says otherwise, as in kuttl. So an assert on one
    of several conditions fails by the length of the list, which says nothing of that condition.
    """
    by_position = match.differences
    if match.candidate is None or not any(map(_of_list, by_position)):
        return ()
    try:
        by_name = best_match(document, [match.candidate], ListMatching.NAME).differences
    except TooLargeToCompare:
        return ()
    # The user need not change the assert, only the way of comparing.
    if not by_name:
        return (_HOLDS,)
    # By name it differs in the same places, so the lists are not the reason.
    if {difference.path for difference in by_name} >= {
        difference.path for difference in by_position
    }:
        return ()
    return further_lines([discreet(difference) for difference in by_name])


def _of_list(difference: Difference) -> bool:
    inside = any(isinstance(element, int) for element in difference.path)
    return inside or difference.mismatch is Mismatch.LENGTH


def matched_values(document: Document) -> list[tuple[str, Place, str]]:
    """Return path, place and value of the fields that matched, those of the identity left out."""
    matched = []
    for path, value in islice(_leaves(document.value, ()), _MOST):
        secret = is_secret(document.value.get("kind"), path)
        shown = "as it says" if secret else shown_value(value)
        matched.append((path_text(path), document.place(*path), shown))
    return matched


def _leaves(value: object, path: Path) -> Iterator[tuple[Path, object]]:
    if path in _IDENTITY or path[:2] == ("metadata", "labels"):
        return
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _leaves(item, (*path, str(key)))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, (*path, index))
    elif path:
        yield path, value
