"""Go's literals, read and written by the rules of strconv, and Go's classes of characters.

Escapes that name bytes may build a string that is no UTF-8; see `values`. Errors are `ValueError`
with the text of Go's strconv and template parser. What counts as printable follows Python's Unicode
tables, which may be older or newer than Go's; only characters assigned in between are escaped
differently.
"""

import math
import re
import unicodedata
from typing import Final

import goyaml
from gotemplate.golang.values import clean, from_bytes
from goyaml import format_float


def with_verb(value: float, verb: str, precision: int | None) -> str:
    """Write a float for one of the verbs e E f F g G x X b; without flags and width."""
    if not math.isfinite(value):
        return format_float(value)
    if verb == "b":
        return _binary(value)
    if verb in "xX":
        text = _hexadecimal(value, precision)
        return text.upper() if verb == "X" else text
    if verb in "gG" and precision is None:
        text = format_float(value)
        return text.upper() if verb == "G" else text
    places = 6 if precision is None else precision
    return f"{value:.{places}{verb}}"


def _binary(value: float) -> str:
    mantissa, exponent = math.frexp(value)
    if value == 0:
        return f"{'-' if math.copysign(1, value) < 0 else ''}0p-1074"
    shift = 53 if exponent > -1021 else 53 - (-1021 - exponent)
    return f"{int(mantissa * (1 << shift))}p{exponent - shift:+d}"


def _hexadecimal(value: float, precision: int | None) -> str:
    mantissa, exponent = math.frexp(abs(value))
    sign = "-" if math.copysign(1, value) < 0 else ""
    whole, exponent = (int(mantissa * (1 << 53)), exponent - 1) if value else (0, 0)
    if precision is None:
        digits = f"{whole & ((1 << 52) - 1):013x}".rstrip("0")
    else:
        whole, carry = _rounded(whole, precision)
        exponent += carry
        digits = f"{whole & ((1 << 52) - 1):013x}"[:precision].ljust(precision, "0")
    point = "." if digits else ""
    return f"{sign}0x{whole >> 52}{point}{digits}p{exponent:+03d}"


def _rounded(whole: int, precision: int) -> tuple[int, bool]:
    """Round a mantissa of 53 bits to hexadecimal digits, half to even; return whether it grew."""
    dropped = 52 - 4 * precision
    if dropped <= 0:
        return whole, False
    half = 1 << (dropped - 1)
    kept = (whole + half - 1 + (whole >> dropped & 1)) >> dropped << dropped
    grew = bool(kept >> 53)
    return kept >> grew, grew


def sharpen(text: str, verb: str, precision: int | None) -> str:
    """Apply the `#` flag: always a decimal point, and zeros up to the precision for %g and %x."""
    exponent_marks = "pP" if verb in "xX" else "eEpP"
    cut = next((i for i, c in enumerate(text) if c in exponent_marks), len(text))
    number, tail = text[:cut], text[cut:]
    expected = 0
    if verb in "gGx":
        expected = 6 if precision is None else precision
    significant = number.lstrip("+-").replace(".", "").lstrip("0")
    missing = expected - len(significant)
    if "." not in number:
        missing -= number.lstrip("+-") == "0"
        number += "."
    return number + "0" * missing + tail


_ESCAPES: Final = {
    ord("\a"): "\\a",
    ord("\b"): "\\b",
    ord("\f"): "\\f",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord("\v"): "\\v",
    ord("\\"): "\\\\",
}
_PLAIN: Final = re.compile(r"[ !#-\[\]-~]*")


def quote(text: str, *, ascii_only: bool = False) -> str:
    """Write a string as a Go literal in double quotes (`%q`; `%+q` with `ascii_only`)."""
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    return f'"{"".join([_escape(c, chr(34), ascii_only) for c in text])}"'


def quote_rune(code: int, *, ascii_only: bool = False) -> str:
    """Write a character as a Go literal in single quotes; what is none becomes U+FFFD."""
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code < 0xE000:
        code = 0xFFFD
    return f"'{_escape(chr(code), chr(39), ascii_only)}'"


def can_backquote(text: str) -> bool:
    """Return whether a string can stand between back quotes, unchanged and on one line."""
    return not any(
        c in "`\x7f\ufeff" or (c < " " and c != "\t") or "\ud800" <= c < "\ue000" for c in text
    )


def _escape(character: str, mark: str, ascii_only: bool) -> str:
    code = ord(character)
    if character == mark:
        return "\\" + mark
    if escape := _ESCAPES.get(code):
        return escape
    if character.isprintable() and (code < 0x80 or not ascii_only):
        return character
    if 0xDC80 <= code < 0xDD00:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if 0xD800 <= code < 0xE000:
        return "\\ufffd"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


INT_MIN: Final = -(1 << 63)
INT_MAX: Final = (1 << 63) - 1
UINT_MAX: Final = (1 << 64) - 1
_LONGEST: Final = 1000  # characters of a number; longer ones are none

_ESCAPE: Final = re.compile(
    r"""\\(?:(?P<plain>[abfnrtv\\'"])|x(?P<x>[0-9a-fA-F]{2})|(?P<o>[0-7]{3})"""
    r"""|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8}))"""
)
_SINGLE: Final = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))
_INVALID: Final = "invalid syntax"

_INTEGER: Final = re.compile(
    r"([+-]?)(?:0[xX](?P<hex>(?:_?[0-9a-fA-F])+)|0[bB](?P<bin>(?:_?[01])+)"
    r"|0[oO]?(?P<oct>(?:_?[0-7])+)|(?P<dec>0|[1-9](?:_?[0-9])*))"
)
_BASES: Final = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}


def unquote(literal: str) -> str:
    """Read a Go string literal, quoted or raw.

    Raises:
        ValueError: an escape Go does not know, or a surrogate.
    """
    body = literal[1:-1]
    if literal[0] == "`":
        return body.replace("\r", "")
    if "\\" not in body:
        return body
    parts: list[bytes] = []
    position = 0
    while (slash := body.find("\\", position)) >= 0:
        parts.append(body[position:slash].encode("utf-8", "surrogatepass"))
        piece, position = _unescaped(body, slash, "'")
        parts.append(piece)
    parts.append(body[position:].encode("utf-8", "surrogatepass"))
    return from_bytes(b"".join(parts))


def _unescaped(body: str, start: int, forbidden: str) -> tuple[bytes, int]:
    match = _ESCAPE.match(body, start)
    if match is None:
        raise ValueError(_INVALID)
    if plain := match["plain"]:
        if plain == forbidden:
            raise ValueError(_INVALID)
        return _SINGLE[plain].encode(), match.end()
    if match["x"] or match["o"]:
        code = int(match["x"], 16) if match["x"] else int(match["o"], 8)
        if code > 0xFF:
            raise ValueError(_INVALID)
        return bytes((code,)), match.end()
    return chr(_rune(match["u"] or match["U"])).encode(), match.end()


def _rune(digits: str) -> int:
    code = int(digits, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(_INVALID)
    return code


def character(literal: str) -> int:
    """Read a Go character constant; its value is a number.

    Raises:
        ValueError: more or less than one character, or a bad escape.
    """
    body = literal[1:-1]
    if not body:
        raise ValueError(_INVALID)
    if body[0] != "\\":
        code, end = ord(body[0]), 1
    else:
        piece, end = _unescaped(body, 0, '"')
        code = piece[0] if body[1] in "x01234567" else ord(piece.decode())
    if end != len(body):
        raise ValueError(f"malformed character constant: {literal}")
    return code


def parse_integer(text: str) -> int | None:
    """Read an integer of any size in any of Go's bases; None if the text is not an integer."""
    match = _INTEGER.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or match.lastgroup is None:
        return None
    digits = match[match.lastgroup].replace("_", "").lstrip("0") or "0"
    value = int(digits, _BASES[match.lastgroup])
    return -value if match[1] == "-" else value


def parse_float(text: str) -> float | None:
    """Read a float as `strconv.ParseFloat` does; None where it reports an error.

    More than 1000 characters also return None: the time to read them grows with their number.
    """
    return goyaml.parse_float(text) if len(text) <= _LONGEST else None


# What Go calls space; Python's strip() takes the separators U+001C to U+001F away too.
SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def runes(text: str) -> str:
    """Return the characters of a text; every byte that is no UTF-8 counts as U+FFFD."""
    return clean(text)


def is_space(rune: str) -> bool:
    return rune in SPACE


def is_letter(rune: str) -> bool:
    return unicodedata.category(rune)[0] == "L"


def is_digit(rune: str) -> bool:
    return unicodedata.category(rune) == "Nd"


def is_number(rune: str) -> bool:
    return unicodedata.category(rune)[0] == "N"


def is_punctuation(rune: str) -> bool:
    return unicodedata.category(rune)[0] == "P"


def is_upper(rune: str) -> bool:
    return unicodedata.category(rune) == "Lu"


def is_lower(rune: str) -> bool:
    return unicodedata.category(rune) == "Ll"


def is_title(rune: str) -> bool:
    return unicodedata.category(rune) == "Lt"


def to_upper(rune: str) -> str:
    """Make a letter upper case; one that would become two stays."""
    for changed in (rune.upper(), rune.title()):
        if len(changed) == 1:
            return changed
    return rune


def to_lower(rune: str) -> str:
    """Make a letter lower case; one that would become two loses its second part."""
    return rune.lower()[0]


def to_title(rune: str) -> str:
    """Make a letter title case; one that would become two stays."""
    changed = rune.title()
    return changed if len(changed) == 1 else rune
