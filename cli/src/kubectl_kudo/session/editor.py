"""Runs the editor of the user on a file, as `kubectl edit` does."""

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from kubectl_kudo.session.errors import CliError, UsageError

_VARIABLES = ("KUBE_EDITOR", "EDITOR")
_USUAL = "vi"


def edit(path: Path) -> None:
    """Open a file in the editor, and return when the editor has ended.

    The editor is $KUBE_EDITOR, else $EDITOR, else vi; the command may have arguments.

    Raises:
        CliError: it cannot be run, or it failed.
    """
    command = _command()
    processes: list[subprocess.Popen[bytes]] = []
    try:
        with _signals_left_to(processes):
            processes.append(subprocess.Popen([*command, str(path)]))
            code = processes[0].wait()
    except OSError as error:
        variables = " or ".join(f"${name}" for name in _VARIABLES)
        raise CliError(
            f"editor {command[0]} cannot be run: {error.strerror}; name another one in {variables}"
        ) from error
    if code:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        raise CliError(f"editor {command[0]} {how}, so nothing was sent")


def _command() -> list[str]:
    for name in _VARIABLES:
        text = os.environ.get(name, "")
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"${name} is no command: {error}") from None
        if words:
            return words
    return [_USUAL]


@contextmanager
def _signals_left_to(editors: Sequence[subprocess.Popen[bytes]]) -> Iterator[None]:
    """Leave ctrl-C to the editor, which has the terminal; end both at SIGTERM.

    Args:
        editors: The editor, once it runs.
    """
    interrupt, terminate = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)

    def terminated(number: int, frame: FrameType | None) -> None:
        for editor in editors:
            editor.terminate()
        signal.signal(signal.SIGINT, interrupt)
        if callable(terminate):
            terminate(number, frame)

    # Not SIG_IGN, which a program that the editor starts would inherit.
    signal.signal(signal.SIGINT, lambda *_: None)
    if callable(terminate):
        signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupt)
        signal.signal(signal.SIGTERM, terminate)
