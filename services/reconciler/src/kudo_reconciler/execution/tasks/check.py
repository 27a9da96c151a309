"""The Check task: waits until an expression over objects is true. It sends nothing but reads.

The objects are read live, as the account of the run. Watches, which have the reconciler's own
rights, only tell when that is worth a request; see `checked_objects`.
"""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, Self

import orjson

from kubeio.errors import ApiError, ConnectionLost, NotFound, UnknownKind
from kubeio.resource import Resource
from kudo.api import JsonObject, bounds, names
from kudo.api.task_kinds import FatalTaskError, TransientTaskError, kind_of
from kudo.jobs import object_check
from kudo.tasks.check import target_of, visible
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.concurrency import KeyedLocks
from kudo_reconciler.common.errors import error_text, task_error
from kudo_reconciler.common.keys import key_of
from kudo_reconciler.execution.checked_objects import CheckedObjects, Watched
from kudo_reconciler.execution.expected import Expected
from kudo_reconciler.execution.task_context import RenderContext, TaskContext, TaskResult
from kudo_reconciler.execution.tasks.parts import TaskParts
from kudo_reconciler.objects.observer import Observer, version_of
from kudo_reconciler.objects.resolver import Resolver

_PAGE: Final = 50
"""Objects of a page of a list: what is left of a page when a bound is reached is read for nothing.
"""


@dataclass(slots=True)
class _Objects:
    """What was read, as JSON: an object in memory takes ten times as much.

    Attributes:
        states: Their metadata, of which digests are made.
        ours: Whether one of them has the label that watches select.
    """

    documents: list[bytes] = field(default_factory=list)
    states: list[JsonObject] = field(default_factory=list)
    ours: bool = False
    size: int = 0

    def add(self, obj: JsonObject) -> JsonObject:
        """Add an object; return nothing of it, since a page keeps what it is given.

        Raises:
            FatalTaskError: there are too many, or they are too large.
        """
        if len(self.documents) == bounds.CHECK_OBJECTS:
            text = f"check.selector selects more than {bounds.CHECK_OBJECTS} objects"
            raise FatalTaskError("CheckInvalid", f"{text}; have it select fewer", limit="objects")
        document = orjson.dumps(visible(obj))
        self.size += len(document)
        if self.size > bounds.CHECK_BYTES:
            text = f"the objects of check are larger than {bounds.CHECK_BYTES >> 20} MiB"
            raise FatalTaskError("CheckInvalid", f"{text}; have it read fewer", limit="payload")
        metadata = obj["metadata"]
        uid, version = version_of(obj)
        self.documents.append(document)
        self.states.append({"metadata": {"uid": uid or "", "resourceVersion": version or ""}})
        labels = metadata.get("labels") or {}
        self.ours = self.ours or labels.get(names.LABEL_HERITAGE) == names.HERITAGE
        return {}


@dataclass(frozen=True, slots=True)
class CheckTask:
    """Runs Check tasks.

    Attributes:
        selecting: By namespace. What a selector selects may take some ten MiB until it is
            evaluated, and a namespace may have many such tasks at a time.
    """

    resolver: Resolver
    observer: Observer
    selecting: KeyedLocks[str] = field(default_factory=KeyedLocks)

    @classmethod
    def of(cls, parts: TaskParts) -> Self:
        return cls(parts.resolver, parts.observer)

    @staticmethod
    async def expected(_context: RenderContext, _resolver: Resolver, /) -> Sequence[Expected]:
        return ()

    async def run(self, context: TaskContext) -> TaskResult:
        """Read the objects if they may have changed, and evaluate the expressions over them.

        Raises:
            FatalTaskError: `failure` is true, or an expression or the objects cannot be used.
            TransientTaskError: they cannot be read now.
        """
        checked = context.memory.checks.get(context.key)
        if checked is None:
            checked = CheckedObjects(target_of(await context.inline_texts()))
            context.memory.checks[context.key] = checked
        left = checked.seconds_left(loop_seconds(), self._watched(checked, context))
        if left == 0.0 and await self._look(checked, context):
            return TaskResult(done=True)
        left = checked.seconds_left(loop_seconds(), self._watched(checked, context))
        return TaskResult(
            done=False, message=checked.message, look_again=left, awaits=checked.awaits
        )

    async def _look(self, checked: CheckedObjects, context: TaskContext) -> bool:
        """Read and evaluate; return whether the task is done."""
        if checked.target.name:
            return await self._look_now(checked, context)
        async with self.selecting.of(context.tenant):
            return await self._look_now(checked, context)

    async def _look_now(self, checked: CheckedObjects, context: TaskContext) -> bool:
        resource, target = await self._resource(checked), checked.target
        if resource is None:
            checked.read(loop_seconds(), Watched())
            kind = f"{target.kind} of {target.api_version}"
            checked.message = f"no {target} yet: the API server does not serve {kind}"
            checked.awaits = context.awaited()
            return False
        # What changes while the objects are read is told as a change after that.
        before, objects = self._watched(checked, context), _Objects()
        await self._read(resource, checked, context, objects)
        if objects.ours:
            await self.observer.watch(resource)
        now = self._watched(checked, context)
        if target.name:
            # The object as it was read: the cache may have a later state of it by now.
            version = map(_version, objects.states)
            before = Watched(frozenset(version) if now.versions else frozenset(), now.all)
        checked.read(loop_seconds(), before)
        checked.awaits = context.awaited(*objects.states)
        if not objects.documents:
            checked.message = f"no {target} yet"
            return False
        return await self._is_true(objects, checked, context)

    async def _is_true(
        self, objects: _Objects, checked: CheckedObjects, context: TaskContext
    ) -> bool:
        expressions = [*kind_of(context.task).expressions(context.task)]
        request = object_check.Request(
            {str(expression.path[-1]): expression.text for expression in expressions},
            bool(checked.target.name),
            context.inputs(expressions[0].scope),
            tuple(objects.documents),
        )
        verdict = await context.renderer.verdict(request, context.tenant)
        match verdict.outcome:
            case "failed":
                raise FatalTaskError("CheckFailed", verdict.text)
            case "invalid":
                raise FatalTaskError("CheckInvalid", verdict.text)
        checked.message = verdict.text
        return verdict.outcome == "done"

    async def _resource(self, checked: CheckedObjects) -> Resource | None:
        """Return the kind of the objects; None if it is not served, or not yet."""
        if checked.resource is not None:
            return checked.resource
        target = checked.target
        try:
            resource = await self.resolver.discovery.resolve(target.api_version, target.kind)
        except UnknownKind:
            return None
        except (ApiError, ConnectionLost) as error:
            text = f"cannot look up the kind of {target}: {error}"
            raise TransientTaskError("TaskCheckError", text) from error
        verb = "get" if target.name else "list"
        # Without this, the API server would answer 405 each time.
        if resource.verbs and verb not in resource.verbs:
            text = f"check.kind: the API server does not offer {verb} for {resource.name}"
            raise FatalTaskError("CheckInvalid", text)
        checked.resource = resource
        return resource

    async def _read(
        self,
        resource: Resource,
        checked: CheckedObjects,
        context: TaskContext,
        objects: _Objects,
    ) -> None:
        target, client = checked.target, context.client
        namespace = context.tenant if resource.namespaced else None
        try:
            if target.name:
                obj = await self.observer.body(resource, namespace, target.name, client=client)
                if obj is not None:
                    objects.add(obj)
                return
            pages = client.pages(
                resource,
                namespace=namespace,
                label_selector=target.selector,
                limit=_PAGE,
                transform=objects.add,
            )
            async with aclosing(pages):
                async for _ in pages:
                    pass
        except NotFound:
            # Its CRD was deleted, and may come back in another version.
            self.resolver.discovery.invalidate(resource.api_version)
            checked.resource = None
        except (ApiError, ConnectionLost) as error:
            text = f"cannot read {target}: {error_text(error, resource)}"
            raise task_error("TaskCheckError", text, error) from error

    def _watched(self, checked: CheckedObjects, context: TaskContext) -> Watched:
        """Return what watches tell of the objects now."""
        resource, target, key = checked.resource, checked.target, key_of(context.instance)
        if resource is None:
            return Watched()
        if target.name:
            namespace = context.tenant if resource.namespaced else None
            version = self.observer.version_of(resource, namespace, target.name, key)
            return Watched() if version is None else Watched(frozenset({version}), all=True)
        versions = self.observer.versions_of(resource, key) if resource.namespaced else None
        if versions is None:
            return Watched()
        # Others may have other labels of the selector, and are not watched.
        ours = {names.LABEL_HERITAGE: names.HERITAGE, names.LABEL_INSTANCE: key.name}
        return Watched(versions, all=ours.items() <= target.labels.items())


def _version(state: JsonObject) -> tuple[str, str]:
    return state["metadata"]["uid"], state["metadata"]["resourceVersion"]
