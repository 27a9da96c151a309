"""A terminal of some size: what a program's output leaves on its screen; no tests of its own."""

import re

_TOKEN = re.compile(r"\x1b\[([\d;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n])")


class Screen:
    """The rows of a terminal, for the few control sequences that the command line uses.

    Attributes:
        scrolled: Rows that have left the screen at the top.
        has_cursor: Whether the cursor is shown.
        colours: The codes of colours that were set.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self.scrolled: list[str] = []
        self.has_cursor = True
        self.colours: set[str] = set()
        self._lines = [""] * rows
        self._row = self._column = 0
        self._rest = ""

    @property
    def lines(self) -> list[str]:
        """The rows that show something, without those below."""
        return "\n".join(self._lines).rstrip("\n").split("\n")

    @property
    def text(self) -> str:
        """Everything on the screen in one line."""
        return " ".join(" ".join(self._lines).split())

    def feed(self, output: str) -> None:
        """Show output; a control sequence that is not complete is kept for the next call.

        Raises:
            ValueError: a control sequence that this terminal does not know.
        """
        text, position = self._rest + output, 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                if len(text) - position > 8:
                    raise ValueError(f"unknown control sequence {text[position : position + 8]!r}")
                break
            self._act(match)
            position = match.end()
        self._rest = text[position:]

    def _act(self, match: re.Match[str]) -> None:
        number, command, control, char = match.groups()
        if char:
            self._put(char)
        elif control == "\r":
            self._column = 0
        elif control == "\n":
            self._down()
        elif command == "A":
            self._row = max(0, self._row - int(number or 1))
        elif command == "K" and number == "2":
            self._lines[self._row] = ""
        elif command in {"h", "l"} and number == "?25":
            self.has_cursor = command == "h"
        elif command == "m":
            self.colours.add(number)
        else:
            raise ValueError(f"unknown control sequence {match[0]!r}")

    def _put(self, char: str) -> None:
        if self._column == self.columns:
            self._column = 0
            self._down()
        line = self._lines[self._row].ljust(self._column)
        self._lines[self._row] = line[: self._column] + char + line[self._column + 1 :]
        self._column += 1

    def _down(self) -> None:
        if self._row < self.rows - 1:
            self._row += 1
            return
        self.scrolled.append(self._lines.pop(0))
        self._lines.append("")
