"""The Job task: create a Job with a name of its own for each run, and wait until it has ended.

    a Job of this name? ── yes ─> is it Complete? done │ Failed? fatal │ neither? wait
      └── no ─> was one created? ── yes ─> fatal: what became of its program is not known
                  └── no ─> do former Jobs run? ── yes ─> delete them, wait for their pods
                              └── no ─> create it

The name is made of the uid and the place of the run, so a process that takes over finds the Job
whatever came before, and a second creation is answered with 409. A fixed name would be cleared
first, and each run would have to tell its own Job from the former one. What a fixed name did
prevent is that two runs work at the same time: hence the look at former Jobs and their pods.

The uid of the Job is in the status from the next write on. A Job that is on record and gone is not
created again: its program may have run to its end.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

from kubeio.errors import AlreadyExists, ApiError, ConnectionLost, KubeError
from kubeio.leader_election.elector import NotLeading
from kubeio.resource import JOBS, PODS, Resource
from kudo.api import JsonObject, names
from kudo.api.task_kinds import FatalTaskError, TaskError, TransientTaskError, kind_of
from kudo.objects.enrichment import enrich, execution_of
from kudo.objects.health import State, health_of, job_failure
from kudo.tasks.job import JobNames, job_object
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.concurrency import KeyedLocks
from kudo_reconciler.common.errors import Superseded, Suspended, error_text, task_error
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.execution.causes import Causes, WaitingObject
from kudo_reconciler.execution.expected import Expected
from kudo_reconciler.execution.task_context import RenderContext, TaskContext, TaskResult
from kudo_reconciler.execution.tasks.job_outputs import read_outputs
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.execution.tasks.task_jobs import (
    TaskJobs,
    has_ended,
    is_deleting,
    to_prune,
)
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import is_owned
from kudo_reconciler.objects.resolver import Resolver
from kudo_reconciler.objects.run_context import check_may_write
from kudo_reconciler.store.instances import InstanceStore

log = logging.getLogger(__name__)

_DEADLINE = "DeadlineExceeded"


@dataclass(frozen=True, slots=True)
class Former:
    """What of former runs of a task must end before its Job is created.

    Attributes:
        message: What is waited for.
        objects: The Job or pod that is.
        polled: Whether no event will tell of its end.
    """

    message: str
    objects: tuple[JsonObject, ...] = ()
    polled: bool = False


@dataclass(frozen=True, slots=True)
class JobTask:
    """Runs Job tasks.

    Attributes:
        locks: One creation at a time of the Jobs of a task: two places of a plan may name it.
    """

    jobs: TaskJobs
    observer: Observer
    instances: InstanceStore
    causes: Causes
    locks: KeyedLocks[tuple[str, str]] = field(default_factory=KeyedLocks)

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        return cls(parts.task_jobs, parts.observer, parts.instances, parts.causes)

    @staticmethod
    async def expected(_context: RenderContext, _resolver: Resolver, /) -> Sequence[Expected]:
        """Return nothing: the owner reference of a Job is its record, and it is never pruned."""
        return ()

    async def run(self, context: TaskContext) -> TaskResult:
        """Create the Job of the run unless it was created before, then look whether it has ended.

        Raises:
            FatalTaskError: it failed, cannot be created, or what became of it is not known.
            TransientTaskError: a retry may help.
            Superseded, Suspended: the run may not write any more.
        """
        if context.job_uid or context.is_suspended():
            job = await self._read(context)
            if job is None and context.job_uid:
                job = await self._gone(context)
            elif job is None:
                raise Suspended
        else:
            made = await self._begin(context)
            if isinstance(made, Former):
                awaits = context.awaited(*made.objects)
                return TaskResult(False, made.message, polled=made.polled, awaits=awaits)
            job = made
        self._check(job, context)
        context.memory.job_uids[context.key] = job["metadata"]["uid"]
        await self._prune(context)
        return await self._result_of(job, context)

    async def _read(self, context: TaskContext) -> JsonObject | None:
        """Return the Job of the run as it is now."""
        # After a restart the cache may be behind the process before, but the Job that is on record
        # was created before this cache was filled.
        live = context.memory.rechecking or not context.job_uid
        look = self.observer.body if live else self.observer.current
        try:
            return await look(JOBS, context.tenant, _names(context).job, client=context.client)
        except (ApiError, ConnectionLost) as error:
            raise _failed("read job", _names(context).job, error) from error

    async def _gone(self, context: TaskContext) -> JsonObject:
        """Return the last state of a Job that was deleted, if it had ended.

        Raises:
            FatalTaskError: it is not known whether its program ran to its end.
            Superseded: it was deleted with its Instance.
        """
        last = self.observer.last_state(context.job_uid)
        if last is not None and has_ended(last):
            return last
        await self._check_instance(context)
        raise _unknown(f"job {_names(context).job} was deleted before its end was seen", context)

    async def _check_instance(self, context: TaskContext) -> None:
        """Raise Superseded if the Instance is deleted: the garbage collector takes its Jobs."""
        try:
            now = await self.instances.live(key_of(context.instance))
        except (ApiError, ConnectionLost) as error:
            raise _failed("read Instance", context.instance.metadata.name, error) from error
        metadata = context.instance.metadata
        if (
            now is None
            or now.metadata.uid != metadata.uid
            or now.metadata.deleting != metadata.deleting
        ):
            raise Superseded

    def _check(self, job: JsonObject, context: TaskContext) -> None:
        """Check that a Job is the one of this run.

        Raises:
            FatalTaskError: it is somebody else's, or was created again.
        """
        where = f"job {job['metadata']['name']}"
        if not is_owned(job, context.instance.metadata.uid) or execution_of(job) != context.uid:
            text = (
                f"{where} exists, and is not the one of this run: somebody else has created it; "
                "delete it, then start the plan again"
            )
            raise FatalTaskError("JobTaskError", text)
        if context.job_uid and job["metadata"]["uid"] != context.job_uid:
            raise _unknown(f"{where} was deleted, and somebody has created another one", context)

    # The creation

    async def _begin(self, context: TaskContext) -> JsonObject | Former:
        """Create the Job, if no former one runs; return it if it is there."""
        instance, named = context.instance, _names(context)
        # Before anything is deleted or created, so that no event of it is missed.
        await self.observer.watch_all((JOBS, PODS))
        async with self.locks.of((instance.metadata.uid, context.task.name)):
            try:
                jobs = await self.jobs.listed(instance, named.label, client=context.client)
            except (ApiError, ConnectionLost) as error:
                raise _failed("list the jobs of task", context.task.name, error) from error
            own = next((job for job in jobs if job["metadata"]["name"] == named.job), None)
            former = None if own is not None else await self._former(jobs, context)
            if former is not None:
                return former
            job = own or await self._create(context)
        spec = context.task.spec.job
        keep = 1 if spec is None or spec.keep is None else spec.keep
        others = [other for other in jobs if other is not own]
        context.memory.former_jobs[context.key] = to_prune(others, instance, context.uid, keep)
        return job

    async def _former(self, jobs: Sequence[JsonObject], context: TaskContext) -> Former | None:
        """Delete the Jobs of former runs that are active; return what is still to be waited for."""
        owner = context.instance.metadata.uid
        active = [job for job in jobs if not has_ended(job)]
        for job in active:
            is_former = is_owned(job, owner) and execution_of(job) != context.uid
            if not is_former or is_deleting(job):
                continue
            check_may_write(context)
            try:
                await self.jobs.delete(job, client=context.client)
            except (ApiError, ConnectionLost) as error:
                raise _failed("delete job", job["metadata"]["name"], error) from error
        try:
            pod = await self.jobs.running_pod(
                context.instance, _names(context).label, client=context.client
            )
        except (ApiError, ConnectionLost) as error:
            raise _failed("list the pods of task", context.task.name, error) from error
        of_run = next((job for job in active if execution_of(job) == context.uid), None)
        if of_run is not None:
            return self._waits(JOBS, of_run, f"of the task in step {_step_of(of_run)}", context)
        if pod is not None:
            return self._waits(PODS, pod, "of a former run of the task", context)
        if active:
            return self._waits(JOBS, active[0], "of a former run of the task", context)
        just_ended = self.jobs.just_ended(context.instance, _names(context).label)
        if just_ended:
            text = f"waits until job {just_ended} of a former run of the task has ended"
            return Former(text, polled=True)
        return None

    def _waits(self, kind: Resource, obj: JsonObject, of: str, context: TaskContext) -> Former:
        name = obj["metadata"]["name"]
        seen = self.observer.sees(kind, context.tenant, name, key_of(context.instance))
        text = f"waits until {kind.kind.lower()} {name} {of} has ended"
        return Former(text, (obj,), polled=not seen)

    async def _create(self, context: TaskContext) -> JsonObject:
        named = _names(context)
        made = job_object(await context.job(), named)
        target = enrich(made, context.origin, namespaced=True)
        place = (JOBS, context.tenant, named.job)
        if place in context.seen:
            # The answer to the last creation was lost. Its Job may have been garbage-collected with
            # the Instance, whose deletion is not in the cache yet: the program would run a second
            # time for nobody.
            await self._check_instance(context)
        context.seen.add(place)
        with self.observer.writing(*place, key_of(context.instance)) as write:
            check_may_write(context)
            try:
                # A POST, since an apply would change a Job of this name that somebody else has.
                created = await context.client.create(
                    JOBS,
                    target,
                    field_manager=names.FIELD_MANAGER,
                    field_validation="Strict",
                )
            except AlreadyExists:
                return await self._existing(context)
            except (ApiError, ConnectionLost) as error:
                # Any of its texts may use a secret parameter.
                why = error_text(error, target, confidential=bool(context.values.secret))
                text = f"failed to create job {named.job}: {why}"
                raise task_error("JobTaskError", text, error) from error
            write.answered(created, after=None)
        return created

    async def _existing(self, context: TaskContext) -> JsonObject:
        """Return the Job that has the name: it lacks our labels, or has been created just now."""
        job = await self._read(context)
        if job is None:
            text = f"job {_names(context).job} was there a moment ago, and is not"
            raise TransientTaskError("JobTaskError", text)
        self._check(job, context)
        return job

    async def _prune(self, context: TaskContext) -> None:
        """Delete Jobs of former runs, now that this run has its own.

        What cannot be deleted is tried again by the next attempt, and finally left to the next run.
        """
        left = context.memory.former_jobs.get(context.key, [])
        while left and not context.is_suspended():
            check_may_write(context)
            try:
                await self.jobs.delete(left[0], client=context.client)
            except (ApiError, ConnectionLost) as error:
                fields = {"job": left[0]["metadata"]["name"], "error": error_text(error, JOBS)}
                log.info("job of a former run not deleted", extra=fields)
                return
            left.pop(0)

    # The end

    async def _result_of(self, job: JsonObject, context: TaskContext) -> TaskResult:
        health = health_of(job)
        if health.healthy:
            outputs = await read_outputs(job, _names(context).label, context)
            return TaskResult(done=True, outputs=outputs)
        if health.state is State.FAILED:
            raise FatalTaskError("JobFailed", await self._failure(job, context))
        name = job["metadata"]["name"]
        polled = not self.observer.sees(JOBS, context.tenant, name, key_of(context.instance))
        texts = (
            health.message,
            await self._cause(job, context),
            self.observer.why_unwatched(JOBS) if polled else "",
        )
        message = "; ".join(filter(None, texts))
        return TaskResult(False, message, polled=polled, awaits=context.awaited(job))

    async def _cause(self, job: JsonObject, context: TaskContext) -> str:
        """Return why a Job has not ended, if its pod tells."""
        now = loop_seconds()
        waiting = context.memory.waiting.setdefault(job["metadata"]["uid"], WaitingObject(now))
        key = key_of(context.instance)
        return await self.causes.text_of(job, waiting, key, now, client=context.client)

    async def _failure(self, job: JsonObject, context: TaskContext) -> str:
        """Return why a Job has failed: how its last pod has ended, or what its condition says."""
        began, said = f"job {job['metadata']['name']} failed: ", job_failure(job)
        if said.startswith(_DEADLINE):
            # How a program ends that is stopped does not say why it was.
            return began + said
        try:
            ended = await self.jobs.last_exit(
                context.instance, _names(context).label, job, client=context.client
            )
        except NotLeading:
            raise
        except KubeError as error:
            why = error_text(error, PODS) if isinstance(error, ApiError | ConnectionLost) else error
            return f"{began}{said}; how its container has ended cannot be read: {why}"
        if ended is not None and kind_of(context.task).outputs(context.task):
            # A program that fails after it has written its outputs has said nothing about that.
            ended = ended.without_outputs()
        return f"{began}{ended or said}"


def _names(context: RenderContext) -> JobNames:
    path = context.path
    return JobNames(
        context.instance.metadata.name,
        context.uid,
        path.plan,
        path.phase,
        path.step,
        context.task.name,
    )


def _step_of(job: JsonObject) -> str:
    annotations = job["metadata"].get("annotations") or {}
    phase, step = (annotations.get(a, "") for a in (names.ANNOTATION_PHASE, names.ANNOTATION_STEP))
    return f"{phase}.{step}"


def _unknown(what: str, context: TaskContext) -> FatalTaskError:
    metadata = context.instance.metadata
    text = (
        f"{what}; whether its program ran to its end is not known: look at what it has done, then "
        f"start the plan again with kubectl kudo plan trigger --name {context.path.plan} "
        f"--instance {metadata.name} -n {metadata.namespace}"
    )
    return FatalTaskError("JobResultUnknown", text)


def _failed(what: str, name: str, error: ApiError | ConnectionLost) -> TaskError:
    return task_error("JobTaskError", f"cannot {what} {name}: {error_text(error, JOBS)}", error)
