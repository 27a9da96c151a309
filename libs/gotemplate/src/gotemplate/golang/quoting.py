"""Go's quoting of strings and characters (strconv.Quote and its relatives).

What counts as printable follows Python's Unicode tables, which may be older or newer than Go's;
only characters assigned in between are escaped differently.
"""

import re
from typing import Final

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
