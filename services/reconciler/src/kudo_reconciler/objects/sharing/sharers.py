"""Finds out who shares a cluster-scoped object, and writes it down.

An Instance shares an object if the annotation of the object names it; if that does not name all,
also if it has the object on record. The record alone says less: it is written before anything of a
plan is applied, and the plan may never come to the object. See `kudo.objects.inventory.sharers` for
what the annotation says.

Tens of thousands may share an object, so nothing here loops over all of them, but over those that
the annotation of an older release names: it shrinks as they are recorded.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from kubeio.errors import Conflict
from kubeio.resource import Resource
from kudo.api import Json
from kudo.identity import InstanceIdentity, identity
from kudo.objects.inventory.record import Place
from kudo.objects.inventory.sharers import annotation
from kudo.objects.sharing import (
    MOST_NAMED,
    instance_label,
    is_shared_by,
    last_sharer,
    names_everybody,
    names_somebody,
    sharers,
)
from kudo_reconciler.keys import Key
from kudo_reconciler.objects.places import place_of
from kudo_reconciler.objects.sharing.left_shares import LeftShares
from kudo_reconciler.store.instances import InstanceStore
from kudo_reconciler.store.inventories import InventoryStore

_AT_ONCE: Final = 16
"""Number of Instances that are read at the same time."""
_SOME: Final = 4
"""Number of sharers that are looked for where the names of a few are enough."""

Metadata = Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Sharers:
    """Knows who shares cluster-scoped objects."""

    instances: InstanceStore
    inventories: InventoryStore
    left: LeftShares = field(default_factory=LeftShares)

    def on_record(self, place: Place) -> Iterator[InstanceIdentity]:
        """Yield the Instances that have an object on record and have not left it.

        By the cache. Must not be iterated across an await.
        """
        found = self.inventories.some_sharers(place)
        return (one for one in found if (one, place) not in self.left)

    def is_sharer(self, resource: Resource, metadata: Metadata, one: InstanceIdentity) -> bool:
        """Return whether an object says that an Instance shares it.

        If it does not name all, what the Instance has on record tells.
        """
        if is_shared_by(metadata, one):
            return True
        place = place_of(resource, None, str(metadata["name"]))
        return not names_everybody(metadata) and self.inventories.has_share(one, place)

    def is_cached(self, one: InstanceIdentity) -> bool:
        """Return whether an Instance exists in the cache, which may be behind."""
        raw = self.instances.informer.get(one.namespace, one.name)
        return raw is not None and raw["metadata"]["uid"] == one.uid

    async def at(self, key: Key) -> InstanceIdentity | None:
        """Return the Instance of a name, read from the API server; None if there is none.

        Raises:
            KubeError: the request failed.
        """
        found = await self.instances.live(key)
        return None if found is None else identity(found)

    async def exists(self, one: InstanceIdentity) -> bool:
        """Return whether an Instance exists, read from the API server.

        Raises:
            KubeError: the request failed.
        """
        return await self.at(Key(one.namespace, one.name)) == one

    async def existing(self, named: Sequence[InstanceIdentity]) -> list[InstanceIdentity]:
        """Return those Instances that exist, read from the API server.

        Raises:
            KubeError: a request failed.
        """
        existing = []
        for start in range(0, len(named), _AT_ONCE):
            some = named[start : start + _AT_ONCE]
            found = await asyncio.gather(*map(self.exists, some))
            existing += [one for one, exists in zip(some, found, strict=True) if exists]
        return existing

    # To apply an object

    async def others(
        self, metadata: Metadata, place: Place, ours: InstanceIdentity
    ) -> tuple[str, ...]:
        """Return other Instances that share an object: all that it names, else a few of those.

        An empty name stands for those that the object does not name: a tenant who reads the text
        may know nothing of their namespaces.

        Raises:
            KubeError: a request failed.
        """
        named = [one for one in await self._named(metadata) if one != ours]
        if names_somebody(metadata) and names_everybody(metadata):
            return tuple(map(str, named))
        if named:
            return tuple(map(str, named[:_SOME]))
        found = (one for one in self.on_record(place) if one != ours)
        if not any(map(self.is_cached, found)):
            # The cache of Instances may just have been started.
            candidates = (one for one in self.on_record(place) if one != ours)
            if not await self.existing(list(islice(candidates, _SOME))):
                return ()
        # KUDO 0.19 wrote nothing but the label.
        label = "" if names_somebody(metadata) else instance_label(metadata)
        return (label if label != ours.name else "",)

    async def joined(self, metadata: Metadata | None, place: Place, ours: InstanceIdentity) -> str:
        """Return the annotation of an object that an Instance is about to share.

        Args:
            metadata: Of the object as it was read; None to create it.
            place: Where it is.
            ours: The Instance.

        Raises:
            KubeError: a request failed.
        """
        self.left.discard(ours, place)
        if metadata is None:
            return annotation((ours,), ours)
        named, last = await self._named(metadata), last_sharer(metadata)
        if last is None:
            return self._text([*named, ours], [*named, ours], ours, place)
        # Who is listed has written the object before, and need not do it once more.
        last = last if ours in named else ours
        everybody = {*named, ours, *self._some_on_record(place)}
        return self._text(everybody, dict.fromkeys([*named, ours]), last, place, many=True)

    def without(self, metadata: Metadata, place: Place, one: InstanceIdentity) -> str:
        """Return the annotation of an object that an Instance does not share any more.

        Empty if nobody else does. The Instances that are named are not read.
        """
        named = [other for other in sharers(metadata) if other != one]
        last = last_sharer(metadata)
        if last is None:
            return self._text(named, named, named[0], place) if named else ""
        others = [other for other in self._some_on_record(place) if other != one]
        before = None if last == one else last
        everybody = list(dict.fromkeys([*named, *_if_any(before), *others]))
        if everybody:
            return self._text(everybody, named, before or everybody[-1], place, many=True)
        # Somebody whom the cache lacks may share it: then it names its last sharer still.
        return "" if self.inventories.has_term else annotation((), last, many=True)

    def _some_on_record(self, place: Place) -> list[InstanceIdentity]:
        """Return so many that exist that the annotation cannot name all, or all."""
        living = filter(self.is_cached, self.on_record(place))
        # One of them may be about to leave.
        return list(islice(living, MOST_NAMED + 2))

    def _text(
        self,
        everybody: Collection[InstanceIdentity],
        named: Iterable[InstanceIdentity],
        last: InstanceIdentity,
        place: Place,
        *,
        many: bool = False,
    ) -> str:
        """Return the annotation; who is not on record is always listed, as nothing else tells.

        Args:
            everybody: All that share the object; if they are many, some of them.
            named: Those that it lists, or is to.
            last: The last one that began to share it.
            place: Where it is.
            many: Whether it says that they are many. A cache that may lack some of them does not
                take that back: who is not listed would then share it no more.
        """
        many = many and not self.inventories.has_term
        if len({*everybody, last}) <= MOST_NAMED and not many:
            return annotation(everybody, last)
        on_record = {one: self.inventories.has_share(one, place) for one in named}
        unknown = [one for one, known in on_record.items() if not known]
        room = max(0, MOST_NAMED - len(unknown))
        known = [one for one, known in on_record.items() if known]
        return annotation(everybody, last, [*unknown, *known[:room]], many=many)

    async def _named(self, metadata: Metadata) -> list[InstanceIdentity]:
        """Return the Instances that an object lists and that exist.

        Those that the cache lacks are read live, since an Instance that does not exist is removed
        from the sharers: the cache may just have been started.
        """
        named = sharers(metadata)
        unknown = [one for one in named if not self.is_cached(one)]
        gone = set(unknown).difference(await self.existing(unknown))
        return [one for one in named if one not in gone]

    # To delete an object

    async def another(
        self, metadata: Metadata, place: Place, ours: InstanceIdentity
    ) -> InstanceIdentity | None:
        """Return an Instance other than ours that shares an object.

        Reads from the API server: the deletion that may follow cannot be undone, and the cache may
        just have been started.

        Raises:
            Conflict: the object does not name all, and the cache may lack some of them.
            KubeError: a request failed.
        """
        last = last_sharer(metadata)
        named = (*sharers(metadata), *_if_any(last))
        others = [one for one in dict.fromkeys(named) if one != ours]
        for one in filter(self.is_cached, others):
            # One is enough, and the first that is cached most likely exists.
            if await self.exists(one):
                return one
        unknown = [one for one in others if not self.is_cached(one)]
        existing = await self.existing(unknown)
        if existing:
            return existing[0]
        if _names_all(metadata):
            # Who is only on record has not applied it, or left it. If it is about to apply it, the
            # deletion or the apply fails: each tests the resourceVersion that it has read.
            return None
        found = await self._another_on_record(place, {ours, *others})
        if found is None and not names_everybody(metadata) and not self.inventories.has_term:
            text = f"who shares {place} is not known yet: the first events are awaited"
            raise Conflict(text, status=409)
        return found

    async def _another_on_record(
        self, place: Place, tried: set[InstanceIdentity]
    ) -> InstanceIdentity | None:
        """Return an Instance that has an object on record, by the API server.

        Those in the cache come first. Thousands that were deleted together are on record until
        their Inventories are collected.
        """
        for at_once, may_exist in ((1, self.is_cached), (_AT_ONCE, _anybody)):
            while True:
                found = filter(may_exist, self.on_record(place))
                some = list(islice((one for one in found if one not in tried), at_once))
                if not some:
                    break
                tried.update(some)
                for one in await self.existing(some):
                    if await self._has_share(one, place):
                        return one
        return None

    async def _has_share(self, one: InstanceIdentity, place: Place) -> bool:
        record = await self.inventories.live(one)
        return record is not None and record.get(place) is not None


def _names_all(metadata: Metadata) -> bool:
    """Return whether the annotation of an object names all that have applied it.

    One without names was removed by hand, or never written. A longer list than this release writes
    is of an older one, which drops from it whoever was not listed.
    """
    return names_everybody(metadata) and 0 < len(sharers(metadata)) <= MOST_NAMED


def _if_any(one: InstanceIdentity | None) -> tuple[InstanceIdentity, ...]:
    return () if one is None else (one,)


def _anybody(_: InstanceIdentity) -> bool:
    return True
