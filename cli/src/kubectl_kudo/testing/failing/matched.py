"""Finds what an object matched that must not match."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from kudo_harness.findings import Place
from kudo_harness.matching.difference import Path, is_secret, path_text, shown_value
from kudo_harness.suite import Document

_MOST: Final = 20
_IDENTITY: Final = (
    ("apiVersion",),
    ("kind",),
    ("metadata", "name"),
    ("metadata", "namespace"),
)


def matched_values(document: Document) -> list[tuple[str, Place, str]]:
    """Return path, place and value of the fields that matched, those of the identity left out."""
    found = []
    for path, value in islice(_leaves(document.value, ()), _MOST):
        secret = is_secret(document.value.get("kind"), path)
        shown = "as it says" if secret else shown_value(value)
        found.append((path_text(path), document.place(*path), shown))
    return found


def _leaves(value: object, path: Path) -> Iterator[tuple[Path, object]]:
    if path in _IDENTITY or path[:2] == ("metadata", "labels"):
        return
    if isinstance(value, dict) and value:
        for key, one in value.items():
            yield from _leaves(one, (*path, str(key)))
    elif isinstance(value, list) and value:
        for index, one in enumerate(value):
            yield from _leaves(one, (*path, index))
    elif path:
        yield path, value
