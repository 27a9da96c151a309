"""Writes YAML byte for byte as go-yaml v2.3.0 does with its default settings.

Block style, two spaces a level, sequences under a key not indented further, lines never folded.
The bytes matter: dependency hashes are computed over them.

Keys are sorted in natural order, not bytewise: `server.2` comes before `server.10`, digits and
punctuation before letters. The relation is not transitive for odd mixes of digits and letters
(`a10`, `a1b`, `a2`, `a01`); there the original's result depends on its sorting algorithm, and ours
on Python's.
"""

import base64
import re
from collections.abc import Iterable, Mapping
from functools import cmp_to_key
from typing import Final

from goyaml.limits import DEFAULT_LIMITS, DumpError, Limits
from goyaml.scalars import format_float, is_plain_string

_INDENT: Final = 2
_LONGEST_SIMPLE_KEY: Final = 128
_BINARY_LINE: Final = 70

_BREAKS: Final = "\n\u2028\u2029"
_BOM: Final = "\ufeff"
_SPECIAL: Final = re.compile(r"[^\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]")
_ESCAPED: Final = re.compile(
    r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe-\U0010ffff]'
)
_ANY_BREAK: Final = re.compile(r"[\n\r\x85\u2028\u2029]")
_SPACE_BREAK: Final = re.compile(r" [\n\u2028\u2029]")
_BREAK_SPACE: Final = re.compile(r"[\n\u2028\u2029] ")
_LINE_START: Final = re.compile(r"(?:\A|(?<=[\n\u2028\u2029]))(?=[^\n\u2028\u2029])")
_CONTINUATION: Final = re.compile(r"(?<=[\u2028\u2029])(?=[^\u2028\u2029])")
_NOT_PLAIN: Final = re.compile(r"[#,\[\]{}&*!|>'\"%@`]|---|\.\.\.|[-?:](?: |\Z)")
_NOT_PLAIN_INSIDE: Final = re.compile(r"(?!\A):(?: |\Z)| #")
_WORD: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_NAMED_ESCAPES: Final = {
    "\0": "0",
    "\a": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
    '"': '"',
    "\\": "\\",
    "\x85": "N",
    "\xa0": "_",
    "\u2028": "L",
    "\u2029": "P",
}


def dump(value: object, *, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return `value` as a YAML document that ends in a newline.

    Takes mappings with string keys, lists, tuples, strings, integers, floats, booleans and None.
    Keys are written in natural order, integers with all their digits, floats as Go prints them.
    Lone surrogates, Python's stand-ins for bytes that are not UTF-8, become `!!binary` as in Go.

    Raises:
        DumpError: the value nests deeper than `limits.depth` (a value that contains itself does),
            its text is longer than `limits.size`, or it holds something else than listed above.
    """
    writer = _Writer(limits)
    writer.document(value)
    return "".join(writer.parts)


class _Writer:
    """Collects the text; `column` is the indentation of the block being written."""

    def __init__(self, limits: Limits) -> None:
        self.parts: list[str] = []
        self._limits = limits
        self._room = limits.size
        self._depth = 0

    def document(self, value: object) -> None:
        if _is_block(value):
            self._block(value, 0)
        else:
            self._write(_scalar(value, _INDENT))

    def _write(self, text: str) -> None:
        self._room -= len(text)
        if self._room < 0:
            message = f"the YAML text is longer than {self._limits.size} characters"
            raise DumpError(message, limit="size")
        self.parts.append(text)

    def _block(self, value: object, column: int) -> None:
        self._depth += 1
        if self._depth > self._limits.depth:
            message = f"the value is nested deeper than {self._limits.depth} levels"
            raise DumpError(message, limit="depth")
        if isinstance(value, Mapping):
            self._mapping(value, column)
        else:
            assert isinstance(value, list | tuple)
            pad = ""
            for item in value:
                self._write(f"{pad}- ")
                self._compact(item, column + _INDENT)
                pad = " " * column
        self._depth -= 1

    def _mapping(self, value: Mapping[object, object], column: int) -> None:
        pad = ""
        for key in sorted_keys(map(_key, value)):
            if _is_simple_key(key):
                self._write(f"{pad}{_string(key, column)}:")
                item = value[key]
                if _is_block(item):
                    # Items of a list stand below their key, those of a mapping further in.
                    inner = column + _INDENT if isinstance(item, Mapping) else column
                    self._write("\n" + " " * inner)
                    self._block(item, inner)
                else:
                    self._write(" " + _scalar(item, column + _INDENT))
            else:
                self._write(f"{pad}? {_line(_string(key, column + _INDENT))}{' ' * column}: ")
                self._compact(value[key], column + _INDENT)
            pad = " " * column

    def _compact(self, value: object, column: int) -> None:
        if _is_block(value):
            self._block(value, column)
        else:
            self._write(_scalar(value, column))


def _is_block(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple) and bool(value)


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise DumpError(f"cannot write a mapping key of type {type(key).__name__}")
    return key


def _is_simple_key(key: str) -> bool:
    if _WORD.fullmatch(key):
        return len(key) <= _LONGEST_SIMPLE_KEY
    if _ANY_BREAK.search(key):
        return False
    binary = _binary(key)
    if binary is not None:
        return "\n" not in binary and len("!!binary") + len(binary) <= _LONGEST_SIMPLE_KEY
    return len(key.encode()) <= _LONGEST_SIMPLE_KEY


def _scalar(value: object, column: int) -> str:
    """Return the text of a value on one node, up to and including the end of its line."""
    return _line(_string(value, column) if isinstance(value, str) else _other(value))


def _line(text: str) -> str:
    return text if text[-1] in _BREAKS else text + "\n"


def _other(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            try:
                return int.__repr__(value)
            except ValueError as error:  # Python's bound on the digits of an integer
                raise DumpError("an integer has too many digits to be written") from error
        case float():
            text = format_float(value)
            return {"+Inf": ".inf", "-Inf": "-.inf", "NaN": ".nan"}.get(text, text)
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
    raise DumpError(f"cannot write a value of type {type(value).__name__} as YAML")


def _string(text: str, column: int) -> str:
    # Most texts are of these, and are written as they are; the rest takes ten times as long.
    if _WORD.fullmatch(text) and is_plain_string(text):
        return text
    binary = _binary(text)
    if binary is not None:
        return "!!binary " + (_literal(binary, column) if "\n" in binary else binary)
    special = bool(_SPECIAL.search(text))
    if "\n" in text:
        holdable = not (special or text[-1] == " " or _SPACE_BREAK.search(text))
        return _literal(text, column) if holdable else _double_quoted(text)
    if special or not is_plain_string(text):
        return _double_quoted(text)
    if _SPACE_BREAK.search(text) or _BREAK_SPACE.search(text):
        return _double_quoted(text)
    blank = text[0] == " " or text[-1] == " " or _ANY_BREAK.search(text)
    if not (blank or _NOT_PLAIN.match(text) or _NOT_PLAIN_INSIDE.search(text)):
        return text
    return "'" + _CONTINUATION.sub(" " * column, text.replace("'", "''")) + "'"


def _literal(text: str, column: int) -> str:
    # Readers guess the indentation by the first line, which blanks or a line break would spoil.
    indentation = str(_INDENT) if text[0] in " " + _BREAKS else ""
    chomping = ""  # one line break at the end
    if text[-1] not in _BREAKS:
        chomping = "-"  # none
    elif len(text) == 1 or text[-2] in _BREAKS:
        chomping = "+"  # several
    return f"|{indentation}{chomping}\n" + _LINE_START.sub(" " * column, text)


def _double_quoted(text: str) -> str:
    # go-yaml asks whether the *text* starts with a byte order mark where it means the character.
    if text.startswith(_BOM):
        return '"' + "".join(map(_escape, text)) + '"'
    return '"' + _ESCAPED.sub(lambda match: _escape(match[0]), text) + '"'


def _escape(char: str) -> str:
    if char in _NAMED_ESCAPES:
        return "\\" + _NAMED_ESCAPES[char]
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02X}"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _binary(text: str) -> str | None:
    """Return the base64 lines of a text that is not valid UTF-8; None for any other."""
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        try:
            raw = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # a surrogate that stands for no byte
            raw = text.encode("utf-8", "surrogatepass")
        encoded = base64.b64encode(raw).decode()
    else:
        return None
    if len(encoded) < _BINARY_LINE:
        return encoded
    lines = range(0, len(encoded), _BINARY_LINE)
    return "".join(encoded[start : start + _BINARY_LINE] + "\n" for start in lines)


def sorted_keys(keys: Iterable[str]) -> list[str]:
    """Return `keys` in natural order."""
    listed = list(keys)
    if all(map(str.isalpha, listed)):
        return sorted(listed)
    return sorted(listed, key=_natural)


def _compare(a: str, b: str) -> int:
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return _compare_from(index, a, b)
    return len(a) - len(b)


def _compare_from(index: int, a: str, b: str) -> int:
    x, y = a[index], b[index]
    if x.isalpha() and y.isalpha():
        return ord(x) - ord(y)
    if x.isalpha() or y.isalpha():
        return 1 if x.isalpha() else -1
    lead = "1" if "0" in (x, y) and _ends_in_a_number(a[:index]) else ""
    run_a, run_b = _digits(a, index), _digits(b, index)
    number_a, number_b = _as_int64(lead + run_a), _as_int64(lead + run_b)
    return number_a - number_b or len(run_a) - len(run_b) or ord(x) - ord(y)


_natural = cmp_to_key(_compare)


def _ends_in_a_number(prefix: str) -> bool:
    for char in reversed(prefix):
        if not char.isdecimal():
            return False
        if char != "0":
            return True
    return False


def _digits(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end].isdecimal():
        end += 1
    return text[start:end]


def _as_int64(digits: str) -> int:
    number = 0
    for char in digits:
        # Go counts from the code of "0" and overflows silently; digits of other scripts do both.
        number = (number * 10 + ord(char) - ord("0")) & 0xFFFF_FFFF_FFFF_FFFF
    return number - (1 << 64) if number >> 63 else number
