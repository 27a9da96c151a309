"""Begins runs, or resumes those that another process has begun.

The admission rules are applied again, with nothing read before the run was scheduled. A run that
breaks one is refused. One whose parameters take values from Secrets or ConfigMaps that cannot be
used is held before its first status, and looked at again: it can be cancelled meanwhile. So is one
of an OperatorVersion with fields that this process does not know, begun or not: during an update of
KUDO, the process that knows them takes it over.
"""

import logging
from dataclasses import dataclass, field
from typing import Final

from kudo.admission.revalidation import revalidate_scheduled
from kudo.api import (
    Instance,
    OperatorVersion,
)
from kudo.api.names import FINALIZER_CLEANUP, PLAN_CLEANUP
from kudo.api.problems import Problem, listed, shown_name
from kudo.plans.execution import (
    adapt,
    finished_tasks,
)
from kudo.plans.runs.conditions import SOURCE_REASONS, UNKNOWN_FIELDS
from kudo.plans.runs.history import never_ran
from kudo.plans.runs.last_run import edited_since, run_in_progress, sources_changed
from kudo.plans.runs.plan_choice import active_run
from kudo.plans.runs.retries import changed_source
from kudo.plans.runs.run_parameters import as_begun
from kudo.plans.runs.status import begun, held, running
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.errors import Outdated
from kudo_reconciler.common.keys import Key, key_of
from kudo_reconciler.controller.context import (
    AGAIN_SECONDS,
    READ_SOURCES,
    ReconcileContext,
    Result,
    finalizers,
)
from kudo_reconciler.controller.ending import Ending
from kudo_reconciler.controller.job_ends import end_jobs, has_jobs
from kudo_reconciler.controller.parameter_sources import ParameterSources
from kudo_reconciler.execution.run_values import NO_VALUES, RunValues
from kudo_reconciler.execution.task_context import Memories, RunMemory
from kudo_reconciler.tenancy.accounts import Accounts

log = logging.getLogger(__name__)

_HELD_SECONDS: Final = 2.0
_LONGEST_HELD_SECONDS: Final = 30.0
"""Nothing tells that a Secret was created, since none is watched. Each wait is twice as long as
the one before."""
_MOST_PROBLEMS: Final = 5
_FIELD: Final = 200
"""Characters of the path of a field."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Begins or refuses the scheduled runs of Instances.

    Attributes:
        recheck: Seconds after which everything about a waiting run is read live again.
        held: How often a run that is held was looked at, by Instance, after its uid.
    """

    context: ReconcileContext
    ending: Ending
    memories: Memories
    accounts: Accounts
    sources: ParameterSources
    recheck: float
    held: dict[Key, tuple[str, int]] = field(default_factory=dict)

    async def forget(self, key: Key) -> None:
        """Forget the values of a run that is held, or has not begun."""
        self.held.pop(key, None)
        await self.context.operations.forget(key, READ_SOURCES)

    async def start_or_resume(
        self, key: Key, instance: Instance
    ) -> tuple[Instance, OperatorVersion] | Result:
        """Start or resume a run: apply the rules again, with nothing read before it was scheduled.

        Returns:
            The Instance and the version in force; the result of the reconcile if the run may not
            start yet.
        """
        context = self.context
        live = await context.instances.of_this_term(key)
        if (
            live is None
            or live.metadata.uid != instance.metadata.uid
            or live.scheduled != instance.scheduled
            or active_run(live) is None
        ):
            raise Outdated
        # A run that is scheduled after an edit of the OperatorVersion uses the edited one, even if
        # the event of the edit is late.
        scheduled_by = context.instances.freshness.seen(key)
        version = await context.versions.as_of(live.operator_version_key, scheduled_by)
        if version is None:
            raise Outdated
        if version.unknown_fields:
            return await self._leave(key, live, version)
        problems = await self.problems_of(live, version)
        if problems:
            await self.refuse(live, version, problems)
            return Result("refused", requeue_after=AGAIN_SECONDS)
        memory = self.memory_of(live)
        # The process that started the run continues with what it began with, whatever was edited
        # since.
        edited = edited_since(live, version) if memory is None else None
        if edited is not None:
            return await self._end_edited(live, version, edited)
        account = await self.accounts.name_of(live) if memory is None else memory.account
        values = NO_VALUES if memory is None else memory.values
        if memory is None or values is None:
            read = await self._values(key, live, version, account)
            if isinstance(read, Result):
                return read
            values = read
        await self._end_replaced_jobs(key, live, version)
        # Its end event is written first: the status that is stored next replaces the record of it.
        if self.tell_replaced(key, live):
            return Result("waiting", requeue_after=context.events.times.hold)
        # Before anything is applied: without the finalizer, a deletion of the Instance would leave
        # what the cleanup plan has to delete.
        live = await self._with_finalizer(live, version)
        self.announce(key, live)
        # A process that died between the end of a run and its clear may have left pods of that run.
        await self.context.pipe_pods.sweep(live, keep=live.scheduled.uid or "")
        if memory is None:
            memory = self.memories[key] = self.memory(live, version, account)
        memory.values = values
        # The memory of this uid is kept even if storing the first status conflicted.
        return live, memory.version

    async def _leave(self, key: Key, instance: Instance, version: OperatorVersion) -> Result:
        """Leave a run to a process that knows all fields of its OperatorVersion.

        Without them it would do something else than the package says.
        """
        name = shown_name("/".join(instance.operator_version_key))
        text = (
            f"OperatorVersion {name} has fields that this reconciler does not know: "
            f"{listed(version.unknown_fields, most=_FIELD)}; the plan waits for a reconciler of a "
            "newer KUDO: end the update, or update KUDO"
        )
        tries = self._tries(key, instance)
        self.held[key] = instance.scheduled.uid or "", tries + 1
        problem = Problem(UNKNOWN_FIELDS, text, "spec.operatorVersion")
        return await self._hold(instance, (problem,), tries)

    def _tries(self, key: Key, instance: Instance) -> int:
        """Return how often the scheduled run was held."""
        uid, tries = self.held.get(key, ("", 0))
        return tries if uid == instance.scheduled.uid else 0

    async def _values(
        self, key: Key, instance: Instance, version: OperatorVersion, account: str | None
    ) -> RunValues | Result:
        """Read the values that the run takes from Secrets and ConfigMaps.

        Returns:
            The values; the result of the reconcile if the run is held for want of one, or ends
            since another process began it with other ones.

        Raises:
            StillGoing: they are being read.
            KubeError: a request failed.
        """
        if not instance.sources:
            return NO_VALUES
        plan, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        tries = self._tries(key, instance)
        token = uid, instance.metadata.resource_version, version.metadata.resource_version, tries
        values = await self.context.operations.result(
            key, READ_SOURCES, token, lambda: self.sources.read(instance, version, account)
        )
        problems = tuple(values.missing.values())
        # A cleanup never waits. And where nobody may be acted as, each task says so by itself.
        if problems and plan != PLAN_CLEANUP and problems[0].reason in SOURCE_REASONS:
            self.held[key] = uid, tries + 1
            return await self._hold(instance, problems, tries)
        self.held.pop(key, None)
        changed = sources_changed(instance, values.sources)
        if changed is not None:
            return await self._end_edited(instance, version, changed)
        refused = changed_source(instance, values.sources)
        if refused is not None:
            await self.refuse(instance, version, (refused,))
            return Result("refused", requeue_after=AGAIN_SECONDS)
        return values

    async def _hold(self, instance: Instance, problems: tuple[Problem, ...], tries: int) -> Result:
        """Tell why the run does not begin; it is looked at again."""
        uid, reason = instance.scheduled.uid or "", problems[0].reason
        text = "; ".join(dict.fromkeys(problem.message for problem in problems[:_MOST_PROBLEMS]))
        if len(problems) > _MOST_PROBLEMS:
            text = f"{text}; and {len(problems) - _MOST_PROBLEMS} more"
        self.context.events.warning(instance, uid, reason, text)
        status = held(instance, reason, text, self.context.now())
        await self.context.instances.write_status(instance, status)
        wait = min(_HELD_SECONDS * 2 ** min(tries, 10), _LONGEST_HELD_SECONDS)
        return Result("waiting", requeue_after=wait)

    def memory_of(self, instance: Instance) -> RunMemory | None:
        """Return the memory of the scheduled run, if this process has started it."""
        memory = self.memories.get(key_of(instance))
        uid = instance.scheduled.uid or ""
        return memory if memory is not None and memory.is_of(instance, uid) else None

    async def problems_of(
        self, instance: Instance, version: OperatorVersion
    ) -> tuple[Problem, ...]:
        """Return why the scheduled run may not start."""
        revalidation = await self.context.revalidate(instance, version, revalidate_scheduled)
        return revalidation.problems

    async def refuse(
        self, instance: Instance, version: OperatorVersion, problems: tuple[Problem, ...]
    ) -> None:
        """Replace a refused run by the one in progress, or clear it.

        If the refused run is itself in progress, since the violation came after its start, it
        fails.
        """
        uid = instance.scheduled.uid or ""
        text = "; ".join(problem.message for problem in problems)
        self.context.events.warning(instance, uid, problems[0].reason, text)
        log.warning("run refused", extra={"uid": uid, "reason": problems[0].reason})
        plan = run_in_progress(instance)
        if plan is None:
            await self.context.instances.clear_run(instance, uid)
        elif (plan, instance.plan_status[plan].uid) == (instance.scheduled.plan_name, uid):
            status = begun(instance, version, self.context.now())
            await self.ending.fail(instance, version, status, problems[0].reason, text)
        else:
            await self.context.instances.schedule(
                instance, plan, instance.plan_status[plan].uid or "", asked=as_begun(instance, plan)
            )

    async def _end_edited(
        self, instance: Instance, version: OperatorVersion, edited: Problem
    ) -> Result:
        """End a run that another process started and whose configuration was edited since."""
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        log.warning("run cannot continue", extra={"uid": uid, "reason": edited.reason})
        if name != PLAN_CLEANUP:
            status = instance.status
            return await self.ending.fail(instance, version, status, edited.reason, edited.message)
        # The Instance is deleted after the end of a cleanup, and what was not cleaned up would stay
        # for ever. So it starts again with a new uid, as if a user had set one.
        self.context.events.warning(instance, uid, edited.reason, edited.message)
        fresh = self.context.fresh_uid()
        asked = as_begun(instance, name)
        await self.context.instances.schedule(instance, name, fresh, asked=asked)
        return Result("scheduled", requeue_after=AGAIN_SECONDS)

    async def _with_finalizer(self, instance: Instance, version: OperatorVersion) -> Instance:
        """Add the finalizer if the version in force has a cleanup plan, else remove it."""
        present, desired = finalizers(instance), PLAN_CLEANUP in version.plans
        if instance.metadata.deleting or desired == (FINALIZER_CLEANUP in present):
            return instance
        kept = [item for item in present if item != FINALIZER_CLEANUP]
        names = [*kept, FINALIZER_CLEANUP] if desired else kept
        return await self.context.instances.set_finalizers(instance, names) or instance

    def _replaced(self, key: Key, instance: Instance) -> dict[str, str]:
        """Return the plans of the runs that the scheduled one replaces, by their uids."""
        replaced = {old.uid or "": old.name for old in running(instance.plan_status).values()}
        memory = self.memories.get(key)
        if memory is not None and memory.instance_uid == instance.metadata.uid:
            replaced[memory.uid] = memory.plan
        own = {"", instance.scheduled.uid}
        return {uid: plan for uid, plan in replaced.items() if uid not in own}

    async def _end_replaced_jobs(
        self, key: Key, instance: Instance, version: OperatorVersion
    ) -> None:
        """Delete the active Jobs of the runs that the scheduled one replaces.

        Raises:
            StillGoing: they are being deleted.
        """
        if has_jobs([version]):
            # Of a run whose process died before its first status only the Job itself tells.
            await self.context.task_jobs.watch()
        replaced, uid = self._replaced(key, instance), instance.scheduled.uid or ""
        memory, versions = self.memories.get(key), [version]
        if replaced:
            before = await self.context.version_before(instance)
            versions += [before] if before is not None else []
            versions += [memory.version] if memory is not None else []
        else:
            versions = []
        run = next(iter(replaced), uid)
        await end_jobs(self.context, instance, run, versions, keep=uid)

    def tell_replaced(self, key: Key, instance: Instance) -> bool:
        """Queue the end events of replaced runs; return whether one is not written yet.

        The first status of the new run replaces their record: after a crash nobody could repeat
        their end events.
        """
        replaced = self._replaced(key, instance)
        for uid, plan in replaced.items():
            self.context.events.superseded(instance, plan, uid)
        return bool(replaced) and self.context.events.unwritten(instance)

    def announce(self, key: Key, instance: Instance) -> None:
        """Log and count the start of the scheduled run, and queue its start event."""
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        memory = self.memories.get(key)
        # Until its first status is stored, a run may be started more than once.
        announced = memory is not None and memory.is_of(instance, uid)
        if not announced:
            for plan in self._replaced(key, instance).values():
                self.context.metrics.run_superseded(plan)
        entry = instance.plan_status.get(name)
        if entry is None or entry.uid != uid:
            if not announced:
                self.context.metrics.run_started(name)
            log.info("run started", extra={"plan": name, "uid": uid})
        else:
            log.info("run continued", extra={"plan": name, "uid": uid})
        self.context.events.started(instance, name, uid)

    def memory(
        self, instance: Instance, version: OperatorVersion, account: str | None
    ) -> RunMemory:
        """Return a memory with the tasks that are stored as done under the uid of the run.

        Args:
            instance: The Instance.
            version: The OperatorVersion that the run begins with.
            account: The account that it acts as; None for the reconciler.
        """
        name, uid = instance.scheduled.plan_name or "", instance.scheduled.uid or ""
        recheck_at = loop_seconds() + self.recheck
        memory = RunMemory(
            uid, instance.metadata.uid, name, version, recheck_at, instance.spec, account
        )
        plan, entry = version.plans.get(name), instance.plan_status.get(name)
        if plan is not None and entry is not None and entry.uid == uid:
            memory.finished.update(finished_tasks(adapt(name, plan, entry)))
        memory.is_first_run = never_ran(instance)
        return memory
