"""Records what belongs to an Instance, from the labels and owner references of what exists.

An Instance that ran with an earlier release, or that was restored from a backup, has no record of
what it applied. It is listed as the account of the Instance; nothing is changed but the record.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import (
    ApiError,
    Forbidden,
    Gone,
    Malformed,
    MethodNotAllowed,
    NotFound,
    TooManyRequests,
)
from kubeio.leader_election.elector import NotLeading
from kubeio.names import MAX_LABEL
from kubeio.resource import Resource
from kudo.api import Instance, JsonObject, OperatorVersion, bounds, names
from kudo.api.identity import InstanceIdentity, identity
from kudo.api.task_kinds import kind_of
from kudo.objects.adoption import applied_by, holds_data, retained_by
from kudo.objects.inventory.record import Entry, Place, Record, can_be_recorded
from kudo.objects.managed_fields import writers
from kudo.objects.policies import is_retained
from kudo.objects.sharing import is_listed
from kudo.plans.execution import step_named, step_of
from kudo_reconciler.objects.ownership import controller_of, is_owned
from kudo_reconciler.objects.recorder import Recorder
from kudo_reconciler.objects.run_context import place_of
from kudo_reconciler.tenancy.access import may_apply
from kudo_reconciler.tenancy.accounts import Accounts

log = logging.getLogger(__name__)

_AT_ONCE: Final = 8
"""Number of kinds that are listed at the same time, a page of each in memory."""
_PAUSE: Final = 2.0
"""Seconds until what the API server has failed to list is listed again: it may have been busy."""
_LEFT_OUT: Final = ((names.GROUP, "Inventory"), ("", "Event"), ("events.k8s.io", "Event"))
"""Kinds that are not searched: Events expire, and accounts may often write and not list them."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """What was recorded.

    Attributes:
        objects: Number of objects that belong to the Instance.
        added: Number of those that were not on record.
        unlisted: Names of the kinds that could not be listed, and may have objects of the Instance.
        cut: Whether there are more objects than are recorded.
    """

    objects: int
    added: int
    unlisted: tuple[str, ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Adopter:
    """Records what belongs to Instances."""

    accounts: Accounts
    discovery: Discovery
    recorder: Recorder

    async def adopt(
        self, instance: Instance, version: OperatorVersion, may_record: Callable[[], bool]
    ) -> Adopted | None:
        """Record what belongs to an Instance; entries that are on record stay as they are.

        Args:
            instance: The Instance.
            version: Its OperatorVersion, whose tasks are looked for.
            may_record: Whether the Instance is still the same, and idle.

        Returns:
            None if nothing was recorded, since it is not.

        Raises:
            TaskError: its account cannot be used.
            KubeError: a request failed; it is safe to retry.
        """
        client = await self.accounts.acting_for(instance)
        search = _Search(instance, version, client)
        kinds = _kinds(await self.discovery.all_resources())
        await search.list_all(kinds)
        if not may_record():
            return None
        owner, belonging = identity(instance), search.found
        complete = not search.unlisted and not search.cut and not search.unrecorded
        added: list[int] = []
        left_out: set[Place] = set()

        def change(record: Record) -> Record:
            lacking = [place for place in belonging if place not in record.entries]
            room = max(0, bounds.INSTANCE_OBJECTS - len(record))
            added.append(min(len(lacking), room))
            left_out.clear()
            left_out.update(lacking[room:])
            entries = [entry for place, entry in belonging.items() if place not in left_out]
            return _with_entries(record, entries, complete=complete and not left_out)

        await self.recorder.save(owner, change)
        cut = search.cut or bool(left_out)
        return Adopted(len(belonging), added[-1], tuple(sorted(search.unlisted)), cut)


class _Search:
    """The search for the objects of one Instance."""

    def __init__(self, instance: Instance, version: OperatorVersion, client: Client) -> None:
        self.found: dict[Place, Entry] = {}
        self.unlisted: list[str] = []
        self._failed: dict[Resource, str] = {}
        self.cut = self.unrecorded = False
        self._instance, self._version, self._client = instance, version, client
        self._one = identity(instance)

    async def list_all(self, kinds: Iterable[Resource]) -> None:
        """List kinds, and once more those that the API server has failed to list."""
        await _few_at_once(self._list, kinds)
        failed, self._failed = self._failed, {}
        if failed:
            await asyncio.sleep(_PAUSE)
            await _few_at_once(self._list, failed)
        for resource, why in self._failed.items():
            # Of an aggregated API server that is down, nothing may ever be known.
            log.warning("kind is not listed", extra={"kind": resource.kind, "why": why})
            self.unlisted.append(resource.name)

    async def _list(self, resource: Resource) -> None:
        """List a kind, page by page; twice at most, if the snapshot expires."""
        try:
            try:
                await self._pages(resource)
            except Gone:
                await self._pages(resource)
        except (NotFound, MethodNotAllowed):
            pass
        except (TooManyRequests, NotLeading):
            raise
        except Forbidden as error:
            # If it may not apply the kind either, the Instance has none of them: what it applies,
            # it applies as this account.
            if await self._may_apply(resource):
                log.debug("kind is not listed", extra={"kind": resource.kind, "why": str(error)})
                self.unlisted.append(resource.name)
        except (ApiError, Malformed) as error:
            self._failed[resource] = str(error)

    async def _may_apply(self, resource: Resource) -> bool:
        namespace = self._one.namespace if resource.namespaced else None
        return await may_apply(self._client, resource, namespace)

    async def _pages(self, resource: Resource) -> None:
        namespace = self._one.namespace if resource.namespaced else None
        pages = self._client.pages(
            resource,
            namespace=namespace,
            label_selector=self._selector(resource),
            metadata_only=True,
        )
        async for page in pages:
            for obj in page.items:
                self._take(resource, obj)
            await asyncio.sleep(0)

    def _selector(self, resource: Resource) -> str:
        # Others that share a cluster-scoped object may have labelled it last.
        if resource.namespaced and len(self._one.name) <= MAX_LABEL:
            return f"{names.LABEL_INSTANCE}={self._one.name}"
        return f"{names.LABEL_HERITAGE}={names.HERITAGE}"

    def _take(self, resource: Resource, obj: JsonObject) -> None:
        entry = _entry(resource, obj, self._instance, self._version)
        if entry is None or entry.place in self.found:
            return
        if not can_be_recorded(entry, self._one.namespace):
            self.unrecorded = True
            return
        if len(self.found) >= bounds.INSTANCE_OBJECTS:
            self.cut = True
            return
        self.found[entry.place] = entry


def _kinds(resources: Iterable[Resource]) -> list[Resource]:
    """Return the kinds that may have objects of plans, each in its preferred version."""
    preferred: dict[tuple[str, str], Resource] = {}
    for resource in resources:
        verbs = {"list"} if resource.namespaced else {"list", "patch"}
        if resource.verbs.issuperset(verbs):
            preferred.setdefault((resource.group, resource.kind), resource)
    for left_out in _LEFT_OUT:
        preferred.pop(left_out, None)
    return list(preferred.values())


async def _few_at_once(
    search: Callable[[Resource], Coroutine[Any, Any, None]], kinds: Iterable[Resource]
) -> None:
    """Search kinds, some at a time; if one fails, the others are not needed any more."""
    some = asyncio.Semaphore(_AT_ONCE)

    async def one(kind: Resource) -> None:
        async with some:
            await search(kind)

    tasks = [asyncio.ensure_future(one(kind)) for kind in kinds]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _entry(
    resource: Resource, obj: JsonObject, instance: Instance, version: OperatorVersion
) -> Entry | None:
    """Return the entry of an object; None if it does not belong to the Instance."""
    metadata, owner = obj["metadata"], identity(instance)
    annotations = metadata.get("annotations") or {}
    adopted = _is_adopted(resource, obj, owner)
    if names.ANNOTATION_PIPE_POD in annotations or not (adopted or _is_ours(resource, obj, owner)):
        return None
    if names.LABEL_JOB_OF in (metadata.get("labels") or {}):
        # The Job of a Job task: no plan applies it again, so it would become an orphan.
        return None
    plan, task = _origin(annotations, version)
    return Entry(
        place_of(resource, metadata.get("namespace"), metadata["name"]),
        version=resource.version,
        resource=resource.plural,
        plan=plan,
        task=task,
        uid=metadata["uid"],
        retained=is_retained(metadata),
        adopted=adopted,
    )


def _is_ours(resource: Resource, obj: JsonObject, owner: InstanceIdentity) -> bool:
    if not resource.namespaced:
        return is_listed(obj["metadata"], owner)
    retention = retained_by(obj["metadata"])
    retained = retention is not None and retention.uid == owner.uid
    return is_owned(obj, owner.uid) or (retained and controller_of(obj) is None)


def _is_adopted(resource: Resource, obj: JsonObject, owner: InstanceIdentity) -> bool:
    """Return whether an object existed before the Instance applied it, and holds data."""
    metadata = obj["metadata"]
    if not resource.namespaced or not holds_data(resource.group, resource.kind):
        return False
    if controller_of(obj) is not None or retained_by(metadata) is not None:
        return False
    return applied_by(metadata, writers(metadata)) == owner.name


def _origin(annotations: JsonObject, version: OperatorVersion) -> tuple[str, str]:
    """Return the plan and the task that applied an object, as far as its annotations tell.

    The task is known if the step has one that applies templates.
    """
    keys = (names.ANNOTATION_PLAN, names.ANNOTATION_PHASE, names.ANNOTATION_STEP)
    name, phase, step = (str(annotations.get(key) or "") for key in keys)
    plan = version.plans.get(name)
    ref = None if plan is None else step_named(plan, f"{phase}.{step}")
    if plan is None or ref is None:
        return name, ""
    tasks = [version.task(task) for task in step_of(plan, ref).tasks]
    applying = {task.name for task in tasks if task is not None and kind_of(task).applies}
    return name, applying.pop() if len(applying) == 1 else ""


def _with_entries(record: Record, added: Iterable[Entry], *, complete: bool) -> Record:
    """Return a record with entries; those on record get no more than their uid."""
    entries = []
    for entry in added:
        recorded = record.get(entry.place)
        entries.append(
            entry if recorded is None else replace(recorded, uid=recorded.uid or entry.uid)
        )
    return replace(record.merged(entries), complete=record.complete or complete)
