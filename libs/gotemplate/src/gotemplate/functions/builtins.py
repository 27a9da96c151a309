"""The functions text/template itself has.

`and`, `or` and `call` are entries for the parser and for arity; the compiler evaluates them,
because they see their arguments before they are values.

Comparisons of different basic kinds are an error, not unequal; nil equals nil and nothing else;
maps and lists compare with nil only.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote_plus

from gotemplate.errors import FunctionError
from gotemplate.golang.gofmt import short_text, sprint, sprintln
from gotemplate.golang.goprintf import sprintf
from gotemplate.golang.values import (
    BASIC,
    NO_VALUE,
    Kind,
    MethodValue,
    StringMap,
    Uint8,
    kind_of,
    to_bytes,
    truth,
    type_name,
)
from gotemplate.rendering import Rendering
from gotemplate.types.signature import ANY, STRING, VALUE, Function

_HTML: Final = str.maketrans(
    {"\0": "\ufffd", '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
_JS_SPECIAL: Final = re.compile(r"[^ !#-%(-;?-\[\]-\x7f]")
_JS: Final = {"\\": "\\\\", "'": "\\'", '"': '\\"'}


def _not(value: object) -> bool:
    return not truth(value)


def special(*_args: object) -> object:
    """Placeholder for `and`, `or` and `call`, which the compiler evaluates."""
    raise AssertionError("evaluated by the compiler")


def length(item: object) -> int:
    """Return the number of bytes of a string, items of a list or entries of a map.

    Raises:
        FunctionError: the value has no length.
    """
    if isinstance(item, str):
        # Go counts bytes; text of ASCII has as many characters.
        return len(item) if item.isascii() else len(to_bytes(item))
    if isinstance(item, (list, tuple, Mapping)):
        return len(item)
    if item is None:
        raise FunctionError("len of nil pointer")
    if item is NO_VALUE:
        raise FunctionError("reflect: call of reflect.Value.Type on zero Value")
    raise FunctionError(f"len of type {type_name(item)}")


def index(item: object, *indexes: object) -> object:
    """Index lists and maps; a missing key returns nil, an index out of range is an error."""
    if item is None or item is NO_VALUE:
        raise FunctionError("index of untyped nil")
    for key in indexes:
        if item is None:
            raise FunctionError("index of nil pointer")
        if isinstance(item, Mapping):
            # Go returns the zero value of the type of the entries: "" in a map of strings.
            item = item.get(_map_key(key), "" if isinstance(item, StringMap) else None)
        elif isinstance(item, (list, tuple)):
            item = item[_position(key, len(item), "slice")]
        elif isinstance(item, str):
            data = to_bytes(item)
            item = Uint8(data[_position(key, len(data), "string")])
        else:
            raise FunctionError(f"can't index item of type {type_name(item)}")
    return item


def _map_key(key: object) -> str:
    if isinstance(key, str):
        return key
    if key is None or key is NO_VALUE:
        raise FunctionError("value is nil; should be of type string")
    raise FunctionError(f"value has type {type_name(key)}; should be string")


def _position(key: object, size: int, what: str) -> int:
    if key is None or key is NO_VALUE:
        raise FunctionError("cannot index slice/array with nil")
    if kind_of(key) is not Kind.INT:
        raise FunctionError(f"cannot index slice/array with type {type_name(key)}")
    assert isinstance(key, int)
    if not 0 <= key <= size:
        raise FunctionError(f"index out of range: {key}")
    if key == size:  # Go lets this one through to reflection, whose text differs
        raise FunctionError(f"reflect: {what} index out of range")
    return int(key)


def _print(run: Rendering, *args: object) -> str:
    return sprint(run, args)


def _println(run: Rendering, *args: object) -> str:
    return sprintln(run, args)


def _printf(run: Rendering, template: str, *args: object) -> str:
    return sprintf(run, template, args)


def _joined(run: Rendering, args: tuple[object, ...]) -> str:
    if len(args) == 1 and isinstance(args[0], str):
        return args[0]
    return sprint(run, ["<no value>" if arg is None else arg for arg in args])


def html(run: Rendering, *args: object) -> str:
    """Escape for HTML as Go does: `&#34;` and `&#39;` for quotes, U+FFFD for NUL."""
    return _joined(run, args).translate(_HTML)


def js(run: Rendering, *args: object) -> str:
    """Escape for a JavaScript string as Go does."""
    text = _joined(run, args)
    run.charge(len(text) >> 3)
    return _JS_SPECIAL.sub(_escape_js, text)


def _escape_js(match: re.Match[str]) -> str:
    character = match[0]
    if character in _JS:
        return _JS[character]
    code = ord(character)
    if code >= 0x80 and character.isprintable():
        return character
    return f"\\u{0xFFFD if 0xD800 <= code < 0xE000 else code:04X}"


def urlquery(run: Rendering, *args: object) -> str:
    """Escape for the query part of a URL; a space becomes `+`."""
    return quote_plus(to_bytes(_joined(run, args)))


def eq(first: object, *others: object) -> bool:
    """Return whether the first value equals any of the others.

    Raises:
        FunctionError: there are no others, or two values cannot be compared.
    """
    if not others:
        raise FunctionError("missing argument for comparison")
    return any(_equal(first, other) for other in others)


def _equal(first: object, second: object) -> bool:
    if type(first) is type(second) and isinstance(first, (str, bool, int, float)):
        return first == second
    left, right = kind_of(first), kind_of(second)
    if left is right and left in BASIC:
        return first == second
    if left is Kind.INVALID or right is Kind.INVALID:
        return left is right
    if left in BASIC or right in BASIC:
        raise FunctionError(
            f"incompatible types for comparison: {type_name(first)} and {type_name(second)}"
        )
    if left is not right:
        raise FunctionError(
            f"non-comparable types {short_text(first, 's')}: {type_name(first)}, "
            f"{type_name(second)}: {short_text(second)}"
        )
    if left is Kind.STRUCT:
        return first is second or (isinstance(first, MethodValue) and first == second)
    raise FunctionError(f"non-comparable type {short_text(second, 's')}: {type_name(second)}")


def ne(first: object, second: object) -> bool:
    """Return whether two values differ; errors as for `eq`."""
    return not _equal(first, second)


def lt(first: object, second: object) -> bool:
    """Return whether the first value is less.

    Raises:
        FunctionError: the values have no order, or are of different kinds.
    """
    left, right = kind_of(first), kind_of(second)
    if left not in BASIC or right not in BASIC:
        raise FunctionError("invalid type for comparison")
    if left is not right:
        raise FunctionError(
            f"incompatible types for comparison: {type_name(first)} and {type_name(second)}"
        )
    if isinstance(first, str) and isinstance(second, str):
        return first < second
    if left in (Kind.BOOL, Kind.COMPLEX):
        raise FunctionError("invalid type for comparison")
    assert isinstance(first, (int, float))
    assert isinstance(second, (int, float))
    return first < second


def le(first: object, second: object) -> bool:
    """Return whether the first value is less or equal; errors as for `lt`."""
    return lt(first, second) or _equal(first, second)


def gt(first: object, second: object) -> bool:
    """Return whether the first value is greater; errors as for `lt`."""
    return not le(first, second)


def ge(first: object, second: object) -> bool:
    """Return whether the first value is greater or equal; errors as for `lt`."""
    return not lt(first, second)


FUNCTIONS: Final = (
    Function("and", special, (VALUE,), VALUE),
    Function("or", special, (VALUE,), VALUE),
    Function("call", special, (VALUE,), VALUE),
    Function("not", _not, (VALUE,)),
    Function("len", length, (VALUE,)),
    Function("index", index, (VALUE,), VALUE),
    Function("print", _print, (), ANY, uses_rendering=True),
    Function("printf", _printf, (STRING,), ANY, uses_rendering=True),
    Function("println", _println, (), ANY, uses_rendering=True),
    Function("html", html, (), ANY, uses_rendering=True),
    Function("js", js, (), ANY, uses_rendering=True),
    Function("urlquery", urlquery, (), ANY, uses_rendering=True),
    Function("eq", eq, (VALUE,), VALUE),
    Function("ne", ne, (VALUE, VALUE)),
    Function("lt", lt, (VALUE, VALUE)),
    Function("le", le, (VALUE, VALUE)),
    Function("gt", gt, (VALUE, VALUE)),
    Function("ge", ge, (VALUE, VALUE)),
)
