"""JSON as Go's encoding/json reads it into an empty interface, and as it writes it.

Every number that is read is a float64. Errors have Go's texts. Of keys given twice the last one
counts; bytes that are no UTF-8, and halves of surrogate pairs, become U+FFFD. Keys are written in
the order of their bytes, floats with the fewest digits that read back. The writer recurses; measure
a value before it is written.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Protocol, runtime_checkable

from gotemplate.golang.literals import quote_rune
from gotemplate.golang.values import NilList, NilStringList, clean, to_bytes, type_name
from goyaml import format_float

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?", re.ASCII)
_PLAIN: Final = re.compile(r'[^"\\\x00-\x1f]*')
_ESCAPES: Final = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_LITERALS: Final = {"t": ("true", True), "f": ("false", False), "n": ("null", None)}
_BEGINNING: Final = "looking for beginning of value"
_SIGNS: Final = frozenset("+-")
_EXPONENTS: Final = frozenset("eE")
_KEY: Final = "looking for beginning of object key string"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class JsonError(ValueError):
    """The text is not JSON; `value` is what could be read of it."""

    def __init__(self, message: str, value: object = None) -> None:
        super().__init__(message)
        self.value = value


def read(text: str, depth: int) -> object:
    """Read a JSON text.

    Args:
        text: one value, with space around it.
        depth: containers that may be inside each other.

    Raises:
        JsonError: the text is not JSON, is nested too deep, or has a number that is too large.
    """
    reader = _Reader(clean(text), depth)
    value = reader.document()
    if reader.problem:
        raise JsonError(reader.problem, value)
    return value


class _Reader:
    """Reads one text; `problem` is what went wrong without ending the reading."""

    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._at = 0
        self._depth = depth
        self.problem = ""

    def document(self) -> object:
        value = self._value()
        self._skip()
        if self._at < len(self._text):
            raise self._unexpected("after top-level value")
        return value

    def _skip(self) -> str:
        """Skip white space; return the character after it, "" at the end."""
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._text[self._at : self._at + 1]

    def _unexpected(self, where: str, *, inside: bool = False) -> JsonError:
        """Return Go's error for the next character; at the end `inside` a word Go names a space."""
        # Go's scanner takes a space at the end of the text, and names it inside a word or a number.
        if self._at >= len(self._text) and not inside:
            return JsonError("unexpected end of JSON input")
        rune = self._text[self._at : self._at + 1] or " "
        # Go scans bytes: of a rune it names the first one.
        byte = rune if rune.isascii() else chr(rune.encode()[0])
        shown = "'\"'" if byte == '"' else quote_rune(ord(byte))
        return JsonError(f"invalid character {shown} {where}")

    def _value(self) -> object:
        start = self._skip()
        match start:
            case "{" | "[":
                return self._container(start)
            case '"':
                return self._string()
            case "t" | "f" | "n":
                return self._literal(*_LITERALS[start])
        if start and start in "-0123456789":
            return self._number()
        raise self._unexpected(_BEGINNING)

    def _container(self, start: str) -> object:
        self._at += 1
        # Bounded, since reading recurses.
        self._depth -= 1
        if self._depth < 0:
            raise JsonError("exceeded max depth")
        value = self._object() if start == "{" else self._array()
        self._depth += 1
        return value

    def _array(self) -> list[object]:
        items: list[object] = []
        if self._skip() == "]":
            self._at += 1
            return items
        while True:
            items.append(self._value())
            if self._next("]", "after array element"):
                return items

    def _object(self) -> dict[str, object]:
        members: dict[str, object] = {}
        if self._skip() == "}":
            self._at += 1
            return members
        while True:
            if self._skip() != '"':
                raise self._unexpected(_KEY)
            key = self._string()
            if self._skip() != ":":
                raise self._unexpected("after object key")
            self._at += 1
            members[key] = self._value()
            if self._next("}", "after object key:value pair"):
                return members

    def _next(self, end: str, where: str) -> bool:
        """Skip a comma or the end of a container; return whether it was the end."""
        mark = self._skip()
        if mark not in (",", end):
            raise self._unexpected(where)
        self._at += 1
        return mark == end

    def _literal(self, word: str, value: object) -> object:
        for expected in word:
            if self._text[self._at : self._at + 1] != expected:
                where = f"in literal {word} (expecting {quote_rune(ord(expected))})"
                raise self._unexpected(where, inside=True)
            self._at += 1
        return value

    def _number(self) -> float | None:
        match = _NUMBER.match(self._text, self._at)
        if match is None:  # a sign alone
            self._at += 1
            raise self._unexpected("in numeric literal", inside=True)
        self._at = match.end()
        self._check_end_of_number(fraction=match[1], exponent=match[2])
        value = float(match[0])
        # Go notes this error, reads on, and returns it at the end with what was read.
        if math.isinf(value):
            self.problem = self.problem or (
                f"json: cannot unmarshal number {match[0]} into Go value of type float64"
            )
            return None
        return value

    def _check_end_of_number(self, *, fraction: str | None, exponent: str | None) -> None:
        """Raise Go's error for a point or an exponent without the digits that must follow."""
        mark = self._text[self._at : self._at + 1]
        if mark == "." and not fraction and not exponent:
            self._at += 1
            raise self._unexpected("after decimal point in numeric literal", inside=True)
        if mark in _EXPONENTS and not exponent:
            self._at += 1
            self._at += self._text[self._at : self._at + 1] in _SIGNS
            raise self._unexpected("in exponent of numeric literal", inside=True)

    def _string(self) -> str:
        self._at += 1
        parts: list[str] = []
        while True:
            match = _PLAIN.match(self._text, self._at)
            assert match is not None
            parts.append(match[0])
            self._at = match.end()
            mark = self._text[self._at : self._at + 1]
            if mark == '"':
                self._at += 1
                return _paired("".join(parts))
            if mark != "\\":
                raise self._unexpected("in string literal")
            parts.append(self._escape())

    def _escape(self) -> str:
        self._at += 1
        mark = self._text[self._at : self._at + 1]
        if mark in _ESCAPES:
            self._at += 1
            return _ESCAPES[mark]
        if mark != "u":
            raise self._unexpected("in string escape code", inside=True)
        self._at += 1
        start = self._at
        while self._at < start + 4:
            if self._text[self._at : self._at + 1] not in _HEX:
                raise self._unexpected(r"in \u hexadecimal character escape", inside=True)
            self._at += 1
        return chr(int(self._text[start : self._at], 16))


def _paired(text: str) -> str:
    """Join surrogate pairs; halves become U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_PLAIN_FROM: Final = 1e-6
_PLAIN_BELOW: Final = 1e21
_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    # Go writes \b and \f as these two since 1.22; before, by their numbers.
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
# Both separators are escaped in any case, as in Go: they end lines of JavaScript.
_SPECIAL: Final = re.compile('["\\\\\x00-\x1f\u2028\u2029\ud800-\udfff]')
_SPECIAL_HTML: Final = re.compile('["\\\\\x00-\x1f\u2028\u2029\ud800-\udfff<>&]')


@runtime_checkable
class JsonValue(Protocol):
    """A value with methods that has a form in JSON, such as a time."""

    def go_json(self) -> object:
        """Return the text, map or list to write in its place.

        Raises:
            ValueError: it has none; the text is Go's.
        """
        ...


@dataclass(frozen=True, slots=True)
class Writer:
    """How to write.

    Attributes:
        html: write `<`, `>` and `&` as escapes, so that the text may stand in HTML.
        indent: begin a line for every item, two spaces for every level.
    """

    html: bool = True
    indent: bool = False

    def write(self, value: object) -> str:
        """Write a value.

        Raises:
            ValueError: JSON has no such value; the text is Go's.
        """
        return self._value(value, "\n")

    def _value(self, value: object, line: str) -> str:
        match value:
            case None | NilList() | NilStringList():
                return "null"
            case str():
                return self._string(value)
            case bool():
                return "true" if value else "false"
            case int():
                return str(int(value))
            case float():
                return number(value)
            case Mapping():
                return self._map(value, line)
            case list() | tuple():
                return self._block(
                    "[", [self._value(item, line + "  ") for item in value], "]", line
                )
            case JsonValue():
                return self._value(value.go_json(), line)
        raise ValueError(f"json: unsupported type: {type_name(value)}")

    def _map(self, value: Mapping[str, object], line: str) -> str:
        colon = ": " if self.indent else ":"
        inner = line + "  "
        items = [
            f"{self._string(key)}{colon}{self._value(value[key], inner)}"
            # By bytes, as Go sorts: a key may hold some that are no UTF-8.
            for key in sorted(value, key=to_bytes)
        ]
        return self._block("{", items, "}", line)

    def _block(self, start: str, items: list[str], end: str, line: str) -> str:
        if not items:
            return start + end
        if not self.indent:
            return f"{start}{','.join(items)}{end}"
        inner = line + "  "
        return f"{start}{inner}{(',' + inner).join(items)}{line}{end}"

    def _string(self, text: str) -> str:
        special = _SPECIAL_HTML if self.html else _SPECIAL
        return f'"{special.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xD800 <= code < 0xE000:  # a byte that is no UTF-8
        code = 0xFFFD
    return _SHORT.get(match[0]) or f"\\u{code:04x}"


def number(value: float) -> str:
    """Write a float: plain from 0.000001 up to 1e21, else with an exponent of few digits.

    Raises:
        ValueError: the float is NaN or infinite.
    """
    if not math.isfinite(value):
        raise ValueError(f"json: unsupported value: {format_float(value)}")
    size = abs(value)
    if size == 0 or _PLAIN_FROM <= size < _PLAIN_BELOW:
        digits = f"{Decimal(repr(value)):f}"
        return digits.rstrip("0").removesuffix(".") if "." in digits else digits
    # Go's encoder alone drops the zero of `1e-09`.
    return format_float(value).replace("e-0", "e-")
