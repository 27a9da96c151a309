"""The context of a step and of a task, the memory of a run, and the result of a task."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from secrets import token_hex
from typing import Any, Final, cast

from kubeio.client import Client
from kubeio.connection.auth import Identity
from kubeio.resource import Resource
from kudo.api import (
    ExecutionStatus,
    Instance,
    InstanceSpec,
    JsonObject,
    OperatorVersion,
    Plan,
    PlanStatus,
    Setting,
    Task,
    bounds,
)
from kudo.api.expressions import CONDITION, Scope
from kudo.api.task_kinds import (
    FatalTaskError,
    TaskPath,
    TransientTaskError,
    kind_of,
    templates_of,
)
from kudo.jobs import condition
from kudo.jobs.inputs import Inputs
from kudo.jobs.render import Output, Request
from kudo.objects.dependency_hash import live_digest
from kudo.objects.enrichment import Origin
from kudo.objects.inventory import record
from kudo.parameters.template import RawParameter, raw_values
from kudo.parameters.types import is_container
from kudo.plans.execution import (
    NO_LIMITS,
    Limits,
    Outputs,
    StepRef,
    StepState,
    TaskOutcome,
    size_of,
    sizes_in_entry,
    step_of,
    steps_of,
)
from kudo.plans.execution.decision import instance_value
from kudo.tasks.job import RenderedJob
from kudo.tasks.kudo_operator import Child, SecretMark, with_references
from kudo.tasks.rendering import Manifest, Variables, variables
from kudo_reconciler.common.keys import Key
from kudo_reconciler.execution.causes import WaitingObject
from kudo_reconciler.execution.checked_objects import CheckedObjects
from kudo_reconciler.execution.operations import Operation
from kudo_reconciler.execution.rendering import Renderer
from kudo_reconciler.execution.run_values import NO_VALUES, RunValues
from kudo_reconciler.metrics.instances import StepTimes
from kudo_reconciler.objects.run_context import Answer, ObjectKey, Tell

TaskKey = tuple[StepRef, str]

_DIGITS: Final = 16
_MARK: Final = f"kudosecret{token_hex(8)}"
"""Begins what stands for secret values in parameter files; letters that nothing has to quote."""


@dataclass(frozen=True, slots=True)
class AppliedObject:
    """Kind, name and uid of an object that a task applied or deleted."""

    resource: Resource
    namespace: str | None
    name: str
    uid: str = ""

    @property
    def key(self) -> ObjectKey:
        return self.resource, self.namespace, self.name

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.resource.kind} {where}"


@dataclass
class Progress:
    """The progress of a run.

    Attributes:
        entry: The status entry.
        failures: The errors that ended the plan, each with the message of its step.
        look_again: Seconds until the next attempt is due; None if none is.
    """

    entry: PlanStatus
    failures: list[tuple[FatalTaskError, str]] = field(default_factory=list)
    look_again: float | None = None


@dataclass
class RunMemory:
    """What was done under one execution uid, so that it is not repeated.

    It is lost with the process. Then the tasks of the unfinished steps run again, which changes
    nothing that is already in the desired state.

    Attributes:
        version: The OperatorVersion that the run began with.
        spec: The spec of the Instance that it began with.
        account: The account that it acts as; None for the reconciler.
        recheck_at: Time of the event loop's clock from which on a reconcile reads everything live.
        rechecking: Whether this reconcile does.
        children: The desired children of KudoOperator tasks; a template may render differently each
            time.
        digests: Digests of what tasks have applied; see `execution.applied`.
        job_uids: uids of the Jobs that Job tasks have created.
        outputs: What tasks hand on to later steps, read by this process: a write that would have
            stored it may have failed.
        former_jobs: Jobs of former runs that Job tasks have still to delete.
        seen: Objects that tasks applied or found: none of them is created again for an Instance
            that was deleted.
        healthy: uids of objects that were healthy: none of them is created again after a deletion.
        waiting: By uid, since when objects are not healthy, and the causes that were told.
        messages_at: Time of the event loop's clock at which messages alone were stored last.
        steps: Start times of the steps.
        limits: The time limits of the run.
        limited_by: The `spec.planTimeout` that they were computed with; None before that.
        states: Backoff of the steps that were attempted.
        attempts: Attempts in progress, or ended and not recorded yet.
        faults: Internal errors that keep ending attempts, by step.
        decided: Steps of which all conditions were true.
        entry: The status entry of the run when its last step began.
        ending: How the run ends, once its Jobs are deleted; None before that.
        is_first_run: Whether nothing was ever applied for the Instance before the run.
        run_parameters: The parameters that the run was given; None until it begins.
        objects: Numbers of objects that tasks apply, as they were rendered last.
        expected: What each task applies, as it was rendered for the record; None before that.
        rendered: The objects that each task has rendered; none for one that deletes.
        checks: What is known of the objects of Check tasks.
        removed: What Delete tasks, and Toggles that are off, have deleted.
        answers: What is known of the objects that were applied.
        recorded: The objects that the run has put on record.
        values: What it has read from Secrets and ConfigMaps; None before that.
    """

    uid: str
    instance_uid: str
    plan: str
    version: OperatorVersion
    recheck_at: float
    spec: InstanceSpec = field(default_factory=InstanceSpec)
    account: str | None = None
    rechecking: bool = False
    applied: dict[TaskKey, tuple[AppliedObject, ...]] = field(default_factory=dict)
    deleted: dict[TaskKey, tuple[AppliedObject, ...]] = field(default_factory=dict)
    children: dict[TaskKey, Child] = field(default_factory=dict)
    finished: set[TaskKey] = field(default_factory=set)
    digests: dict[TaskKey, str] = field(default_factory=dict)
    job_uids: dict[TaskKey, str] = field(default_factory=dict)
    outputs: dict[TaskKey, Mapping[str, str]] = field(default_factory=dict)
    former_jobs: dict[TaskKey, list[JsonObject]] = field(default_factory=dict)
    seen: set[ObjectKey] = field(default_factory=set)
    healthy: set[str] = field(default_factory=set)
    waiting: dict[str, WaitingObject] = field(default_factory=dict)
    reported: set[tuple[str, str]] = field(default_factory=set)
    messages_at: float = float("-inf")
    steps: StepTimes = field(default_factory=StepTimes)
    limits: Limits = NO_LIMITS
    limited_by: str | None = None
    states: dict[StepRef, StepState] = field(default_factory=dict)
    attempts: dict[StepRef, Operation[Any]] = field(default_factory=dict)
    faults: dict[StepRef, str] = field(default_factory=dict)
    decided: set[StepRef] = field(default_factory=set)
    entry: PlanStatus | None = None
    ending: Progress | None = None
    is_first_run: bool = False
    run_parameters: Mapping[str, str] | None = None
    objects: dict[TaskKey, int] = field(default_factory=dict)
    expected: dict[TaskKey, Sequence[record.Entry]] | None = None
    rendered: dict[TaskKey, frozenset[record.Place]] = field(default_factory=dict)
    checks: dict[TaskKey, CheckedObjects] = field(default_factory=dict)
    removed: set[record.Place] = field(default_factory=set)
    answers: dict[record.Place, Answer] = field(default_factory=dict)
    recorded: set[record.Place] = field(default_factory=set)
    values: RunValues | None = None

    def is_of(self, instance: Instance, uid: str) -> bool:
        """Whether this is the memory of that run of that Instance."""
        return (self.uid, self.instance_uid) == (uid, instance.metadata.uid)

    def as_begun(self, instance: Instance) -> Instance:
        """Return the Instance with version, parameters and account that the run began with."""
        kept: dict[str, object] = {
            "operator_version": self.spec.operator_version,
            "parameters": self.spec.parameters,
            "parameters_from": self.spec.parameters_from,
            "service_account_name": self.spec.service_account_name,
        }
        begun = self.spec.plan_execution
        if begun is not None and instance.spec.plan_execution is not None:
            # Its own, whatever was written past the webhook before its first status is stored.
            kept["plan_execution"] = instance.spec.plan_execution.model_copy(
                update={"parameters": begun.parameters}
            )
        return instance.model_copy(update={"spec": instance.spec.model_copy(update=kept)})

    def skip(self, plan: Plan, ref: StepRef, *, whole_phase: bool) -> None:
        """Remember that a step, or all of its phase, applies nothing in this run."""
        for other in steps_of(plan):
            if other == ref or (whole_phase and other.phase_index == ref.phase_index):
                for name in step_of(plan, other).tasks:
                    self.rendered.setdefault((other, name), frozenset())

    def add_outputs(self, key: TaskKey, outputs: Mapping[str, str]) -> None:
        """Remember what a task hands on, which is stored with its end.

        Raises:
            FatalTaskError: the outputs of the run would be too large; reason OutputsInvalid.
        """
        if self.values is not None and any(map(self.values.confidential.has, outputs.values())):
            # A status has them, which is read by more people than Secrets are.
            text = f"task {key[1]}: an output has the value of a secret parameter; leave it out"
            raise FatalTaskError("OutputsInvalid", text)
        others = {} if self.entry is None else sizes_in_entry(self.entry)
        others |= {of: size_of(texts) for of, texts in self.outputs.items()}
        size = sum(others.values()) - others.get(key, 0) + size_of(outputs)
        if size > bounds.RUN_OUTPUTS:
            text = (
                f"task {key[1]}: the outputs of the run would have {size} bytes together, more "
                f"than {bounds.RUN_OUTPUTS}; write less, or use a ConfigMap"
            )
            raise FatalTaskError("OutputsInvalid", text)
        self.outputs[key] = outputs

    @property
    def is_backing_off(self) -> bool:
        """Whether a step has failed and is retried."""
        return any(state.failures for state in self.states.values())


Memories = dict[Key, RunMemory]
"""The memories of runs in progress, by Instance."""


def inputs_of(
    instance: Instance,
    version: OperatorVersion,
    plan: str,
    outputs: Outputs,
    run_parameters: Mapping[str, str],
    scope: Scope,
    values: RunValues = NO_VALUES,
) -> Inputs:
    """Return what all expressions of a step can use; `scope` says which names there are in all.

    Secret parameters are none of it: what an expression says ends up in statuses.
    """
    visible = [parameter for parameter in version.parameters if not parameter.secret]
    parameters = raw_values(visible, values.of(instance.parameters, secret=False))
    definition = version.plans.get(plan)
    of_runs = definition.declared.values() if definition is not None else ()
    others = {"instance": instance_value(instance), "outputs": outputs}
    return Inputs(others, parameters, scope.hint, raw_values(of_runs, run_parameters))


@dataclass(frozen=True, slots=True)
class StepContext:
    """The context of one attempt at a step.

    Attributes:
        is_current: Whether the Instance still names the run; checked right before each write.
        is_suspended: Whether the Instance is suspended; checked right before each write.
        stored: What is stored of the tasks that were tried, by name.
        outputs: The outputs of tasks of earlier steps.
        tell: Writes an event.
        takes_long: Describes what the attempt does from now on; no worker waits for it any more.
        renderer: Renders the templates of all tenants.
        client: Sends every request of the tasks, as the account of the run.
        stays: Whether an error that is transient otherwise ends the plan.
        now: Returns the time as statuses have it.
        crashed: Counts a bug of the reconciler.
    """

    instance: Instance
    version: OperatorVersion
    plan: Plan
    plan_name: str
    uid: str
    ref: StepRef
    memory: RunMemory
    is_current: Callable[[], bool]
    is_suspended: Callable[[], bool]
    stored: Mapping[str, TaskOutcome]
    outputs: Outputs
    tell: Tell
    takes_long: Callable[[str], Awaitable[None]]
    renderer: Renderer
    client: Client
    stays: Callable[[TransientTaskError], Awaitable[bool]]
    now: Callable[[], str]
    crashed: Callable[[], None]

    async def holds(self, expression: str) -> bool:
        """Return whether a condition of the step, or of its phase, is true.

        Raises:
            FatalTaskError: it cannot be evaluated, or exceeds a limit.
            TransientTaskError: no worker process was available.
        """
        inputs = inputs_of(
            self.instance,
            self.version,
            self.plan_name,
            self.outputs,
            self.memory.run_parameters or {},
            CONDITION,
            self.memory.values or NO_VALUES,
        )
        request = condition.Request(expression, inputs)
        return await self.renderer.holds(request, self.instance.metadata.namespace)

    @property
    def task_names(self) -> tuple[str, ...]:
        return step_of(self.plan, self.ref).tasks

    def is_recorded(self, task: str) -> bool:
        """Whether a task is stored as done."""
        outcome = self.stored.get(task)
        return outcome is not None and outcome.status is ExecutionStatus.COMPLETE

    def path(self, task: str) -> TaskPath:
        return TaskPath(self.instance.key, self.plan_name, self.ref.phase, self.ref.step, task)

    def is_recorded_first(self, name: str) -> bool:
        """Whether the end of a task is stored before the next task of the step begins."""
        task = self.version.task(name)
        return task is not None and kind_of(task).recorded_first

    def task_context(self, name: str) -> "TaskContext":
        """Return the context of a task.

        Raises:
            FatalTaskError: the OperatorVersion has no such task.
        """
        path, task = self.path(name), self.version.task(name)
        if task is None:
            raise FatalTaskError("UnknownTaskName", f"missing task {path}")
        return TaskContext(
            instance=self.instance,
            version=self.version,
            uid=self.uid,
            path=path,
            ref=self.ref,
            task=task,
            memory=self.memory,
            is_current=self.is_current,
            is_suspended=self.is_suspended,
            tell=self.tell,
            takes_long=self.takes_long,
            renderer=self.renderer,
            outputs=self.outputs,
            values=self.memory.values or NO_VALUES,
            run_parameters=self.memory.run_parameters or {},
            client=self.client,
            applied=self.applied(name),
            job_uid=self.job_uid(name),
        )

    def applied(self, task: str) -> str:
        """Return the digests of what a task has applied, here or in an earlier process."""
        outcome = self.stored.get(task)
        stored = "" if outcome is None else outcome.applied
        return self.memory.digests.get((self.ref, task), stored)

    def job_uid(self, task: str) -> str:
        """Return the uid of the Job that a task has created, here or in an earlier process."""
        outcome = self.stored.get(task)
        stored = "" if outcome is None else outcome.job_uid
        return self.memory.job_uids.get((self.ref, task), stored)


@dataclass(frozen=True, slots=True)
class RenderContext:
    """What a task is rendered with, whether it runs or not.

    Attributes:
        path: Where the task stands.
        ref: The step that it belongs to.
        renderer: Renders the templates of all tenants.
        outputs: The outputs of tasks that its step sees; None where these are not known, so that
            what uses some cannot be rendered.
        run_parameters: The parameters of the run; None outside of one, as for outputs.
        values: What the run has read from Secrets and ConfigMaps.
    """

    instance: Instance
    version: OperatorVersion
    uid: str
    path: TaskPath
    ref: StepRef
    task: Task
    renderer: Renderer
    outputs: Outputs | None
    run_parameters: Mapping[str, str] | None
    values: RunValues = field(default=NO_VALUES, kw_only=True)

    @property
    def key(self) -> TaskKey:
        return self.ref, self.task.name

    @property
    def origin(self) -> Origin:
        return Origin(
            self.instance, self.version, self.path.plan, self.ref.phase, self.ref.step, self.uid
        )

    @property
    def tenant(self) -> str:
        """The namespace, by which worker processes are shared fairly."""
        return self.instance.metadata.namespace

    def of_task(self, ref: StepRef, task: Task) -> "RenderContext":
        """Return the same of another task of the plan.

        Which outputs another step will see is not known before all steps before it have ended.
        """
        path = replace(self.path, phase=ref.phase, step=ref.step, task=task.name)
        outputs = self.outputs if ref == self.ref else None
        return RenderContext(
            self.instance,
            self.version,
            self.uid,
            path,
            ref,
            task,
            self.renderer,
            outputs,
            self.run_parameters,
            values=self.values,
        )

    def only_deletes(self) -> bool:
        """Return whether the task creates nothing; raises as `Kind.only_deletes` does."""
        return kind_of(self.task).only_deletes(self.task, self.texts)

    def texts(self) -> dict[str, str | None]:
        """Return the parameters that are strings; maps and arrays, which need parsing, as None."""
        raw = raw_values(self.version.parameters, self.values.of(self.instance.parameters))
        return {
            parameter.name: None if is_container(parameter.value_type) else parameter.text or ""
            for parameter in raw
        }

    async def manifests(self) -> tuple[Manifest, ...]:
        """Render the objects that the task names.

        Raises:
            FatalTaskError: a template or parameter cannot be used, or exceeds a limit.
            TransientTaskError: no worker process was available.
        """
        request = self._request("objects", self.task.spec.resources or ())
        with self._explaining():
            return await self.renderer.objects(request, self.tenant)

    async def document(self, output: Output, template: str) -> JsonObject:
        """Render the pod of a Pipe task; raises as `manifests` does.

        Args:
            output: `pod`.
            template: Its name.
        """
        request = self._request(output, (template,))
        with self._explaining():
            return await self.renderer.document(request, self.tenant)

    async def child_settings(self, template: str) -> dict[str, Setting]:
        """Render a parameter file: what it sets for a child; raises as `manifests` does.

        The child gets references in the place of secret values, which are not even rendered.
        """
        references = {source.name: source.reference for source in self.instance.sources}
        marks = {
            name: SecretMark(name, f"{_MARK}{number:04d}", references[name])
            for number, name in enumerate(sorted(self.values.secret & references.keys()))
        }
        request, made = self._request("parameters", (template,)), self._variables()
        if marks:
            marked = tuple(
                RawParameter(one.name, None, marks[one.name].text) if one.name in marks else one
                for one in made.parameters
            )
            request = replace(request, variables=replace(made, parameters=marked))
        with self._explaining():
            file = await self.renderer.document(request, self.tenant)
        return with_references(self.task.name, file, marks.values())

    async def job(self) -> RenderedJob:
        """Render all texts of a Job task; raises as `manifests` does."""
        fields = self.task.spec.job
        names = [use.name for use in templates_of(self.task)]
        request = replace(
            self._request("job", names),
            task=self.task.name,
            job={} if fields is None else fields.to_wire(),
        )
        with self._explaining():
            return cast("RenderedJob", await self.renderer.document(request, self.tenant))

    async def inline_texts(self) -> dict[str, str]:
        """Render the templates in the spec of the task, by their fields; raises as `manifests`."""
        templates = {
            template.field: template.text
            for template in kind_of(self.task).inline_templates(self.task)
        }
        request = Request(
            "texts", tuple(templates), templates, self._variables(), task=self.task.name
        )
        with self._explaining():
            return await self.renderer.texts(request, self.tenant)

    def inputs(self, scope: Scope) -> Inputs:
        """Return what the expressions of the task can use besides objects."""
        return inputs_of(
            self.instance,
            self.version,
            self.path.plan,
            self.outputs or {},
            self.run_parameters or {},
            scope,
            self.values,
        )

    def is_confidential(self, manifest: Manifest) -> bool:
        """Return whether an object may have the value of a secret parameter."""
        return self.values.is_confidential(self.version, manifest.template)

    async def digest(self, obj: JsonObject, *, live: bool, confidential: bool = False) -> bytes:
        """Return the digest of the content of a ConfigMap or Secret; see `Renderer.digest`."""
        digest = await self.renderer.digest(obj, self.tenant, live=live)
        if live and live_digest(obj["metadata"].get("annotations") or {}) is not None:
            return digest  # as the run has it that applied the object
        return self.values.keyed(digest, obj, confidential=confidential)

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Say of a rendering that fails which value a cleanup lacks."""
        try:
            yield
        except FatalTaskError as error:
            explained = self.values.explained(error)
            if explained is error:
                raise
            raise explained from error

    def _request(self, output: Output, resources: Iterable[str]) -> Request:
        templates: Mapping[str, str] = self.version.spec.templates or {}
        names = tuple(dict.fromkeys(resources))
        texts = {name: templates[name] for name in names if name in templates}
        return Request(output, names, texts, self._variables())

    def _variables(self) -> Variables:
        made = variables(
            self.instance,
            self.version,
            plan=self.path.plan,
            phase=self.ref.phase,
            step=self.ref.step,
            outputs=self.outputs,
            run_parameters=self.run_parameters,
        )
        if self.values is NO_VALUES:
            return made
        read = raw_values(self.version.parameters, self.values.of(self.instance.parameters))
        # A template that needs a missing one fails, and `hasKey` says that there is none.
        left = tuple(one for one in read if one.name not in self.values.missing)
        return replace(made, parameters=left)


@dataclass(frozen=True, slots=True)
class TaskContext(RenderContext):
    """The context of an attempt at a task. It is the `RunContext` of the objects of its task.

    Attributes:
        is_current, is_suspended, tell, takes_long, client: As of the step.
        applied: Digests of what the task has applied before; see `execution.applied`.
        job_uid: uid of the Job that a Job task has created before; empty if it has none.
    """

    memory: RunMemory
    is_current: Callable[[], bool]
    is_suspended: Callable[[], bool]
    tell: Tell
    takes_long: Callable[[str], Awaitable[None]]
    client: Client
    applied: str = ""
    job_uid: str = ""

    @property
    def identity(self) -> Identity | None:
        """Return the identity that the task acts as; None is the reconciler itself."""
        return self.client.identity

    @property
    def seen(self) -> set[ObjectKey]:
        return self.memory.seen

    @property
    def is_first_run(self) -> bool:
        return self.memory.is_first_run

    @property
    def answers(self) -> dict[record.Place, Answer]:
        return self.memory.answers

    @property
    def recorded(self) -> set[record.Place]:
        return self.memory.recorded

    def awaited(self, *objects: JsonObject) -> str:
        """Return the digest of objects as they are now, for `TaskResult.awaits`.

        It is empty, and nothing is computed, if the task has no `progressDeadline`.
        """
        if not self.task.progress_deadline:
            return ""
        metadatas = (obj["metadata"] for obj in objects)
        states = (f"{metadata['uid']} {metadata['resourceVersion']}" for metadata in metadatas)
        return sha256("\n".join(sorted(states)).encode()).hexdigest()[:_DIGITS]


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The result of an attempt at a task that ended without an error.

    Attributes:
        done: Whether the task needs no more work.
        message: What it waits for.
        polled: Whether something that it waits for cannot be watched.
        look_again: Seconds after which it is attempted even if nothing it waits for has changed;
            None if an event or a poll comes.
        awaits: Digest of what it waits for, from `TaskContext.awaited`.
        outputs: What a task that is done hands on to later steps; None if it declares nothing.
    """

    done: bool
    message: str = ""
    polled: bool = False
    look_again: float | None = None
    awaits: str = ""
    outputs: Mapping[str, str] | None = None
