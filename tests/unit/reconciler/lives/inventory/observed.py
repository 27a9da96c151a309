"""Follows Inventories and the objects that plans apply, and holds them against the promises.

No tests of its own. What users do to Inventories by hand counts as not done: the promises are about
what the reconciler has put on record.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

import orjson
from pydantic import ValidationError

from kubeio.types import JsonObject
from kudo.api import ExecutionStatus, Instance, OperatorVersion, Task, names
from kudo.api.identity import InstanceIdentity, identity
from kudo.objects.adoption import retained_by
from kudo.objects.inventory.orphans import prunes
from kudo.objects.inventory.record import Entry, Place, owner_of, read_entries
from kudo.objects.sharing import is_listed, sharers
from kudo.plans.execution import status_of, step_of, steps_of
from tests.support.apiserver.cluster import moment
from tests.support.apiserver.server import ApiServer, Request
from tests.support.apiserver.storage import Revision, StorageName
from tests.support.instance_admission import RECONCILER
from tests.support.world.outcomes import is_of_job_task
from tests.unit.reconciler.lives.inventory.promises import (
    OF_DELETIONS,
    OF_REST,
    OF_WRITES,
    AtRest,
    Deletion,
    RecordWrite,
    a_run_writes_the_record_twice_at_most,
    controller_of,
    what_is_created_is_on_record,
)

INSTANCES: Final = (names.GROUP, "instances")
INVENTORIES: Final = (names.GROUP, "inventories")
VERSIONS: Final = (names.GROUP, "operatorversions")
_NOT_OF_PLANS: Final = frozenset({("", "events"), ("", "pods"), INVENTORIES, VERSIONS})
"""Pods are those of Pipe tasks: they go with their task, and stand in no record. Nor do the Jobs of
Job tasks."""
_ON_ITS_WAY: Final = timedelta(seconds=60)
"""After which the reconciler has heard of a change, and what it sent before has arrived."""
_BY_NAME: Final = frozenset({"Delete", "Toggle"})

Versions = Callable[[Instance], tuple[OperatorVersion, ...]]


@dataclass
class Known:
    """What is known of one Instance, by its uid.

    Attributes:
        instance: As it was stored last.
        shards: What the reconciler has put on record, by name of the Inventory.
        marked: The resourceVersion at which an object became an orphan.
        applied: What it has applied, and the resourceVersion of that.
        edited: Whether somebody else has written or deleted an Inventory of it.
        pruned_until: Until when orphans may be deleted; None if nobody has asked for it yet.
        ever_deleted: Whether its deletion has begun.
    """

    one: InstanceIdentity
    instance: Instance
    shards: dict[str, dict[Place, Entry]] = field(default_factory=dict)
    marked: dict[Place, int] = field(default_factory=dict)
    applied: dict[Place, int] = field(default_factory=dict)
    edited: bool = False
    pruned_until: datetime | None = None
    ever_deleted: bool = False

    @property
    def entries(self) -> dict[Place, Entry]:
        found: dict[Place, Entry] = {}
        for shard in self.shards.values():
            found |= shard
        return found


@dataclass
class Records:
    """All records.

    Attributes:
        versions: Returns each OperatorVersion that an Instance may use or have used.
        by_task: Objects that a task has deleted by name, and that nobody has applied since.
        cleaned_up: Those among them that the same run had applied.
        interrupted: Whether a process has died or lost its term in the midst of a run.
    """

    server: ApiServer
    versions: Versions
    known: dict[str, Known] = field(default_factory=dict)
    by_run: defaultdict[str, set[Place]] = field(default_factory=lambda: defaultdict(set))
    by_hand: dict[Place, int] = field(default_factory=dict)
    complete: set[str] = field(default_factory=set)
    writes: Counter[str] = field(default_factory=Counter)
    disturbed: set[str] = field(default_factory=set)
    by_task: set[Place] = field(default_factory=set)
    cleaned_up: set[Place] = field(default_factory=set)
    interrupted: bool = False

    # What is seen

    def follow(self, name: StorageName, revision: Revision) -> None:
        """Take up a change.

        Raises:
            AssertionError: a promise is broken.
        """
        if name == INVENTORIES:
            self._inventory(revision)
            return
        if name == INSTANCES:
            self._instance(revision)
        if name == VERSIONS:
            found = filter(None, map(_instance_of, self._instances()))
            scheduled = [instance.scheduled for instance in found]
            self.disturbed |= {run.uid or "" for run in scheduled if run.plan_name}
            self._note_permissions()
        if name not in _NOT_OF_PLANS and not is_of_job_task(revision.new):
            self._object(name, revision)

    def _instance(self, revision: Revision) -> None:
        instance = _instance_of(revision.new)
        if instance is None:
            return
        one = identity(instance)
        known = self.known.setdefault(one.uid, Known(one, instance))
        known.instance = instance
        known.ever_deleted |= revision.deleted or instance.metadata.deleting
        for entry in instance.plan_status.values():
            if entry.uid and status_of(entry) is ExecutionStatus.COMPLETE:
                self.complete.add(entry.uid)
        if revision.old is not None and revision.old["spec"] != revision.new["spec"]:
            old = _instance_of(revision.old) or instance
            self.disturbed |= {old.scheduled.uid or "", instance.scheduled.uid or ""}
        self._note_permissions()

    def _note_permissions(self) -> None:
        """Note which Instances may be pruned from now on, and for how long yet."""
        for raw in self._instances():
            instance = _instance_of(raw)
            if instance is None:
                continue
            known = self.known[instance.metadata.uid]
            if self._may_prune(instance, raw):
                known.pruned_until = datetime.max.replace(tzinfo=moment().tzinfo)
            elif known.pruned_until is not None:
                known.pruned_until = min(known.pruned_until, moment() + _ON_ITS_WAY)

    def _may_prune(self, instance: Instance, raw: JsonObject) -> bool:
        annotations = raw["metadata"].get("annotations") or {}
        asked = names.ANNOTATION_PRUNE_REQUESTED in annotations
        return asked or any(prunes(instance, one) for one in self.versions(instance))

    def _inventory(self, revision: Revision) -> None:
        # The garbage collector takes the owner away if objects are to be left.
        states = [state["metadata"] for state in (revision.new, revision.old) if state is not None]
        one = next(filter(None, map(owner_of, states)), None)
        if one is None:
            return
        known, name = self.known[one.uid], revision.new["metadata"]["name"]
        request = self.server.serving
        if request is None:
            if revision.old is None:  # stored before the world began
                known.shards[name] = {entry.place: entry for entry in read_entries(revision.new)[0]}
            else:  # collected with its Instance
                known.shards.pop(name, None)
            return
        if request.user != RECONCILER:
            known.edited = True
            return
        before = None if revision.old is None else known.shards.get(name, {})
        after = {entry.place: entry for entry in read_entries(revision.new)[0]}
        known.shards[name] = after
        for place, entry in after.items():
            if not entry.orphaned_by:
                known.marked.pop(place, None)
            elif place not in known.marked:
                known.marked[place] = revision.version
        run = self._run(one)
        write = RecordWrite(before, after, run, self.by_run[run])
        if not known.edited:
            self._hold_write(write)

    def _hold_write(self, write: RecordWrite) -> None:
        if write.run in self.disturbed:
            return
        for promise in OF_WRITES:
            promise(write)
        if write.run:
            self.writes[write.run] += 1

    def _run(self, one: InstanceIdentity) -> str:
        """Return the uid of the run of an Instance that is at work."""
        raw = self.server.storage.table(INSTANCES).objects.get((one.namespace, one.name))
        if raw is None or raw["metadata"]["uid"] != one.uid:
            return ""
        scheduled = Instance.from_wire(raw).scheduled
        return (scheduled.uid or "") if scheduled.plan_name else ""

    # Objects of plans

    def _object(self, name: StorageName, revision: Revision) -> None:
        request = self.server.serving
        if request is None:
            return
        place = self.place(name, revision.new)
        if request.user != RECONCILER:
            if name != INSTANCES:
                self.by_hand[place] = revision.version
            return
        if request.method == "DELETE":
            self._deleted(place, revision)
        elif "apply" in request.content_type:
            self._applied(place, revision, request)

    def place(self, name: StorageName, obj: JsonObject) -> Place:
        metadata = obj["metadata"]
        kind = self.server.registry.of(name).kind
        return Place(name[0], kind, metadata.get("namespace") or "", metadata["name"])

    def _applied(self, place: Place, revision: Revision, request: Request) -> None:
        body = orjson.loads(request.body)["metadata"]
        known = self._applier(place, body)
        if known is None:
            return
        if revision.old is None and not (known.ever_deleted and not self._has_record(known.one)):
            # An Instance that is being deleted begins no record: it may be gone with the namespace.
            what_is_created_is_on_record(place, known.entries)
        known.applied[place] = revision.version
        self.by_task.discard(place)
        self.cleaned_up.discard(place)
        run = (body.get("annotations") or {}).get(names.ANNOTATION_PLAN_UID)
        # What was sent before the run is stored may be of a version that was edited since.
        if run and place.namespace and run in _stored_runs(known.instance):
            self.by_run[run].add(place)

    def _has_record(self, one: InstanceIdentity) -> bool:
        stored = self.server.storage.table(INVENTORIES).objects.values()
        return any(owner_of(obj["metadata"]) == one for obj in stored)

    def _applier(self, place: Place, metadata: JsonObject) -> Known | None:
        """Return the Instance that applies an object."""
        if not place.namespace:
            label = (metadata.get("labels") or {}).get(names.LABEL_INSTANCE)
            named = [one.uid for one in sharers(metadata) if one.name == label]
            return self.known.get(named[0]) if named else None
        retention = retained_by(metadata)
        uid = retention.uid if retention is not None else controller_of(metadata)
        return self.known.get(uid)

    def _deleted(self, place: Place, revision: Revision) -> None:
        old = revision.old
        if old is None or old["metadata"].get("deletionTimestamp"):
            return
        if self._by_name(place):
            self.by_task.add(place)
            at_work = self.by_run.keys() - self.complete
            if any(place in self.by_run[run] for run in at_work):
                self.cleaned_up.add(place)
            return
        known = self._deleter(place, old["metadata"])
        assert known is not None, f"{place} is nobody's, and is deleted"
        found = Deletion(
            known.one,
            place,
            old["metadata"],
            known.entries.get(place),
            completed=self._has_completed(known, place),
            permitted=known.pruned_until is not None and moment() <= known.pruned_until,
            sharers=self._other_sharers(known.one, place, old["metadata"]),
            applied_since=known.applied.get(place, 0) > known.marked.get(place, 0),
            deleting=known.ever_deleted,
        )
        for promise in OF_DELETIONS:
            promise(found)

    def _has_completed(self, known: Known, place: Place) -> bool:
        """Return whether the last run of an Instance is COMPLETE, or that which left an orphan."""
        entry, last = known.entries.get(place), known.instance.status.last_run
        runs = {entry.orphaned_by if entry is not None else "", (last.uid if last else "") or ""}
        return bool(self.complete & runs)

    def _deleter(self, place: Place, metadata: JsonObject) -> Known | None:
        """Return the Instance for which an object is deleted."""
        if place.namespace:
            return self.known.get(controller_of(metadata))
        leaving = [one for one in self.known.values() if _is_leaving(one, place)]
        named = [self.known[one.uid] for one in sharers(metadata) if one.uid in self.known]
        going = [one for one in named if one.ever_deleted or place in one.marked]
        return next(iter([*leaving, *going, *named]), None)

    def _other_sharers(
        self, one: InstanceIdentity, place: Place, metadata: JsonObject
    ) -> list[InstanceIdentity]:
        """Return the others that live and share a cluster-scoped object.

        Of a record that somebody else has written nothing is known.
        """
        if place.namespace:
            return []
        living = {*map(identity, filter(None, map(_instance_of, self._instances())))}
        others = [self.known[other.uid] for other in living - {one}]
        on_record = [each.one for each in others if not each.edited and _has_share(each, place)]
        unrecorded = [each.one for each in others if not self._has_record(each.one)]
        return [*on_record, *(each for each in unrecorded if is_listed(metadata, each))]

    def _by_name(self, place: Place) -> bool:
        """Return whether a Delete or Toggle task of a version names an object."""
        return any(
            place.name in _names_in(version, known.one.name)
            for known in self.known.values()
            for version in self.versions(known.instance)
        )

    def _instances(self) -> Iterator[JsonObject]:
        for raw in tuple(self.server.storage.table(INSTANCES).objects.values()):
            if not raw["metadata"].get("deletionTimestamp"):
                yield raw

    # At rest

    def assert_few_writes(self) -> None:
        """Hold the writes of each run against the promise; templates must render the same twice.

        Raises:
            AssertionError: it is broken.
        """
        for run, writes in self.writes.items():
            if run not in self.disturbed:
                a_run_writes_the_record_twice_at_most(run, writes)

    def at_rest(self, instance: Instance) -> AtRest | None:
        """Return what there is of an idle Instance; None if its last run is not COMPLETE.

        None also if others edited its record: what is restored then depends on what was known.
        """
        last, one = instance.status.last_run, identity(instance)
        known = self.known[one.uid]
        entry = instance.plan_status.get(last.plan or "") if last is not None else None
        if last is None or entry is None or known.edited or instance.suspended:
            return None
        if entry.uid != last.uid or status_of(entry) is not ExecutionStatus.COMPLETE:
            return None
        objects = dict(self._objects_of(known))
        never = {place for place in known.entries if place not in known.applied}
        by_hand = {place for place, at in self.by_hand.items() if at > known.applied.get(place, 0)}
        # A process that dies after a Delete task has ended takes what it deleted along: the next
        # run of the plan takes it off the record.
        # What a run has applied before stays on record: the run after it makes it again.
        forgotten = self.by_task if self.interrupted else self.cleaned_up
        version = self.versions(instance)
        return AtRest(
            one,
            last.uid or "",
            entry.name,
            known.entries,
            objects,
            excepted={*by_hand, *never, *forgotten},
            elsewhere={
                place
                for place in known.entries
                if any(place.name in _others(each, entry.name, one.name) for each in version)
            },
            certain=not entry.retry_of,
            prunes=bool(version) and all(prunes(instance, each) for each in version),
            sharers={
                place: self._other_sharers(one, place, obj["metadata"])
                for place, obj in objects.items()
            },
        )

    def _objects_of(self, known: Known) -> Iterator[tuple[Place, JsonObject]]:
        for name, obj in self.server.storage.everything():
            if name in _NOT_OF_PLANS or is_of_job_task(obj):
                continue
            place, metadata = self.place(name, obj), obj["metadata"]
            retention = retained_by(metadata)
            ours = controller_of(metadata) == known.one.uid or is_listed(metadata, known.one)
            ours |= retention is not None and retention.uid == known.one.uid
            entry = known.entries.get(place)
            if ours or (entry is not None and entry.adopted):
                yield place, obj


def _has_share(known: Known, place: Place) -> bool:
    entry = known.entries.get(place)
    return entry is not None and not entry.leaving


def _is_leaving(known: Known, place: Place) -> bool:
    entry = known.entries.get(place)
    return entry is not None and entry.leaving


def _instance_of(raw: JsonObject) -> Instance | None:
    """Return an Instance; None if it has another shape, as one by hand may have."""
    try:
        return Instance.from_wire(raw)
    except ValidationError:
        return None


def assert_records_at_rest(records: Records, instance: Instance) -> None:
    """Hold what is there of an idle Instance against the promises.

    Raises:
        AssertionError: one of them is broken.
    """
    found = records.at_rest(instance)
    if found is None:
        return
    for promise in OF_REST:
        promise(replace(found))


def _stored_runs(instance: Instance) -> set[str]:
    """Return the uids of the runs of which a status is stored."""
    return {entry.uid for entry in instance.plan_status.values() if entry.uid}


def _names_in(version: OperatorVersion, instance: str) -> set[str]:
    """Return the names in the templates of the Delete and Toggle tasks of a version."""
    tasks = version.spec.tasks or ()
    return _names_of((task for task in tasks if task.kind in _BY_NAME), version, instance)


def _others(version: OperatorVersion, plan: str, instance: str) -> set[str]:
    """Return the names in the templates of what all plans but one may apply."""
    others = [each for name, each in version.plans.items() if name != plan]
    used = {name for one in others for ref in steps_of(one) for name in step_of(one, ref).tasks}
    tasks = (task for task in version.spec.tasks or () if task.name in used)
    return _names_of((task for task in tasks if task.kind != "Delete"), version, instance)


def _names_of(tasks: Iterable[Task], version: OperatorVersion, instance: str) -> set[str]:
    """Return the words in the templates of tasks."""
    templates = version.spec.templates or {}
    used = {resource for task in tasks for resource in task.spec.resources or ()}
    words = set[str]()
    for template in used:
        text = (templates.get(template) or "").replace("{{ .Name }}", instance)
        for mark in '",:{}[]\n':
            text = text.replace(mark, " ")
        words |= {*text.split()}
    return words
