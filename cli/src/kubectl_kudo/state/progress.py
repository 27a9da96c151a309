"""Shows the progress of a run during a wait: a tree that is redrawn on a terminal, else lines.

Both write to stderr, so that stdout holds results only.
"""

import shutil
import time
from collections.abc import Callable
from typing import Protocol, TextIO

from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.tree import draw
from kubectl_kudo.state.plan_view import headline, plans_node, shown_plan
from kubectl_kudo.state.runs import NEVER_RUN, PENDING, TERMINAL, active, entries, parts, status_of

Clock = Callable[[], float]
Size = Callable[[], tuple[int, int]]


class Progress(Protocol):
    """A display of the progress of a run."""

    def show(self, instance: JsonObject | None) -> None:
        """Show a new state of the Instance."""

    def tick(self) -> None:
        """Update the elapsed time."""

    def close(self, *, keep: bool = True) -> None:
        """Stop; `keep` leaves the last output on the screen."""


class Lines:
    """One line for each change of the status of a plan, phase or step.

    Leaves out runs that were over when the Instance was first shown, and a run that another one is
    about to replace.
    """

    def __init__(self, stream: TextIO, *, clock: Clock = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._start = clock()
        self._seen: dict[tuple[str, str], str] = {}
        self._over: set[str] | None = None

    def show(self, instance: JsonObject | None) -> None:
        if instance is None:
            return
        if self._over is None:
            known = entries(instance).values()
            self._over = {_uid(one) for one in known if status_of(one) in TERMINAL}
        plan, run = shown_plan(instance) or "", active(instance)
        entry = entries(instance).get(plan)
        if entry is None or _uid(entry) in self._over or (run and run.uid != _uid(entry)):
            return
        for name, part in parts(plan, entry):
            self._show_part(_uid(entry), name, part)

    def tick(self) -> None:
        pass

    def close(self, *, keep: bool = True) -> None:
        pass

    def _show_part(self, uid: str, name: str, part: JsonObject) -> None:
        status = status_of(part)
        if self._seen.get((uid, name), PENDING) == status or status == NEVER_RUN:
            return
        self._seen[uid, name] = status
        message = f" ({part['message']})" if part.get("message") else ""
        elapsed = f"{self._clock() - self._start:5.1f}s"
        self._stream.write(f"{elapsed}  {name} {status}{message}\n")
        self._stream.flush()


def _uid(entry: JsonObject) -> str:
    return str(entry.get("uid") or "")


class Picture:
    """The tree of plans with the time that has passed, redrawn in place."""

    def __init__(
        self,
        stream: TextIO,
        plans: JsonObject,
        *,
        clock: Clock = time.monotonic,
        size: Size = shutil.get_terminal_size,
    ) -> None:
        self._stream = stream
        self._plans = plans
        self._clock = clock
        self._size = size
        self._start = clock()
        self._instance: JsonObject | None = None
        self._rows = 0

    def show(self, instance: JsonObject | None) -> None:
        if instance is not None:
            self._instance = instance
            self.tick()

    def tick(self) -> None:
        if self._instance is None:
            return
        tree = draw([plans_node(self._instance, self._plans)])
        elapsed = int(self._clock() - self._start)
        lines = [headline(self._instance), *tree.splitlines(), f"elapsed time {elapsed}s"]
        self._redraw(_fitting(lines, *self._size()))

    def close(self, *, keep: bool = True) -> None:
        if not keep:
            self._redraw([])

    def _redraw(self, lines: list[str]) -> None:
        # A row that wraps would take two: the cursor could not find back to the first one.
        back = f"\033[{self._rows}A" if self._rows else ""
        self._stream.write(f"\r{back}\033[J" + "".join(f"{line}\n" for line in lines))
        self._stream.flush()
        self._rows = len(lines)


def _fitting(lines: list[str], columns: int, rows: int) -> list[str]:
    """Return what fits on the screen; the last line always does."""
    room = max(rows - 1, 2)
    if len(lines) > room:
        lines = [*lines[: room - 2], "…", lines[-1]]
    return [line if len(line) < columns else f"{line[: columns - 2]}…" for line in lines]
