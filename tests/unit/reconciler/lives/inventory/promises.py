"""What records of Instances promise at each write, and once all is at rest; no tests of its own.

See docs/design/20261123.inventory.md. Each promise is a function over what was seen; it raises
AssertionError if it is broken.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from kubeio.types import JsonObject
from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.objects.adoption import retained_by
from kudo.objects.inventory.record import Entry, Place
from kudo.objects.sharing import is_listed

_HOLD_DATA: Final = frozenset(
    {
        ("", "Namespace"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)
MOST_WRITES: Final = 2
"""Of a run: one before its first creation, one at its end."""


# What is created


def what_is_created_is_on_record(place: Place, recorded: Collection[Place]) -> None:
    """The reconciler has put an object on record before it creates it."""
    assert place in recorded, f"{place} is created before it is on record"


# What is deleted


@dataclass(frozen=True, slots=True)
class Deletion:
    """A deletion by the reconciler that no Delete or Toggle task asks for.

    Attributes:
        one: The Instance that it is done for.
        metadata: Of the object, before.
        entry: On record; None if there is none.
        completed: Whether the last run of the Instance, or that which left an orphan, is COMPLETE.
        permitted: Whether somebody has asked for it: a version, the Instance, a user.
        sharers: The other Instances that live and share the object.
        applied_since: Whether the object was applied after it had been marked as an orphan.
        deleting: Whether the Instance is being deleted, or gone.
    """

    one: InstanceIdentity
    place: Place
    metadata: JsonObject
    entry: Entry | None
    completed: bool = True
    permitted: bool = True
    sharers: Collection[InstanceIdentity] = ()
    applied_since: bool = False
    deleting: bool = False


def nothing_of_others_is_deleted(found: Deletion) -> None:
    """The object itself says whose it is; the record says who shares one of the cluster."""
    assert _is_ours(found), f"{found.place} is not of {found.one}, and is deleted"


def _is_ours(found: Deletion) -> bool:
    if not found.place.namespace:
        return found.entry is not None or is_listed(found.metadata, found.one)
    return controller_of(found.metadata) == found.one.uid


def nothing_retained_is_deleted(found: Deletion) -> None:
    annotations = found.metadata.get("annotations") or {}
    policy = annotations.get(names.ANNOTATION_DELETION_POLICY)
    kept = policy == names.RETAIN or retained_by(found.metadata) is not None
    assert not kept, f"{found.place} is retained, and is deleted"


def nothing_shared_is_deleted(found: Deletion) -> None:
    others = sorted(map(str, found.sharers))
    assert not others, f"{found.place} is shared with {others}, and is deleted"


def nothing_that_was_applied_since_is_deleted(found: Deletion) -> None:
    """What a later task has applied is no orphan any more."""
    since = found.applied_since and not found.deleting
    assert not since, f"{found.place} was applied after it became an orphan, and is deleted"


def nothing_is_deleted_on_a_guess(found: Deletion) -> None:
    """It is on record as an orphan, and the last run is COMPLETE."""
    if found.deleting:
        return
    entry = found.entry
    assert entry is not None, f"{found.place} is not on record, and is deleted"
    assert entry.orphaned_by, f"{found.place} is no orphan, and is deleted"
    assert found.completed, f"{found.place} is deleted, but {entry.orphaned_by} is not COMPLETE"


def nothing_is_pruned_unasked(found: Deletion) -> None:
    asked = found.permitted or found.deleting
    assert asked, f"{found.place} is deleted, and nobody has asked for that"


def nothing_that_holds_data_is_pruned(found: Deletion) -> None:
    annotations = found.metadata.get("annotations") or {}
    holds = (found.place.group, found.place.kind) in _HOLD_DATA
    permitted = annotations.get(names.ANNOTATION_PRUNE) == "true" and not found.deleting
    assert not holds or permitted, f"{found.place} holds data, and is deleted"


def nothing_that_existed_before_is_deleted(found: Deletion) -> None:
    adopted = found.entry is not None and found.entry.adopted
    assert not adopted, f"{found.place} was adopted, and is deleted"


OF_DELETIONS: Final[tuple[Callable[[Deletion], None], ...]] = (
    nothing_of_others_is_deleted,
    nothing_retained_is_deleted,
    nothing_shared_is_deleted,
    nothing_that_was_applied_since_is_deleted,
    nothing_is_deleted_on_a_guess,
    nothing_is_pruned_unasked,
    nothing_that_holds_data_is_pruned,
    nothing_that_existed_before_is_deleted,
)


# How records are written

Entries = Mapping[Place, Entry]


@dataclass(frozen=True, slots=True)
class RecordWrite:
    """A write of an Inventory by the reconciler.

    Attributes:
        before: What was on record; None if the Inventory is created.
        after: What is on record now.
        run: uid of the run at work; empty if there is none.
        applied: What the run has applied so far.
    """

    before: Entries | None
    after: Entries
    run: str = ""
    applied: Collection[Place] = ()


def a_write_says_something_new(write: RecordWrite) -> None:
    """uids are filled in with other changes of a run, but those of what others may share."""
    if write.before is None or not write.run:
        return
    old, new = (
        {
            place: replace(entry, uid="") if place.namespace else entry
            for place, entry in all_of.items()
        }
        for all_of in (write.before, write.after)
    )
    assert old != new, "the record is written, and says the same as before"


def what_a_run_has_applied_is_no_orphan_of_it(write: RecordWrite) -> None:
    marked = {place for place, entry in write.after.items() if entry.orphaned_by == write.run}
    wrong = sorted(map(str, marked & {*write.applied})) if write.run else []
    assert not wrong, f"{wrong} are orphans of the run that has applied them"


def marks_are_only_taken_off_by_applying(write: RecordWrite) -> None:
    """An orphan stays one, of the same run, until it is about to be applied or leaves the record.

    A mark that goes without a plan and a task that apply the object would never come back.
    """
    for place, old in (write.before or {}).items():
        new = write.after.get(place)
        if new is not None and old.orphaned_by and new.orphaned_by != old.orphaned_by:
            assert not new.orphaned_by, f"{place} becomes an orphan again"
            applied = bool(new.plan and new.task)
            assert applied, f"{place} is no orphan any more, and nobody applies it"


OF_WRITES: Final[tuple[Callable[[RecordWrite], None], ...]] = (
    a_write_says_something_new,
    what_a_run_has_applied_is_no_orphan_of_it,
    marks_are_only_taken_off_by_applying,
)


def a_run_writes_the_record_twice_at_most(run: str, writes: int) -> None:
    """Once before its first creation, and once at its end."""
    assert writes <= MOST_WRITES, f"run {run} writes the record {writes} times"


# At rest


@dataclass(frozen=True, slots=True)
class AtRest:
    """An Instance to which nothing happens any more, whose last run is COMPLETE.

    Attributes:
        run: uid of its last run.
        plan: The plan of that run.
        objects: What is there and carries its uid or its share, as stored.
        excepted: What users created, deleted or changed by hand.
        elsewhere: What other plans of the version may apply.
        certain: Whether nothing of the run was taken over from another one, so that all that it
            rendered was applied in it.
        prunes: Whether orphans are deleted.
        sharers: The other Instances that live and share an object.
    """

    one: InstanceIdentity
    run: str
    plan: str
    entries: Entries
    objects: Mapping[Place, JsonObject]
    excepted: Collection[Place] = ()
    elsewhere: Collection[Place] = ()
    certain: bool = True
    prunes: bool = True
    sharers: Mapping[Place, Collection[InstanceIdentity]] = field(default_factory=dict)


def what_is_ours_is_on_record(found: AtRest) -> None:
    missing = {*found.objects} - {*found.entries} - {*found.excepted}
    assert not missing, f"{_named(missing)} are there, but not on record"


def what_is_on_record_exists(found: AtRest) -> None:
    """That is, what plans applied and still apply is not missing."""
    missing = {*found.entries} - {*found.objects} - {*found.excepted}
    assert not missing, f"{_named(missing)} are on record, but not there"


def what_is_dropped_is_an_orphan(found: AtRest) -> None:
    """What the plan has applied in an earlier run and not in its last one, is an orphan, or gone.

    What another plan of the version may apply need not be one.
    Cluster-scoped objects keep the marks of the Instance that applied them last.
    """
    if not found.certain:
        return
    for place, obj in found.objects.items():
        annotations = obj["metadata"].get("annotations") or {}
        entry = found.entries.get(place)
        if not place.namespace or place in found.excepted or entry is None or not entry.task:
            continue
        if annotations.get(names.ANNOTATION_PLAN) == found.plan == entry.plan:
            dropped = annotations.get(names.ANNOTATION_PLAN_UID) != found.run
            if dropped and place in found.elsewhere:
                continue
            assert bool(entry.orphaned_by) == dropped, (
                f"{place} was applied by {annotations.get(names.ANNOTATION_PLAN_UID)}, "
                f"run {found.run} of the same plan is COMPLETE: orphan of {entry.orphaned_by!r}"
            )


def what_is_pruned_is_gone(found: AtRest) -> None:
    """What the rules permit to delete is deleted."""
    if not found.prunes:
        return
    for place, entry in found.entries.items():
        obj = found.objects.get(place)
        if not entry.orphaned_by or obj is None or place in found.excepted:
            continue
        sharers = found.sharers.get(place, ())
        kept = Deletion(found.one, place, obj["metadata"], entry, sharers=sharers)
        assert _is_kept(kept), f"{place} is an orphan that could be deleted, and is there"


def _is_kept(found: Deletion) -> bool:
    for promise in (
        nothing_of_others_is_deleted,
        nothing_retained_is_deleted,
        nothing_shared_is_deleted,
        nothing_that_holds_data_is_pruned,
        nothing_that_existed_before_is_deleted,
    ):
        try:
            promise(found)
        except AssertionError:
            return True
    return found.place.group == names.GROUP


OF_REST: Final[tuple[Callable[[AtRest], None], ...]] = (
    what_is_ours_is_on_record,
    what_is_on_record_exists,
    what_is_dropped_is_an_orphan,
    what_is_pruned_is_gone,
)


def controller_of(metadata: JsonObject) -> str:
    """Return the uid of the controller of an object; empty if it has none."""
    owners = metadata.get("ownerReferences") or ()
    return next((str(owner["uid"]) for owner in owners if owner.get("controller")), "")


def _named(places: Collection[Place]) -> str:
    return ", ".join(sorted(map(str, places)))
