"""Evaluates paths over JSON values: each selector is a function from one value to many.

A key that is missing selects nothing, as with `kubectl get`. An index out of bounds, and a
comparison that makes no sense, is an error.
"""

from collections.abc import Callable, Iterable, Iterator
from operator import eq, ge, gt, le, lt, ne

from kubectl_kudo.jsonpath.nodes import (
    Field,
    Filter,
    Index,
    JsonPathError,
    Literal,
    Operand,
    Path,
    Recursive,
    Root,
    Slice,
    Union,
    Wildcard,
)

# Type checkers read it as True. Importing `typing` would take 5 % of the time of `--help`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COMPARE: "dict[str, Callable[[Any, Any], bool]]" = {
    "==": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}


def find(path: Path, value: "Any", root: "Any" = None) -> "list[Any]":
    """Return what a path selects.

    Args:
        path: The path.
        value: What it begins at.
        root: What `$` stands for; `value` if None.

    Raises:
        JsonPathError: it cannot be evaluated over this value.
    """
    top = value if root is None else root
    values = [value]
    for selector in path.selectors:
        if isinstance(selector, Union):
            # The first path over all values, then the second one: the order of kubectl.
            values = [
                found for part in selector.paths for one in values for found in find(part, one, top)
            ]
        else:
            values = [found for one in values for found in _selected(selector, one, top)]
    return values


def operand(one: Operand, value: "Any", root: "Any") -> "list[Any]":
    """Return the values of a path, or the one of a literal."""
    return [one.value] if isinstance(one, Literal) else find(one, value, root)


def _selected(
    selector: "Root | Field | Wildcard | Recursive | Index | Slice | Filter",
    value: "Any",
    root: "Any",
) -> "Iterable[Any]":
    match selector:
        case Root():
            return [root]
        case Field(name=name):
            return [value[name]] if isinstance(value, dict) and name in value else []
        case Wildcard():
            return _children(value)
        case Recursive():
            return _everything(value)
        case Index():
            return _element(selector, value)
        case Slice():
            return _elements(selector, value)
        case Filter():
            return _filtered(selector, value, root)


def _children(value: "Any") -> "Iterable[Any]":
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else []


def _everything(value: "Any") -> "Iterator[Any]":
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed([*_children(one)])


def _element(selector: Index, value: "Any") -> "list[Any]":
    if value is None:
        return []
    items = _list(value, selector.position)
    if not -len(items) <= selector.index < len(items):
        problem = f"array index out of bounds: index {selector.index}, length {len(items)}"
        raise JsonPathError(problem, selector.position)
    return [items[selector.index]]


def _elements(selector: Slice, value: "Any") -> "list[Any]":
    items = _list(value, selector.position)
    return items[selector.start : selector.stop : selector.step]


def _list(value: "Any", position: int) -> "list[Any]":
    if value is None:
        return []
    if not isinstance(value, list):
        raise JsonPathError(f"{_kind(value)} is not a list", position)
    return value


def _filtered(selector: Filter, value: "Any", root: "Any") -> "Iterator[Any]":
    for item in _list(value, selector.position):
        left = operand(selector.left, item, root)
        if selector.right is None:
            if left:
                yield item
            continue
        right = operand(selector.right, item, root)
        if max(len(left), len(right)) > 1:
            raise JsonPathError("can only compare one value at a time", selector.position)
        if left and right and _holds(selector, left[0], right[0]):
            yield item


def _holds(selector: Filter, left: "Any", right: "Any") -> bool:
    if left is None or right is None:
        return selector.operator in {"==", "!="} and _COMPARE[selector.operator](left, right)
    kinds = _kind(left), _kind(right)
    if kinds[0] != kinds[1] or kinds[0] in {"a mapping", "a list"}:
        hint = ": put quotes around the number" if set(kinds) == {"text", "a number"} else ""
        problem = f"incompatible types for comparison: {kinds[0]} and {kinds[1]}{hint}"
        raise JsonPathError(problem, selector.position)
    return _COMPARE[selector.operator](left, right)


def _kind(value: "Any") -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"
