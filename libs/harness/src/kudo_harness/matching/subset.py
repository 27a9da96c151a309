"""Compares an assert with an object: what the assert says must be in the object.

Of a mapping, each key of the assert must be there. Lists are compared by position and must have
equal length, as in kuttl; by name, each item of the assert must match an item of the same `name`,
`type` or `key`, and the list may have others. Types must agree: "3" is not 3.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kudo_harness.matching.difference import ABSENT, Difference, Mismatch, Path, is_secret
from kudo_harness.suite import Document, ListMatching

STEPS: Final = 2_000_000
"""Values that one comparison looks at, about a second."""
_KEYS: Final = ("name", "type", "key")
"""What identifies an item of a list: containers and ports, conditions, tolerations."""


class TooLargeToCompare(Exception):
    """The comparison would take too long.

    Only lists that are compared by name can be that expensive: each item of one may have to be
    compared with each item of the other.
    """


@dataclass(slots=True)
class Comparison:
    """Compares one assert with objects, and counts what that costs.

    Attributes:
        document: The assert.
        lists: How lists are compared.
        steps: Values that may still be looked at.
    """

    document: Document
    lists: ListMatching = ListMatching.POSITION
    steps: int = STEPS

    def differences(self, actual: object) -> list[Difference]:
        """Return how an object differs, in the order of the assert; nothing if it matches.

        Raises:
            TooLargeToCompare: it would take too long.
        """
        return list(self._compare(self.document.value, actual, ()))

    def _compare(self, expected: object, actual: object, path: Path) -> Iterator[Difference]:
        self._count()
        if isinstance(expected, dict) and isinstance(actual, dict):
            yield from self._mapping(expected, actual, path)
        elif isinstance(expected, list) and isinstance(actual, list):
            if self.lists is ListMatching.NAME and expected:
                yield from self._by_name(expected, actual, path)
            else:
                yield from self._by_position(expected, actual, path)
        elif _sort(expected) != _sort(actual):
            yield self._difference(path, Mismatch.TYPE, expected, actual)
        elif _number(expected) != _number(actual):
            yield self._difference(path, Mismatch.VALUE, expected, actual)

    def _mapping(
        self, expected: Mapping[str, object], actual: Mapping[str, object], path: Path
    ) -> Iterator[Difference]:
        for key, value in expected.items():
            if key in actual:
                yield from self._compare(value, actual[key], (*path, key))
            else:
                yield self._difference((*path, key), Mismatch.MISSING, value, ABSENT)

    def _by_position(
        self, expected: Sequence[object], actual: Sequence[object], path: Path
    ) -> Iterator[Difference]:
        if len(expected) != len(actual):
            yield self._difference(path, Mismatch.LENGTH, expected, actual)
            return
        for n, (value, found) in enumerate(zip(expected, actual, strict=True)):
            yield from self._compare(value, found, (*path, n))

    def _by_name(
        self, expected: Sequence[object], actual: Sequence[object], path: Path
    ) -> Iterator[Difference]:
        identity = _identity(expected)
        for n, value in enumerate(expected):
            candidates = self._candidates(value, actual, identity)
            yield from self._closest(value, candidates, actual, (*path, n))

    def _candidates(
        self, value: object, actual: Sequence[object], identity: str
    ) -> Sequence[object]:
        """Return the items that may be the one that is meant."""
        if not identity or not isinstance(value, dict):
            return actual
        self._count(len(actual))
        name = value[identity]
        return [item for item in actual if isinstance(item, dict) and item.get(identity) == name]

    def _closest(
        self, value: object, candidates: Sequence[object], actual: object, path: Path
    ) -> Iterator[Difference]:
        """Yield the differences of the item that fits best; nothing if one matches."""
        best: list[Difference] | None = None
        for candidate in candidates:
            found = list(self._compare(value, candidate, path))
            if not found:
                return
            if best is None or total_weight(found) < total_weight(best):
                best = found
        if best is None or not isinstance(value, dict):
            yield self._difference(path, Mismatch.NO_ITEM, value, actual)
        else:
            yield from best

    def _difference(
        self, path: Path, mismatch: Mismatch, expected: object, actual: object
    ) -> Difference:
        return Difference(
            path=path,
            mismatch=mismatch,
            expected=expected,
            actual=actual,
            weight=_leaves(expected),
            place=self.document.place(*path),
            secret=is_secret(self.document.value.get("kind"), path),
        )

    def _count(self, steps: int = 1) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise TooLargeToCompare


def total_weight(differences: Iterable[Difference]) -> int:
    """Return how many values of the assert differ."""
    return sum(difference.weight for difference in differences)


def _identity(items: Sequence[object]) -> str:
    """Return the key that names each of the items; empty if there is none."""
    for key in _KEYS:
        if all(isinstance(item, dict) and isinstance(item.get(key), str) for item in items):
            return key
    return ""


def _sort(value: object) -> str:
    """Return the type of a value as far as it counts: all numbers are alike."""
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "text"
        case dict():
            return "mapping"
        case list():
            return "list"
    return "null"


def _number(value: object) -> object:
    """Return 3 for 3.0: Kubernetes reads both as the same number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _leaves(value: object) -> int:
    """Return the number of values in an assert; an empty mapping or list is one."""
    if isinstance(value, dict):
        return sum(map(_leaves, value.values())) or 1
    if isinstance(value, list):
        return sum(map(_leaves, value)) or 1
    return 1
