"""Splits commands into words as a POSIX shell does, and replaces `$VAR` and `${VAR}` as Go does.

The rules of words are those of github.com/google/shlex, which kuttl uses. They differ from Python's
`shlex`: a backslash in double quotes takes the next character as it is, and `#` begins a comment
only at the beginning of a word.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_VARIABLE: Final = re.compile(
    r"""
    \$(?:
        \{(?P<special>[*\#$@!?0-9-])\}
      | \{(?P<braced>[^}]+)\}
      | (?P<nothing>\{\}?)
      | (?P<single>[*\#$@!?0-9-])
      | (?P<name>[A-Za-z0-9_]+)
    )
    """,
    re.VERBOSE,
)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with variables replaced; `$$` is a dollar sign, an unknown variable nothing."""

    def value(match: re.Match[str]) -> str:
        if match["nothing"]:
            return ""
        name = match["special"] or match["braced"] or match["single"] or match["name"]
        return "$" if name == "$" else variables.get(name, "")

    return _VARIABLE.sub(value, text)


_SPACE: Final = frozenset(" \t\r\n")
_ESCAPE, _DOUBLE, _SINGLE, _COMMENT = "\\", '"', "'", "#"


class NotClosed(ValueError):
    """A quote is not closed, or nothing follows a backslash."""


@dataclass(slots=True)
class _Splitter:
    text: str
    position: int = 0
    words: list[str] = field(default_factory=list)

    def split(self) -> list[str]:
        while (first := self._next()) is not None:
            if first in _SPACE:
                continue
            if first == _COMMENT:
                self._skip_line()
            else:
                self.position -= 1
                self.words.append(self._word())
        return self.words

    def _word(self) -> str:
        parts: list[str] = []
        while (character := self._next()) is not None and character not in _SPACE:
            if character == _DOUBLE:
                parts += self._quoted(_DOUBLE)
            elif character == _SINGLE:
                parts += self._quoted(_SINGLE)
            elif character == _ESCAPE:
                parts.append(self._escaped())
            else:
                parts.append(character)
        return "".join(parts)

    def _quoted(self, quote: str) -> list[str]:
        parts: list[str] = []
        while (character := self._next()) != quote:
            if character is None:
                raise NotClosed(f"the quote {quote} is not closed")
            escaped = character == _ESCAPE and quote == _DOUBLE
            parts.append(self._escaped() if escaped else character)
        return parts

    def _escaped(self) -> str:
        character = self._next()
        if character is None:
            raise NotClosed("nothing follows the backslash at the end")
        return character

    def _skip_line(self) -> None:
        end = self.text.find("\n", self.position)
        self.position = len(self.text) if end < 0 else end

    def _next(self) -> str | None:
        if self.position >= len(self.text):
            return None
        self.position += 1
        return self.text[self.position - 1]


def split(text: str) -> list[str]:
    """Return the words of a command.

    Raises:
        NotClosed: a quote is not closed, or nothing follows a backslash.
    """
    return _Splitter(text).split()
