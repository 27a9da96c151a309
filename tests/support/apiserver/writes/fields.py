"""Sets of field paths: whose they are, how two objects differ in them, merging and removing.

A path is a tuple of the elements that FieldsV1 writes: `f:NAME`, `k:{KEYS}` or `v:VALUE`. The rules
are those of structured-merge-diff, which the API server uses for managedFields.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from kubeio.types import Json, JsonObject
from tests.support.apiserver.types.schema import Schema

Path = tuple[str, ...]
Paths = frozenset[Path]
NOTHING: Final[Paths] = frozenset()
_ABSENT: Final = object()


class Comparison(NamedTuple):
    """What is different in a new object."""

    added: Paths
    removed: Paths
    modified: Paths

    @property
    def written(self) -> Paths:
        return self.added | self.modified


def owned(value: Json, schema: Schema) -> Paths:
    """Return the paths that whoever applies this object owns."""
    return frozenset(_owned(value, schema, ()))


def _owned(value: Json, schema: Schema, path: Path) -> Iterator[Path]:
    match value:
        case dict() if not schema.atomic:
            for key, below in value.items():
                inner = (*path, f"f:{key}")
                yield from _owned(below, schema.member(key), inner)
                if below is None or below == {} or not schema.declares(key):
                    yield inner
        case list() if schema.list_type != "atomic":
            for item in value:
                inner = (*path, schema.identity(item))
                yield from _owned(item, schema.item, inner)
                yield inner
        case _:
            yield path


def compare(old: Json, new: Json, schema: Schema) -> Comparison:
    """Return in which fields a new object differs; containers that come or go count, too."""
    found: tuple[set[Path], set[Path], set[Path]] = (set(), set(), set())
    _compare(old, new, schema, (), found)
    return Comparison(*map(frozenset, found))


def _compare(
    old: Json, new: Json, schema: Schema, path: Path, found: tuple[set[Path], set[Path], set[Path]]
) -> None:
    if old is not _ABSENT and new is not _ABSENT and old == new and type(old) is type(new):
        return
    added, removed, modified = found
    if old is _ABSENT:
        added.add(path)
    elif new is _ABSENT:
        removed.add(path)
    elif not (_granular(old, schema) and _granular(new, schema) and type(old) is type(new)):
        modified.add(path)
    before, after = _members(old, schema), _members(new, schema)
    for key in {**before, **after}:
        below = _below(schema, key)
        _compare(before.get(key, _ABSENT), after.get(key, _ABSENT), below, (*path, key), found)


def _granular(value: Json, schema: Schema) -> bool:
    if isinstance(value, dict):
        return not schema.atomic
    return isinstance(value, list) and schema.list_type != "atomic"


def _members(value: Json, schema: Schema) -> dict[str, Json]:
    if value is _ABSENT or not _granular(value, schema):
        return {}
    if isinstance(value, dict):
        return {f"f:{key}": below for key, below in value.items()}
    return {schema.identity(item): item for item in value}


def _below(schema: Schema, element: str) -> Schema:
    return schema.member(element[2:]) if element.startswith("f:") else schema.item


def merge(live: Json, applied: Json, schema: Schema) -> Json:
    """Return the live value with what is applied put over it; neither is changed."""
    if isinstance(live, dict) and isinstance(applied, dict) and not schema.atomic:
        return {
            **live,
            **{
                key: merge(live[key], below, schema.member(key)) if key in live else below
                for key, below in applied.items()
            },
        }
    if isinstance(live, list) and isinstance(applied, list) and schema.list_type != "atomic":
        return _merged_list(live, applied, schema)
    return applied


def _merged_list(live: list[Json], applied: list[Json], schema: Schema) -> list[Json]:
    """Return the items of both: those in both in the order applied, others where they stood."""
    before = {schema.identity(item): item for item in live}
    after = {schema.identity(item): item for item in applied}
    waiting = list(after)
    merged: list[Json] = []
    for identity, item in before.items():
        if identity not in after:
            merged.append(item)
            continue
        while waiting:
            taken = waiting.pop(0)
            known = before.get(taken, _ABSENT)
            value = after[taken]
            merged.append(value if known is _ABSENT else merge(known, value, schema.item))
            if known is not _ABSENT:
                break
    return [*merged, *(after[identity] for identity in waiting)]


def without(value: Json, gone: Paths, kept: Paths, schema: Schema) -> Json:
    """Return a value without the fields `gone`, but for those above or below which one is `kept`.

    A container that lost its last member goes as well.
    """
    prefixes = {path[:length] for path in kept for length in range(len(path) + 1)}
    found = _without(value, gone, prefixes, schema, ())
    return {} if found is _ABSENT else found


def _without(value: Json, gone: Paths, prefixes: set[Path], schema: Schema, path: Path) -> Json:
    if path in gone and path not in prefixes:
        return _ABSENT
    if not value or not _granular(value, schema):
        return value
    rest = {
        element: _without(below, gone, prefixes, _below(schema, element), (*path, element))
        for element, below in _members(value, schema).items()
    }
    left = {element: below for element, below in rest.items() if below is not _ABSENT}
    if not left and path not in prefixes:
        return _ABSENT
    if isinstance(value, list):
        return [*left.values()]
    return {element[2:]: below for element, below in left.items()}


@lru_cache(maxsize=1024)
def encode(paths: Paths) -> JsonObject:
    """Return a set of paths as FieldsV1, which is not to be changed."""
    root: JsonObject = {}
    nodes = {}
    for path in sorted(paths):
        node = root
        for element in path:
            node = node.setdefault(element, {})
        nodes[path] = node
    for node in nodes.values():
        if node:
            node["."] = {}
    return root


def decode(tree: JsonObject) -> Paths:
    """Return the paths of a FieldsV1 tree."""
    return frozenset(_decode(tree, ()))


def _decode(tree: JsonObject, path: Path) -> Iterator[Path]:
    for element, below in tree.items():
        if element == ".":
            yield path
            continue
        inner = (*path, element)
        if below:
            yield from _decode(below, inner)
        else:
            yield inner


def shown(path: Path) -> str:
    """Return a path as conflicts show it, such as `.spec.containers[name="a"].image`."""
    return "".join(map(_shown, path))


def _shown(element: str) -> str:
    if element.startswith("f:"):
        return f".{element[2:]}"
    if element.startswith("v:"):
        return f"[={element[2:]}]"
    pairs = element[3:-1].split(",")
    return f"[{','.join(_pair(pair) for pair in pairs)}]"


def _pair(pair: str) -> str:
    key, _, value = pair.partition(":")
    return f"{key.strip(chr(34))}={value}"
