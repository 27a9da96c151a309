"""The functions text/template itself has, except comparisons.

`and`, `or` and `call` are entries for the parser and for arity; the compiler evaluates them,
because they see their arguments before they are values.
"""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote_plus

from gotemplate.errors import FunctionError
from gotemplate.golang.gofmt import sprint, sprintln
from gotemplate.golang.goprintf import sprintf
from gotemplate.golang.values import (
    NO_VALUE,
    Kind,
    StringMap,
    Uint8,
    kind_of,
    to_bytes,
    truth,
    type_name,
)
from gotemplate.limits import Rendering
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
)
