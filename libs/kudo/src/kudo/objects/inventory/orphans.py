"""Orphans: objects on record that no plan applies any more.

See docs/design/20261123.inventory.md, "Orphans". An object is one only if that is certain: what
cannot be known stays what it is. The rules here find what may have become one; whether another plan
of the version applies it is known only after rendering.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from kudo.api import OperatorVersion, Orphan, Plan
from kudo.objects.inventory.record import Entry, Place, Record

MOST_IN_STATUS: Final = 20


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that is COMPLETE.

    Attributes:
        plan: The plan.
        uid: Of the run.
        rendered: The objects that each task has rendered in it, of all its steps.
        unknown: Tasks of which that is not known, or not of all steps: a retry took their result
            over. The run then makes no orphans: an object may have moved to one of them that has
            not run since. A task that is neither here nor in `rendered` counts as not known, too.
    """

    plan: str
    uid: str
    rendered: Mapping[str, frozenset[Place]]
    unknown: frozenset[str] = frozenset()


def orphans(record: Record, version: OperatorVersion, finished: Finished) -> tuple[Entry, ...]:
    """Return the entries that have become orphans if no plan applies them, marked with the run.

    Those that were orphans before keep the mark of an earlier run, and are not among them.

    Args:
        record: Of the Instance.
        version: The OperatorVersion that is in force.
        finished: Its last run.
    """
    if finished.unknown:
        return ()
    used = {name: frozenset(_tasks_of(plan)) for name, plan in version.plans.items()}
    anywhere = frozenset().union(*used.values())
    rendered = frozenset().union(*finished.rendered.values())

    def is_orphan(entry: Entry) -> bool:
        if entry.orphaned_by or not entry.plan or not entry.task:
            return False
        if entry.place in rendered:
            return False  # whichever task rendered it: it is about to be on record for that one
        if entry.plan not in used or entry.task not in anywhere:
            return True
        return entry.plan == finished.plan and (
            entry.task not in used[entry.plan] or entry.task in finished.rendered
        )

    return tuple(replace(entry, orphaned_by=finished.uid) for entry in record if is_orphan(entry))


def all_orphans(record: Record) -> tuple[Entry, ...]:
    """Return the entries that are orphans, in the order of the record."""
    return tuple(entry for entry in record if entry.orphaned_by)


def in_status(record: Record) -> tuple[tuple[Orphan, ...], int]:
    """Return the orphans that the status of the Instance names, and how many more there are."""
    found = all_orphans(record)
    return tuple(map(_orphan, found[:MOST_IN_STATUS])), max(0, len(found) - MOST_IN_STATUS)


def _tasks_of(plan: Plan) -> Iterator[str]:
    for phase in plan.phases or ():
        for step in phase.steps:
            yield from step.tasks


def _orphan(entry: Entry) -> Orphan:
    place = entry.place
    return Orphan(
        api_version=entry.api_version,
        kind=place.kind,
        namespace=place.namespace or None,
        name=place.name,
        plan=entry.plan or None,
        task=entry.task or None,
    )
