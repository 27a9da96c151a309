"""Sprig's functions on lists.

Each is there twice: the second name, with `must`, is what Go programs call to get an error; in a
template both end the rendering with the same text.
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final

from gotemplate.errors import FunctionError, LimitError
from gotemplate.functions.reflection import key, kind_name
from gotemplate.golang.gofmt import plain_text
from gotemplate.golang.values import TYPED_LISTS, ListList, NilList, StringList, to_bytes, truth
from gotemplate.rendering import Rendering
from gotemplate.types.signature import ANY, INT, STRING, Function, to_int

# Sprig panics here; Go's templates make this error of it, which users know.
_NIL: Final = "runtime error: invalid memory address or nil pointer dereference"
_TOO_LONG: Final = "runtime error: makeslice: len out of range"


def items_of(value: object, problem: str) -> Sequence[object]:
    """Return the items of a list.

    Raises:
        FunctionError: it is nil, or no list; then the text is `problem` and the kind.
    """
    if value is None:
        raise FunctionError(_NIL)
    if not isinstance(value, (list, tuple)):
        raise FunctionError(f"{problem} {kind_name(value)}")
    return value


def like(items: Sequence[object], result: Iterable[object]) -> object:
    """Make a list of the same Go type as another one."""
    make: Callable[[Iterable[object]], object] = type(items) if _is_typed(items) else list
    return make(result)


def _is_typed(items: Sequence[object]) -> bool:
    return isinstance(items, TYPED_LISTS)


def make_list(*values: object) -> list[object]:
    """Make a list of the arguments."""
    return list(values)


def push(items: object, value: object) -> list[object]:
    """Return a list with one more item at its end."""
    return [*items_of(items, "Cannot push on type"), value]


def prepend(items: object, value: object) -> list[object]:
    """Return a list with one more item at its beginning."""
    return [value, *items_of(items, "Cannot prepend on type")]


def first(items: object) -> object:
    """Return the first item, nil when there is none."""
    values = items_of(items, "Cannot find first on type")
    return values[0] if values else None


def last(items: object) -> object:
    """Return the last item, nil when there is none."""
    values = items_of(items, "Cannot find last on type")
    return values[-1] if values else None


def rest(items: object) -> list[object]:
    """Return all items but the first."""
    # Of no items Sprig returns a nil slice, which `toJson` writes as null.
    values = items_of(items, "Cannot find rest on type")
    return list(values[1:]) if values else NilList()


def initial(items: object) -> list[object]:
    """Return all items but the last."""
    values = items_of(items, "Cannot find initial on type")
    return list(values[:-1]) if values else NilList()


def reverse(items: object) -> list[object]:
    """Return the items from the last to the first."""
    return list(items_of(items, "Cannot find reverse on type")[::-1])


def compact(items: object) -> list[object]:
    """Return the items that are not empty."""
    return list(filter(truth, items_of(items, "Cannot compact on type")))


def uniq(run: Rendering, items: object) -> list[object]:
    """Return the items without those that occurred before."""
    # By keys: Sprig compares each pair, which would be quadratic in what a tenant sends.
    distinct: dict[Hashable, object] = {}
    for item in items_of(items, "Cannot find uniq on type"):
        distinct.setdefault(key(run, item), item)
    return list(distinct.values())


def without(run: Rendering, items: object, *excluded: object) -> list[object]:
    """Return the items that equal none of the others."""
    values = items_of(items, "Cannot find without on type")
    keys = {key(run, value) for value in excluded}
    return [item for item in values if key(run, item) not in keys]


def has(run: Rendering, value: object, items: object) -> bool:
    """Return whether a list has an item; nil has none."""
    if items is None:
        return False
    expected = key(run, value)
    return any(key(run, item) == expected for item in items_of(items, "Cannot find has on type"))


def part(items: object, *bounds: object) -> object:
    """Return the items from the first bound up to, but not including, the second; nil for no items.

    Raises:
        FunctionError: it is no list, or a bound is outside it.
    """
    values = items_of(items, "list should be type of slice or array but")
    if not values:
        return None
    start = to_int(bounds[0]) if bounds else 0
    stop = to_int(bounds[1]) if len(bounds) > 1 else len(values)
    if not 0 <= start <= stop <= len(values):
        raise FunctionError("reflect.Value.Slice: slice index out of bounds")
    return like(values, values[start:stop])


def concat(run: Rendering, *lists: object) -> list[object]:
    """Return the items of several lists, one list after the other.

    Raises:
        FunctionError: one is nil, or no list.
    """
    values: list[object] = []
    for items in lists:
        if items is not None and not isinstance(items, (list, tuple)):
            raise FunctionError(f"Cannot concat type {kind_name(items)} as list")
        values += items_of(items, "")
        run.check("items", len(values))
    return values or NilList()


def chunk(size: int, items: object) -> list[list[object]]:
    """Split a list into lists of a size; the last one has the rest.

    Raises:
        FunctionError: it is no list, or the size leaves no way to cut it.
    """
    values = items_of(items, "Cannot chunk type")
    # Sprig computes with floats, so a size of 0 or below ends as Go's `make` does: with a panic.
    count = math.floor((len(values) - 1) / size) + 1 if size else -1
    if count < 0:
        raise FunctionError(_TOO_LONG)
    lengths = [size] * (count - 1) + [_rest(len(values), size)] * (count > 0)
    if min(lengths, default=0) < 0:
        raise FunctionError(_TOO_LONG)
    return ListList(
        [list(values[at * size : at * size + length]) for at, length in enumerate(lengths)]
    )


def _rest(count: int, size: int) -> int:
    return int(math.fmod(count, size)) or size


def to_strings(run: Rendering, value: object) -> list[str]:
    """Return the items of a list as strings, without nil; any other value is a list of one."""
    if value is None:
        return StringList()
    if not isinstance(value, (list, tuple)):
        return StringList([plain_text(run, value)])
    run.charge(len(value) >> 1)
    return StringList([plain_text(run, item) for item in value if item is not None])


def join(run: Rendering, separator: str, value: object) -> str:
    """Join the items of a list as strings with a separator; nil is left out."""
    texts = to_strings(run, value)
    # Checked before the text is made: separators may be far longer than the items.
    run.check("string", sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def sort_alpha(run: Rendering, value: object) -> list[str]:
    """Return the items of a list as strings, sorted by their bytes."""
    if value is None:
        # Sprig sorts the text of nil here, where `toStrings` has no item.
        return StringList(["<nil>"])
    return StringList(sorted(to_strings(run, value), key=to_bytes))


def _twice(name: str, function: Function) -> tuple[Function, Function]:
    must = f"must{name[0].upper()}{name[1:]}"
    return (
        Function(name, function.call, function.params, function.rest, function.uses_rendering),
        Function(must, function.call, function.params, function.rest, function.uses_rendering),
    )


FUNCTIONS: Final = (
    Function("list", make_list, (), ANY),
    Function("tuple", make_list, (), ANY),
    Function("concat", concat, (), ANY, uses_rendering=True),
    Function("toStrings", to_strings, (ANY,), uses_rendering=True),
    Function("join", join, (STRING, ANY), uses_rendering=True),
    Function("sortAlpha", sort_alpha, (ANY,), uses_rendering=True),
    *_twice("append", Function("", push, (ANY, ANY))),
    *_twice("push", Function("", push, (ANY, ANY))),
    *_twice("prepend", Function("", prepend, (ANY, ANY))),
    *_twice("first", Function("", first, (ANY,))),
    *_twice("last", Function("", last, (ANY,))),
    *_twice("rest", Function("", rest, (ANY,))),
    *_twice("initial", Function("", initial, (ANY,))),
    *_twice("reverse", Function("", reverse, (ANY,))),
    *_twice("compact", Function("", compact, (ANY,))),
    *_twice("uniq", Function("", uniq, (ANY,), uses_rendering=True)),
    *_twice("without", Function("", without, (ANY,), ANY, uses_rendering=True)),
    *_twice("has", Function("", has, (ANY, ANY), uses_rendering=True)),
    *_twice("slice", Function("", part, (ANY,), ANY)),
    *_twice("chunk", Function("", chunk, (INT, ANY))),
)


def measure(run: Rendering, value: object) -> None:
    """Check that a value is neither too deep nor too large; a value that occurs twice counts twice.

    Raises:
        LimitError: the value is deeper or larger than the limits allow.
    """
    # Without recursion: the value may be deeper than Python's stack.
    limits = run.limits
    room = limits.string
    waiting = [(value, 0)]
    while waiting:
        item, depth = waiting.pop()
        room -= 1 + depth  # deep values are indented
        run.check("value_depth", depth)
        if isinstance(item, str):
            room -= len(item)
        elif isinstance(item, Mapping):
            run.charge(len(item))
            room -= sum(len(key) for key in item if isinstance(key, str))
            waiting.extend((inner, depth + 1) for inner in item.values())
        elif isinstance(item, (list, tuple)):
            run.charge(len(item))
            waiting.extend((inner, depth + 1) for inner in item)
        if room < len(waiting):
            raise LimitError("string", limits.string)
    run.charge((limits.string - room) >> 6)
