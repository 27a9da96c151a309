"""Sprig's functions that change case, abbreviate and wrap texts.

Some of them look at bytes instead of characters, as Sprig does: `initials` and `nospace` treat
every byte as a character.
"""

from typing import Final

from gotemplate.golang.literals import (
    is_digit,
    is_letter,
    is_lower,
    is_space,
    is_title,
    is_upper,
    runes,
    to_lower,
    to_title,
    to_upper,
)
from gotemplate.golang.values import from_bytes, to_bytes
from gotemplate.rendering import Rendering
from gotemplate.types.signature import INT, STRING, Function

_ELLIPSIS: Final = "..."
_LEAST_WIDTH: Final = 4
_LEAST_WIDTH_BOTH: Final = 7


def upper(run: Rendering, text: str) -> str:
    """Convert every letter to upper case; no letter becomes two."""
    changed = text.upper()
    if len(changed) == len(text):
        return changed
    run.charge(len(text) >> 2)
    return "".join(map(to_upper, text))


def lower(text: str) -> str:
    """Convert every letter to lower case."""
    if text.isascii():
        return text.lower()
    # Two letters that Python does not treat one for one, or not without their neighbours.
    return text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()


def title(run: Rendering, text: str) -> str:
    """Convert the first letter of every word to title case."""
    run.charge(len(text) >> 2)
    changed: list[str] = []
    before = " "
    for rune in runes(text):
        changed.append(to_title(rune) if _separates(before) else rune)
        before = rune
    return "".join(changed)


def _separates(rune: str) -> bool:
    if is_letter(rune) or is_digit(rune) or rune == "_":
        return False
    return rune.isascii() or is_space(rune)


def untitle(run: Rendering, text: str) -> str:
    """Convert the first letter of every word to lower case."""
    run.charge(len(text) >> 2)
    changed: list[str] = []
    begins = True
    for rune in runes(text):
        changed.append(to_lower(rune) if begins and not is_space(rune) else rune)
        begins = is_space(rune)
    return "".join(changed)


def swapcase(run: Rendering, text: str) -> str:
    """Swap upper and lower case; a lower-case letter that begins a word becomes title case."""
    run.charge(len(text) >> 2)
    changed: list[str] = []
    begins = True
    for rune in runes(text):
        if is_upper(rune) or is_title(rune):
            changed.append(to_lower(rune))
            begins = False
        elif is_lower(rune):
            changed.append(to_title(rune) if begins else to_upper(rune))
            begins = False
        else:
            changed.append(rune)
            begins = is_space(rune)
    return "".join(changed)


def initials(run: Rendering, text: str) -> str:
    """Return the first byte of every word."""
    run.charge(len(text) >> 2)
    initials: list[str] = []
    before = " "
    for byte in _bytes(text):
        if is_space(before) and not is_space(byte):
            initials.append(byte)
        before = byte
    return "".join(initials)


def nospace(run: Rendering, text: str) -> str:
    """Remove all white space; if there is some, every byte becomes a character."""
    run.charge(len(text) >> 2)
    kept = [byte for byte in _bytes(text) if not is_space(byte)]
    return text if len(kept) == len(to_bytes(text)) else "".join(kept)


def _bytes(text: str) -> str:
    return to_bytes(text).decode("latin-1")


def abbrev(width: int, text: str) -> str:
    """Truncate a text to that many bytes, with an ellipsis; a width below 4 changes nothing."""
    return abbrevboth(0, width, text)


def abbrevboth(offset: int, width: int, text: str) -> str:
    """Truncate a text to that many bytes, with an ellipsis at both ends if it starts far inside.

    Args:
        offset: the byte that has to be seen; near the beginning it counts as the beginning.
        width: bytes of the result; too few leave the text whole.
        text: the text.
    """
    if width < _LEAST_WIDTH or (offset > 0 and width < _LEAST_WIDTH_BOTH):
        return text
    data = to_bytes(text)
    if len(data) <= width:
        return text
    room = width - len(_ELLIPSIS)
    start = min(offset, len(data) - room)
    if start <= _LEAST_WIDTH:
        return from_bytes(data[:room]) + _ELLIPSIS
    if start + room < len(data):
        return _ELLIPSIS + from_bytes(data[start : start + room - len(_ELLIPSIS)]) + _ELLIPSIS
    return _ELLIPSIS + from_bytes(data[len(data) - room :])


def wrap_lines(run: Rendering, width: int, text: str) -> str:
    """Wrap a text at spaces; longer words stay whole."""
    return _wrapped(run, text, width, "\n", cut=False)


def wrap_with(run: Rendering, width: int, separator: str, text: str) -> str:
    """Wrap a text at spaces, with a given line separator; longer words are split."""
    return _wrapped(run, text, width, separator or "\n", cut=True)


def _wrapped(run: Rendering, text: str, width: int, separator: str, *, cut: bool) -> str:
    data = to_bytes(text)
    run.charge(len(data) >> 2)
    run.check("string", len(data) + len(data) // max(width, 1) * len(separator))
    lines: list[bytes] = []
    position, width = 0, max(width, 1)
    while len(data) - position > width:
        if data[position] == ord(" "):
            position += 1
            continue
        end, following = _line(data, position, width, cut=cut)
        if end < 0:
            break
        lines.append(data[position:end])
        position = following
    return from_bytes(to_bytes(separator).join([*lines, data[position:]]))


def _line(data: bytes, start: int, width: int, *, cut: bool) -> tuple[int, int]:
    """Return the end of a line and the start of the next one; -1 when there is none."""
    space = data.rfind(b" ", start, start + width + 1)
    if space >= 0:
        return space, space + 1
    if cut:
        return start + width, start + width
    space = data.find(b" ", start + width)
    return space, space + 1


FUNCTIONS: Final = (
    Function("upper", upper, (STRING,), uses_rendering=True),
    Function("lower", lower, (STRING,)),
    Function("title", title, (STRING,), uses_rendering=True),
    Function("untitle", untitle, (STRING,), uses_rendering=True),
    Function("swapcase", swapcase, (STRING,), uses_rendering=True),
    Function("initials", initials, (STRING,), uses_rendering=True),
    Function("nospace", nospace, (STRING,), uses_rendering=True),
    Function("abbrev", abbrev, (INT, STRING)),
    Function("abbrevboth", abbrevboth, (INT, INT, STRING)),
    Function("wrap", wrap_lines, (INT, STRING), uses_rendering=True),
    Function("wrapWith", wrap_with, (INT, STRING, STRING), uses_rendering=True),
)
