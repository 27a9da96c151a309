"""Real Go beside us: processes that render templates with text/template and a Sprig each.

The programs are in `tests/golden/oracle`: one with Sprig 2.22 and all other libraries as in KUDO
0.19, one with Sprig 3.3. They are built once a run and answer one JSON line for every JSON line
they are given, so thousands of templates cost no start of a process.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.golden.case import VARIABLES

_SOURCE: Final = Path(__file__).parent / "oracle"
_PROGRAMS: Final = {"v2": "sprig2", "v3": "sprig3"}
"""By the name of their answers."""
_GAVE_UP: Final = b"the oracle gave up"

Answer = dict[str, str]


class OracleError(Exception):
    """The oracle cannot be built, or gave no answer."""


def has_go() -> bool:
    """Tell whether Go is installed."""
    return shutil.which("go") is not None


class Oracle:
    """The running programs, started again when a template kills one; not for several threads."""

    def __init__(self, programs: Mapping[str, Path]) -> None:
        self._processes = {name: _Process(program) for name, program in programs.items()}

    def ask(
        self,
        text: str,
        data: Mapping[str, Any],
        *,
        name: str = "t",
        missing_key: str = "error",
        policy: str = "operator",
        seconds: float = 60.0,
    ) -> dict[str, Answer]:
        """Render a template with Sprig 2.22 (`v2`) and 3.3 (`v3`), in so many seconds each.

        Returns:
            For each of the two, {"output": text} or {"error": text}.

        Raises:
            OracleError: Go did not survive the template, or was not done in time. The next
                question has a new process.
        """
        question = {
            "name": name,
            "text": text,
            "data": data,
            "missingkey": missing_key,
            "policy": policy,
            "seconds": seconds,
        }
        line = json.dumps(question).encode() + b"\n"
        return {key: process.answer(line, 2 * seconds) for key, process in self._processes.items()}

    def close(self) -> None:
        """Stop the processes."""
        for process in self._processes.values():
            process.close()


class _Process:
    """One running program."""

    def __init__(self, program: Path) -> None:
        self._program = program
        self._process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [self._program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TZ": "UTC", **VARIABLES},
        )

    def answer(self, question: bytes, seconds: float) -> Answer:
        line = self._exchange(question, seconds)
        if not line or _GAVE_UP in line:
            self.close()
            self._process = self._start()
            raise OracleError(f"no answer to {question!r}")
        answer: Answer = json.loads(line)
        return answer

    def _exchange(self, question: bytes, seconds: float) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(question)
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return self._process.stdout.readline() if ready else b""

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def running_oracle() -> Iterator[Oracle]:
    """Build the programs, run them, and stop them at the end.

    Raises:
        OracleError: they cannot be built.
    """
    with tempfile.TemporaryDirectory() as directory:
        oracle = Oracle({name: build(Path(directory), name) for name in _PROGRAMS})
        try:
            yield oracle
        finally:
            oracle.close()


def build(directory: Path, name: str = "v2") -> Path:
    """Build the program of `v2` or `v3` into a directory and give its path.

    Raises:
        OracleError: Go says why.
    """
    program = directory / _PROGRAMS[name]
    done = subprocess.run(
        ["go", "build", "-o", str(program), "."],
        cwd=_SOURCE / _PROGRAMS[name],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise OracleError(f"{_PROGRAMS[name]} cannot be built:\n{done.stderr}")
    return program
