"""Reads the characters of a template, and knows the position of each."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from kubectl_kudo.jsonpath.nodes import JsonPathError

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a"}
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})")
_NAME = re.compile(r"(?:\\.|[^\s.,\[\]$@{}()'\"!<>=|&*\\])+", re.DOTALL)
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SPACE = re.compile(r"\s+")
_MOST_DIGITS = 18


@dataclass(slots=True)
class Scanner:
    """A template, and how much of it was read.

    Attributes:
        text: The template.
        at: Index of the next character.
    """

    text: str
    at: int = 0

    @property
    def ended(self) -> bool:
        return self.at >= len(self.text)

    def peek(self, length: int = 1) -> str:
        """Return the next characters, fewer at the end, without reading them."""
        return self.text[self.at : self.at + length]

    def take(self, expected: str) -> bool:
        """Read a text if it comes next, and return whether it did."""
        if not self.text.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True

    def skip_space(self) -> None:
        self._match(_SPACE)

    def until_brace(self) -> str:
        """Read literal text up to the next `{`, which stays."""
        end = self.text.find("{", self.at)
        start, self.at = self.at, len(self.text) if end < 0 else end
        return self.text[start : self.at]

    def word(self) -> str:
        """Read a keyword; empty if none comes next."""
        return self._match(_WORD)

    def name(self) -> str:
        """Read the name of a field; a backslash takes the next character as it is."""
        raw = self._match(_NAME)
        return re.sub(r"\\(.)", r"\1", raw, flags=re.DOTALL)

    def integer(self) -> int | None:
        """Read a whole number; None if none comes next."""
        start = self.at
        digits = self._match(_INTEGER)
        if len(digits) > _MOST_DIGITS:
            raise JsonPathError("the number is too large", start)
        return int(digits) if digits else None

    def number(self) -> int | float | None:
        """Read a number; None if none comes next."""
        start = self.at
        digits = self._match(_NUMBER)
        if not digits:
            return None
        if len(digits) > _MOST_DIGITS:
            raise JsonPathError("the number is too large", start)
        return int(digits) if _INTEGER.fullmatch(digits) else float(digits)

    def quoted(self) -> str:
        """Read text in single or double quotes, with the escapes of Go."""
        start, quote = self.at, self.peek()
        self.at += 1
        found = []
        while not self.ended and self.peek() != quote:
            found.append(self._escaped() if self.take("\\") else self._one())
        if not self.take(quote):
            raise JsonPathError(f"the text has no closing {quote}", start)
        return "".join(found)

    def error(self, problem: str) -> JsonPathError:
        """Return an error about the next character."""
        return JsonPathError(problem, self.at)

    def described(self) -> str:
        """Return how an error names the next character."""
        return f'"{self.peek()}"' if not self.ended else "the end"

    def _one(self) -> str:
        self.at += 1
        return self.text[self.at - 1]

    def _escaped(self) -> str:
        code = _CODE.match(self.text, self.at)
        if code is not None:
            start, self.at = self.at, code.end()
            number = int(next(filter(None, code.groups())), 16)
            return _character(number, lambda text: JsonPathError(text, start - 1))
        if self.ended:
            raise self.error("the text ends after a backslash")
        character = self._one()
        return _ESCAPES.get(character, character)

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]


def _character(number: int, error: Callable[[str], JsonPathError]) -> str:
    if number > 0x10FFFF or 0xD800 <= number <= 0xDFFF:
        raise error("there is no such character")
    return chr(number)
