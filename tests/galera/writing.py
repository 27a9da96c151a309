"""A writer in a process of its own, which lives as long as the driver needs it."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.galera import acknowledged
from tests.galera.acknowledged import Acknowledgement
from tests.galera.database import Server

_ROOT = Path(__file__).resolve().parents[2]
_STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer did.

    Attributes:
        tried: Rows that it sent; their numbers are 1 to `tried`.
        errors: How often each error came.
    """

    tried: int
    errors: dict[str, int]


class WriterProcess:
    """Writes rows from its start until `stop`, or until this process ends."""

    def __init__(self, server: Server, directory: Path) -> None:
        self._file = directory / "acknowledged.txt"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.galera.writer", str(self._file)],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        # Not as an argument: every user of the machine can read those.
        self._process.stdin.write(json.dumps(asdict(server)) + "\n")
        self._process.stdin.flush()

    @property
    def acknowledged(self) -> list[Acknowledgement]:
        """The rows that were acknowledged so far."""
        return acknowledged.read(self._file)

    def stop(self) -> Written:
        """End the writer and return what it did."""
        said, _ = self._process.communicate(timeout=_STOP_SECONDS)
        assert self._process.returncode == 0, f"the writer ended with {self._process.returncode}"
        return Written(**json.loads(said))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
