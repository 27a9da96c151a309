"""Runs a command line in this process and answers its questions; no tests of its own."""

import contextlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from kubectl_kudo.__main__ import main


class _Typist:
    """A terminal at which somebody answers each question when it is shown."""

    def __init__(self, shown: io.StringIO, answers: Iterable[tuple[str, str]]) -> None:
        self._shown = shown
        self.answers: Iterator[tuple[str, str]] = iter(answers)

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        shown = self._shown.getvalue()
        question, answer = next(self.answers, ("", ""))
        assert question, f"nothing else is to be asked; shown: {shown}"
        assert shown.endswith(question), f"not shown: {question!r}; shown: {shown}"
        if answer == "^C":
            raise KeyboardInterrupt
        return "" if answer == "^D" else f"{answer}\n"


def answered(
    folder: Path, argv: Iterable[str], answers: Iterable[tuple[str, str]]
) -> tuple[int, str]:
    """Run a command line, answer each question when it is shown, and return code and output.

    Args:
        folder: The working directory.
        argv: The command line.
        answers: The end of each question, and the answer to it. `^C` and `^D` are the keys.
    """
    shown = io.StringIO()
    typist = _Typist(shown, answers)
    streams = contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown)
    with pytest.MonkeyPatch.context() as patch, streams[0], streams[1]:
        patch.chdir(folder)
        patch.setattr("sys.stdin", typist)
        code = main([*argv])
    assert next(typist.answers, None) is None, f"not everything was asked: {shown.getvalue()}"
    return code, shown.getvalue()
