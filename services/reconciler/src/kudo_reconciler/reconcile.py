"""One pass over an Instance: read, decide, act, and leave the rest to the next pass.

    gone ............... forget it
    deleting ........... the cleanup plan, then the finalizer goes
    nothing scheduled .. is it ready?
    scheduled .......... take the run over, advance it, end it

A pass never depends on the event that caused it. Whatever is interrupted between two writes is
taken up again from what the cluster says.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kudo import conditions
from kudo.api import (
    ExecutionStatus,
    Instance,
    InstanceStatus,
    LastRun,
    ObjectReference,
    OperatorVersion,
    PlanStatus,
)
from kudo.execution import begin, check_plan, ensure_entries, fail, status_of
from kudo.fingerprints import fingerprints
from kudo.health import readiness
from kudo.names import (
    FINALIZER_CLEANUP,
    PLAN_CLEANUP,
    PLAN_DEPLOY,
    PLAN_UPDATE,
    PLAN_UPGRADE,
)
from kudo_reconciler.applier import Superseded
from kudo_reconciler.clock import Clock, timestamp
from kudo_reconciler.events import EventRecorder
from kudo_reconciler.instances import InstanceStore, Outdated
from kudo_reconciler.metrics import Metrics
from kudo_reconciler.observer import Observer
from kudo_reconciler.plan_run import PassResult, PlanRunner, Run
from kudo_reconciler.queue import Key
from kudo_reconciler.resources import READINESS_KINDS
from kudo_reconciler.task_context import RunMemory
from kudo_reconciler.versions import VersionStore

log = logging.getLogger(__name__)

_POLL_SECONDS = 5.0
_AGAIN_SECONDS = 0.05
_READY_PLANS = frozenset({PLAN_DEPLOY, PLAN_UPDATE, PLAN_UPGRADE})
"""The plans during which the Instance is not known to be ready."""


@dataclass(frozen=True, slots=True)
class Result:
    """What the queue is to do with the key.

    Attributes:
        outcome: One word for metrics.
        requeue_after: Seconds until another pass; None to wait for an event.
        retry: Whether to come back with backoff.
    """

    outcome: str
    requeue_after: float | None = None
    retry: bool = False


@dataclass
class InstanceReconciler:
    """Reconciles Instances; holds nothing but what was done in the runs in progress."""

    instances: InstanceStore
    versions: VersionStore
    observer: Observer
    runner: PlanRunner
    events: EventRecorder
    metrics: Metrics
    clock: Clock
    fresh_uid: Callable[[], str]
    _memories: dict[Key, RunMemory] = field(default_factory=dict)

    async def reconcile(self, key: Key) -> Result:
        """Do one pass.

        Raises:
            KubeError: the API server could not be asked or refused; come back with backoff.
        """
        instance = self.instances.cached(key)
        if instance is None:
            self._memories.pop(key, None)
            return Result("gone")
        try:
            return await self._reconcile(key, instance)
        except (Outdated, Superseded):
            # The cache holds the newer object by now, or its event is on the way.
            return Result("outdated", requeue_after=_AGAIN_SECONDS)

    async def _reconcile(self, key: Key, instance: Instance) -> Result:
        if instance.metadata.deleting and FINALIZER_CLEANUP not in _finalizers(instance):
            self._memories.pop(key, None)
            return Result("deleting")
        version = await self.versions.get(instance.operator_version_key)
        if version is None:
            return await self._without_version(instance)
        if instance.metadata.deleting:
            return await self._delete(key, instance, version)
        if not instance.scheduled.plan_name:
            self._memories.pop(key, None)
            return await self._idle(instance, version)
        return await self._run(key, instance, version)

    # Without an OperatorVersion

    async def _without_version(self, instance: Instance) -> Result:
        namespace, name = instance.operator_version_key
        text = f"OperatorVersion {namespace}/{name} does not exist"
        if instance.metadata.deleting:
            text = f"{text}: no cleanup plan can run, the Instance is let go"
            await self._warn(instance, "InvalidOperatorVersion", text)
            await self._release(instance)
            return Result("deleting")
        await self._warn(instance, "InvalidOperatorVersion", text)
        text = f"{text}; create it, or name another in spec.operatorVersion"
        await self._write_ready(instance, instance.status, "InvalidOperatorVersion", text)
        return Result("invalid")

    async def _warn(self, instance: Instance, reason: str, text: str) -> None:
        uid = instance.scheduled.uid or instance.metadata.uid
        await self.events.warning(instance, uid, reason, text)

    # Nothing scheduled

    async def _idle(self, instance: Instance, version: OperatorVersion) -> Result:
        now = self._now()
        entries = ensure_entries(version.plans, instance.plan_status)
        for name, entry in _running(entries).items():
            text = f"execution of plan {name} ended without a recorded result"
            entries[name] = fail(entry, text, now)
            uid = entry.uid or instance.metadata.uid
            await self.events.warning(instance, uid, "PlanResultUnknown", text)
        status = instance.status.model_copy(update={"plan_status": entries})
        await self._write_ready(instance, status, *self._readiness(instance, status))
        return Result("idle")

    def _readiness(self, instance: Instance, status: InstanceStatus) -> tuple[str, str]:
        """Return reason and message of Ready: a failed last run first, then the resources."""
        failed = _failed_last_run(status)
        if failed is not None:
            return "PlanInFatalError", _failure_text(failed)
        key = Key(instance.metadata.namespace, instance.metadata.name)
        objects = [obj for kind in READINESS_KINDS for obj in self.observer.of_instance(kind, key)]
        unready = readiness(objects)
        return ("ResourceNotReady", ", ".join(unready)) if unready else ("ResourcesReady", "")

    async def _write_ready(
        self, instance: Instance, status: InstanceStatus, reason: str, text: str
    ) -> Instance:
        return await self.instances.write_status(
            instance, self._with_ready(instance, status, reason, text)
        )

    def _with_ready(
        self, instance: Instance, status: InstanceStatus, reason: str, text: str
    ) -> InstanceStatus:
        generation = instance.metadata.generation
        condition = conditions.ready(reason, text, generation=generation, now=self._now())
        return status.model_copy(
            update={
                "conditions": conditions.put(status.conditions or (), condition),
                "observed_generation": generation,
            }
        )

    # A run

    async def _run(self, key: Key, instance: Instance, version: OperatorVersion) -> Result:
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        if not uid:
            await self.instances.schedule(instance, name, self.fresh_uid())
            return Result("scheduled", requeue_after=_AGAIN_SECONDS)
        entry = instance.plan_status.get(name)
        if entry is not None and entry.uid == uid and status_of(entry).terminal:
            return await self._end(key, instance, version, entry)
        if self._memory(key, uid) is None:
            taken = await self._take_over(key, instance)
            if taken is None:
                return Result("refused", requeue_after=_AGAIN_SECONDS)
            instance, version = taken
        return await self._advance(key, instance, version)

    def _memory(self, key: Key, uid: str) -> RunMemory | None:
        memory = self._memories.get(key)
        return memory if memory is not None and memory.uid == uid else None

    async def _take_over(
        self, key: Key, instance: Instance
    ) -> tuple[Instance, OperatorVersion] | None:
        """Begin to work on a run: read everything live and decide the rules again.

        Raises:
            Outdated: the run is not the one that the cache had.
        """
        live = await self.instances.live(key)
        if live is None or live.scheduled.uid != instance.scheduled.uid:
            raise Outdated
        name, uid = live.scheduled.plan_name or "", live.scheduled.uid or ""
        version = await self.versions.live(live.operator_version_key)
        if version is None:
            raise Outdated
        if name == PLAN_CLEANUP and not live.metadata.deleting:
            text = "only the controller schedules the 'cleanup' plan when the instance is deleted"
            await self.events.warning(live, uid, "CleanupNotManual", text)
            await self.instances.clear_run(live, uid)
            return None
        live = await self._with_finalizer(live, version)
        self._memories[key] = RunMemory(uid)
        for old_name, old in _running(live.plan_status).items():
            if old.uid and old.uid != uid:
                await self.events.superseded(live, old_name, old.uid)
        entry = live.plan_status.get(name)
        if entry is None or entry.uid != uid:
            self.metrics.runs_started.inc()
            log.info("run started", extra={"plan": name, "uid": uid})
        else:
            log.info("run continued", extra={"plan": name, "uid": uid})
        await self.events.started(live, name, uid)
        return live, version

    async def _with_finalizer(self, instance: Instance, version: OperatorVersion) -> Instance:
        """Have the finalizer exactly where the version in force has a cleanup plan."""
        if instance.metadata.deleting:
            return instance
        present, wanted = _finalizers(instance), PLAN_CLEANUP in version.plans
        if wanted == (FINALIZER_CLEANUP in present):
            return instance
        kept = [item for item in present if item != FINALIZER_CLEANUP]
        finalizers = [*kept, FINALIZER_CLEANUP] if wanted else kept
        return await self.instances.set_finalizers(instance, finalizers) or instance

    async def _advance(self, key: Key, instance: Instance, version: OperatorVersion) -> Result:
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        plan = version.plans.get(name)
        if plan is None:
            text = f"could not find required plan: '{name}'"
            return await self._fail(key, instance, version, PlanStatus(name=name), text)
        status = self._started(instance, version, name, uid)
        entry = (status.plan_status or {})[name]
        problems = "; ".join(problem.message for problem in check_plan(name, plan))
        if problems:
            return await self._fail(key, instance, version, entry, problems)
        stored = instance

        async def store(progress: PlanStatus) -> None:
            nonlocal stored
            stored = await self.instances.write_status(stored, _with_entry(status, progress))

        memory = self._memories[key]
        run = Run(
            instance, version, plan, name, uid, memory, lambda: self._still_wanted(key, instance)
        )
        result = await self.runner.advance(run, entry, store)
        for failure, message in result.failures:
            await self.events.warning(instance, uid, failure.reason, message)
        if status_of(result.entry).terminal:
            reason = result.failures[0][0].reason if result.failures else ""
            ended = _with_entry(status, result.entry)
            return await self._finish(key, stored, version, ended, result.entry, reason)
        await store(result.entry)
        return _waiting(result)

    def _still_wanted(self, key: Key, instance: Instance) -> bool:
        """Whether the cluster, as far as we know it, still wants the run."""
        now = self.instances.cached(key)
        return (
            now is not None
            and now.metadata.uid == instance.metadata.uid
            and now.scheduled.uid == instance.scheduled.uid
            and now.metadata.deleting == instance.metadata.deleting
        )

    def _started(
        self, instance: Instance, version: OperatorVersion, name: str, uid: str
    ) -> InstanceStatus:
        """Return the status with the entry of the run in it, not yet stored."""
        entries = ensure_entries(version.plans, instance.plan_status)
        status = instance.status
        if entries[name].uid != uid:
            for other, running in _running(entries).items():
                entries[other] = fail(running, f"superseded by plan {name}", self._now())
            entries[name] = begin(name, version.plans[name], uid, self._now())
            namespace, version_name = instance.operator_version_key
            last_run = LastRun(
                plan=name,
                uid=uid,
                operator_version=ObjectReference(namespace=namespace, name=version_name),
                parameters=fingerprints(instance.parameters),
            )
            status = status.model_copy(update={"last_run": last_run})
        status = status.model_copy(update={"plan_status": entries})
        if name not in _READY_PLANS:
            return status
        return self._with_ready(instance, status, "PlanInProgress", f"plan {name} is running")

    async def _fail(
        self,
        key: Key,
        instance: Instance,
        version: OperatorVersion,
        entry: PlanStatus,
        text: str,
    ) -> Result:
        """End a run that cannot even begin; the message stands at the plan."""
        uid = instance.scheduled.uid or ""
        await self.events.warning(instance, uid, "InvalidPlan", text)
        entry = fail(entry.model_copy(update={"uid": uid}), text, self._now())
        status = _with_entry(instance.status, entry)
        return await self._finish(key, instance, version, status, entry, "InvalidPlan")

    async def _finish(
        self,
        key: Key,
        instance: Instance,
        version: OperatorVersion,
        status: InstanceStatus,
        entry: PlanStatus,
        reason: str,
    ) -> Result:
        """Store the terminal status, which is the first of the writes that end a run."""
        failed = status_of(entry) is ExecutionStatus.FATAL_ERROR
        ready, text = self._readiness(instance, status)
        if failed:
            ready, text = "PlanInFatalError", _failure_text(entry)
        status = self._with_ready(instance, status, ready, text)
        written = await self.instances.write_status(instance, status)
        self.metrics.runs_finished.labels(str(entry.status), reason).inc()
        fields = {"plan": entry.name, "uid": entry.uid, "status": str(entry.status)}
        log.info("run finished", extra=fields | ({"reason": reason} if reason else {}))
        return await self._end(key, written, version, entry)

    async def _end(
        self, key: Key, instance: Instance, version: OperatorVersion, entry: PlanStatus
    ) -> Result:
        """Write the end event and clear the run; a newer one that came in stays."""
        uid = entry.uid or ""
        await self.events.finished(instance, entry.name, uid, status_of(entry))
        self._memories.pop(key, None)
        if instance.metadata.deleting:
            await self._release(instance)
            return Result("deleted")
        cleared = await self.instances.clear_run(instance, uid)
        await self._idle(cleared, version)
        return Result("finished")

    # Deletion

    async def _delete(self, key: Key, instance: Instance, version: OperatorVersion) -> Result:
        if PLAN_CLEANUP not in version.plans:
            await self._release(instance)
            return Result("deleting")
        if instance.scheduled.plan_name == PLAN_CLEANUP:
            return await self._run(key, instance, version)
        instance = await self._stop_running(instance)
        self._memories.pop(key, None)
        await self.instances.schedule(instance, PLAN_CLEANUP, self.fresh_uid())
        return Result("scheduled", requeue_after=_AGAIN_SECONDS)

    async def _stop_running(self, instance: Instance) -> Instance:
        """End the entry of a plan that runs, so that its last state does not lie."""
        entries = dict(instance.plan_status)
        for name, entry in _running(entries).items():
            entries[name] = fail(entry, "stopped: Instance is being deleted", self._now())
        status = instance.status.model_copy(update={"plan_status": entries})
        return await self.instances.write_status(instance, status)

    async def _release(self, instance: Instance) -> None:
        """Take our finalizer off, so that the Instance can go."""
        rest = [item for item in _finalizers(instance) if item != FINALIZER_CLEANUP]
        await self.instances.set_finalizers(instance, rest)

    def _now(self) -> str:
        return timestamp(self.clock.now())


def _finalizers(instance: Instance) -> tuple[str, ...]:
    return instance.metadata.finalizers or ()


def _running(entries: Mapping[str, PlanStatus]) -> dict[str, PlanStatus]:
    return {name: entry for name, entry in entries.items() if status_of(entry).running}


def _with_entry(status: InstanceStatus, entry: PlanStatus) -> InstanceStatus:
    entries = {**(status.plan_status or {}), entry.name: entry}
    return status.model_copy(update={"plan_status": entries})


def _failed_last_run(status: InstanceStatus) -> PlanStatus | None:
    last = status.last_run
    entry = (status.plan_status or {}).get(last.plan or "") if last else None
    if last is None or entry is None or entry.uid != last.uid:
        return None
    return entry if status_of(entry) is ExecutionStatus.FATAL_ERROR else None


def _failure_text(entry: PlanStatus) -> str:
    if entry.message:
        return f"plan {entry.name}: {entry.message}"
    failed = ExecutionStatus.FATAL_ERROR
    for phase in entry.phases or ():
        for step in phase.steps or ():
            if step.status == failed and step.message:
                return step.message
    return f"plan {entry.name} ended with {failed}"


def _waiting(result: PassResult) -> Result:
    if result.retry:
        return Result("retry", retry=True)
    return Result("waiting", requeue_after=_POLL_SECONDS if result.polled else None)
