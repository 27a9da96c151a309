"""Shows an object as it is: YAML, bounded, without secrets, the lines that differ marked."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kudo.api.known_secrets import COPIES
from kudo.packages.readable_yaml import dump
from kudo.redaction.objects import Redactor
from kudo_harness.findings import Findings
from kudo_harness.suite import DEFAULT_LIMITS
from kudo_harness.suite.documents import Document, Path, read_documents

JsonObject = dict[str, Any]

MOST_LINES: Final = 60
_BESIDE: Final = 4
"""Lines that are shown above and below one that differs."""
_MOST_STATUS: Final = 40
"""Lines of a status that is shown whole although only a part of it differs."""
_MOST_MARKED: Final = 20
_MOST_VALUES: Final = 2_000
_MOST_ENTRIES: Final = 200
"""Values of an object, and entries of one mapping or list, that are read: it may be a megabyte."""
_LONGEST: Final = 400
_MOST_CHARACTERS: Final = 64_000
"""Characters of one text, and of all texts of an object together."""
_DEEPEST: Final = 40
_LEFT_OUT: Final = "…"


def shown_object(obj: JsonObject, paths: Sequence[Path], redactor: Redactor) -> list[str]:
    """Return the lines of an object; those at `paths` begin with `> `, the others with blanks.

    Of an object with many lines, those around the paths are shown, and of its status the
    conditions, or all if it is short. Without paths the status comes first.
    """
    text = dump(redactor.redact(bounded(obj)), sort_keys=True)
    documents = read_documents("", text, Findings(), DEFAULT_LIMITS)
    lines = text.rstrip("\n").split("\n")
    if not documents:
        return [f"  {line}" for line in lines[:MOST_LINES]]
    document = documents[0]
    # Where even the first key is missing, the nearest place is the whole object.
    there = [path for path in paths if path and path[0] in document.value][:_MOST_MARKED]
    marked = {document.place(*path).line for path in there}
    chosen = _chosen(document, there, len(lines))
    return list(_with_gaps(lines, chosen, marked))


def bounded(obj: JsonObject) -> JsonObject:
    """Return the beginning of an object, without managedFields and last-applied annotations.

    Looking for secrets in all of a large object, and dumping it, would hold the event loop.
    """
    return _Bounded().of(_readable(obj))


def path_in_object(expected: object, actual: object, path: Path) -> Path:
    """Return where in an object the value is that an assert has at a path.

    Only the indexes of lists differ, where items are compared by name.
    """
    elements: list[str | int] = []
    for place, element in enumerate(path):
        if isinstance(element, int) and isinstance(expected, list) and isinstance(actual, list):
            expected = expected[element] if element < len(expected) else None
            rest = path[place + 1 :]
            index = _same_item(expected, actual, element, rest)
            actual = actual[index] if index < len(actual) else None
            elements.append(index)
        else:
            expected = expected.get(element) if isinstance(expected, dict) else None
            actual = actual.get(element) if isinstance(actual, dict) else None
            elements.append(element)
    return tuple(elements)


def _same_item(expected: object, actual: list[object], index: int, rest: Path) -> int:
    if not isinstance(expected, dict):
        return index
    for key in ("name", "type", "key"):
        name = expected.get(key)
        if isinstance(name, str) and rest[:1] != (key,):
            for n, item in enumerate(actual[:_MOST_ENTRIES]):
                if isinstance(item, dict) and item.get(key) == name:
                    return n
    return index


def _readable(obj: JsonObject) -> JsonObject:
    if not isinstance(obj.get("metadata"), dict):
        return obj
    kept = {key: value for key, value in obj["metadata"].items() if key != "managedFields"}
    annotations = kept.get("annotations")
    if isinstance(annotations, dict):
        own = {key: value for key, value in annotations.items() if key not in COPIES}
        kept = {key: value for key, value in kept.items() if key != "annotations"}
        kept |= {"annotations": own} if own else {}
    return {**obj, "metadata": kept}


class _Bounded:
    """Copies the beginning of an object."""

    def __init__(self) -> None:
        self._values = _MOST_VALUES
        self._characters = _MOST_CHARACTERS

    def of(self, obj: JsonObject) -> JsonObject:
        return self._mapping(obj, 0)

    def _copy(self, value: Any, depth: int) -> Any:
        self._values -= 1
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, dict | list) and depth > _DEEPEST:
            return _LEFT_OUT
        if isinstance(value, dict):
            return self._mapping(value, depth)
        if isinstance(value, list):
            return self._list(value, depth)
        return value

    def _mapping(self, value: JsonObject, depth: int) -> JsonObject:
        copied: JsonObject = {}
        for key in sorted(value, key=_small_first(value))[:_MOST_ENTRIES]:
            if self._values < 0:
                break
            copied[self._text(str(key))] = self._copy(value[key], depth + 1)
        return copied

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        copied = []
        for item in value[:_MOST_ENTRIES]:
            if self._values < 0:
                break
            copied.append(self._copy(item, depth + 1))
        more = len(value) - len(copied)
        return [*copied, f"{_LEFT_OUT} {more} more"] if more > 0 else copied

    def _text(self, text: str) -> str:
        most = max(0, min(_LONGEST, self._characters))
        self._characters -= min(len(text), most)
        return text if len(text) <= most else f"{text[:most]}{_LEFT_OUT}"


def _small_first(mapping: JsonObject) -> Any:
    # What is large, such as spec.template, must not use up the limit before the status is read.
    order = {"apiVersion": 0, "kind": 0, "metadata": 1, "status": 2}
    return lambda key: (order.get(key, 3), isinstance(mapping[key], dict | list))


def _chosen(document: Document, paths: Sequence[Path], count: int) -> set[int]:
    """Return the lines to show, from 1."""
    if count <= MOST_LINES:
        return set(range(1, count + 1))
    chosen: set[int] = set()
    for line in _wanted(document, paths, count):
        if len(chosen) >= MOST_LINES:
            break
        chosen.add(line)
    return chosen


def _wanted(document: Document, paths: Sequence[Path], count: int) -> Iterable[int]:
    """Yield lines in the order of what they tell."""
    for path in paths:
        # The keys above a line say where it is.
        yield from (document.place(*path[: depth + 1]).line for depth in range(len(path)))
    for path in paths:
        line = document.place(*path).line
        # What is beside it in the same mapping; above and below that stands something else.
        siblings = _lines_of(document, path[:-1], count) or range(1, count + 1)
        first, last = max(siblings[0], line - _BESIDE), min(siblings[-1], line + _BESIDE)
        yield from range(first, last + 1)
    yield from _lines_of(document, ("status", "conditions"), count)
    whole = _lines_of(document, ("status",), count)
    if len(whole) <= _MOST_STATUS or not paths:
        yield from whole
    if not paths:
        yield from range(1, count + 1)


def _lines_of(document: Document, path: Path, count: int) -> range:
    """Return the lines of a field with what is below it; none if there is no such field."""
    if not path:
        return range(0)
    *above, name = path
    mapping: Any = document.value
    for element in above:
        mapping = mapping.get(element) if isinstance(mapping, dict) else None
    if not isinstance(mapping, dict) or name not in mapping:
        return range(0)
    start = document.place(*path).line
    below = [document.place(*above, key).line for key in mapping]
    following = min((line for line in below if line > start), default=0)
    return range(start, following or _end(document, tuple(above), count))


def _end(document: Document, path: Path, count: int) -> int:
    """Return the line after a mapping."""
    lines = _lines_of(document, path, count) if path else range(1, count + 1)
    return max(lines, default=count) + 1


def _with_gaps(lines: Sequence[str], chosen: set[int], marked: set[int]) -> Iterable[str]:
    gap = 0
    for number, line in enumerate(lines, 1):
        if number not in chosen:
            gap += 1
            continue
        if gap:
            yield _gap(gap)
        gap = 0
        yield f"{'>' if number in marked else ' '} {line}"
    if gap:
        yield _gap(gap)


def _gap(lines: int) -> str:
    return f"  {_LEFT_OUT} {lines} more {'line' if lines == 1 else 'lines'}"
