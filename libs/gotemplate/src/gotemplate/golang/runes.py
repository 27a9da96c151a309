"""Go's view of characters: classes, and changes of case that are one for one."""

import unicodedata
from typing import Final

from gotemplate.golang.values import clean

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
