"""Where a task stands in a run, what is remembered of it, and how a pass over it can end."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kubeio.resource import Resource
from kudo.api import Instance, OperatorVersion, Task
from kudo.children import Child
from kudo.enrichment import Origin
from kudo.execution import StepRef
from kudo.rendering import Manifest, render_named, render_objects, variables
from kudo.tasks import TaskPath
from kudo_reconciler.durations import StepTimes
from kudo_reconciler.events import Severity

_RENDER_SECONDS = 10.0

Rendered = TypeVar("Rendered")
TaskKey = tuple[StepRef, str]
Tell = Callable[[Severity, str, str], Awaitable[None]]
"""Writes an event of a run: severity, reason, message."""


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """Where to find an object that a task applied or deleted, and which one it was."""

    resource: Resource
    namespace: str | None
    name: str
    uid: str = ""

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource.kind} {where}"


@dataclass
class RunMemory:
    """What was done under one execution uid, so that it is not done again.

    It is lost with the process. Then the tasks of the unfinished step run again, which changes
    nothing that is already as it should be.

    Attributes:
        recheck_at: Monotonic seconds from which on a pass trusts no cache.
        rechecking: Whether this pass is such a one.
        children: What KudoOperator tasks want; a template may give something else each time.
        healthy: uids of objects that were seen healthy: none of them is created again if it goes.
        steps: When the steps began.
    """

    uid: str
    instance_uid: str
    plan: str
    version: OperatorVersion
    recheck_at: float
    rechecking: bool = False
    applied: dict[TaskKey, tuple[AppliedObject, ...]] = field(default_factory=dict)
    deleted: dict[TaskKey, tuple[AppliedObject, ...]] = field(default_factory=dict)
    children: dict[TaskKey, Child] = field(default_factory=dict)
    finished: set[TaskKey] = field(default_factory=set)
    healthy: set[str] = field(default_factory=set)
    told: set[tuple[str, str]] = field(default_factory=set)
    steps: StepTimes = field(default_factory=StepTimes)


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The place of a task in a run.

    Attributes:
        still_wanted: Whether the run is the one that the Instance wants; asked in the tick of
            each write.
        tell: Writes an event.
        on_render: Told of the seconds that rendering took, in the thread that rendered.
    """

    instance: Instance
    version: OperatorVersion
    uid: str
    path: TaskPath
    ref: StepRef
    task: Task
    memory: RunMemory
    still_wanted: Callable[[], bool]
    tell: Tell
    on_render: Callable[[float], None] | None = None

    @property
    def key(self) -> TaskKey:
        return self.ref, self.task.name

    @property
    def origin(self) -> Origin:
        return Origin(
            self.instance, self.version, self.path.plan, self.ref.phase, self.ref.step, self.uid
        )

    def values(self) -> dict[str, object]:
        """Return what the templates of the task can refer to.

        Raises:
            FatalTaskError: a map or array parameter cannot be read, or the artifacts of the plan's
                Pipe tasks cannot be named.
        """
        return variables(
            self.instance,
            self.version,
            plan=self.path.plan,
            phase=self.ref.phase,
            step=self.ref.step,
        )

    async def manifests(self) -> tuple[Manifest, ...]:
        """Render the objects that the task names, beside the event loop.

        Raises:
            FatalTaskError: a template cannot be rendered, or not in time.
        """

        def objects(expired: Callable[[], bool]) -> tuple[Manifest, ...]:
            names = self.task.spec.resources or ()
            return render_objects(names, self._templates, self.values(), expired=expired)

        return await asyncio.to_thread(self._timed, objects)

    async def text(self, template: str) -> str:
        """Render one template, beside the event loop.

        Raises:
            FatalTaskError: it is missing, or cannot be rendered, or not in time.
        """

        def rendered(expired: Callable[[], bool]) -> str:
            return render_named(template, self._templates, self.values(), expired=expired)

        return await asyncio.to_thread(self._timed, rendered)

    @property
    def _templates(self) -> Mapping[str, str]:
        return self.version.spec.templates or {}

    def _timed(self, render: Callable[[Callable[[], bool]], Rendered]) -> Rendered:
        started = time.monotonic()
        deadline = started + _RENDER_SECONDS
        try:
            return render(lambda: time.monotonic() > deadline)
        finally:
            if self.on_render is not None:
                self.on_render(time.monotonic() - started)


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How a pass over a task ended without an error.

    Attributes:
        done: Whether the task needs no more work.
        message: What it waits for.
        polled: Whether something that it waits for cannot be watched.
    """

    done: bool
    message: str = ""
    polled: bool = False
