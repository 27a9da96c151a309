"""Repairs objects that server-side apply rejects for their schema, where that loses nothing.

Server-side apply checks an object against the schema of its kind before anything else, whatever
`fieldValidation` says, custom resources included. It answers HTTP 500 "failed to create typed
patch object", the object's name, and one fault, or "errors:" and one fault a line; not always
all of them, so applying a repaired object may be answered with the next fault.

* A field that the schema lacks is removed: a server that ignores unknown fields drops it, too.
* Of several items of a list with one key the last wins and stands where the first stood, as in a
  strategic merge.

Anything else, such as a value of the wrong type, is for the author of the template.

Invariant: names in the text are the author's and may hold dots, brackets or line breaks. So paths
are not parsed but followed in the object: a fault counts only if its path exists there, and if the
message consists of such faults alone.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from gotemplate import unquote
from kudo.api import Json, JsonObject
from kudo.api.known_secrets import is_secret
from kudo.api.redaction import without_keys

Reason = Literal["UnknownField", "DuplicateListKey"]

_HEAD: Final = "failed to create typed patch object"
_SEVERAL: Final = "errors:\n  "
_UNKNOWN: Final = ": field not declared in schema"
_DUPLICATE: Final = ": duplicate entries for key "


_INDEX: Final = re.compile(r"\[(\d{1,9})\]")
_PAIR: Final = re.compile(r'([^=,\[\]"]*)=("(?:[^"\\]|\\.)*"|[^",\[\]]*)')

_STEPS: Final = 200_000
"""Fields and items that one call may visit; the next call handles further faults."""
_LONGEST: Final = 200
"""Characters of a path in a note."""

_Path = tuple[str | int, ...]
_Key = tuple[tuple[str, Json], ...]
"""What identifies an item of a list: fields and their values; one nameless of a plain value."""

_UNTOUCHABLE: Final = frozenset(
    {("apiVersion",), ("kind",), ("metadata",)}
    | {
        ("metadata", key)
        for key in ("name", "namespace", "ownerReferences", "labels", "annotations")
    }
)
"""Fields of every schema: a message that names them as unknown means something else."""


@dataclass(frozen=True, slots=True)
class Note:
    """One repair: the reason of the event, and a text that names the field."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class Mended:
    """A repaired copy of an object, and a note for each difference."""

    target: JsonObject
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class _Fault:
    """One place of an object that a fault names, and where the text of the fault ends.

    `key` is None for an unknown field, else the key that items of the list share.
    """

    path: _Path
    end: int
    key: _Key | None
    note: Note


def mended(target: JsonObject, message: str) -> Mended | None:
    """Return the object without the faults of an error, or None if they cannot be repaired.

    Each call removes something, so repairing and applying again terminates; callers still need a
    bound, since the API server may name just one of many unknown fields at a time.

    Args:
        target: The object as it was sent; it stays as it is.
        message: The `message` of the answer.
    """
    faults = _faults(target, message)
    if not faults or any(fault.path in _UNTOUCHABLE for fault in faults):
        return None
    # The deepest first, so that indices further up stay valid.
    for fault in sorted(faults, key=lambda fault: len(fault.path), reverse=True):
        target = _without(target, fault)
    return Mended(target, tuple(dict.fromkeys(fault.note for fault in faults)))


def _faults(target: JsonObject, message: str) -> list[_Fault]:
    """Return every fault that a message names; none if it names anything else as well."""
    reader = _reader(target, message)
    all_faults: dict[tuple[_Path, _Key | None], _Fault] = {}
    position: int | None = 0
    while position is not None and reader.steps < _STEPS:
        faults = reader.faults_at(target, position)
        if not faults:
            # A part that is not understood may be what really keeps the object from being applied:
            # then nothing of it is left out.
            return []
        all_faults |= {(fault.path, fault.key): fault for fault in faults}
        position = reader.after(faults[0].end)
    return list(all_faults.values())


def _reader(target: JsonObject, message: str) -> "_Reader":
    """Return a reader of the faults in a message; one that finds none if it is another message."""
    text = _complaint(target.get("kind"), message)
    if text.startswith(_SEVERAL):
        return _Reader(text[len(_SEVERAL) :], between="\n  ", secret=is_secret(target))
    return _Reader(text, secret=is_secret(target))


def _complaint(kind: Json, message: str) -> str:
    """Return what server-side apply says after the object's name; empty if it says otherwise."""
    if message.startswith(f"{_HEAD}: "):  # API servers before 1.22 name no object
        return message[len(_HEAD) + 2 :]
    head, mark, text = message.partition(f", Kind={kind}): ")
    return text if mark and head.startswith(f"{_HEAD} (") else ""


class _Reader:
    """Matches the text of faults against an object; `steps` counts the visited fields.

    Args:
        text: The faults, without what comes before and after them.
        between: What separates them; empty if there is just one.
        secret: Whether the notes may quote no values.
    """

    def __init__(self, text: str, *, between: str = "", secret: bool = False) -> None:
        self.steps = 0
        self._text = text
        self._between = between
        self._secret = secret

    def faults_at(self, target: JsonObject, position: int) -> list[_Fault]:
        """Return all places that the fault at a position means; none if there is no such."""
        faults = list(self._along(target, (), position, position))
        return [fault for fault in faults if fault.end == faults[0].end]

    def after(self, end: int) -> int | None:
        """Return where the fault begins that follows the one with this end, None at the end."""
        return end + len(self._between) if end < len(self._text) else None

    def _along(self, node: Json, path: _Path, start: int, at: int) -> Iterator[_Fault]:
        """Yield what the text from `at` on says of a value or of something in it."""
        if self._text.startswith(":", at):
            yield from self._said(node, path, start, at)
        elif isinstance(node, dict) and self._text.startswith(".", at):
            yield from self._along_fields(node, path, start, at + 1)
        elif isinstance(node, list) and self._text.startswith("[", at):
            yield from self._along_items(node, path, start, at)

    def _along_fields(self, node: JsonObject, path: _Path, start: int, at: int) -> Iterator[_Fault]:
        self.steps += len(node)
        names = [name for name in node if self._text.startswith(name, at)]
        # Of `a` that holds `b` and of `a.b`, the schema hardly knows the latter.
        for name in sorted(names, key=len, reverse=True):
            faults = list(self._along(node[name], (*path, name), start, at + len(name)))
            if faults:
                yield from faults
                return

    def _along_items(self, node: list[Json], path: _Path, start: int, at: int) -> Iterator[_Fault]:
        if index := _INDEX.match(self._text, at):
            chosen: Iterable[int] = range(len(node))[int(index[1]) :][:1]
            end = index.end()
        elif key := _key_at(self._text, at):
            self.steps += len(node)
            chosen, end = _alike(node, key[0]), key[1]
        else:
            return
        for number in chosen:
            yield from self._along(node[number], (*path, number), start, end)

    def _said(self, node: Json, path: _Path, start: int, at: int) -> Iterator[_Fault]:
        where = self._text[start:at].removeprefix(".")
        where = _shown(without_keys(where) if self._secret else where)
        if self._text.startswith(_UNKNOWN, at):
            end = at + len(_UNKNOWN)
            if self._ends(end) and path and isinstance(path[-1], str):
                note = Note("UnknownField", f"unknown field {where} is left out")
                yield _Fault(path, end, None, note)
        elif self._text.startswith(_DUPLICATE, at) and isinstance(node, list):
            self.steps += len(node)
            key = _key_at(self._text, at + len(_DUPLICATE))
            if key is not None and self._ends(key[1]) and len(_alike(node, key[0])) > 1:
                shared = _shown(self._text[at + len(_DUPLICATE) : key[1]].strip("[]").lstrip("="))
                by = "one key" if self._secret else f"the key {shared}"
                text = f"{where} has several items with {by}: the last is used"
                yield _Fault(path, key[1], key[0], Note("DuplicateListKey", text))

    def _ends(self, end: int) -> bool:
        separated = self._between and self._text.startswith(self._between, end)
        return end == len(self._text) or bool(separated)


def _key_at(text: str, at: int) -> tuple[_Key, int] | None:
    """Read `[name="a",port=80]` and return it with the position behind it."""
    pairs: list[tuple[str, Json]] = []
    while text.startswith("," if pairs else "[", at) and (pair := _PAIR.match(text, at + 1)):
        try:
            value = unquote(pair[2]) if pair[2].startswith('"') else json.loads(pair[2])
        except ValueError:
            return None
        pairs.append((pair[1], value))
        at = pair.end()
    return (tuple(pairs), at + 1) if pairs and text.startswith("]", at) else None


def _alike(items: list[Json], key: _Key) -> list[int]:
    """Return the indices of the items that have a key."""
    return [index for index, item in enumerate(items) if _has_key(item, key)]


def _has_key(item: Json, key: _Key) -> bool:
    if not isinstance(item, dict):
        return [name for name, _ in key] == [""] and _same(item, key[0][1])
    # A field that the item lacks has its default in the text, never null.
    return all(
        _same(item[name], value) if name in item else value is not None for name, value in key
    )


def _same(left: Json, right: Json) -> bool:
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)


def _without(target: JsonObject, fault: _Fault) -> JsonObject:
    *parent, last = fault.path
    key = fault.key

    def without_field(node: JsonObject) -> JsonObject:
        return {name: value for name, value in node.items() if name != last}

    def with_last_item(items: list[Json]) -> list[Json]:
        # The last one wins and stands where the first one stood, as in a strategic merge.
        first, *others = _alike(items, key or ())
        dropped = set(others)
        kept = [item for index, item in enumerate(items) if index not in dropped]
        kept[first] = items[others[-1]]
        return kept

    path = tuple(parent) if key is None else fault.path
    result: JsonObject = _changed(target, path, without_field if key is None else with_last_item)
    return result


def _changed(node: Json, path: _Path, change: Callable[[Json], Json]) -> Json:
    """Return a value with what is at a path changed; only the way to it is copied."""
    if not path:
        return change(node)
    copy = node.copy()
    copy[path[0]] = _changed(node[path[0]], path[1:], change)
    return copy


def _shown(text: str) -> str:
    flat = " ".join(text.split())
    half = _LONGEST // 2
    return flat if len(flat) <= _LONGEST else f"{flat[:half]}...{flat[-half:]}"
