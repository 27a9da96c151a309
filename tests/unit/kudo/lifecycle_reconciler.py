"""The passes of the reconciler over the model of the API server; no tests of its own.

It writes one thing at a time: `Writing` stops before each write, and between any two of them
everything can happen.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeVar

from kudo.api import (
    ExecutionStatus,
    Instance,
    InstanceStatus,
    JsonObject,
    OperatorVersion,
    Plan,
    PlanStatus,
)
from kudo.conditions import Situation
from kudo.execution import (
    StepOutcome,
    StepRef,
    check_plan,
    ensure_entries,
    fail,
    is_single_step,
    record,
    runnable,
    status_of,
)
from kudo.names import FINALIZER_CLEANUP, PLAN_CLEANUP
from kudo.plans import active_run
from kudo.problems import Problem
from kudo.run_status import (
    begun,
    leaving,
    running,
    settled,
    with_conditions,
    with_entries,
    with_entry,
)
from kudo.stored import (
    Verdict,
    ended_cleanup,
    judge_idle,
    judge_scheduled,
    run_in_progress,
)
from tests.unit.kudo.lifecycle_model import Cluster, Outdated

S = ExecutionStatus
T = TypeVar("T")
Writing = Generator[str, None, T]
"""Yields before each write; what is returned is known after the last one."""


@dataclass
class Reconciler:
    """The passes of the reconciler, in the order of its writes.

    Attributes:
        cluster: Where it reads and writes.
        fates: What becomes of each task; those that are not named wait.
        memory: uid and version of the run that this process has taken over.
    """

    cluster: Cluster
    fates: dict[str, ExecutionStatus] = field(default_factory=dict)
    memory: tuple[str, OperatorVersion] | None = None

    def reconcile(self, instance: Instance | None) -> Writing[str]:
        """Do one pass over what the cache shows."""
        if instance is None:
            self.memory = None
            return "gone"
        deleting = instance.metadata.deleting
        if deleting and FINALIZER_CLEANUP not in (instance.metadata.finalizers or ()):
            self.memory = None
            return "deleting"
        version = self.cluster.version(instance.operator_version_key)
        if version is None:
            return (yield from self._without_version(instance))
        if deleting:
            return (yield from self._delete(instance, version))
        if not instance.scheduled.plan_name:
            self.memory = None
            return (yield from self._settle(instance, version))
        return (yield from self._proceed(instance, version))

    # Nothing is scheduled

    def _settle(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        entries = ensure_entries(version.plans, instance.plan_status)
        for name, entry in running(entries).items():
            entries[name] = fail(entry, "ended without a recorded result", self.cluster.now())
        status = with_entries(instance.status, entries)
        verdict = self._judged(judge_idle(instance, version))
        if verdict.problems:
            situation = Situation((verdict.problems[0].reason, _text(verdict.problems)))
            yield from self._write_situation(instance, status, situation)
            return "refused"
        if verdict.plan is not None:
            yield from self._schedule(instance, verdict.plan, self.cluster.fresh_uid())
            return "scheduled"
        yield from self._write_situation(instance, status, settled(status, ()))
        return "idle"

    def _judged(self, verdict: Verdict) -> Verdict:
        assert not (self.cluster.lawful and verdict.problems), f"admitted, then refused: {verdict}"
        return verdict

    def _without_version(self, instance: Instance) -> Writing[str]:
        if instance.metadata.deleting:
            yield from self._release(instance)
            return "deleting"
        situation = Situation(("InvalidOperatorVersion", "OperatorVersion does not exist"))
        yield from self._write_situation(instance, instance.status, situation)
        return "invalid"

    def _delete(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        if PLAN_CLEANUP not in version.plans:
            self.memory = None
            yield from self._release(instance)
            return "deleting"
        if instance.scheduled.plan_name == PLAN_CLEANUP:
            return (yield from self._proceed(instance, version))
        ended = ended_cleanup(instance)
        if ended is not None:
            return (yield from self._end(instance, version, ended))
        if run_in_progress(instance) == PLAN_CLEANUP:
            uid = instance.plan_status[PLAN_CLEANUP].uid or ""
            yield from self._schedule(instance, PLAN_CLEANUP, uid)
            return "scheduled"
        self.memory = None
        entries = dict(instance.plan_status)
        for name, entry in running(entries).items():
            entries[name] = fail(entry, "stopped: Instance is being deleted", self.cluster.now())
            yield from self._event(entry.uid or "", "finished")
        status = with_entries(instance.status, entries)
        instance = yield from self._write_status(instance, status)
        yield from self._schedule(instance, PLAN_CLEANUP, self.cluster.fresh_uid())
        return "scheduled"

    # Something is scheduled

    def _proceed(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        name, uid = _run_of(instance)
        if not uid:
            yield from self._schedule(instance, name, self.cluster.fresh_uid())
            return "scheduled"
        entry = instance.plan_status.get(name)
        if entry is not None and entry.uid == uid and status_of(entry).terminal:
            return (yield from self._end(instance, version, entry))
        if instance.scheduled.status == S.FATAL_ERROR:
            return (yield from self._cancel(instance, version))
        begun_before = entry is not None and entry.uid == uid
        if self.memory is None or self.memory[0] != uid or not begun_before:
            taken = yield from self._take_over(instance)
            if taken is None:
                return "refused run"
            instance, version = taken
        else:
            version = self.memory[1]
        return (yield from self._advance(instance, version))

    def _take_over(self, instance: Instance) -> Writing[tuple[Instance, OperatorVersion] | None]:
        live = self.cluster.stored
        if live is None or live.scheduled != instance.scheduled or active_run(live) is None:
            self.cluster.seen = [live]
            raise Outdated
        version = self.cluster.version(live.operator_version_key)
        if version is None:
            raise Outdated
        verdict = self._judged(judge_scheduled(live, version))
        if verdict.problems:
            yield from self._refuse(live, version, verdict.problems)
            return None
        present = live.metadata.finalizers or ()
        wanted = PLAN_CLEANUP in version.plans
        if not live.metadata.deleting and wanted != (FINALIZER_CLEANUP in present):
            kept = tuple(item for item in present if item != FINALIZER_CLEANUP)
            live = yield from self._set_finalizers(
                live, (*kept, FINALIZER_CLEANUP) if wanted else kept
            )
        yield from self._announce(live)
        self.memory = (live.scheduled.uid or "", version)
        return live, version

    def _announce(self, instance: Instance) -> Writing[None]:
        uid = instance.scheduled.uid or ""
        replaced = {entry.uid or "" for entry in running(instance.plan_status).values()}
        if self.memory is not None:
            replaced.add(self.memory[0])
        for old in sorted(replaced - {uid, ""}):
            yield from self._event(old, "finished")
        yield from self._event(uid, "started")

    def _event(self, uid: str, what: str) -> Writing[None]:
        yield f"event: {what}"
        self.cluster.events.add((uid, what))

    def _refuse(
        self, instance: Instance, version: OperatorVersion, problems: tuple[Problem, ...]
    ) -> Writing[None]:
        self.cluster.refusing = True
        try:
            plan = run_in_progress(instance)
            if plan is None:
                yield from self._clear(instance.scheduled.uid or "")
            elif (plan, instance.plan_status[plan].uid) == _run_of(instance):
                status = begun(instance, version, self.cluster.now())
                yield from self._fail(instance, version, status, _text(problems))
            else:
                uid = instance.plan_status[plan].uid or ""
                yield from self._schedule(instance, plan, uid)
        finally:
            self.cluster.refusing = False

    def _advance(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        name, _ = _run_of(instance)
        status = begun(instance, version, self.cluster.now())
        entry = (status.plan_status or {})[name]
        plan = version.plans.get(name)
        if plan is None:
            text = f"could not find required plan: '{name}'"
            return (yield from self._fail(instance, version, status, text))
        problems = tuple(check_plan(name, plan))
        if problems:
            return (yield from self._fail(instance, version, status, _text(problems)))
        entry = record(entry, {}, self.cluster.now())
        attempted: set[StepRef] = set()
        while steps := [ref for ref in runnable(plan, entry) if ref not in attempted]:
            if attempted or not is_single_step(plan):
                instance = yield from self._write_status(instance, with_entry(status, entry))
                _assert_what_comes_first_is_stored(plan, instance.plan_status[name], steps)
            attempted.update(steps)
            outcomes = {ref: self._run_step(ref) for ref in steps}
            entry = record(entry, outcomes, self.cluster.now())
            if S.FATAL_ERROR in {out.status for out in outcomes.values()}:
                break
        status = with_entry(status, entry)
        if status_of(entry).terminal:
            return (yield from self._finish(instance, version, status, entry))
        yield from self._write_status(instance, status)
        return "waiting"

    def _run_step(self, ref: StepRef) -> StepOutcome:
        status = self.fates.get(ref.step, S.IN_PROGRESS)
        message = None if status is S.COMPLETE else f"{ref} waits for ConfigMap ns/c or has failed"
        return StepOutcome(status, message)

    # The end

    def _cancel(self, instance: Instance, version: OperatorVersion) -> Writing[str]:
        name, uid = _run_of(instance)
        known = instance.plan_status.get(name)
        if known is None or known.uid != uid:
            verdict = self._judged(judge_scheduled(instance, version))
            if verdict.problems:
                yield from self._refuse(instance, version, verdict.problems)
                return "refused run"
            yield from self._announce(instance)
            self.memory = (uid, version)
        status = begun(instance, version, self.cluster.now())
        text = f"cancelled by {instance.scheduled.cancelled_by or 'request'}"
        return (yield from self._fail(instance, version, status, text))

    def _fail(
        self, instance: Instance, version: OperatorVersion, status: InstanceStatus, text: str
    ) -> Writing[str]:
        entry = (status.plan_status or {})[instance.scheduled.plan_name or ""]
        entry = fail(entry, text, self.cluster.now())
        return (yield from self._finish(instance, version, with_entry(status, entry), entry))

    def _finish(
        self,
        instance: Instance,
        version: OperatorVersion,
        status: InstanceStatus,
        entry: PlanStatus,
    ) -> Writing[str]:
        if instance.metadata.deleting:
            status = with_conditions(instance, status, leaving(status), self.cluster.now())
        written = yield from self._write_status(instance, status)
        return (yield from self._end(written, version, entry))

    def _end(self, instance: Instance, version: OperatorVersion, entry: PlanStatus) -> Writing[str]:
        yield from self._event(entry.uid or "", "finished")
        self.memory = None
        if instance.metadata.deleting:
            yield from self._release(instance)
            return "deleted"
        cleared = yield from self._clear(entry.uid or "")
        yield from self._settle(cleared, version)
        return "finished"

    # Writes

    def _write_situation(
        self, instance: Instance, status: InstanceStatus, situation: Situation
    ) -> Writing[Instance]:
        status = with_conditions(instance, status, situation, self.cluster.now())
        return (yield from self._write_status(instance, status))

    def _write_status(self, instance: Instance, status: InstanceStatus) -> Writing[Instance]:
        if status == instance.status:
            return instance
        yield "status"
        stored = self.cluster.expect(instance)
        return self.cluster.store(stored.model_copy(update={"status": status}), by="reconciler")

    def _schedule(self, instance: Instance, plan: str, uid: str) -> Writing[Instance]:
        yield "schedule"
        stored = self.cluster.expect(instance)
        run = {"planName": plan, "uid": uid, "status": "NEVER_RUN"}
        return self.cluster.store(_with_run(stored, run), by="reconciler")

    def _clear(self, uid: str) -> Writing[Instance]:
        yield "clear"
        stored = self.cluster.stored
        if stored is None or stored.scheduled.uid != uid:
            self.cluster.seen = [stored]
            raise Outdated
        return self.cluster.store(_with_run(stored, {}), by="reconciler")

    def _set_finalizers(self, instance: Instance, names: tuple[str, ...]) -> Writing[Instance]:
        yield "finalizers"
        stored = self.cluster.expect(instance)
        metadata = stored.metadata.model_copy(update={"finalizers": names})
        return self.cluster.store(stored.model_copy(update={"metadata": metadata}), by="reconciler")

    def _release(self, instance: Instance) -> Writing[None]:
        present = instance.metadata.finalizers or ()
        rest = tuple(name for name in present if name != FINALIZER_CLEANUP)
        yield from self._set_finalizers(instance, rest)


def _run_of(instance: Instance) -> tuple[str, str]:
    return instance.scheduled.plan_name or "", instance.scheduled.uid or ""


def _text(problems: tuple[Problem, ...]) -> str:
    return "; ".join(problem.message for problem in problems)


def _with_run(instance: Instance, run: JsonObject) -> Instance:
    wire = instance.to_wire()
    return Instance.from_wire({**wire, "spec": {**wire.get("spec", {}), "planExecution": run}})


def _assert_what_comes_first_is_stored(
    plan: Plan, stored: PlanStatus, steps: list[StepRef]
) -> None:
    assert set(steps) <= set(runnable(plan, stored))
