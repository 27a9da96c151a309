"""Sprig's functions on maps.

`set`, `unset` and the merging functions change the map they are given. Where Go's order is random
(`keys`, `values`) it is the order of the keys here.

Merging: a key that the first map lacks, or whose value is empty, gets the value of the other map;
two maps under one key are merged in turn; every other value stays, or is replaced when overwriting.
`merge` and `mergeOverwrite` follow mergo v0.3.9, the version of KUDO 0.19: an empty value of the
other map, such as false or 0, counts as none, so that it neither overwrites nor adds a key; only
nil overwrites. `mustMerge` and `mustMergeOverwrite`, which KUDO 0.19 lacks, are those of Sprig 3.3:
empty values count. Where a value has different types in both maps, all follow Sprig 3.3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gotemplate.errors import FunctionError
from gotemplate.functions.lists import like, measure
from gotemplate.golang.gofmt import plain_text
from gotemplate.golang.values import (
    TYPED_LISTS,
    Kind,
    StringList,
    StringMap,
    kind_of,
    to_bytes,
    truth,
    type_name,
)
from gotemplate.rendering import Rendering
from gotemplate.types.signature import ANY, MAP, STRING, Function

Dict = dict[str, object]
_NIL: Final[Mapping[str, object]] = {}
_FEWEST_TO_DIG: Final = 3


def make_dict(run: Rendering, *pairs: object) -> Dict:
    """Return a map of alternating keys and values; a last key without a value gets ""."""
    keys = [plain_text(run, key) for key in pairs[::2]]
    values = [*pairs[1::2], *([""] if len(pairs) % 2 else [])]
    return dict(zip(keys, values, strict=True))


def get(mapping: Dict | None, key: str) -> object:
    """Return the value of a key, "" when there is none."""
    return (mapping or _NIL).get(key, "")


def put(mapping: Dict | None, key: str, value: object) -> Dict:
    """Set the value of a key; changes the map itself and returns it.

    Raises:
        FunctionError: the map is nil.
    """
    if mapping is None:
        raise FunctionError("assignment to entry in nil map")
    mapping[key] = value
    return mapping


def unset(mapping: Dict | None, key: str) -> Dict:
    """Delete a key; changes the map itself and returns it."""
    if mapping is None:
        return {}
    mapping.pop(key, None)
    return mapping


def has_key(mapping: Dict | None, key: str) -> bool:
    """Return whether a map has a key."""
    return key in (mapping or _NIL)


def pluck(key: str, *maps: Dict | None) -> list[object]:
    """Return the values that maps have for a key."""
    return [mapping[key] for mapping in maps if mapping is not None and key in mapping]


def keys(*maps: Dict | None) -> list[str]:
    """Return the keys of maps, those of each in order."""
    return StringList(key for mapping in maps for key in _ordered(mapping))


def values(mapping: Dict | None) -> list[object]:
    """Return the values of a map in the order of their keys."""
    return [(mapping or _NIL)[key] for key in _ordered(mapping)]


def _ordered(mapping: Dict | None) -> list[str]:
    return sorted(mapping or _NIL, key=to_bytes)


def pick(mapping: Dict | None, *expected: str) -> Dict:
    """Return a copy of a map with only those keys."""
    mapping = mapping or {}
    return {key: mapping[key] for key in expected if key in mapping}


def omit(mapping: Dict | None, *excluded: str) -> Dict:
    """Return a copy of a map without those keys."""
    return {key: value for key, value in (mapping or _NIL).items() if key not in excluded}


def dig(*path: object) -> object:
    """Look up a path: the keys, then the result if one is missing, then the map.

    Raises:
        FunctionError: there are fewer than three arguments, or one has the wrong type.
    """
    if len(path) < _FEWEST_TO_DIG:
        raise FunctionError("dig needs at least three arguments")
    value: object = _as_map(path[-1])
    steps = [_as_text(step) for step in path[:-2]]
    for step in steps:
        inner = _as_map(value)
        if step not in inner:
            return path[-2]
        value = inner[step]
    return value


def _as_map(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping) and not isinstance(value, StringMap):
        return value
    raise _conversion(value, "map[string]interface {}")


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _conversion(value, "string")


def _conversion(value: object, expected: str) -> FunctionError:
    got = "nil" if value is None else type_name(value)
    return FunctionError(f"interface conversion: interface {{}} is {got}, not {expected}")


def deep_copy(run: Rendering, value: object) -> object:
    """Copy a value and everything inside it.

    Raises:
        FunctionError: it is nil.
        LimitError: it is too deep or too large.
    """
    if value is None:
        raise FunctionError("reflect: call of reflect.Value.Type on zero Value")
    measure(run, value)
    return snapshot(run, value)


def snapshot(run: Rendering, value: object, depth: int = 0) -> object:
    """Copy the maps and lists of a value, so that what changes them changes the copy.

    Raises:
        LimitError: it is too deep, or copying it costs too much.
    """
    if isinstance(value, StringMap):
        return StringMap(value)
    if not isinstance(value, (Mapping, list, tuple)):
        return value
    run.check("value_depth", depth)
    run.charge(len(value) >> 2)
    if isinstance(value, Mapping):
        return {key: snapshot(run, item, depth + 1) for key, item in value.items()}
    items = [snapshot(run, item, depth + 1) for item in value]
    return like(value, items) if isinstance(value, TYPED_LISTS) else items


def merge(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Add to a map what it lacks, from the first of the other maps that has it."""
    return _Merger(run, overwrite=False, empty=False).merged(target, sources)


def must_merge(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Do the same, and add empty values, too."""
    return _Merger(run, overwrite=False, empty=True).merged(target, sources)


def merge_overwrite(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Overwrite the values of a map with those of others that are not empty; the last ones win."""
    return _Merger(run, overwrite=True, empty=False).merged(target, sources)


def must_merge_overwrite(run: Rendering, target: Dict | None, *sources: Dict | None) -> Dict:
    """Do the same, with empty values, too."""
    return _Merger(run, overwrite=True, empty=True).merged(target, sources)


@dataclass(frozen=True, slots=True)
class _Merger:
    """One call of a function.

    Attributes:
        overwrite: Whether the other maps win.
        empty: Whether their empty values count.
    """

    run: Rendering
    overwrite: bool
    empty: bool

    def merged(self, target: Dict | None, sources: tuple[Dict | None, ...]) -> Dict:
        merged = {} if target is None else target
        for source in sources:
            self._merge(merged, source or {}, 0)
        return merged

    def _merge(self, target: Dict, source: Dict, depth: int) -> None:
        self.run.check("value_depth", depth)
        self.run.charge(len(source))
        for key, value in list(source.items()):
            current = target.get(key)
            both_maps = kind_of(value) is kind_of(current) is Kind.MAP
            if both_maps:
                assert isinstance(current, dict)
                assert isinstance(value, dict)
                self._merge(current, value, depth + 1)
            if value is None and not self.overwrite:
                continue
            if not (self.empty or value is None or truth(value)):
                if current is None:
                    target.pop(key, None)  # mergo removes a nil that meets an empty value
                continue
            if not truth(current) or (self.overwrite and not both_maps):
                target[key] = value


FUNCTIONS: Final = (
    Function("dict", make_dict, (), ANY, uses_rendering=True),
    Function("get", get, (MAP, STRING)),
    Function("set", put, (MAP, STRING, ANY)),
    Function("unset", unset, (MAP, STRING)),
    Function("hasKey", has_key, (MAP, STRING)),
    Function("pluck", pluck, (STRING,), MAP),
    Function("keys", keys, (), MAP),
    Function("values", values, (MAP,)),
    Function("pick", pick, (MAP,), STRING),
    Function("omit", omit, (MAP,), STRING),
    Function("dig", dig, (), ANY),
    Function("deepCopy", deep_copy, (ANY,), uses_rendering=True),
    Function("mustDeepCopy", deep_copy, (ANY,), uses_rendering=True),
    Function("merge", merge, (MAP,), MAP, uses_rendering=True),
    Function("mustMerge", must_merge, (MAP,), MAP, uses_rendering=True),
    Function("mergeOverwrite", merge_overwrite, (MAP,), MAP, uses_rendering=True),
    Function("mustMergeOverwrite", must_merge_overwrite, (MAP,), MAP, uses_rendering=True),
)
