"""Shows the progress of a run during a wait: a picture that is redrawn on a terminal, else lines.

Both write to stderr, so that stdout holds results only.
"""

import time
from collections.abc import Callable
from typing import Protocol, TextIO

from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.redrawn import Redrawn, terminal_size
from kubectl_kudo.core.wrapping import printable
from kubectl_kudo.state.plan_view import shown_plan
from kubectl_kudo.state.runs import NEVER_RUN, PENDING, TERMINAL, active, entries, parts, status_of
from kubectl_kudo.state.screen import Explanations, fitted, rows_of

Clock = Callable[[], float]
Size = Callable[[], tuple[int, int]]


class Progress(Protocol):
    """A display of the progress of a run."""

    def show(self, instance: JsonObject | None) -> None:
        """Show a new state of the Instance."""

    def explain(self, explanations: Explanations) -> None:
        """Show what is known of the objects that steps wait for."""

    def tick(self) -> None:
        """Update the elapsed time."""

    def close(self, *, keep: bool = True) -> None:
        """Stop; `keep` leaves the last output on the screen."""


class Lines:
    """One line for each change of the status or message of a plan, phase or step.

    Leaves out runs that were over when the Instance was first shown, and a run that another one is
    about to replace.
    """

    def __init__(self, stream: TextIO, *, clock: Clock = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._start = clock()
        self._seen: dict[tuple[str, str], tuple[str, str]] = {}
        self._explained: set[tuple[str, str]] = set()
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

    def explain(self, explanations: Explanations) -> None:
        for name, found in explanations.items():
            for one in found:
                # Without its age, so that an event that is repeated is told once.
                if (name, one.text) not in self._explained:
                    self._explained.add((name, one.text))
                    self._write(f"{name}: {printable(one.text)}")

    def tick(self) -> None:
        pass

    def close(self, *, keep: bool = True) -> None:
        pass

    def _show_part(self, uid: str, name: str, part: JsonObject) -> None:
        status, message = status_of(part), str(part.get("message") or "")
        before, said = self._seen.get((uid, name), (PENDING, ""))
        if status == NEVER_RUN or (before == status and message in {"", said}):
            return
        self._seen[uid, name] = status, message
        self._write(f"{name} {status}{f' ({printable(message)})' if message else ''}")

    def _write(self, text: str) -> None:
        self._stream.write(f"{self._clock() - self._start:5.1f}s  {text}\n")
        self._stream.flush()


def _uid(entry: JsonObject) -> str:
    return str(entry.get("uid") or "")


class Picture:
    """The plan that runs, the reasons of its steps and the time that has passed, redrawn in place.

    Never wider or higher than the terminal: the cursor could not go back to the first line.
    """

    def __init__(
        self,
        stream: TextIO,
        plans: JsonObject,
        *,
        clock: Clock = time.monotonic,
        size: Size | None = None,
    ) -> None:
        self._stream = stream
        self._plans = plans
        self._clock = clock
        self._size = size or (lambda: terminal_size(stream))
        self._start = clock()
        self._instance: JsonObject | None = None
        self._explanations: Explanations = {}
        self._drawn = Redrawn(stream)

    def show(self, instance: JsonObject | None) -> None:
        if instance is not None:
            self._instance = instance
            self.tick()

    def explain(self, explanations: Explanations) -> None:
        self._explanations = explanations
        self.tick()

    def tick(self) -> None:
        if self._instance is None:
            return
        columns, rows = self._size()
        elapsed = f"elapsed time {int(self._clock() - self._start)}s"
        shown = rows_of(self._instance, self._plans, self._explanations)
        # The last row of the terminal is where the cursor stands below the picture.
        lines = fitted(shown, columns, max(rows - 2, 1))
        self._drawn.draw([*lines, elapsed], columns)

    def close(self, *, keep: bool = True) -> None:
        if not keep:
            self._drawn.draw([], self._size()[0])
