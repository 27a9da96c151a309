"""Go's regular expressions, through RE2, which Go's package was made from.

RE2's time is linear in the text, but the factor is the size of the compiled pattern, and compiling
one with many repetitions takes longer than searching. Nothing can interrupt either. So RE2 gets
little memory, which bounds the compiled size, and callers learn what compiling (`cost_of`) and each
search (`on_search`) costs before it begins.

How matches follow one another, what `$1` in a replacement means and how a text is split is Go's and
is written here. Everything is bytes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gotemplate.golang.values import clean, from_bytes, to_bytes

# Bytes RE2 may use for one pattern. With 4 MiB, `a{0,999}` written 110 times compiles for 20 s;
# with this it is too large after 20 ms.
_MEMORY: Final = 256 << 10
_KEPT: Final = 64  # compiled patterns; each holds up to _MEMORY
_REPEAT: Final = re.compile(r"\{(?:[0-9]{0,4},)?([0-9]{1,4})\}", re.ASCII)
_CLASS: Final = re.compile(r"\\[pP]|\[:")
_META: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
_NAME: Final = re.compile(r"(?:\{(\w+)\}|(\w+))")
_NUMBER: Final = re.compile("0|[1-9][0-9]{0,8}", re.ASCII)

Span = tuple[int, int]
OnSearch = Callable[[int, int], None]

# What RE2 says, and what Go says instead. {} is what is at fault, {all} the whole pattern.
_WORDS: Final = (
    ("missing ): ", "missing closing ): {all}"),
    ("missing ]: ", "missing closing ]: {}"),
    ("unexpected ): ", "unexpected ): {all}"),
    ("no argument for repetition operator: ", "missing argument to repetition operator: {}"),
    ("bad repetition operator: ", "invalid nested repetition operator: {}"),
    ("invalid repetition size: ", "invalid repeat count: {}"),
    ("invalid character class range: ", "invalid character class range: {}"),
    ("invalid escape sequence: ", "invalid escape sequence: {}"),
    ("invalid perl operator: ", "invalid or unsupported Perl syntax: {}"),
    ("invalid named capture group: ", "invalid named capture: {}"),
    ("trailing \\", "trailing backslash at end of expression: ``"),
    ("invalid UTF-8", "invalid UTF-8: {all}"),
)
_ANY_BYTE: Final = re.compile(rb"(?<!\\)(?:\\\\)*\\C")


class RegexError(ValueError):
    """The text is not a regular expression; the error's text is Go's."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a pattern and its groups were found; (-1, -1) is a group that took no part."""

    spans: Sequence[Span]

    @property
    def start(self) -> int:
        return self.spans[0][0]

    @property
    def end(self) -> int:
        return self.spans[0][1]


class Regex:
    """A compiled pattern. Made by `compile_regex`; may be shared between threads.

    Attributes:
        size: instructions of the compiled pattern.
    """

    __slots__ = ("_empty", "_names", "_pattern", "size")

    def __init__(self, pattern: object, *, empty: bool) -> None:
        self._pattern = pattern
        self._empty = empty
        self._names: dict[bytes, int] = pattern.groupindex  # type: ignore[attr-defined]
        self.size: int = pattern.programsize  # type: ignore[attr-defined]

    def search(
        self, data: bytes, start: int = 0, *, on_search: OnSearch | None = None
    ) -> Match | None:
        """Find the first match that begins at `start` or later.

        Args:
            data: the text.
            start: where to begin.
            on_search: told, before the search, where it begins and how large it is: bytes that are
                left times instructions. An exception that it raises prevents the search.
        """
        if on_search is not None:
            on_search(start, (len(data) - start) * self.size)
        match = self._pattern.search(data, start)  # type: ignore[attr-defined]
        if match is None:
            return None
        groups = self._pattern.groups  # type: ignore[attr-defined]
        return Match([match.span(group) for group in range(groups + 1)])

    def matches(self, data: bytes, *, on_search: OnSearch | None = None) -> Iterator[Match]:
        """Find all matches; an empty one right behind another does not count."""
        position, previous = 0, -1
        while position <= len(data) and (match := self.search(data, position, on_search=on_search)):
            if match.end > position:
                position = match.end
            else:
                # By a character, as in Go: a byte further the search would begin inside of it.
                position += _width(data, position)
            if match.start < match.end or match.start != previous:
                yield match
            previous = match.end

    def replace(
        self,
        data: bytes,
        expand: Callable[[Match], Iterable[bytes]],
        *,
        on_search: OnSearch | None = None,
    ) -> Iterator[bytes]:
        """Return the pieces of a text in which every match is replaced."""
        end = position = 0
        while position <= len(data) and (match := self.search(data, position, on_search=on_search)):
            yield data[end : match.start]
            # As in Go, an empty match right behind another one is not replaced.
            if match.end > end or match.start == 0:
                yield from expand(match)
            end = match.end
            position = max(position + _width(data, position), end)
        yield data[end:]

    def split(
        self, data: bytes, most: int, *, on_search: OnSearch | None = None
    ) -> Iterator[bytes]:
        """Split a text at the matches into at most that many pieces; all if it is negative."""
        if most == 0:
            return
        start = end = count = 0
        for match in self.matches(data, on_search=on_search):
            if most > 0 and count == most - 1:
                # The last piece is all the rest, whatever matches in it.
                break
            end = match.start
            if match.end:
                yield data[start:end]
                count += 1
            start = match.end
        # An empty text is one empty piece, but the empty pattern splits it into none.
        if end != len(data) or not (data or self._empty):
            yield data[start:]

    def expand(self, template: str, data: bytes, match: Match) -> Iterator[bytes]:
        """Put what groups matched in the place of `$1`, `${1}`, `$name` and `${name}`.

        `$$` is a dollar sign, and so is one that no name follows; an unknown group is empty.
        The text comes in pieces, because a short template can name a long group many times.
        """
        position = 0
        while (dollar := template.find("$", position)) >= 0:
            yield to_bytes(template[position:dollar])
            position = dollar + 1
            if template.startswith("$", position):
                yield b"$"
                position += 1
            elif name := _NAME.match(template, position):
                yield self._group(name[1] or name[2], data, match)
                position = name.end()
            else:
                yield b"$"
        yield to_bytes(template[position:])

    def _group(self, name: str, data: bytes, match: Match) -> bytes:
        group = int(name) if _NUMBER.fullmatch(name) else self._names.get(to_bytes(name), -1)
        if not 0 <= group < len(match.spans):
            return b""
        start, end = match.spans[group]
        return data[start:end] if start >= 0 else b""


def _width(data: bytes, position: int) -> int:
    """Return the bytes of the character at a position, 1 at the end and of a stray byte."""
    first = data[position] if position < len(data) else 0
    size = 1 if first < 0xC2 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    try:
        data[position : position + size].decode()
    except UnicodeDecodeError:
        return 1
    return size


def cost_of(pattern: str) -> int:
    """Estimate what compiling a pattern costs, in about microseconds.

    RE2 writes repetitions out and looks classes of characters up before it measures the result.
    """
    repeats = sum(int(most) for most in _REPEAT.findall(pattern))
    return len(pattern) + (repeats >> 2) + 64 * len(_CLASS.findall(pattern))


@lru_cache(_KEPT)
def compile_regex(pattern: str) -> Regex:
    """Compile a pattern.

    Raises:
        RegexError: it is no regular expression of Go, or needs too much memory.
    """
    import re2  # type: ignore[import-untyped] # most programs compile no pattern

    data = to_bytes(pattern)
    if _ANY_BYTE.search(data):
        # RE2 knows this escape, for a single byte; Go does not.
        raise _error("invalid escape sequence: \\C", pattern)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return Regex(re2.compile(data, options), empty=not data)
    except re2.error as error:
        raise _error(from_bytes(error.args[0]), pattern) from error


def _error(said: str, pattern: str) -> RegexError:
    for start, words in _WORDS:
        if said.startswith(start):
            fault = _raw(said.removeprefix(start))
            said = words.format(fault, all=_raw(pattern))
            break
    return RegexError(f"error parsing regexp: {said}")


def _raw(text: str) -> str:
    return f"`{clean(text)}`"


def quote_meta(text: str) -> str:
    """Escape the metacharacters of regular expressions."""
    return _META.sub(r"\\\g<0>", text)
