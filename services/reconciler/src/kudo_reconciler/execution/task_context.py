"""Where a task stands in a run, what is remembered of it, and how a pass over it can end."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from kubeio.resource import Resource
from kudo.api import Instance, JsonObject, OperatorVersion, Task
from kudo.children import Child
from kudo.enrichment import Origin
from kudo.execution import StepRef
from kudo.jobs.render import Request, Wanted
from kudo.rendering import Manifest, variables
from kudo.tasks import TaskPath
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.metrics.durations import StepTimes
from kudo_reconciler.objects.run_context import Tell

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
    """The place of a task in a run. It is the `RunContext` of the objects of its task.

    Attributes:
        still_wanted: Whether the run is the one that the Instance wants; asked in the tick of
            each write.
        tell: Writes an event.
        renderer: Renders the templates of all tenants.
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
    renderer: Renderer

    @property
    def key(self) -> TaskKey:
        return self.ref, self.task.name

    @property
    def origin(self) -> Origin:
        return Origin(
            self.instance, self.version, self.path.plan, self.ref.phase, self.ref.step, self.uid
        )

    async def manifests(self) -> tuple[Manifest, ...]:
        """Render the objects that the task names.

        Raises:
            FatalTaskError: a template or parameter cannot be used, or exceeds a limit.
            TransientTaskError: no worker process could take it.
        """
        request = self._request("objects", self.task.spec.resources or ())
        return await self.renderer.objects(request, self.tenant)

    async def document(self, wanted: Wanted, template: str) -> JsonObject:
        """Render a parameter file or a pod; raises as `manifests` does.

        Args:
            wanted: `parameters` or `pod`.
            template: Its name.
        """
        return await self.renderer.document(self._request(wanted, (template,)), self.tenant)

    async def digest(self, obj: JsonObject, *, live: bool) -> bytes:
        """Return what stands for the content of a ConfigMap or Secret; see `Renderer.digest`."""
        return await self.renderer.digest(obj, self.tenant, live=live)

    @property
    def tenant(self) -> str:
        """The namespace that shares worker processes with others."""
        return self.instance.metadata.namespace

    def _request(self, wanted: Wanted, resources: Iterable[str]) -> Request:
        templates: Mapping[str, str] = self.version.spec.templates or {}
        names = tuple(dict.fromkeys(resources))
        found = variables(
            self.instance,
            self.version,
            plan=self.path.plan,
            phase=self.ref.phase,
            step=self.ref.step,
        )
        texts = {name: templates[name] for name in names if name in templates}
        return Request(wanted, names, texts, found)


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
