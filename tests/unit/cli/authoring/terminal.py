"""Runs a command line on a pseudo-terminal and answers its questions; no tests of its own."""

import os
import pty
import select
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

_SECONDS = 60
"""How long a question may take to come: far more than any does."""


def on_terminal(
    folder: Path, argv: Iterable[str], answers: Iterable[tuple[str, str]]
) -> tuple[int, str]:
    """Run a command line, answer each question when it is shown, and return code and output.

    Args:
        folder: The working directory.
        argv: The command line.
        answers: The end of each question, and the answer to it. `^C` and `^D` are the keys.
    """
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _MAIN, *argv],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = ""
    try:
        for question, answer in answers:
            shown += _until(ours, question)
            os.write(ours, _KEYS.get(answer, f"{answer}\n".encode()))
        shown += _until(ours, None)
        return process.wait(_SECONDS), shown
    finally:
        process.kill()
        process.wait()
        os.close(ours)


_KEYS = {"^C": b"\x03", "^D": b"\x04"}
# Only the controlling terminal turns ctrl-C into a signal.
_MAIN = """\
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from kubectl_kudo.__main__ import main
sys.exit(main())
"""


def _until(terminal: int, question: str | None) -> str:
    """Read until a question is shown, or to the end of the output."""
    shown = b""
    while question is None or not shown.decode(errors="replace").endswith(question):
        ready, _, _ = select.select([terminal], [], [], _SECONDS)
        assert ready, f"not shown: {question!r}; shown: {shown.decode()}"
        try:
            found = os.read(terminal, 4096)
        except OSError:  # Linux says so at the end
            found = b""
        if not found:
            assert question is None, f"not shown: {question!r}; shown: {shown.decode()}"
            break
        shown += found
    return shown.decode()
