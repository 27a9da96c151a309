"""The Apply task: render, enrich, apply in order, then wait until everything is healthy.

A task that waits has a digest of each object that it has applied in its status: the memory of a run
that outlives the process. After a restart an object whose digest is the same now is not sent again:
it is of this run, unchanged since, and would be sent as it was. The status may be read by those who
may not read Secrets, and a short password could be guessed from a digest. So a Secret has none, nor
what may have the value of a secret parameter, and is sent again.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from types import MappingProxyType
from typing import Final, Self

import orjson

from kubeio.errors import NotFound
from kudo.api import JsonObject, task_errors
from kudo.api.fingerprints import MOST_BYTES
from kudo.api.known_secrets import is_secret
from kudo.api.names import FINALIZER_CLUSTER_RESOURCES
from kudo.api.task_kinds import FatalTaskError
from kudo.objects.enrichment import encode_string_data, execution_of
from kudo.objects.health import Health, State, health_of
from kudo.objects.sharing import goes_with_instance
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.concurrency import FEW_AT_ONCE, paced
from kudo_reconciler.common.errors import Outdated, Suspended
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.execution.causes import Causes, WaitingObject
from kudo_reconciler.execution.expected import Expected
from kudo_reconciler.execution.recording import (
    Recording,
    check_number,
    remember_applied,
    remember_rendered,
)
from kudo_reconciler.execution.task_context import (
    AppliedObject,
    RenderContext,
    TaskContext,
    TaskResult,
)
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.objects.apply import Applier
from kudo_reconciler.objects.dependency_hash import DependencyHasher, as_dependency
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import Desired
from kudo_reconciler.objects.resolver import Resolver
from kudo_reconciler.objects.run_context import ObjectKey
from kudo_reconciler.store.instances import InstanceStore

MOST_OBJECTS: Final = 100
"""Of a task with more, nothing is stored."""
_DIGITS: Final = 8
UNKNOWN: Final = "-" * _DIGITS
"""The place of an object that is always sent again."""


def digits_of(run: str, stored: JsonObject, sent: JsonObject) -> str:
    """Return the digits of an object; it takes up to 3 ms, on the event loop.

    Args:
        run: uid of the execution.
        stored: The object as the API server has it; uid and resourceVersion suffice.
        sent: The object as its task sends it.
    """
    if is_secret(sent):
        return UNKNOWN
    content = orjson.dumps(sent)
    if len(content) > MOST_BYTES:
        return UNKNOWN
    metadata = stored["metadata"]
    digest = sha256(f"{run} {metadata['uid']} {metadata['resourceVersion']} ".encode())
    digest.update(content)
    return digest.hexdigest()[:_DIGITS]


class Digests:
    """The digits of the objects of a task, while it applies them.

    Args:
        run: uid of the execution.
        stored: The digits that are known.
        number: Of the objects.
    """

    def __init__(self, run: str, stored: str, number: int) -> None:
        self._run = run
        self._digits = [_at(stored, index) for index in range(number)]

    @classmethod
    @contextmanager
    def kept(cls, context: TaskContext, number: int) -> Iterator[Self]:
        """Return those of a task; at the end, also by an error, the memory of the run has them."""
        digests = cls(context.uid, context.applied, number)
        try:
            yield digests
        finally:
            context.memory.digests[context.key] = str(digests)

    def __getitem__(self, index: int) -> str:
        return self._digits[index]

    def applied(self, index: int, stored: JsonObject, sent: JsonObject) -> None:
        """Note an object that was applied; see `digits_of`."""
        if len(self._digits) <= MOST_OBJECTS:
            self._digits[index] = digits_of(self._run, stored, sent)

    def __str__(self) -> str:
        """Return the digits of all objects; empty if there are too many, or none is known."""
        is_stored = len(self._digits) <= MOST_OBJECTS and any(
            digits != UNKNOWN for digits in self._digits
        )
        return "".join(self._digits) if is_stored else ""


def _at(digits: str, index: int) -> str:
    own = digits[index * _DIGITS :][:_DIGITS]
    return own if len(own) == _DIGITS else UNKNOWN


_REASONS = 3
"""Number of polled kinds, and of causes, that a message names."""


@dataclass(frozen=True, slots=True)
class ApplyTask:
    """Runs Apply tasks."""

    resolver: Resolver
    hasher: DependencyHasher
    applier: Applier
    observer: Observer
    instances: InstanceStore
    causes: Causes
    recording: Recording

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        return cls(
            parts.resolver,
            parts.hasher,
            parts.applier,
            parts.observer,
            parts.instances,
            parts.causes,
            parts.recording,
        )

    @staticmethod
    async def expected(context: RenderContext, resolver: Resolver) -> Sequence[Expected]:
        """Return the objects of the templates."""
        expected = []
        async for manifest in paced(await context.manifests()):
            resource = await resolver.look_ahead(manifest)
            expected.append(Expected(resource, str(manifest.object["metadata"]["name"]), manifest))
        return expected

    async def run(self, context: TaskContext) -> TaskResult:
        """Apply the objects not yet applied under this uid, then compute the health of all.

        Raises:
            FatalTaskError: the plan cannot continue.
            TransientTaskError: a retry may help.
            Superseded: the run was replaced.
            Outdated: the Instance had to be changed first; decide again.
        """
        applied = context.memory.applied.get(context.key)
        objects = None if applied is None else await self._current(context, applied)
        if objects is None and applied is None and context.is_suspended():
            objects = await self._sent(context)
        if objects is None:
            objects = await self._apply(context)
        return await self._result_of(context, objects)

    async def _current(
        self, context: TaskContext, applied: tuple[AppliedObject, ...]
    ) -> list[JsonObject] | None:
        """Return the applied objects as they are now, or None if one must be applied again.

        An object that was healthy once under this uid is left out. A Job is never created twice:
        for one that was deleted its last state counts.
        """
        objects, missing = [], False
        async for item in paced(applied, FEW_AT_ONCE):
            if item.uid in context.memory.healthy:
                continue
            obj = await self._look(item, context)
            if obj is not None and obj["metadata"]["uid"] == item.uid:
                objects.append(obj)
            elif item.resource.kind == "Job":
                objects.append(await self._deleted_job(item, context))
            else:
                missing = True
        return None if missing else objects

    async def _look(self, item: AppliedObject, context: TaskContext) -> JsonObject | None:
        """Return an applied object; None if it does not exist, or not in the version applied."""
        look = self.observer.body if context.memory.rechecking else self.observer.current
        try:
            return await look(item.resource, item.namespace, item.name, client=context.client)
        except NotFound:
            if item.resource.kind == "Job":
                raise
            # It is resolved and applied again: in a version that is served, or it is told.
            self.resolver.discovery.invalidate(item.resource.api_version)
            return None

    async def _deleted_job(self, item: AppliedObject, context: TaskContext) -> JsonObject:
        # The account may get it: it has just been told that the Job does not exist.
        last = self.observer.last_state(item.uid)
        health = None if last is None else health_of(last)
        if last is None or health is None or health.state is State.WAITING:
            text = f"{item} was deleted before it was seen to end"
            raise FatalTaskError("FailedTerminalStateError", text)
        if health.state is State.FAILED:
            raise await self._failed(last, health, context)
        # If another object of the task is applied again, this one is not.
        context.memory.healthy.add(item.uid)
        return last

    async def _apply(self, context: TaskContext) -> list[JsonObject]:
        """Apply all objects; return those that are not healthy at once.

        There may be thousands, and an answer with its managed fields is several times as large as
        the object that was sent.
        """
        enriched = await self._enriched(context)
        before = {item.key: item for item in context.memory.applied.get(context.key, ())}
        healthy = {place for place, item in before.items() if item.uid in context.memory.healthy}
        first = [
            obj
            for obj in enriched
            if obj.only_created and as_dependency(obj) is not None and obj.key not in healthy
        ]
        desired = enriched if first else await self._hashed(enriched, context)
        await self._add_finalizer(desired, context)
        await self.recording.expect([(obj.manifest, obj.resource) for obj in desired], context)
        # Before anything is applied, so that no event of it is missed.
        await self.observer.watch_all(obj.resource for obj in desired)
        stored: dict[ObjectKey, JsonObject] = {}
        if first:
            stored = await self._created(first, context)
            desired = await self._hashed(enriched, context, stored)
        items, objects, healthy_now = [], [], []
        with Digests.kept(context, len(desired)) as digests:
            async for number, obj in paced(enumerate(desired), FEW_AT_ONCE):
                if obj.key in healthy:
                    items.append(before[obj.key])
                    continue
                applied = stored.get(obj.key)
                if applied is None and not before:
                    applied = await self._unchanged(obj, digests[number], context)
                if applied is None:
                    applied = await self.applier.apply(obj, context)
                    if not context.is_confidential(obj.manifest):
                        digests.applied(number, applied, obj.target)
                remember_applied(applied, obj.resource, context)
                uid = applied["metadata"]["uid"]
                items.append(AppliedObject(obj.resource, obj.namespace, obj.name, uid))
                if health_of(applied).healthy:
                    healthy_now.append(uid)
                else:
                    objects.append(applied)
        context.memory.healthy.update(healthy_now)
        context.memory.applied[context.key] = tuple(items)
        return objects

    async def _created(
        self, desired: Sequence[Desired], context: TaskContext
    ) -> dict[ObjectKey, JsonObject]:
        """Create ConfigMaps and Secrets that are only created, and return them as they are stored.

        This precedes the hash of what depends on them: their rendering may be another one each
        time.
        """
        stored = {}
        for obj in desired:
            encoded = replace(obj, target=encode_string_data(obj.target))
            stored[obj.key] = await self.applier.apply(encoded, context)
        return stored

    async def _unchanged(
        self, desired: Desired, digits: str, context: TaskContext
    ) -> JsonObject | None:
        """Return an object that this run has applied before, if it need not be sent again."""
        if digits == UNKNOWN:
            return None
        existing = await self.applier.existing_object(desired, context)
        # Digits take up to 3 ms.
        await asyncio.sleep(0)
        if existing is None or digits_of(context.uid, existing, desired.target) != digits:
            return None
        context.seen.add(desired.key)
        return existing

    async def _sent(self, context: TaskContext) -> list[JsonObject]:
        """Return the objects that an earlier process has sent for this run.

        Raises:
            Suspended: not all of them were sent, and nothing is sent during a pause.
        """
        items, objects = [], []
        for desired in await self._hashed(await self._enriched(context), context):
            await self.observer.watch(desired.resource)
            obj = await self.observer.body(
                desired.resource, desired.namespace, desired.name, client=context.client
            )
            if obj is None or execution_of(obj) != context.uid:
                raise Suspended
            items.append(
                AppliedObject(
                    desired.resource, desired.namespace, desired.name, obj["metadata"]["uid"]
                )
            )
            objects.append(obj)
        context.memory.applied[context.key] = tuple(items)
        remember_rendered([(item.resource, item.name) for item in items], context)
        return objects

    async def _enriched(self, context: TaskContext) -> list[Desired]:
        manifests = await context.manifests()
        check_number(len(manifests), context)
        resolved = [
            await self.resolver.resolve(manifest, context)
            async for manifest in paced(manifests, FEW_AT_ONCE)
        ]
        enriched = []
        for item in resolved:
            enriched.append(Desired(item.manifest, item.resource, item.target(context.origin)))
            # Each iteration copies an object, which may be large, and there may be many.
            await asyncio.sleep(0)
        return enriched

    async def _hashed(
        self,
        enriched: Sequence[Desired],
        context: TaskContext,
        stored: Mapping[ObjectKey, JsonObject] = MappingProxyType({}),
    ) -> list[Desired]:
        hashed = await self.hasher.hashed(enriched, context, stored)
        return [
            replace(desired, target=encode_string_data(desired.target))
            async for desired in paced(hashed, FEW_AT_ONCE)
        ]

    async def _add_finalizer(self, desired: list[Desired], context: TaskContext) -> None:
        """Add our finalizer before objects are applied that are deleted without an owner reference.

        Raises:
            Outdated: the finalizer was added; decide again with the Instance as it is now.
        """
        if context.instance.metadata.deleting:
            return
        if any(
            goes_with_instance(obj.resource.group, obj.resource.kind, obj.target["metadata"])
            for obj in desired
            if not obj.resource.namespaced
        ) and await self.instances.add_finalizer(context.instance, FINALIZER_CLUSTER_RESOURCES):
            raise Outdated

    async def _result_of(self, context: TaskContext, objects: list[JsonObject]) -> TaskResult:
        messages: list[str] = []
        waiting: list[JsonObject] = []
        async for obj in paced(objects, FEW_AT_ONCE):
            health = health_of(obj)
            if health.state is State.FAILED:
                raise await self._failed(obj, health, context)
            if health.healthy:
                context.memory.healthy.add(obj["metadata"]["uid"])
            else:
                waiting.append(obj)
                with_cause = len(messages) < _REASONS
                messages.append(await self._message(obj, health, context, with_cause=with_cause))
        done = not messages
        unseen = await self._unseen(context)
        reasons = dict.fromkeys(self.observer.why_unwatched(item.resource) for item in unseen)
        messages += [*filter(None, reasons)][:_REASONS]
        return TaskResult(
            done=done,
            message=", ".join(messages),
            polled=bool(unseen),
            awaits=context.awaited(*waiting),
        )

    async def _message(
        self, obj: JsonObject, health: Health, context: TaskContext, *, with_cause: bool = True
    ) -> str:
        """Return what an object waits for, with the cause if its pods tell it."""
        uid, now = obj["metadata"]["uid"], loop_seconds()
        waiting = context.memory.waiting.setdefault(uid, WaitingObject(now))
        if not with_cause:
            return health.message
        key, client = key_of(context.instance), context.client
        is_failed = health.state is State.FAILED
        find = self.causes.text_at_end if is_failed else self.causes.text_of
        cause = await find(obj, waiting, key, now, client=client)
        return "; ".join(filter(None, (health.message, cause)))

    async def _failed(
        self, obj: JsonObject, health: Health, context: TaskContext
    ) -> FatalTaskError:
        metadata, message = obj["metadata"], await self._message(obj, health, context)
        text = task_errors.unhealthy(metadata.get("namespace", ""), metadata["name"], message)
        return FatalTaskError("FailedTerminalStateError", text)

    async def _unseen(self, context: TaskContext) -> list[AppliedObject]:
        """Return the unhealthy objects whose changes no watch event would report."""
        key, applied = key_of(context.instance), context.memory.applied.get(context.key, ())
        return [
            item
            async for item in paced(applied)
            if item.uid not in context.memory.healthy
            and not self.observer.sees(item.resource, item.namespace, item.name, key)
        ]
