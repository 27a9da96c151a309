"""Finds out who shares a cluster-scoped object, lists it on the object, and enqueues sharers.

Inventories decide: an Instance that exists shares an object if it has applied it, by its record,
until it gives the share up: see `has_applied`. The list on the object alone counts

* for Instances whose record is not complete: KUDO 0.19 and older releases wrote none, and what
  somebody has changed by hand is restored a moment later;
* while the cache may lack what a former leader has recorded, if it lists all;
* for what users are told.

Tens of thousands may share an object, so nothing here loops over all of them at once, but over
those that the annotation of an older release lists: it shrinks as they are recorded.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kubeio.errors import Conflict
from kubeio.resource import Resource
from kudo.api import Json
from kudo.api.identity import InstanceIdentity, identity
from kudo.objects.inventory.record import Place
from kudo.objects.sharing import MOST_LISTED, instance_label, lists_all, shared_by, sharers
from kudo_reconciler.common.concurrency import paced
from kudo_reconciler.common.keys import INSTANCES, Key
from kudo_reconciler.objects.run_context import place_of
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.store.inventories import InventoryStore

_AT_ONCE: Final = 16
"""Number of Instances that are read at the same time."""
_SOME: Final = 4
"""Number of sharers that are looked for where the names of a few are enough."""

Metadata = Mapping[str, Json]


class SharersUnknown(Conflict):
    """The cache may lack what a former leader has recorded of who shares an object."""


@dataclass(frozen=True, slots=True)
class Sharers:
    """Knows who shares cluster-scoped objects.

    Attributes:
        is_damaged: Whether others have changed the record of an Instance, and that is not restored.
    """

    instances: InstanceStore
    inventories: InventoryStore
    is_damaged: Callable[[InstanceIdentity], bool]

    def is_cached(self, instance: InstanceIdentity) -> bool:
        """Return whether an Instance exists in the cache, which may be behind."""
        raw = self.instances.informer.get(instance.namespace, instance.name)
        return raw is not None and raw["metadata"]["uid"] == instance.uid

    async def at(self, key: Key) -> InstanceIdentity | None:
        """Return the Instance of a name, read from the API server; None if there is none.

        Raises:
            KubeError: the request failed.
        """
        instance = await self.instances.live(key)
        return None if instance is None else identity(instance)

    async def exists(self, instance: InstanceIdentity) -> bool:
        """Return whether an Instance exists, read from the API server.

        Raises:
            KubeError: the request failed.
        """
        return await self.at(Key(instance.namespace, instance.name)) == instance

    async def existing(self, named: Sequence[InstanceIdentity]) -> list[InstanceIdentity]:
        """Return those Instances that exist, read from the API server.

        Raises:
            KubeError: a request failed.
        """
        existing = []
        for start in range(0, len(named), _AT_ONCE):
            some = named[start : start + _AT_ONCE]
            answers = await asyncio.gather(*map(self.exists, some))
            existing += [instance for instance, exists in zip(some, answers, strict=True) if exists]
        return existing

    # To apply an object

    async def others(
        self, metadata: Metadata, place: Place, ours: InstanceIdentity
    ) -> tuple[str, ...]:
        """Return other Instances that have applied an object: all that it lists, else a few.

        An empty name stands for those that the object does not list: a tenant who reads the text
        may know nothing of their namespaces.

        Raises:
            KubeError: a request failed.
        """
        listed = [instance for instance in await self._listed(metadata) if instance != ours]
        if sharers(metadata) and lists_all(metadata):
            return tuple(map(str, listed))
        if listed:
            return tuple(map(str, listed[:_SOME]))
        if await self._first([lambda: self.inventories.some_sharers(place)], {ours}) is None:
            return ()
        # KUDO 0.19 wrote nothing but the label.
        label = "" if sharers(metadata) else instance_label(metadata)
        return (label if label != ours.name else "",)

    async def joined(self, metadata: Metadata | None, place: Place, ours: InstanceIdentity) -> str:
        """Return the annotation of an object that an Instance is about to apply.

        Args:
            metadata: Of the object as it was read; None to create it.
            place: Where it is.
            ours: The Instance, which has the object on record.

        Raises:
            KubeError: a request failed.
        """
        if metadata is None:
            return shared_by([ours])
        listed = dict.fromkeys(await self._listed(metadata))
        if not lists_all(metadata):
            listed |= dict.fromkeys(self._some_on_record(place))
        return self._annotation(listed, place, ours)

    def without(self, metadata: Metadata, place: Place, instance: InstanceIdentity) -> str:
        """Return the annotation of an object that an Instance does not share any more.

        Empty if nobody else does. The Instances that are listed are not read.

        Raises:
            SharersUnknown: a list is to be filled up, and the cache may lack who is missing.
        """
        listed = dict.fromkeys(sharers(metadata))
        if not lists_all(metadata):
            self._check_knows_all(place)
            listed |= dict.fromkeys(self._some_on_record(place))
        listed.pop(instance, None)
        return self._annotation(listed, place)

    def _some_on_record(self, place: Place) -> list[InstanceIdentity]:
        """Return so many that exist as can be listed, and one that may be about to leave."""
        living = filter(self.is_cached, self.inventories.some_sharers(place))
        return list(islice(living, MOST_LISTED + 1))

    def _annotation(
        self, listed: Collection[InstanceIdentity], place: Place, *first: InstanceIdentity
    ) -> str:
        """Return the annotation; who has no record is always listed, as nothing else tells.

        Args:
            listed: Those to list if there is room.
            place: Where the object is.
            first: Who is listed in any case.
        """
        everybody = {*listed, *first}
        if len(everybody) <= MOST_LISTED:
            return shared_by(everybody)
        recorded = [
            instance
            for instance in listed
            if instance not in first and self.inventories.has_share(instance, place)
        ]
        unknown = everybody.difference(recorded)
        return shared_by([*unknown, *recorded[: max(0, MOST_LISTED - len(unknown))]])

    async def _listed(self, metadata: Metadata) -> list[InstanceIdentity]:
        """Return the Instances that an object lists and that exist.

        Those that the cache lacks are read live, since an Instance that does not exist is removed
        from the list: the cache may just have been started.
        """
        listed = sharers(metadata)
        unknown = [instance for instance in listed if not self.is_cached(instance)]
        gone = set(unknown).difference(await self.existing(unknown))
        return [instance for instance in listed if instance not in gone]

    # To delete an object

    async def another(
        self, resource: Resource, metadata: Metadata, ours: InstanceIdentity
    ) -> InstanceIdentity | None:
        """Return an Instance other than ours that shares an object.

        Whether it exists is read from the API server: the deletion that may follow cannot be
        undone. Who has the object on record and has not applied it does not count: its apply will
        change the object, so that the deletion fails, or create it again.

        Raises:
            SharersUnknown: the cache may lack some of them.
            KubeError: a request failed.
        """
        place = place_of(resource, None, str(metadata["name"]))
        listed = [instance for instance in sharers(metadata) if instance != ours]
        sharer = await self._on_record_of(place, metadata, ours) or await self._unrecorded(listed)
        if sharer is not None:
            return sharer
        if not self.inventories.has_term:
            existing = await self.existing(listed)
            if existing:
                return existing[0]
            if not lists_all(metadata):
                self._check_knows_all(place)
        return None if sharers(metadata) else await self._of_label(metadata, ours)

    def _check_knows_all(self, place: Place) -> None:
        """Raise SharersUnknown while the cache may lack who shares an object."""
        if not self.inventories.has_term:
            text = f"who shares {place} is not known yet: the first events are awaited"
            raise SharersUnknown(text, status=409)

    async def _on_record_of(
        self, place: Place, metadata: Metadata, ours: InstanceIdentity
    ) -> InstanceIdentity | None:
        """Return another Instance that exists and has applied an object, by its record."""
        uid, listed = str(metadata["uid"]), sharers(metadata)
        sources = [
            lambda: self.inventories.some_sharers(place, uid),
            lambda: (
                instance for instance in listed if self.inventories.has_share(instance, place)
            ),
        ]
        if not (listed and lists_all(metadata)):
            sources.append(lambda: self.inventories.some_sharers(place))
        return await self._first(sources, {ours})

    async def _first(
        self,
        sources: Sequence[Callable[[], Iterable[InstanceIdentity]]],
        but: Collection[InstanceIdentity],
    ) -> InstanceIdentity | None:
        """Return an Instance that exists.

        Those in the cache come first. Thousands that were deleted together are on record until
        their Inventories are collected.

        Args:
            sources: Yield the Instances, and are not iterated across an await.
            but: Those that do not count.
        """
        tried = set(but)
        for at_once, may_exist in ((1, self.is_cached), (_AT_ONCE, lambda _: True)):
            for source in sources:
                while some := _some(source(), tried, may_exist, at_once):
                    tried.update(some)
                    existing = await self.existing(some)
                    if existing:
                        return existing[0]
        return None

    async def _unrecorded(self, listed: Iterable[InstanceIdentity]) -> InstanceIdentity | None:
        """Return a listed Instance that exists, and whose record does not tell what it shares."""
        unknown = []
        for instance in listed:
            record = self.inventories.cached(instance)
            if record is None or not record.complete or self.is_damaged(instance):
                unknown.append(instance)
        existing = await self.existing(unknown)
        return existing[0] if existing else None

    async def _of_label(
        self, metadata: Metadata, ours: InstanceIdentity
    ) -> InstanceIdentity | None:
        """Return an Instance other than ours that the label names: KUDO 0.19 wrote nothing else."""
        name = instance_label(metadata)
        if not name:
            return None
        page = await self.instances.client.list(
            INSTANCES, field_selector=f"metadata.name={name}", metadata_only=True
        )
        for obj in page.items:
            living = obj["metadata"]
            instance = InstanceIdentity(living["namespace"], living["name"], living["uid"])
            if instance != ours:
                return instance
        return None


def _some(
    instances: Iterable[InstanceIdentity],
    tried: Collection[InstanceIdentity],
    may_exist: Callable[[InstanceIdentity], bool],
    number: int,
) -> list[InstanceIdentity]:
    untried = (instance for instance in instances if instance not in tried and may_exist(instance))
    return list(islice(untried, number))


class Spread:
    """Changes of objects whose sharers are still to be enqueued, one object after the other.

    Args:
        group: Runs it while there is something to do.
        sharers: Yields the Instances that share an object, also across an await.
        changed: Enqueues an Instance.
    """

    def __init__(
        self,
        group: asyncio.TaskGroup,
        sharers: Callable[[Place], Iterator[InstanceIdentity]],
        changed: Callable[[Key], None],
    ) -> None:
        self._group = group
        self._sharers = sharers
        self._changed = changed
        self._waiting: dict[Place, frozenset[Key]] = {}
        self._task: asyncio.Task[None] | None = None

    def tell(self, place: Place, informed: frozenset[Key]) -> None:
        """Enqueue the sharers of an object but those that have been told of its change."""
        self._waiting[place] = self._waiting.get(place, informed) & informed
        if self._task is None:
            self._task = self._group.create_task(self._run(), name="sharers of changed objects")

    def close(self) -> None:
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            while self._waiting:
                place = next(iter(self._waiting))
                # Before the first of them: a change that comes now is told to all once more.
                await self._enqueue(place, self._waiting.pop(place))
        finally:
            self._task = None

    async def _enqueue(self, place: Place, informed: frozenset[Key]) -> None:
        async for instance in paced(self._sharers(place)):
            key = Key(instance.namespace, instance.name)
            if key not in informed:
                self._changed(key)
