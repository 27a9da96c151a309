"""Shows the progress of a run during a wait in lines, for all that is no terminal.

They go to stderr, as the picture of `picture` does, so that stdout holds results only.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol, TextIO

from kubectl_kudo.reading.instance_state import MEANING, is_suspended, suspension
from kubectl_kudo.reading.plan_view import Explanations, shown_plan
from kubectl_kudo.reading.run_progress import TimeLimits, details, running_tasks
from kubectl_kudo.reading.runs import (
    NEVER_RUN,
    PENDING,
    TERMINAL,
    active,
    entries,
    message_of,
    parts,
    status_of,
)
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.terminal import word

Clock = Callable[[], float]
Now = Callable[[], datetime]
_SILENCE = 60.0
"""Seconds without a line, after which the tasks that run are told."""


def utc_now() -> datetime:
    """Return the time of this machine."""
    return datetime.now(UTC)


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
    about to replace. A retry of a task, the beginning and end of a pause, and each time limit that
    comes first have lines, too. After a minute without a line, the tasks that run have one each,
    and the limit that comes first.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        limits: TimeLimits | None = None,
        clock: Clock = time.monotonic,
        now: Now = utc_now,
    ) -> None:
        self._stream = stream
        self._limits = limits or TimeLimits()
        self._clock = clock
        self._now = now
        self._start = self._last = clock()
        self._running: JsonObject | None = None
        self._paused = False
        self._failures: dict[tuple[str, str, str], int] = {}
        self._shown: dict[tuple[str, str], tuple[str, str]] = {}
        self._explained: set[tuple[str, str]] = set()
        self._shown_limits: set[tuple[str, str, str]] = set()
        self._over: set[str] | None = None

    def show(self, instance: JsonObject | None) -> None:
        if instance is None:
            return
        if self._over is None:
            ended = [e for e in entries(instance).values() if status_of(e) in TERMINAL]
            self._over = set(map(_uid, ended))
        if is_suspended(instance) != self._paused:
            self._paused = not self._paused
            name = instance["metadata"]["name"]
            if self._paused:
                self._write(f"instance {name} is {suspension(instance)}: {MEANING}")
            else:
                self._write(f"instance {name} is no longer suspended")
        self._running = None
        plan, run = shown_plan(instance) or "", active(instance)
        entry = entries(instance).get(plan)
        # The entry of a plan stays that of its former run until the reconciler begins the new one.
        if entry is None or _uid(entry) in self._over or (run and run.uid != _uid(entry)):
            return
        self._running = instance
        uid = _uid(entry)
        for name, part in parts(plan, entry):
            status, message = status_of(part), message_of(part)
            last_status, last_message = self._shown.get((uid, name), (PENDING, ""))
            if status != NEVER_RUN and (last_status != status or message not in {"", last_message}):
                self._shown[uid, name] = status, message
                self._write(f"{name} {status}{f' ({printable(message)})' if message else ''}")
        for task in running_tasks(instance):
            key = uid, task.step, task.name
            if task.failures > self._failures.get(key, 0):
                self._write(f"{task.step}: {task.text(self._now())}")
            self._failures[key] = task.failures
        limit = self._limits.next(instance, self._now())
        if limit is not None and (uid, limit.part, limit.limit) not in self._shown_limits:
            self._shown_limits.add((uid, limit.part, limit.limit))
            self._write(f"{limit.part}: {limit.text}")

    def explain(self, explanations: Explanations) -> None:
        for name, lines in explanations.items():
            for line in lines:
                # Without its age, so that an event that is repeated is told once.
                if (name, line.text) not in self._explained:
                    self._explained.add((name, line.text))
                    self._write(f"{name}: {printable(line.text)}")

    def tick(self) -> None:
        if self._running is None or self._clock() - self._last < _SILENCE:
            return
        if pause := suspension(self._running):
            self._write(f"still {pause}")
            return
        now = self._now()
        for name, lines in details(self._running, now).items():
            for line in lines:
                self._write(f"{name}: {line.text}")
        if limit := self._limits.next(self._running, now):
            self._write(f"{limit.part}: {limit.text}")

    def close(self, *, keep: bool = True) -> None:
        pass

    def _write(self, text: str) -> None:
        self._last = self._clock()
        self._stream.write(f"{self._last - self._start:5.1f}s  {word(text)}\n")
        self._stream.flush()


def _uid(entry: JsonObject) -> str:
    return str(entry.get("uid") or "")
