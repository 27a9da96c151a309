"""Records at the end of a run what it has deleted, and what it has left behind: orphans.

    record ─> terminal status, with status.orphans ─> event ObjectsOrphaned ─> clear

A process that takes over after the first write finds the marks of the run on record: the same
record results, so nothing is written again. After the second it queues the event again, whose name
is that of the run. What an earlier process has deleted in the same run stays on record if nothing
else tells that it is gone; the next run of the plan takes it off. The same holds for what a run has
deleted that another one has replaced, since such a run has no end.

Nothing is written for an Instance that is being deleted: its record goes with it.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import Forbidden, KubeError, NotFound, UnknownKind
from kubeio.leader_election.elector import NotLeading
from kudo.api import ExecutionStatus, Instance, JsonObject, OperatorVersion, Plan, PlanStatus
from kudo.api.identity import InstanceIdentity, identity
from kudo.api.task_kinds import TaskError
from kudo.objects.enrichment import execution_of
from kudo.objects.inventory.orphans import Finished, all_orphans, orphans, prunes
from kudo.objects.inventory.record import Entry, Place, Record
from kudo.plans.execution import StepRef, status_of, step_of, steps_of
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.controller.context import FIND_ORPHANS, ReconcileContext
from kudo_reconciler.execution.expected import EveryPlan
from kudo_reconciler.execution.task_context import RunMemory
from kudo_reconciler.objects.cached_objects import is_whole
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.recorder import must_be_stored, what_lacks
from kudo_reconciler.tenancy.accounts import Accounts

log = logging.getLogger(__name__)

_AT_ONCE: Final = 8
"""Objects that are read at the same time."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that is COMPLETE.

    Attributes:
        finished: What is known of its tasks.
        earlier: Tasks that an earlier process has run: what they rendered has the mark of the run.
        removed: Objects that it has deleted.
    """

    finished: Finished
    earlier: frozenset[str] = frozenset()
    removed: frozenset[Place] = frozenset()

    @property
    def rendered(self) -> frozenset[Place]:
        """Return what its tasks have rendered."""
        return frozenset().union(*self.finished.rendered.values())


@dataclass(slots=True)
class Left:
    """What a run has left behind.

    Attributes:
        gone: Objects that leave the record.
        orphans: Entries with the mark of the run.
        unmarked: Objects that a plan applies although they have the mark of an earlier one.
    """

    gone: set[Place] = field(default_factory=set)
    orphans: list[Entry] = field(default_factory=list)
    unmarked: frozenset[Place] = frozenset()

    def changed(self, record: Record) -> Record:
        """Return a record with that; what was applied since it was looked at stays."""
        after = record.without(self.gone)
        unmarked = [entry for entry in all_orphans(after) if entry.place in self.unmarked]
        after = after.merged(replace(entry, orphaned_by="") for entry in unmarked)
        return after.merged(
            entry
            for entry in self.orphans
            if replace(entry, orphaned_by="").says_as_much_as(after.get(entry.place))
        )


@dataclass(frozen=True, slots=True)
class OrphanSearch:
    """Looks for orphans."""

    observer: Observer
    discovery: Discovery

    async def left(
        self,
        record: Record,
        version: OperatorVersion,
        ended: Ended,
        applied: Collection[Place],
        client: Client,
    ) -> Left:
        """Return what a run has left behind.

        What cannot be read is unknown, and never gone.

        Args:
            record: Of the Instance.
            version: The OperatorVersion that the run began with.
            ended: The run.
            applied: Which of the `candidates` some plan of the version applies.
            client: Reads as the account of the run.

        Raises:
            NotLeading: this replica is not the leader any more.
        """
        applied = frozenset(applied) | ended.rendered
        result = Left(set(ended.removed), unmarked=applied)
        left = self._candidates(record, version, ended)
        candidates = [entry for entry in left if entry.place not in applied]
        for at in range(0, len(candidates), _AT_ONCE):
            some = candidates[at : at + _AT_ONCE]
            looked = await asyncio.gather(*(self._look(entry, ended, client) for entry in some))
            for entry, (is_known, obj) in zip(some, looked, strict=True):
                if is_known and obj is None:
                    result.gone.add(entry.place)
                elif entry.orphaned_by == ended.finished.uid and _is_left(entry, obj, ended):
                    result.orphans.append(entry)
        return result

    def candidates(
        self, record: Record, version: OperatorVersion, ended: Ended
    ) -> dict[Place, str]:
        """Return what the run may have made an orphan, and what was one before.

        By place, this is the task that has applied it last.
        """
        left, rendered = self._candidates(record, version, ended), ended.rendered
        return {entry.place: entry.task for entry in left if entry.place not in rendered}

    def may_leave(self, record: Record, version: OperatorVersion, ended: Ended) -> bool:
        """Return whether a run may have left something behind; nothing is read."""
        if any(record.get(place) is not None for place in ended.removed):
            return True
        return next(self._candidates(record, version, ended), None) is not None

    def _candidates(
        self, record: Record, version: OperatorVersion, ended: Ended
    ) -> Iterator[Entry]:
        """Yield what the run may have made an orphan, and what was one before."""
        left = record.without(ended.removed)
        yield from orphans(left, version, ended.finished)
        yield from all_orphans(left)

    async def _look(
        self, entry: Entry, ended: Ended, client: Client
    ) -> tuple[bool, JsonObject | None]:
        """Return whether it is known if an object exists, and the object.

        An orphan of an earlier run is looked at only if a cache lacks it: there may be many, and
        each run ends with this.
        """
        place = entry.place
        namespace = place.namespace or None
        try:
            resource = await self.discovery.resolve(entry.api_version, place.kind)
            if entry.orphaned_by != ended.finished.uid and not self.observer.lacks(
                resource, namespace, place.name
            ):
                return False, None
            obj = await self.observer.current(resource, namespace, place.name, client=client)
            if (
                obj is not None
                and not is_whole(obj)
                and entry.task in ended.earlier
                and _is_left(entry, obj, ended)
            ):
                # The cache may be behind what the earlier process has applied.
                obj = await self.observer.body(resource, namespace, place.name, client=client)
            return True, obj
        except NotLeading:
            raise
        except (KubeError, UnknownKind) as error:
            # A version that is not served any more says nothing of the object.
            if isinstance(error, NotFound):
                self.discovery.invalidate(entry.api_version)
            return False, None


def unknown(record: Record, ended: Ended) -> Left:
    """Return what a run has left behind of which it is not known what its version applies.

    No mark stays: what is marked may be deleted, and a plan of the version may apply it.
    """
    marked = frozenset(entry.place for entry in all_orphans(record))
    return Left(set(ended.removed), unmarked=marked)


def _is_left(entry: Entry, obj: JsonObject | None, ended: Ended) -> bool:
    """Return whether an entry that no task of this process has rendered is an orphan."""
    if entry.plan != ended.finished.plan or entry.task not in ended.earlier:
        return True
    # A cluster-scoped object has the mark of the Instance that applied it last.
    if obj is None or entry.cluster_scoped:
        return False
    return execution_of(obj) != ended.finished.uid


_NAMED: Final = 5


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Records what runs have deleted and left behind."""

    context: ReconcileContext
    accounts: Accounts
    search: OrphanSearch
    every_plan: EveryPlan

    async def record(
        self, instance: Instance, entry: PlanStatus, memory: RunMemory
    ) -> Record | None:
        """Write the record at the end of a run; return it, or None if there is none.

        Args:
            instance: The Instance.
            entry: The entry of the run, which is terminal.
            memory: Of the run.

        Raises:
            StillGoing: objects are read, or the record is being written.
            KubeError: the record could not be read or written.
        """
        if instance.metadata.deleting:
            return None
        try:
            return await self._record(instance, entry, memory)
        except NotLeading:
            raise
        except KubeError as error:
            if isinstance(error, Forbidden | NotFound):
                # The installation lacks a right or the CRD: told once, as nobody else would.
                text = (
                    f"what the run has left behind cannot be recorded, so it does not end: {error}"
                )
                advice = what_lacks(error)
                text = f"{text}; {advice}" if advice else text
                self.context.events.warning(instance, memory.uid, "InventoryNotWritten", text)
            raise

    async def _record(
        self, instance: Instance, entry: PlanStatus, memory: RunMemory
    ) -> Record | None:
        owner = identity(instance)
        record = await self.context.recorder.inventories.current(owner)
        if record is None:
            return None
        ended = _ended(entry, memory)
        if status_of(entry) is not ExecutionStatus.COMPLETE:
            return await self._write(owner, Left(set(ended.removed)), memory)
        if not self.search.may_leave(record, memory.version, ended):
            if not must_be_stored(record, memory.answers):
                return record
            return await self._write(owner, Left(), memory)
        # It may read many objects.
        return await self.context.operations.result(
            key_of(instance),
            FIND_ORPHANS,
            memory.uid,
            lambda: self._search(instance, record, ended, memory),
        )

    def tell(self, instance: Instance, version: OperatorVersion, uid: str) -> None:
        """Queue the event of the orphans of a run."""
        if instance.metadata.deleting or not instance.status.orphans:
            return
        owner = identity(instance)
        marked = [entry for entry in self.context.recorder.of(owner) if entry.orphaned_by == uid]
        if marked:
            text = f"{_text(marked)}; {_next(owner, pruned=prunes(instance, version))}"
            self.context.events.note(owner, uid, "Normal", "ObjectsOrphaned", text)

    async def _search(
        self, instance: Instance, record: Record, ended: Ended, memory: RunMemory
    ) -> Record:
        try:
            left = await self._left(instance, record, ended, memory)
        except TaskError as error:
            # An orphan is one only if that is certain. The next run of the plan tries it again.
            log.info("orphans not looked for", extra={"error": str(error)})
            left = unknown(record, ended)
        return await self._write(identity(instance), left, memory)

    async def _left(
        self, instance: Instance, record: Record, ended: Ended, memory: RunMemory
    ) -> Left:
        """Return what a run has left behind.

        Raises:
            TaskError: a task of a plan cannot be rendered, or the account cannot be used.
        """
        client = await self.accounts.acting(instance, memory.account)
        candidates = self.search.candidates(record, memory.version, ended)
        as_begun = memory.as_begun(instance)
        applied = await self.every_plan.applied(candidates, as_begun, memory)
        return await self.search.left(record, memory.version, ended, applied, client)

    async def _write(self, owner: InstanceIdentity, left: Left, memory: RunMemory) -> Record:
        return await self.context.recorder.ended(owner, left.changed, memory.answers)


def _ended(entry: PlanStatus, memory: RunMemory) -> Ended:
    """Return what is known of the tasks of a run.

    Of a task that another process has run, or whose result a retry took over, nothing is known
    here. Which of both it was is not recorded: in a retry it counts as taken over.
    """
    plan = memory.version.plans.get(memory.plan)
    rendered: dict[str, frozenset[Place]] = {}
    missing: set[str] = set()
    for ref, name in _tasks(plan):
        places = memory.rendered.get((ref, name))
        if places is None:
            missing.add(name)
        rendered[name] = rendered.get(name, frozenset()) | (places or frozenset())
    unknown = frozenset(missing if entry.retry_of else ())
    places_by_task = {name: places for name, places in rendered.items() if name not in unknown}
    finished = Finished(memory.plan, memory.uid, places_by_task, unknown)
    return Ended(finished, frozenset(missing) - unknown, _removed(memory))


def _removed(memory: RunMemory) -> frozenset[Place]:
    """Return what leaves the record since the run has deleted it.

    What the run has applied before, such as a Job that its plan cleans up, stays: it would be
    recorded and removed again by each run. A cluster-scoped object leaves it all the same, since
    its entry is a share, for which another Instance would keep the object.
    """
    applied = frozenset[Place]().union(*memory.rendered.values())
    return frozenset(
        place for place in memory.removed if not place.namespace or place not in applied
    )


def _tasks(plan: Plan | None) -> Iterator[tuple[StepRef, str]]:
    if plan is not None:
        for ref in steps_of(plan):
            for name in step_of(plan, ref).tasks:
                yield ref, name


def _text(entries: Iterable[Entry]) -> str:
    names = [str(entry.place) for entry in entries]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    what = "object is" if len(names) == 1 else "objects are"
    return f"{len(names)} {what} no longer applied: {', '.join(names[:_NAMED])}{more}"


def _next(owner: InstanceIdentity, *, pruned: bool) -> str:
    """Return what becomes of orphans; `prunes` tells whether they are deleted without a request."""
    if pruned:
        return "pruning is on, so what need not be kept is deleted next"
    return (
        f"`kubectl kudo prune --instance {owner.name} -n {owner.namespace} --dry-run=client` lists "
        "what would be deleted"
    )
