"""Sprig's snakecase, kebabcase and camelcase.

A text is cut into words of one class of characters; the classes are letters here: C space, H hyphen
and underscore, P other punctuation, U upper case, A lower case and other letters, N digits, O the
rest. Space, hyphens and underscores connect words, but right after punctuation a hyphen or an
underscore is more of it.
"""

import re
from typing import Final

from gotemplate.golang.literals import (
    is_letter,
    is_number,
    is_punctuation,
    is_space,
    is_upper,
    runes,
    to_lower,
    to_upper,
)
from gotemplate.rendering import Rendering
from gotemplate.types.signature import STRING, Function

# An upper case run leaves its last letter to the lower case ones that follow: HTTPServer.
_WORD: Final = re.compile("[CH]+|P[PH]*|U+(?=UA)|UU+|UA*|A+|N+|O+")
_CHINESE: Final = ((0x4E00, 0x9FCC), (0x3400, 0x4D85), (0x20000, 0x2B81D))

_Word = tuple[str, str]
_NONE: Final[_Word] = ("", "")


def snakecase(run: Rendering, text: str) -> str:
    """Write words in lower case with underscores between."""
    return _joined(run, text, "_")


def kebabcase(run: Rendering, text: str) -> str:
    """Write words in lower case with hyphens between."""
    return _joined(run, text, "-")


def _class(rune: str) -> str:
    if rune in "-_":
        return "H"
    if is_space(rune):
        return "C"
    if is_punctuation(rune):
        return "P"
    if is_upper(rune):
        return "U"
    if is_letter(rune):
        chinese = any(first <= ord(rune) <= last for first, last in _CHINESE)
        return "O" if chinese else "A"
    return "N" if is_number(rune) else "O"


def _connects(rune: str) -> bool:
    return rune in "-_" or is_space(rune)


def _words(text: str) -> list[_Word]:
    classes = "".join(map(_class, text))
    matches = _WORD.finditer(classes)
    return [
        (classes[match.start()].replace("H", "C"), text[match.start() : match.end()])
        for match in matches
    ]


class _Joiner:
    """Writes words one after the other; `at` is the one that comes next."""

    def __init__(self, words: list[_Word], connector: str) -> None:
        self._words = words
        self._connector = connector
        self._at = 0
        self._out: list[str] = []

    def text(self) -> str:
        while self._at + 1 < len(self._words):
            kind = self._kind()
            if kind == "N":
                self._write()
                self._mixed()
                if self._kind() == "C":
                    # As in KUDO 0.19: names of stored objects were made so (`1 a` is `1__a`).
                    self._out.append(self._connector)
            elif kind in "CP":
                self._write()
            else:
                self._letters()
        self._write()
        return "".join(self._out)

    def _kind(self) -> str:
        return self._peek()[0]

    def _peek(self) -> _Word:
        return self._words[self._at] if self._at < len(self._words) else _NONE

    def _write(self) -> None:
        kind, word = self._peek()
        if kind == "C":
            word = self._connector * len(word)
        elif kind == "U":
            word = "".join(to_lower(rune) if is_upper(rune) else rune for rune in word)
        self._out.append(word)
        self._at += 1

    def _connect(self) -> None:
        """Begin a new word, unless something else is between already."""
        if self._kind() not in ("", "C", "P"):
            self._out.append(self._connector)

    def _mixed(self) -> None:
        """Write the digits and lower case letters that belong to a number."""
        while self._kind() in ("A", "N"):
            self._write()
        self._connect()

    def _letters(self) -> None:
        """Write a word of letters, and the number after it if that belongs to it."""
        self._write()
        if self._kind() != "N":
            self._connect()
            return
        if self._at + 1 == len(self._words):
            return
        if self._words[self._at + 1][0] == "A":
            self._out.append(self._connector)
            self._write()
            self._mixed()
        else:
            self._write()
            self._connect()


def _joined(run: Rendering, text: str, connector: str) -> str:
    run.charge(len(text) >> 1)
    return _Joiner(_words(runes(text)), connector).text()


def camelcase(run: Rendering, text: str) -> str:
    """Write words without anything between, the first letter of each in upper case.

    Connectors at the beginning stay; of several in a row all but the last stay.
    """
    run.charge(len(text) >> 1)
    text = runes(text)
    start = next((at for at, rune in enumerate(text) if not _connects(rune)), len(text))
    if start == len(text):
        return text + text[-1:]
    return text[:start] + _camel(text[start:])


def _camel(text: str) -> str:
    out: list[str] = []
    before, capitals = to_upper(text[0]), is_upper(text[0])
    for rune in text[1:]:
        now = rune
        if not _connects(before):
            out.append(before)
            capitals = capitals and is_upper(rune)
            now = to_lower(rune) if capitals else rune
        elif _connects(rune):
            out.append(before)
        else:
            capitals = is_upper(rune)
            now = to_upper(rune)
        before = now
    return "".join([*out, before])


FUNCTIONS: Final = (
    Function("snakecase", snakecase, (STRING,), uses_rendering=True),
    Function("kebabcase", kebabcase, (STRING,), uses_rendering=True),
    Function("camelcase", camelcase, (STRING,), uses_rendering=True),
)
