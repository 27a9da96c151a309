"""Go's literals: strings, characters and numbers, read by Go's rules.

Escapes that name bytes may build a string that is no UTF-8; see `gotemplate.golang.values`. Errors
are `ValueError` with the text of Go's strconv and template parser.
"""

import re
from typing import Final

import goyaml
from gotemplate.golang.values import from_bytes

INT_MIN: Final = -(1 << 63)
INT_MAX: Final = (1 << 63) - 1
UINT_MAX: Final = (1 << 64) - 1
_LONGEST: Final = 1000  # characters of a number; longer ones are none

_ESCAPE: Final = re.compile(
    r"""\\(?:(?P<plain>[abfnrtv\\'"])|x(?P<x>[0-9a-fA-F]{2})|(?P<o>[0-7]{3})"""
    r"""|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8}))"""
)
_PLAIN: Final = dict(zip("abfnrtv\\'\"", "\a\b\f\n\r\t\v\\'\"", strict=True))
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
        piece, position = _escape(body, slash, "'")
        parts.append(piece)
    parts.append(body[position:].encode("utf-8", "surrogatepass"))
    return from_bytes(b"".join(parts))


def _escape(body: str, start: int, forbidden: str) -> tuple[bytes, int]:
    match = _ESCAPE.match(body, start)
    if match is None:
        raise ValueError(_INVALID)
    if plain := match["plain"]:
        if plain == forbidden:
            raise ValueError(_INVALID)
        return _PLAIN[plain].encode(), match.end()
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
        piece, end = _escape(body, 0, '"')
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
