"""Records what the plans of Instances apply, before they apply it.

Inventories are written as the reconciler, never as the account of an Instance. See
docs/design/20261123.inventory.md, "When it is written". There may be thousands of entries, so the
event loop runs other tasks after some hundreds.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kubeio.cache.store import Delta
from kubeio.errors import Forbidden, KubeError, NotFound
from kubeio.leader_election.elector import NotLeading
from kudo.api import bounds
from kudo.api.identity import InstanceIdentity, identity
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects.inventory.record import (
    Entry,
    Place,
    Record,
    answered,
    can_be_recorded,
    continued,
    owner_of,
)
from kudo_reconciler.common.concurrency import KeyedLocks, paced
from kudo_reconciler.common.keys import INVENTORIES, Key
from kudo_reconciler.objects.damage import Damage, IgnoredEntries
from kudo_reconciler.objects.run_context import Answer, RunContext, check_may_write
from kudo_reconciler.store.inventories import Change, InventoryStore


@dataclass(slots=True)
class PlanEntries:
    """The entries of a plan.

    Attributes:
        record: The record that they were compared with.
        recorded: Objects of which another digest alone is no reason to write.
        entries: By place, without those that cannot be recorded.
        changed: Those that `record` does not have as they are, with what it knows of their objects.
        lacking: Whether one of them is a reason to write.
        refused: Whether some cannot be recorded.
    """

    record: Record
    recorded: Collection[Place]
    entries: dict[Place, Entry] = field(default_factory=dict)
    changed: list[Entry] = field(default_factory=list)
    lacking: bool = False
    refused: bool = False

    @classmethod
    async def of(
        cls, entries: Iterable[Entry], record: Record | None, context: RunContext
    ) -> "PlanEntries":
        """Compare entries with a record; of several of one object the last one counts."""
        planned = cls(record or Record(), context.recorded)
        namespace = context.instance.metadata.namespace
        async for entry in paced(entries):
            planned.entries[entry.place] = entry
        async for entry in paced(list(planned.entries.values())):
            planned._compare(entry, namespace)
        return planned

    @property
    def places(self) -> Iterable[Place]:
        return self.entries

    def merged(self, record: Record) -> Record:
        """Return a record with the entries; the same one if that is no reason to write."""
        if record.entries is self.record.entries:
            return record.merged(self.changed) if self.lacking else record
        # Somebody has changed it meanwhile, or a former leader did.
        entries = self.entries.values()
        if all(record.covers(entry, self.recorded) for entry in entries):
            return record
        return record.merged(entries)

    def _compare(self, entry: Entry, namespace: str) -> None:
        stored = self.record.get(entry.place)
        if entry.says_as_much_as(stored):
            return
        if not can_be_recorded(entry, namespace):
            self.refused = True
            del self.entries[entry.place]
            return
        self.changed.append(entry if stored is None else continued(entry, stored))
        self.lacking = self.lacking or not self.record.covers(entry, self.recorded)


async def covers(record: Record, entries: Iterable[Entry], recorded: Collection[Place]) -> bool:
    """Return whether a record has all entries; see `Record.covers`."""
    async for entry in paced(entries):
        if not record.covers(entry, recorded):
            return False
    return True


@dataclass(frozen=True, slots=True)
class Answers:
    """What the answers of a run tell of its objects.

    Attributes:
        of_objects: The answers.
        made: By place an entry that was on record, and with its answer.
    """

    of_objects: Mapping[Place, Answer]
    made: Mapping[Place, tuple[Entry, Entry]]

    @classmethod
    async def of(cls, answers: Mapping[Place, Answer], record: Record | None) -> "Answers":
        """Prepare to add answers to a record, which takes most of the time."""
        made, kept = dict[Place, tuple[Entry, Entry]](), dict(answers)
        if record is not None:
            async for place in paced(kept):
                entry = record.get(place)
                if entry is not None and _tells_more(kept[place], entry):
                    made[place] = entry, _with(entry, kept[place])
        return cls(kept, made)

    def added(self, record: Record) -> Record:
        """Return a record with the answers."""
        return record.merged(self._changed(record))

    def _changed(self, record: Record) -> Iterator[Entry]:
        for place, answer in self.of_objects.items():
            entry = record.get(place)
            if entry is None or not _tells_more(answer, entry):
                continue
            before, after = self.made.get(place, (None, entry))
            yield after if before is entry else _with(entry, answer)


def _tells_more(answer: Answer, entry: Entry) -> bool:
    return (entry.uid, entry.adopted) != answer


def _with(entry: Entry, answer: Answer) -> Entry:
    return answered(entry, answer.uid, adopted=answer.adopted)


_POLICY: Final = "kudo-inventories"
"""The ValidatingAdmissionPolicy that denies writes of others; the chart and `init` install it."""

OtherTasks = Callable[[], Awaitable[Sequence[Entry]]]
"""Returns what a plan will apply, as far as it can be known now: the task's own and all others."""


@dataclass(frozen=True, slots=True)
class Recorder:
    """Keeps the records of Instances.

    Attributes:
        inventories: Reads and writes them.
        ignored: Tells of entries in them that are left out: before each write for a run.
        damage: What others have changed in them: each write restores it.
        locks: By uid of the Instance: steps of a plan run in parallel.
    """

    inventories: InventoryStore
    ignored: IgnoredEntries
    damage: Damage = field(default_factory=Damage)
    locks: KeyedLocks[str] = field(default_factory=KeyedLocks)

    def of(self, owner: InstanceIdentity) -> Record:
        """Return the record of an Instance as it is cached; empty if there is none."""
        return self.inventories.cached(owner) or Record()

    def is_damaged(self, owner: InstanceIdentity) -> bool:
        """Return whether others have changed the record of an Instance, until it is restored."""
        return self.damage.of(owner) is not None

    async def expect(
        self, context: RunContext, entries: Collection[Entry], others: OtherTasks
    ) -> None:
        """Have entries on record before their objects are sent.

        Nothing is recorded for an Instance that is being deleted and has no record: it may be gone
        with the namespace, in which nothing can be created, or with a deletion in the foreground.

        Args:
            context: The run.
            entries: What a task is about to apply.
            others: Called if something is missing on record, so that one write records it all.

        Raises:
            FatalTaskError: the Instance would have too many objects.
            TransientTaskError: the record could not be written; nothing may be sent.
            Superseded, Suspended: the run may not write any more.
        """
        owner = identity(context.instance)
        self.ignored.tell(owner)
        # Steps run in parallel: the first records what the whole plan applies, the others find it.
        async with self.locks.of(owner.uid):
            if await self._covers(owner, entries, context.recorded):
                return
            entries, cached = await others(), self.inventories.cached(owner)
            planned = await PlanEntries.of(entries, cached, context)
            answers = await Answers.of(context.answers, cached)
            try:
                await self._restoring(
                    owner, lambda record: self._expecting(context, owner, planned, answers, record)
                )
            except NotLeading:
                raise
            except KubeError as error:
                # Without its cause: that the account of the run lacks a right would be told
                # otherwise.
                raise _task_error(owner, error) from None
            context.recorded.update(planned.places)

    async def ended(
        self, owner: InstanceIdentity, change: Change, answers: dict[Place, Answer]
    ) -> Record:
        """Change the record at the end of a run, and return it.

        Args:
            owner: The Instance.
            change: What leaves the record, and what becomes an orphan.
            answers: What is known of the objects that the run has applied: it is stored if
                something else is, if the run has adopted one of them, or if others may share it.

        Raises:
            KubeError: a request failed.
        """
        self.ignored.tell(owner)
        prepared = await Answers.of(answers, self.inventories.cached(owner))

        def with_answers(record: Record) -> Record:
            after = change(record)
            unchanged = after == record and not must_be_stored(record, answers)
            return after if unchanged else prepared.added(after)

        return await self.save(owner, with_answers)

    async def save(self, owner: InstanceIdentity, change: Change) -> Record:
        """Change the record of an Instance; see `InventoryStore.save`."""
        # Each change is computed from what the one before has stored.
        async with self.locks.of(owner.uid):
            return await self._restoring(owner, change)

    def forget(self, key: Key) -> None:
        """Forget what is known of an Instance that does not exist any more."""
        self.damage.forget(key)
        self.ignored.forget(key)

    def changed_by_others(self, uid: str, delta: Delta) -> InstanceIdentity | None:
        """Process a change of an Inventory that is no own write.

        What was stored before this term may be a late event of a former leader's write. So may the
        first Inventory of an Instance that has none: there is nothing to restore.

        Args:
            uid: Of the Instance.
            delta: The change.

        Returns:
            The Instance if its record was changed.
        """
        owner = _owner(uid, delta)
        if owner is None:
            return None
        inventories = self.inventories
        if delta.kind != "deleted" and (
            not inventories.freshness.is_of_this_term(delta.object)
            or inventories.is_own(uid, delta.object)
        ):
            return None
        before, after = self.inventories.change(owner, delta)
        if before in (after, Record()):
            return None
        self.damage.add(owner, before, after)
        return owner

    async def _covers(
        self, owner: InstanceIdentity, entries: Collection[Entry], recorded: Collection[Place]
    ) -> bool:
        """Return whether entries are on record as they are, also by what former leaders wrote.

        Random content of an object is rendered anew at each turn: for the digest alone, what this
        run has put on record is not written again. What somebody else has written is about to be
        taken back, so it covers nothing.
        """
        if self.is_damaged(owner):
            return False
        record = self.inventories.cached(owner)
        if record is None or not await covers(record, entries, recorded):
            return False
        try:
            record = await self.inventories.current(owner)
        except NotLeading:
            raise
        except KubeError as error:
            raise _task_error(owner, error) from None
        return record is not None and await covers(record, entries, recorded)

    def _expecting(
        self,
        context: RunContext,
        owner: InstanceIdentity,
        planned: PlanEntries,
        answers: Answers,
        record: Record,
    ) -> Record:
        check_may_write(context)
        begins = self.inventories.cached(owner) is None
        if begins and context.instance.metadata.deleting:
            return record
        complete = record.complete or (begins and context.is_first_run)
        complete = complete and not planned.refused
        changed = planned.merged(record)
        if changed is record and complete == record.complete:
            # Of an object of two tasks one is on record: the other one does not write for its sake.
            return record
        if len(changed) > max(bounds.INSTANCE_OBJECTS, len(record)):
            text = (
                f"the Instance would have {len(changed):,} objects on record, and "
                f"{bounds.INSTANCE_OBJECTS:,} is the limit: have several Instances apply them, or "
                "delete what no plan applies any more (kubectl kudo get objects shows it)"
            )
            raise FatalTaskError("TooManyObjects", text)
        return answers.added(replace(changed, complete=complete))

    async def _restoring(self, owner: InstanceIdentity, change: Change) -> Record:
        """Save a change, and with it what somebody else has taken from the record."""
        damage = self.damage.of(owner)
        if damage is None:
            return await self.inventories.save(owner, change)
        record = await self.inventories.save(owner, lambda record: change(damage.repaired(record)))
        self.damage.is_repaired(owner, damage)
        return record


def _owner(uid: str, delta: Delta) -> InstanceIdentity | None:
    states = [delta.object] if delta.old is None else [delta.object, delta.old]
    owners = (owner_of(obj["metadata"]) for obj in states)
    return next((owner for owner in owners if owner is not None and owner.uid == uid), None)


def must_be_stored(record: Record, answers: Mapping[Place, Answer]) -> bool:
    """Return whether the record lacks what an answer tells, and others count on it.

    It was written before that could be known. So it is once for an object that was adopted, and for
    a cluster-scoped one, which Instances share once they have applied it.
    """
    for place, answer in answers.items():
        entry = record.get(place)
        if entry is None:
            continue
        if (answer.adopted and not entry.adopted) or (entry.shared and entry.uid != answer.uid):
            return True
    return False


def _task_error(owner: InstanceIdentity, error: KubeError) -> TransientTaskError:
    what = f"what it applies cannot be recorded in namespace {owner.namespace}"
    text = f"{what}, so nothing is sent: {error}"
    advice = what_lacks(error)
    return TransientTaskError("InventoryNotWritten", f"{text}; {advice}" if advice else text)


def what_lacks(error: KubeError) -> str:
    """Return what to do; empty if the error tells it, as an exceeded quota does."""
    if isinstance(error, NotFound):
        return f"the CustomResourceDefinition {INVENTORIES.name} of this release is needed"
    if not isinstance(error, Forbidden):
        return ""
    if f"'{_POLICY}'" in error.message:
        return (
            f"the policy {_POLICY} expects another ServiceAccount of the reconciler: "
            "see Inventories in docs/installing.md"
        )
    if " cannot " in error.message:  # so says RBAC alone
        return (
            "the ServiceAccount of the reconciler needs get, list, watch, create and update on "
            f"{INVENTORIES.name}: upgrade the installation of KUDO"
        )
    return ""
