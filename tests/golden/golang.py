"""Real Go beside us: a process that renders templates with text/template and both Sprigs.

The program is `tests/golden/oracle`; it is built once a run and answers one JSON line for every
JSON line it is given, so thousands of templates cost no start of a process.
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
_GAVE_UP: Final = b"the oracle gave up"

Answer = dict[str, str]


class OracleError(Exception):
    """The oracle cannot be built, or gave no answer."""


def has_go() -> bool:
    """Tell whether Go is installed."""
    return shutil.which("go") is not None


class Oracle:
    """A running oracle, started again when a template kills it; not for several threads."""

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
        line = self._exchange(json.dumps(question).encode() + b"\n", 4 * seconds)
        if not line or _GAVE_UP in line:
            self.close()
            self._process = self._start()
            raise OracleError(f"no answer to {text!r}")
        answers: dict[str, Answer] = json.loads(line)
        return answers

    def _exchange(self, question: bytes, seconds: float) -> bytes:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(question)
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return self._process.stdout.readline() if ready else b""

    def close(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._process.communicate()


@contextmanager
def running_oracle() -> Iterator[Oracle]:
    """Build the oracle, run it, and stop it at the end.

    Raises:
        OracleError: it cannot be built.
    """
    with tempfile.TemporaryDirectory() as directory:
        oracle = Oracle(build(Path(directory)))
        try:
            yield oracle
        finally:
            oracle.close()


def build(directory: Path) -> Path:
    """Build the program into a directory and give its path.

    Raises:
        OracleError: Go says why.
    """
    program = directory / "oracle"
    done = subprocess.run(
        ["go", "build", "-o", str(program), "."],
        cwd=_SOURCE,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise OracleError(f"the oracle cannot be built:\n{done.stderr}")
    return program
