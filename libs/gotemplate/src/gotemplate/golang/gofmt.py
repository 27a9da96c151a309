"""Printing as Go's fmt does: one value, several values, and `printf`.

Three layers: `Printer` writes a value for a verb, `Directives` reads a format, and the functions
at the end are what the rest of the engine calls. Everything written is counted against
`Limits.string`, every width against `Limits.width`, every container inside another against
`Limits.value_depth`, and every value inside a container is a step, so a small template cannot
print a large value many times over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from gotemplate.errors import LimitError
from gotemplate.golang.literals import (
    INT_MAX,
    INT_MIN,
    can_backquote,
    quote,
    quote_rune,
    sharpen,
    with_verb,
)
from gotemplate.golang.values import Kind, Uint8, Uint64, kind_of, own_text, to_bytes, type_name
from gotemplate.rendering import Limits, Rendering
from goyaml import format_float

_SHORT: Final = Limits(string=500, steps=500)
_FIRST: Final = itemgetter(0)
_INTEGER_VERBS: Final = frozenset("vdboOxXcqU")
_FLOAT_VERBS: Final = frozenset("vbgGxXfFeE")
_STRING_VERBS: Final = frozenset("vsxXq")
_BASES: Final = {"b": "b", "o": "o", "O": "o", "x": "x", "X": "X"}


@dataclass(slots=True)
class Spec:
    """Flags, width and precision of one directive."""

    minus: bool = False
    plus: bool = False
    sharp: bool = False
    space: bool = False
    zero: bool = False
    plus_v: bool = False
    sharp_v: bool = False
    width: int | None = None
    precision: int | None = None

    def for_v(self) -> None:
        """Return `+` and `#` the meaning they have for %v."""
        self.sharp_v, self.sharp = self.sharp, False
        self.plus_v, self.plus = self.plus, False


class Printer:
    """Write values into a list of strings, within the limits."""

    def __init__(self, run: Rendering) -> None:
        self._run = run
        self._limits = run.limits
        self._room = run.limits.string
        self._parts: list[str] = []
        self.spec = Spec()

    def text(self) -> str:
        return "".join(self._parts)

    def put(self, text: str) -> None:
        """Write a text as it is.

        Raises:
            LimitError: more was written than `Limits.string`.
        """
        self._room -= len(text)
        if self._room < 0:
            raise LimitError("string", self._limits.string)
        self._parts.append(text)

    def pad(self, text: str, *, zeros: bool = True) -> None:
        """Write a text in the directive's width."""
        spec = self.spec
        missing = (spec.width or 0) - len(text)
        if missing <= 0:
            self.put(text)
        elif spec.minus:
            self.put(text + " " * missing)
        else:
            self.put(("0" if spec.zero and zeros else " ") * missing + text)

    def value(self, value: object, verb: str, depth: int = 0) -> None:
        """Write a value for a verb; a verb that does not fit writes `%!verb(type=value)`."""
        kind = kind_of(value)
        if kind is Kind.INVALID:
            self._nil(verb, depth)
        elif verb == "T" and depth == 0:
            self.pad(self._cut(type_name(value)))
        elif verb == "w" or (verb == "p" and depth == 0):
            self._bad_verb(value, verb)
        elif verb in _STRING_VERBS and (text := own_text(value)) is not None:
            self.string(text, verb)
        else:
            self._known(kind, value, verb, depth)

    def _known(self, kind: Kind, value: object, verb: str, depth: int) -> None:
        match kind:
            case Kind.STRING:
                self._string(value, verb)
            case Kind.BOOL:
                self._bool(value, verb)
            case Kind.INT:
                self._integer(value, verb)
            case Kind.FLOAT:
                self._float(value, verb)
            case Kind.COMPLEX:
                self._complex(value, verb)
            case Kind.MAP:
                self._map(value, verb, depth)
            case Kind.LIST:
                self._list(value, verb, depth)
            case _:
                self.put("{}")

    def _nil(self, verb: str, depth: int) -> None:
        if depth:
            self.put("interface {}(nil)" if self.spec.sharp_v else "<nil>")
        elif verb in "Tv":
            self.pad("<nil>")
        else:
            self.put(f"%!{verb}(<nil>)")

    def _bad_verb(self, value: object, verb: str) -> None:
        self.put(f"%!{verb}({type_name(value)}=")
        self.value(value, "v")
        self.put(")")

    def _bool(self, value: object, verb: str) -> None:
        if verb in "tv":
            self.pad("true" if value else "false")
        else:
            self._bad_verb(value, verb)

    def _integer(self, value: object, verb: str) -> None:
        assert isinstance(value, int)
        if verb not in _INTEGER_VERBS:
            self._bad_verb(value, verb)
        elif verb == "c":
            self.pad(chr(value) if _is_rune(value) else "\ufffd")
        elif verb == "q":
            self.pad(quote_rune(value, ascii_only=self.spec.plus))
        elif verb == "U":
            self._unicode(value)
        # `%#v` writes unsigned integers in hexadecimal, since it is Go's syntax of them.
        elif verb == "v" and self.spec.sharp_v and isinstance(value, (Uint8, Uint64)):
            self.spec.sharp, sharp = True, self.spec.sharp
            self._digits(value, "x")
            self.spec.sharp = sharp
        else:
            self._digits(value, verb)

    def _digits(self, value: int, verb: str) -> None:
        spec = self.spec
        signed = value < 0 or spec.plus or spec.space
        digits = integer_text(self._run, abs(value), _BASES.get(verb, "d"))
        if spec.precision is not None:
            # `%.0d` writes no digit for zero, and pads with spaces even if zeros are asked for.
            if spec.precision == 0 and value == 0:
                self.put(" " * (spec.width or 0))
                return
            digits = digits.rjust(spec.precision, "0")
        elif spec.zero and not spec.minus and spec.width is not None:
            digits = digits.rjust(spec.width - signed, "0")
        sign = "-" if value < 0 else "+" if spec.plus else " " if spec.space else ""
        self.pad(sign + _prefix(digits, verb, sharp=spec.sharp) + digits, zeros=False)

    def _unicode(self, value: int) -> None:
        # Go converts to uint64: a negative number is written as its two's complement.
        code = value if value >= 0 else value + (1 << 64)
        text = f"U+{code:0{max(4, self.spec.precision or 0)}X}"
        if self.spec.sharp and _is_rune(code) and chr(code).isprintable():
            text += f" '{chr(code)}'"
        self.pad(text, zeros=False)

    def _float(self, value: object, verb: str) -> None:
        assert isinstance(value, float)
        if verb not in _FLOAT_VERBS:
            self._bad_verb(value, verb)
            return
        self._float_text(value, "g" if verb == "v" else verb)

    def _float_text(self, value: float, verb: str) -> None:
        spec = self.spec
        text = with_verb(value, verb, spec.precision)
        special = text[-1] in "fN"  # Inf and NaN, which are never padded with zeros
        if text[0] not in "+-":
            text = "+" + text
        if spec.space and text[0] == "+" and not spec.plus:
            text = " " + text[1:]
        if special:
            bare = text.endswith("NaN") and not spec.space and not spec.plus
            self.pad(text[1:] if bare else text, zeros=False)
            return
        if spec.sharp and verb != "b":
            text = text[0] + sharpen(text[1:], verb, spec.precision)
        if not spec.plus and text[0] == "+":
            self.pad(text[1:])
        elif spec.zero and not spec.minus and spec.width is not None:
            # The sign stands before the zeros.
            self.put(text[0] + text[1:].rjust(spec.width - 1, "0"))
        else:
            self.pad(text)

    def _complex(self, value: object, verb: str) -> None:
        assert isinstance(value, complex)
        if verb not in _FLOAT_VERBS:
            self._bad_verb(value, verb)
            return
        plain = "g" if verb == "v" else verb
        plus = self.spec.plus
        self.put("(")
        self._float_text(value.real, plain)
        # The imaginary part always has its sign, which joins the two.
        self.spec.plus = True
        self._float_text(value.imag, plain)
        self.spec.plus = plus
        self.put("i)")

    def string(self, text: str, verb: str) -> None:
        """Write a string for one of the verbs s v q x X."""
        if verb in "xX":
            self._bytes_in_hex(to_bytes(text), verb)
            return
        if verb != "q" and not (verb == "v" and self.spec.sharp_v):
            self.pad(self._cut(text))
            return
        text = self._cut(text)
        if self.spec.sharp and can_backquote(text):
            self.pad(f"`{text}`")
        else:
            self.pad(quote(text, ascii_only=self.spec.plus))

    def _string(self, value: object, verb: str) -> None:
        assert isinstance(value, str)
        if verb in _STRING_VERBS:
            self.string(value, verb)
        else:
            self._bad_verb(value, verb)

    def _cut(self, text: str) -> str:
        return text if self.spec.precision is None else text[: self.spec.precision]

    def _bytes_in_hex(self, data: bytes, verb: str) -> None:
        spec = self.spec
        if spec.precision is not None:
            data = data[: spec.precision]
        # A space puts every byte apart, and a sharp then marks each of them.
        pieces = [f"{byte:02{verb}}" for byte in data] if spec.space else [data.hex()]
        if verb == "X":
            pieces = [piece.upper() for piece in pieces]
        if spec.sharp and data:
            pieces = [f"0{verb}{piece}" for piece in pieces]
        self.pad(" ".join(pieces))

    def _map(self, value: object, verb: str, depth: int) -> None:
        assert isinstance(value, Mapping)
        self._open(len(value), depth)
        sharp = self.spec.sharp_v
        self.put(f"{type_name(value)}{{" if sharp else "map[")
        for index, (key, item) in enumerate(sorted_items(value)):
            if index:
                self.put(", " if sharp else " ")
            self.value(key, verb, depth + 1)
            self.put(":")
            self.value(item, verb, depth + 1)
        self.put("}" if sharp else "]")

    def _list(self, value: object, verb: str, depth: int) -> None:
        assert isinstance(value, (list, tuple))
        self._open(len(value), depth)
        sharp = self.spec.sharp_v
        self.put(f"{type_name(value)}{{" if sharp else "[")
        for index, item in enumerate(value):
            if index:
                self.put(", " if sharp else " ")
            self.value(item, verb, depth + 1)
        self.put("}" if sharp else "]")

    def _open(self, size: int, depth: int) -> None:
        self._run.check("value_depth", depth + 1)
        self._run.charge(2 * size + 1)


def sorted_items(value: Mapping[object, object]) -> list[tuple[object, object]]:
    """Return the items of a mapping in the order of its keys, as Go prints and ranges over maps."""
    try:
        return sorted(value.items(), key=_FIRST)
    except TypeError:
        # Keys of several types, which data of Go has in no map, still need one order.
        return sorted(value.items(), key=_type_and_text)


def _type_and_text(item: tuple[object, object]) -> tuple[str, str]:
    key = item[0]
    return type_name(key), key if isinstance(key, str) else short_text(key)


def integer_text(run: Rendering, value: int, base: str = "d") -> str:
    """Write an integer of any size a template can meet.

    Raises:
        LimitError: the number has hundreds of digits, which no Go integer has.
    """
    if not INT_MIN <= value <= INT_MAX:
        run.check("bits", value.bit_length())
    return format(value, base)


def plain_text(run: Rendering, value: object) -> str:
    """Write one value as `%v` does; nil is `<nil>`."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() if own_text(value) is None:
            return integer_text(run, value)
        case float():
            return format_float(value)
        case None:
            return "<nil>"
    printer = Printer(run)
    printer.value(value, "v")
    return printer.text()


def sprint(run: Rendering, values: Sequence[object]) -> str:
    """Write values side by side, with a space between two that are no strings (Go's Sprint)."""
    printer = Printer(run)
    before = True
    for index, value in enumerate(values):
        is_string = isinstance(value, str)
        if index and not is_string and not before:
            printer.put(" ")
        printer.value(value, "v")
        before = is_string
    return printer.text()


def sprintln(run: Rendering, values: Sequence[object]) -> str:
    """Write values with spaces between them and a newline at the end (Go's Sprintln)."""
    printer = Printer(run)
    for index, value in enumerate(values):
        if index:
            printer.put(" ")
        printer.value(value, "v")
    printer.put("\n")
    return printer.text()


def short_text(value: object, verb: str = "v") -> str:
    """Write a value for an error message: what would be longer than a line or two is cut."""
    printer = Printer(Rendering(_SHORT))
    try:
        printer.value(value, verb)
    except LimitError:
        return printer.text()[: _SHORT.string] + "..."
    return printer.text()


def _prefix(digits: str, verb: str, *, sharp: bool) -> str:
    octal = "0o" if verb == "O" else ""
    if not sharp:
        return octal
    if verb in "oO":
        return octal if digits[0] == "0" else octal + "0"
    return {"b": "0b", "x": "0x", "X": "0X"}.get(verb, "")


def _is_rune(code: int) -> bool:
    return 0 <= code <= 0x10FFFF and not 0xD800 <= code < 0xE000
