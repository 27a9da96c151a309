"""Compares an assert with objects: what the assert says must be in one of them.

Of a mapping, each key of the assert must be there. Lists are compared by position and must have
equal length, as in kuttl; by name, each item of the assert must match an item of the same `name`,
`type` or `key`, and the list may have others. Types must agree: "3" is not 3. The texts of
differences begin as kuttl's, because people search for them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from kudo.api.known_secrets import SECRET_FIELDS
from kudo_harness.findings import Place
from kudo_harness.suite import Document, ListMatching

PathElement = str | int
Path = tuple[PathElement, ...]

MOST_SHOWN: Final = 200
"""Characters of a value in a message."""
_READ: Final = 50
"""Entries of a mapping or list that a message reads; a value may be a megabyte."""
_HIDDEN: Final = "(left out, since it is of a Secret)"


class Absent:
    """Stands for a value that the object does not have."""

    def __repr__(self) -> str:
        return "absent"


ABSENT: Final = Absent()


class Mismatch(StrEnum):
    """In what way a value differs."""

    VALUE = "value"
    TYPE = "type"
    LENGTH = "length"
    """A list has another length; only where lists are compared by position."""
    MISSING = "missing"
    """A key is missing from a mapping."""
    NO_ITEM = "noItem"
    """A list has no item that matches; only where lists are compared by name."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference.

    Attributes:
        path: Of the value in the assert.
        mismatch: In what way it differs.
        expected: The value of the assert.
        actual: That of the object; ABSENT if there is none.
        weight: Values of the assert that it concerns; the smallest is shown first.
        place: Where the assert says so.
        secret: Whether the values are left out of texts.
    """

    path: Path
    mismatch: Mismatch
    expected: object
    actual: object
    weight: int
    place: Place
    secret: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {path_text(self.path)}: {self.text}"

    @property
    def text(self) -> str:
        """What differs, without path and place."""
        # "3" is not 3: quotes show it.
        quoted = self.mismatch in {Mismatch.TYPE, Mismatch.NO_ITEM}
        expected = self._shown(self.expected, quoted=quoted)
        actual = self._shown(self.actual, quoted=quoted)
        both = f"expected: {expected} != actual: {actual}"
        match self.mismatch:
            case Mismatch.VALUE:
                return f"value mismatch, {both}"
            case Mismatch.TYPE:
                types = f"{_go_type(self.expected)} != {_go_type(self.actual)}"
                return f"type mismatch: {types}, {both}"
            case Mismatch.LENGTH:
                lengths = f"{_length(self.expected)} != {_length(self.actual)}"
                return f"slice length mismatch: {lengths}, {both}"
            case Mismatch.MISSING:
                return f"key is missing from map, expected: {expected}"
            case Mismatch.NO_ITEM:
                return f"no item matches, {both}"

    def _shown(self, value: object, *, quoted: bool) -> str:
        return _HIDDEN if self.secret else shown_value(value, quoted=quoted)


def is_secret(kind: object, path: Path) -> bool:
    """Return whether messages must not show a value: it is of a Secret, or may quote one."""
    if kind != "Secret":
        return False
    whole = path in {(), ("metadata",)}
    # kubectl apply keeps the whole object in an annotation.
    return whole or path[0] in SECRET_FIELDS or path[:2] == ("metadata", "annotations")


def path_text(path: Path) -> str:
    """Return a path as messages show it: `.status.conditions[0].type`."""
    text = ""
    for element in path:
        if isinstance(element, int):
            text += f"[{element}]"
        elif element and element.replace("-", "").replace("_", "").isalnum():
            text += f".{element}"
        else:
            text += f"[{json.dumps(cut(element, MOST_SHOWN))}]"
    return text or "."


def shown_value(value: object, *, quoted: bool = False) -> str:
    """Return a value in a line, as JSON; texts that cannot be misread need no quotes."""
    if isinstance(value, Absent):
        return "nothing"
    if (
        isinstance(value, str)
        and not quoted
        and value.isprintable()
        and value.strip() == value != ""
    ):
        return cut(value, MOST_SHOWN)
    return cut(json.dumps(_beginning(value, 4), ensure_ascii=False), MOST_SHOWN)


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, with an ellipsis where something is left out."""
    return text if len(text) <= most else text[:most] + "…"


def _beginning(value: object, depth: int) -> object:
    """Return as much of a value as a message can show."""
    if isinstance(value, str):
        return cut(value, MOST_SHOWN)
    if isinstance(value, dict | list) and depth == 0:
        return "…"
    if isinstance(value, Mapping):
        keys = list(value)[:_READ]
        return {cut(str(key), MOST_SHOWN): _beginning(value[key], depth - 1) for key in keys}
    if isinstance(value, list):
        return [_beginning(item, depth - 1) for item in value[:_READ]]
    return value


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0


def _go_type(value: object) -> str:
    match value:
        case dict():
            return "map[string]interface {}"
        case list():
            return "[]interface {}"
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "int64"
        case float():
            return "float64"
    return "<nil>"


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
            # An empty list says that there are no items, however lists are compared.
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
            # The items are not compared: behind one that is missing all others would differ.
            yield self._difference(path, Mismatch.LENGTH, expected, actual)
            return
        for n, (value, item) in enumerate(zip(expected, actual, strict=True)):
            yield from self._compare(value, item, (*path, n))

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
        # This search counts, too: it is what makes long lists expensive.
        self._count(len(actual))
        name = value[identity]
        return [item for item in actual if isinstance(item, dict) and item.get(identity) == name]

    def _closest(
        self, value: object, candidates: Sequence[object], actual: object, path: Path
    ) -> Iterator[Difference]:
        """Yield the differences of the item that fits best; nothing if one matches."""
        best: list[Difference] | None = None
        for candidate in candidates:
            differences = list(self._compare(value, candidate, path))
            if not differences:
                return
            # Of items that fit equally badly the first one is shown: messages do not change.
            if best is None or total_weight(differences) < total_weight(best):
                best = differences
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
    # One budget for all objects: a namespace may have thousands of a kind.
    comparison = Comparison(document, lists)
    best: JsonObject | None = None
    smallest: list[Difference] = []
    count = 0
    for candidate in candidates:
        count += 1
        differences = comparison.differences(candidate)
        if not differences:
            return Match(candidate, (), count)
        if best is None or total_weight(differences) < total_weight(smallest):
            best, smallest = candidate, differences
    return Match(best, tuple(smallest_first(smallest)), count)


def smallest_first(differences: Iterable[Difference]) -> list[Difference]:
    """Return differences by the number of values that they concern; equal ones as they come."""
    # A small difference is more often the cause; a large one is a part that is missing.
    return sorted(differences, key=lambda difference: difference.weight)


def difference_lines(differences: Sequence[Difference]) -> list[str]:
    """Return a line for each of the first differences, and one for the rest."""
    lines = [str(difference) for difference in islice(differences, MOST_DIFFERENCES)]
    more = len(differences) - MOST_DIFFERENCES
    return [*lines, f"and {more} more differences"] if more > 0 else lines
