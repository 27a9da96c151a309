r"""What may reach a terminal: texts without characters that it would act on, and our own control.

Anybody may have chosen the names of plans, steps, files and parameters, and any message.
`cleaned_streams` puts a `CleanStream` before stdout and stderr, so that every `print`, log line and
traceback goes through one place, which shows such a character as text (`\x1b`). Only `Control`,
which no text can become, is written as it is.

A stream cannot know which line ends belong to a name or message: `word` keeps what is printed in
its line, and `continued` shows that lines belong to the one above.
"""

import enum
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Type checkers read it as True. Importing `typing` would take 5 % of the time of `--help`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_ACTED_ON = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f"  # controls but tab and line end
    "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069"  # the direction of text
    "\\u2028\\u2029\\ufff9-\\ufffb"  # line and paragraph ends, annotations
    "\\ud800-\\udfff"  # bytes of file names that are no UTF-8: no stream can encode them
)
_CHARACTER = re.compile(f"[{_ACTED_ON}]")
_IN_A_WORD = re.compile(f"[\\t\\n{_ACTED_ON}]")
_UNINDENTED = re.compile("\\n(?=\\S)")


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
    return _CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def visible(character: str) -> str:
    r"""Return the escape of a character, such as `\x1b`."""
    return character.encode("unicode_escape").decode("ascii")


def _visible(found: re.Match[str]) -> str:
    return visible(found[0])


class Control(enum.Enum):
    """What this program itself tells a terminal."""

    LINE_START = "\r"
    LINES_UP = "\033[{lines:d}A"
    CLEAR_BELOW = "\033[J"
    WARNING = "\033[33;1m"
    PLAIN = "\033[0m"


class CleanStream:
    """A text stream that writes `clean` texts.

    It has what `print`, argparse, logging and tracebacks use of a stream, and no way around.
    """

    def __init__(self, stream: "TextIO") -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:
        return self._stream.encoding

    @property
    def errors(self) -> str | None:
        return self._stream.errors

    def write(self, text: str) -> int:
        self._stream.write(clean(text))
        return len(text)

    def control(self, *controls: Control, lines: int = 0) -> None:
        """Write controls as they are; `lines` is for `LINES_UP`."""
        control(self._stream, *controls, lines=lines)

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


def control(stream: "TextIO | CleanStream", *controls: Control, lines: int = 0) -> None:
    """Tell a terminal something; `lines` is for `LINES_UP`."""
    if isinstance(stream, CleanStream):
        stream.control(*controls, lines=lines)
    else:
        stream.write("".join(one.value.format(lines=lines) for one in controls))


class Redrawn:
    """Lines that replace those that were drawn before.

    They must not be wider or higher than the terminal: the cursor could not go back to the first.
    """

    def __init__(self, stream: "TextIO | CleanStream") -> None:
        self._stream = stream
        self._drawn: list[str] = []

    def draw(self, lines: list[str], columns: int) -> None:
        """Draw the lines on a terminal of so many columns; none removes what is drawn."""
        from kubectl_kudo.core.wrapping import cells

        # A terminal that was made narrower has wrapped what was drawn.
        above = sum(max(1, -(-cells(line) // columns)) for line in self._drawn)
        back = [Control.LINES_UP] if above else []
        controls = (Control.LINE_START, *back, Control.CLEAR_BELOW)
        control(self._stream, *controls, lines=above)
        self._stream.write("".join(f"{line}\n" for line in lines))
        self._stream.flush()
        self._drawn = lines


def terminal_size(stream: "TextIO") -> tuple[int, int]:
    """Return columns and rows of the terminal that a stream writes to."""
    import os
    import shutil

    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((0, 0))
    return (size.columns, size.lines) if all(size) else shutil.get_terminal_size()
