"""JSON as Go's encoding/json writes it.

Keys are in the order of their bytes, floats have the fewest digits that read back, bytes that are
no UTF-8 become U+FFFD. The writer recurses; measure a value before it is written.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Protocol, runtime_checkable

from gotemplate.golang.values import NilList, NilStringList, to_bytes, type_name
from goyaml import format_float

_PLAIN_FROM: Final = 1e-6
_PLAIN_BELOW: Final = 1e21
_SHORT: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}
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
    return format_float(value).replace("e-0", "e-")
