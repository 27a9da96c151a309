"""What a run shows and writes: its progress on a terminal, its log elsewhere, and its report.

On a terminal there is one line for each case that runs, drawn again in place. Cases that have
ended, and what is told about the suite, stay above these lines.
"""

import asyncio
import os
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.errors import CliError
from kubectl_kudo.session.files import write_file
from kubectl_kudo.session.screen import Line, LiveView, cut
from kubectl_kudo.session.terminal import clean, terminal_size
from kudo_harness.report import CaseResult, SuiteResult, junit_xml, report_json
from kudo_harness.running.log import TextLog, outcome
from kudo_harness.suite import Case, ReportFormat, Step, SuiteOptions

_SECONDS: Final = 1.0
_KEPT: Final = 40
"""Last lines of a case that are shown if it fails."""
_NARROWEST: Final = 20


@dataclass(slots=True)
class _Running:
    name: str
    started: float
    step: str = ""
    text: str = ""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def row(self, now: float) -> str:
        parts = (f"{self.name}  {int(now - self.started)}s", self.step, self.text)
        return "  ".join(filter(None, parts))


class LiveLog:
    """Shows the cases that run, and the results of the others.

    Args:
        stream: The terminal.
        total: Number of cases.
        clock: Seconds that only grow.
        size: Columns and rows of the terminal.
    """

    def __init__(
        self,
        stream: TextIO,
        total: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        size: Callable[[], tuple[int, int]] | None = None,
    ) -> None:
        self._stream = stream
        self._total = total
        self._clock = clock
        self._size = size or (lambda: terminal_size(stream))
        self._view = LiveView(stream, self._size)
        self._start = clock()
        self._running: dict[tuple[str, str], _Running] = {}
        self._ended = 0
        self._failed = 0

    def message(self, case: str, step: str, text: str) -> None:
        lines = clean(text).rstrip("\n").split("\n")
        # Cases of two folders may have the same name; messages have only that.
        row = next((row for (_, name), row in self._running.items() if name == case), None)
        if row is None:
            self._tell(lines)
            return
        if step:
            row.step = step
        row.text = printable(lines[-1])
        row.lines.extend(lines)
        self.tick()

    def case_started(self, folder: str, case: Case) -> None:
        self._running[folder, case.name] = _Running(case.name, self._clock())
        self.tick()

    def step_started(self, folder: str, case: Case, step: Step) -> None:
        row = self._running.get((folder, case.name))
        if row is not None:
            row.step, row.text = step.title, ""
        self.tick()

    def case_ended(self, folder: str, result: CaseResult) -> None:
        row = self._running.pop((folder, result.name), None)
        self._ended += 1
        self._failed += result.failed
        lines = [f"  {line}" for line in row.lines] if row and result.failed else []
        self._tell([*lines, clean(outcome(folder, result))])

    def tick(self) -> None:
        """Update the times."""
        columns, height = self._size()
        width = max(columns - 1, _NARROWEST)
        self._view.draw(Line(cut(row, width)) for row in self._rows(max(height - 2, 1)))

    def close(self) -> None:
        """Remove the lines of cases that run."""
        self._view.close(keep=False)

    def _tell(self, lines: list[str]) -> None:
        """Write lines that stay, above those that are drawn again."""
        self._view.tell(lines)
        self.tick()

    def _rows(self, most: int) -> Iterator[str]:
        now = self._clock()
        running = list(self._running.values())
        shown = running if len(running) < most else running[: max(most - 2, 0)]
        yield from (row.row(now) for row in shown)
        if len(shown) < len(running):
            yield f"… {len(running) - len(shown)} more"
        failed = f", {self._failed} failed" if self._failed else ""
        elapsed = int(now - self._start)
        yield f"{self._ended} of {self._total} cases ended{failed}, {elapsed}s"


Log = LiveLog | TextLog


def log_on_stdout(total: int, *, verbose: bool) -> Log:
    """Return the log: on a terminal a line for each case that runs, else all messages.

    Args:
        total: Number of cases.
        verbose: Whether a terminal shows all messages, too.
    """
    terminal = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
    if terminal and not verbose:
        return LiveLog(sys.stdout, total)
    return TextLog(_write)


@asynccontextmanager
async def shown(log: Log) -> AsyncIterator[None]:
    """Update the times that a log shows, and remove them in the end."""
    task = asyncio.create_task(_tick(log), name="progress")
    try:
        yield
    finally:
        task.cancel()
        # It must not draw once more after the lines are removed.
        await asyncio.wait({task})
        log.close()


async def _tick(log: Log) -> None:
    while True:
        await asyncio.sleep(_SECONDS)
        log.tick()


def _write(text: str) -> None:
    print(text, end="", flush=True)


def report_path(options: SuiteOptions) -> Path | None:
    """Return where the report is written; None if none is asked for.

    Raises:
        CliError: the report cannot have such a name.
    """
    if options.report_format is None:
        return None
    name = options.report_name
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise CliError(f'the report cannot have the name "{name}"; it must be that of a file')
    return Path(options.artifacts_dir, f"{name}.{options.report_format}")


def write_report(result: SuiteResult, options: SuiteOptions) -> Path | None:
    """Write the report, if one is asked for, and return where it is.

    Raises:
        CliError: it cannot be written.
    """
    path = report_path(options)
    if path is None:
        return None
    granularity = options.report_granularity
    if options.report_format is ReportFormat.XML:
        content = junit_xml(result, granularity)
    else:
        content = report_json(result, granularity).encode()
    write_artifact(path, content)
    return path


def write_artifact(path: Path, content: bytes) -> None:
    """Write a file into the folder of artifacts, which is created if it is missing.

    Raises:
        CliError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, content)
    except OSError as error:
        raise CliError(f"cannot write {path}: {error.strerror or error}") from error
