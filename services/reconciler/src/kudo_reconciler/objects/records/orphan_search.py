"""Finds what a complete run has left behind: orphans, and objects that are gone."""

import asyncio
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import KubeError, NotFound, UnknownKind
from kubeio.leader_election.elector import NotLeading
from kudo.api import JsonObject, OperatorVersion
from kudo.objects.enrichment import execution_of
from kudo.objects.inventory.orphans import Finished, all_orphans, orphans
from kudo.objects.inventory.record import Entry, Place, Record
from kudo_reconciler.objects.cached_objects import is_whole
from kudo_reconciler.objects.observer import Observer

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
        unmarked = [one for one in all_orphans(after) if one.place in self.unmarked]
        after = after.merged(replace(one, orphaned_by="") for one in unmarked)
        return after.merged(
            one
            for one in self.orphans
            if replace(one, orphaned_by="").says_as_much_as(after.get(one.place))
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
        found = Left(set(ended.removed), unmarked=applied)
        left = self._candidates(record, version, ended)
        candidates = [entry for entry in left if entry.place not in applied]
        for at in range(0, len(candidates), _AT_ONCE):
            some = candidates[at : at + _AT_ONCE]
            looked = await asyncio.gather(*(self._look(entry, ended, client) for entry in some))
            for entry, (known, obj) in zip(some, looked, strict=True):
                if known and obj is None:
                    found.gone.add(entry.place)
                elif entry.orphaned_by == ended.finished.uid and _is_left(entry, obj, ended):
                    found.orphans.append(entry)
        return found

    def candidates(
        self, record: Record, version: OperatorVersion, ended: Ended
    ) -> frozenset[Place]:
        """Return what the run may have made an orphan, and what was one before."""
        left = self._candidates(record, version, ended)
        return frozenset(entry.place for entry in left) - ended.rendered

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
            if obj is not None and not is_whole(obj) and _lacks_mark(entry, obj, ended):
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


def _lacks_mark(entry: Entry, obj: JsonObject, ended: Ended) -> bool:
    """Return whether an entry of a task of an earlier process seems to be an orphan."""
    return entry.task in ended.earlier and _is_left(entry, obj, ended)


def _is_left(entry: Entry, obj: JsonObject | None, ended: Ended) -> bool:
    """Return whether an entry that no task of this process has rendered is an orphan."""
    if entry.plan != ended.finished.plan or entry.task not in ended.earlier:
        return True
    # A cluster-scoped object has the mark of the Instance that applied it last.
    if obj is None or entry.cluster_scoped:
        return False
    return execution_of(obj) != ended.finished.uid
