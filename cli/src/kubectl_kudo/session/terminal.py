r"""What may reach a terminal: texts without characters that it would act on.

Anybody may have chosen the names of plans, steps, files and parameters, and any message.
`cleaned_streams` puts a `CleanStream` before stdout and stderr, so that every `print`, log line and
traceback goes through one place, which shows such a character as text (`\x1b`). Only what
`session.screen` draws may colour text and move the cursor, and of that only the sequences it needs.

A stream cannot know which line ends belong to a name or message: `word` keeps what is printed in
its line, and `continued` shows that lines belong to the one above.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, TextIO

_ACTED_ON = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # controls but tab and line end
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # the direction of text
    "\\u2028\\u2029\\ufff9-\\ufffb"  # line and paragraph ends, annotations
    "\\ud800-\\udfff"  # bytes of file names that are no UTF-8: no stream can encode them
)
_CHARACTER = re.compile(f"[{_ACTED_ON}]")
_IN_A_WORD = re.compile(f"[\\t\\n{_ACTED_ON}]")
_UNINDENTED = re.compile("\\n(?=\\S)")
_DRAWN = re.compile("(\\r?\\x1b\\[(?:[0-9;]*m|[0-9]*[AK]|\\?25[hl]))")
"""Colours, the way back to lines that are drawn again, and the cursor's hiding and return."""


def clean(text: str) -> str:
    r"""Return a text with each character that a terminal acts on as text; `\n` and `\t` stay."""
    return text if text.isascii() and text.isprintable() else _CHARACTER.sub(_visible, text)


def word(text: str) -> str:
    """Return what has to stay in its line, such as a name: `clean`, line ends and tabs too."""
    return text if text.isprintable() else _IN_A_WORD.sub(_visible, text)


def continued(text: str) -> str:
    """Return a text whose further lines are indented, so that none looks like a line of ours."""
    return text.replace("\n", "\n  ") if _UNINDENTED.search(text) else text


def in_json(text: str) -> str:
    """Return a JSON document with the same characters as escapes of JSON."""
    return _CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def visible(character: str) -> str:
    r"""Return the escape of a character, such as `\x1b`."""
    return character.encode("unicode_escape").decode("ascii")


def _visible(match: re.Match[str]) -> str:
    return visible(match[0])


class CleanStream:
    """A text stream that writes `clean` texts.

    It has what `print`, argparse, logging and tracebacks use of a stream, and no way around.

    Attributes:
        colours: Whether a terminal gets colours; `--no-color` turns them off.
        remove_live_view: Removes the lines of a live view; None while nothing is drawn. It is one
            for all streams, since stdout and stderr end on the same terminal: the next drawing
            would go over a line that was written below the view.
    """

    remove_live_view: ClassVar[Callable[[], None] | None] = None

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.colours = True

    @property
    def encoding(self) -> str:
        return self._stream.encoding

    @property
    def errors(self) -> str | None:
        return self._stream.errors

    def write(self, text: str) -> int:
        self.end_live_view()
        self._stream.write(clean(text))
        return len(text)

    def end_live_view(self) -> None:
        """Remove the lines of a live view, if this stream writes to a terminal as well."""
        if CleanStream.remove_live_view is not None and self.isatty():
            CleanStream.remove_live_view()

    def draw(self, text: str) -> None:
        """Write what `session.screen` has drawn."""
        parts = enumerate(_DRAWN.split(text))
        self._stream.write("".join(part if number % 2 else clean(part) for number, part in parts))

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


@contextmanager
def cleaned_streams() -> Iterator[None]:
    """Have stdout and stderr write clean texts during the block."""
    before = sys.stdout, sys.stderr
    for name in ("stdout", "stderr"):
        setattr(sys, name, CleanStream(getattr(sys, name)))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def without_colours() -> None:
    """Have stdout and stderr show no colours any more."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, CleanStream):
            stream.colours = False


def is_dumb() -> bool:
    """Return whether the terminal can neither colour text nor move the cursor."""
    return os.environ.get("TERM") == "dumb"


def coloured(stream: "TextIO | CleanStream") -> bool:
    """Return whether colours may be written: to a terminal, unless $NO_COLOR is set.

    https://no-color.org: any value counts, except an empty one.
    """
    off = os.environ.get("NO_COLOR") or is_dumb() or not getattr(stream, "colours", True)
    return not off and stream.isatty()


def terminal_size(stream: "TextIO | CleanStream") -> tuple[int, int]:
    """Return columns and rows of the terminal that a stream writes to."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((0, 0))
    return (size.columns, size.lines) if all(size) else shutil.get_terminal_size()
