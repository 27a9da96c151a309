"""Runs a command line on a pseudo-terminal and answers its questions; no tests of its own."""

import sys
from collections.abc import Iterable
from pathlib import Path

from tests.support.terminals.terminal import Terminal, on_terminal

_KEYS = {"^C": "\x03", "^D": "\x04"}
# Only the controlling terminal turns ctrl-C into a signal.
_MAIN = """\
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from kubectl_kudo.__main__ import main
sys.exit(main())
"""


def answered(
    folder: Path, argv: Iterable[str], answers: Iterable[tuple[str, str]]
) -> tuple[int, str]:
    """Run a command line, answer each question when it is shown, and return code and output.

    Args:
        folder: The working directory.
        argv: The command line.
        answers: The end of each question, and the answer to it. `^C` and `^D` are the keys.
    """
    shown = ""
    with on_terminal([sys.executable, "-c", _MAIN, *argv], folder=folder) as terminal:
        for question, answer in answers:
            shown += _until(terminal, question)
            terminal.press(_KEYS.get(answer, f"{answer}\n"))
        while text := terminal.read():
            shown += text
        return terminal.end(), shown


def _until(terminal: Terminal, question: str) -> str:
    shown = ""
    while not shown.endswith(question):
        text = terminal.read()
        assert text, f"not shown: {question!r}; shown: {shown}"
        shown += text
    return shown
