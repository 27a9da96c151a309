"""Where a task stands in a run, what is remembered of it, and how a pass over it can end."""

from collections.abc import Callable
from dataclasses import dataclass, field

from kubeio.resource import Resource
from kudo.api import Instance, OperatorVersion, Task
from kudo.enrichment import Origin
from kudo.execution import StepRef
from kudo.rendering import Manifest, render_objects, variables
from kudo.tasks import TaskPath

TaskKey = tuple[StepRef, str]


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
    """

    uid: str
    applied: dict[TaskKey, tuple[AppliedObject, ...]] = field(default_factory=dict)
    deleted: dict[TaskKey, tuple[AppliedObject, ...]] = field(default_factory=dict)
    finished: set[TaskKey] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class TaskContext:
    """The place of a task in a run."""

    instance: Instance
    version: OperatorVersion
    uid: str
    path: TaskPath
    ref: StepRef
    task: Task
    memory: RunMemory
    still_wanted: Callable[[], bool]

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
            FatalTaskError: a map or array parameter cannot be read.
        """
        return variables(
            self.instance,
            self.version,
            plan=self.path.plan,
            phase=self.ref.phase,
            step=self.ref.step,
        )

    def manifests(self) -> tuple[Manifest, ...]:
        """Render the objects that the task names.

        Raises:
            FatalTaskError: a template cannot be rendered.
        """
        resources = self.task.spec.resources or ()
        return render_objects(resources, self.version.spec.templates or {}, self.values())


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
