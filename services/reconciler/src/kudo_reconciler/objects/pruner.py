"""Deletes orphans: objects on record that no task applies any more.

The record is a hint. Each object is read as the account of its Instance, judged as it is, and
deleted by uid and resourceVersion, so that one that was applied or created again meanwhile stays.
What may not be read is unknown, never gone: it stays on record.

After a crash it begins again: what was deleted does not exist, and then leaves the record.
"""

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, Conflict, ConnectionLost, Forbidden, Invalid, NotFound
from kubeio.resource import Resource
from kudo.api import Instance, JsonObject
from kudo.api.identity import InstanceIdentity, identity
from kudo.objects.inventory.orphans import all_orphans, in_order, is_given_up, why_kept
from kudo.objects.inventory.record import Entry, Place, Record
from kudo_reconciler.common.errors import error_text, is_permanent
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.recorder import Recorder
from kudo_reconciler.objects.resolver import served_kind
from kudo_reconciler.objects.shares import Shares
from kudo_reconciler.tenancy.accounts import Accounts

log = logging.getLogger(__name__)

_AT_ONCE: Final = 100
"""Objects of one Instance that are deleted in one operation: others wait for its slot."""
_ATTEMPTS: Final = 5

MayDelete = Callable[[Place], bool]
"""Whether an object may still be deleted; called right before that."""


class Stopped(Exception):
    """The Instance has changed: nothing more may be deleted."""


@dataclass
class Pruned:
    """What has become of orphans.

    Attributes:
        deleted: Those that were deleted.
        gone: Those that did not exist any more, or that only others share.
        kept: Why others stay.
        shared: Those that stay for another Instance, which shares them: this one does no longer.
        refused: Whether the account lacks a right.
        failed: Those of which a request failed in a way that may pass.
        unfinished: Whether there are more to look at.
    """

    deleted: list[Place] = field(default_factory=list)
    gone: list[Place] = field(default_factory=list)
    kept: dict[Place, str] = field(default_factory=dict)
    shared: dict[Place, InstanceIdentity] = field(default_factory=dict)
    refused: bool = False
    failed: set[Place] = field(default_factory=set)
    unfinished: bool = False


@dataclass(frozen=True, slots=True)
class Pruner:
    """Deletes the orphans of Instances."""

    accounts: Accounts
    discovery: Discovery
    observer: Observer
    shares: Shares
    recorder: Recorder

    async def prune(
        self, instance: Instance, may_delete: MayDelete, staying: Collection[Place]
    ) -> Pruned:
        """Delete the orphans of an Instance, and take them off the record.

        Args:
            instance: The Instance.
            may_delete: Whether an object may be deleted.
            staying: Orphans that are known to stay, and are not looked at again.

        Raises:
            TaskError: its account cannot be used.
            KubeError: the record could not be read or written.
        """
        owner, done = identity(instance), Pruned()
        # A former leader may have begun a run that applies one of them again.
        record = await self.recorder.inventories.current(owner) or Record()
        orphans = [entry for entry in in_order(all_orphans(record)) if entry.place not in staying]
        if not orphans:
            return done
        client = await self.accounts.acting_for(instance)
        done.unfinished = len(orphans) > _AT_ONCE
        try:
            for entry in orphans[:_AT_ONCE]:
                await self._prune(entry, owner, client, may_delete, done)
        except Stopped:
            done.unfinished = True
        await self._forget(owner, [*done.deleted, *done.gone, *done.shared])
        return done

    async def _forget(self, owner: InstanceIdentity, places: Collection[Place]) -> None:
        """Take objects off the record, unless a run has applied them again."""
        if not places:
            return

        def change(record: Record) -> Record:
            present = (entry for place in places if (entry := record.get(place)) is not None)
            return record.without(entry.place for entry in present if entry.orphaned_by)

        await self.recorder.save(owner, change)

    async def _prune(
        self,
        entry: Entry,
        owner: InstanceIdentity,
        client: Client,
        may_delete: MayDelete,
        done: Pruned,
    ) -> None:
        """Delete an orphan, or note why it stays.

        Raises:
            Stopped: nothing more may be deleted.
        """
        place = entry.place
        try:
            resource = await served_kind(entry, self.discovery)
            if resource is None:
                # With its kind an object goes, too.
                done.gone.append(place)
                return
            await self._decide(entry, resource, owner, client, may_delete, done)
        except Forbidden as error:
            done.refused = True
            done.kept[place] = error_text(error, _about(entry))
        except (ApiError, ConnectionLost) as error:
            if is_permanent(error):
                done.refused = True
            else:
                done.failed.add(place)
            done.kept[place] = error_text(error, _about(entry))

    async def _decide(
        self,
        entry: Entry,
        resource: Resource,
        owner: InstanceIdentity,
        client: Client,
        may_delete: MayDelete,
        done: Pruned,
    ) -> None:
        place, namespace = entry.place, entry.place.namespace or None
        for _ in range(_ATTEMPTS):
            try:
                live = await client.get(
                    resource, place.name, namespace=namespace, metadata_only=True
                )
                if is_given_up(entry, live["metadata"], owner):
                    done.gone.append(place)
                    return
                why = why_kept(entry, live["metadata"], owner, shared_with=None)
                if why:
                    done.kept[place] = why
                    return
                if not may_delete(place):
                    # A run may have been scheduled since, and may apply it again.
                    raise Stopped
                if entry.cluster_scoped:
                    live, other = await self.shares.give_up(resource, live, owner, client=client)
                    if other is not None:
                        done.shared[place] = other
                        return
                if not live["metadata"].get("deletionTimestamp"):
                    await self._delete(resource, live, owner, client)
                    done.deleted.append(place)
                    return
            except NotFound as error:
                if not error.names_object:
                    # The version is served no more, and the object may be in another one.
                    self.discovery.invalidate(resource.api_version)
                    raise
            except (Conflict, Invalid):
                # It changed since it was read, and may be somebody else's by now.
                continue
            done.gone.append(place)
            return
        done.failed.add(place)
        done.kept[place] = "it keeps changing"

    async def _delete(
        self, resource: Resource, live: JsonObject, owner: InstanceIdentity, client: Client
    ) -> None:
        metadata, author = live["metadata"], Key(owner.namespace, owner.name)
        name, namespace = metadata["name"], metadata.get("namespace")
        with self.observer.writing(resource, namespace, name, author) as write:
            answer = await client.delete(
                resource,
                name,
                namespace=namespace,
                propagation="Background",
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            )
            write.deleted(live, answer)


def _about(entry: Entry) -> JsonObject:
    """Return what tells whether an error may quote a Secret."""
    return {"apiVersion": entry.api_version, "kind": entry.place.kind}
