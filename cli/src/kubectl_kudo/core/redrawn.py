"""Lines on a terminal that are drawn again in their place."""

import os
import shutil
from typing import TextIO

from kubectl_kudo.core.wrapping import cells


class Redrawn:
    """Lines that replace those that were drawn before.

    They must not be wider or higher than the terminal: the cursor could not go back to the first.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn: list[str] = []

    def draw(self, lines: list[str], columns: int) -> None:
        """Draw the lines on a terminal of so many columns; none removes what is drawn."""
        # A terminal that was made narrower has wrapped what was drawn.
        above = sum(max(1, -(-cells(line) // columns)) for line in self._drawn)
        back = f"\033[{above}A" if above else ""
        self._stream.write(f"\r{back}\033[J" + "".join(f"{line}\n" for line in lines))
        self._stream.flush()
        self._drawn = lines


def terminal_size(stream: TextIO) -> tuple[int, int]:
    """Return columns and rows of the terminal that a stream writes to."""
    try:
        size = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        size = os.terminal_size((0, 0))
    return (size.columns, size.lines) if all(size) else shutil.get_terminal_size()
