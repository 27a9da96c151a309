"""Records what a task will apply, and with it what the rest of its plan will.

At the first object of a run that is not on record, it is found out what every task applies, so that
one write records it all. What cannot be rendered now is left to its own turn. Nothing is written
for an account that may not apply the first object of the task, nor for a plan that would apply more
than an Instance may have.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from kubeio.errors import Forbidden
from kubeio.resource import Resource
from kudo.api import ExecutionStatus, JsonObject, Task, bounds, names
from kudo.api.fingerprints import digest_of
from kudo.api.task_kinds import FatalTaskError, TaskError, TransientTaskError
from kudo.objects.inventory.record import Entry
from kudo.objects.policies import is_only_created, is_retained
from kudo.plans.execution import StepRef, step_of, step_status, steps_of
from kudo.plans.execution.decision import has_conditions
from kudo.tasks.rendering import Manifest
from kudo_reconciler.common.concurrency import FEW_AT_ONCE, paced
from kudo_reconciler.common.keys import INVENTORIES
from kudo_reconciler.execution.expected import ExpectedObjects
from kudo_reconciler.execution.task_context import RenderContext, TaskContext, TaskKey
from kudo_reconciler.objects.ownership import is_owned
from kudo_reconciler.objects.recorder import Recorder
from kudo_reconciler.objects.run_context import Answer, place_of
from kudo_reconciler.tenancy.access import AccessReviews


@dataclass(frozen=True, slots=True)
class Entries:
    """Makes the entries of the objects of a task.

    Attributes:
        key: Of the digests of Secrets; None if the installation has none.
    """

    key: bytes | None = None

    async def of(
        self, objects: Iterable[tuple[Manifest, Resource]], context: RenderContext
    ) -> Sequence[Entry]:
        """Return the entries of objects, in their order.

        Args:
            objects: As the templates give them, and their kinds.
            context: Of the task that applies them.

        Raises:
            FatalTaskError: a template names an Inventory.
        """
        made, namespace, path = [], context.tenant, context.path
        for manifest, resource in objects:
            if (resource.group, resource.kind) == (names.GROUP, INVENTORIES.kind):
                # Also when it is rendered before its turn: it would write a record.
                text = f"{manifest}: only KUDO writes Inventories; remove the template"
                raise FatalTaskError("TaskEnhancementError", text)
            place = place_of(resource, namespace, str(manifest.object["metadata"]["name"]))
            metadata = manifest.object["metadata"]
            # Of an object that is only created, nothing but the first rendering counts.
            confidential = context.is_confidential(manifest)
            digest = ""
            if not is_only_created(metadata):
                digest = digest_of(manifest.object, self.key, confidential=confidential)
            made.append(
                Entry(
                    place,
                    resource.version,
                    resource.plural,
                    path.plan,
                    path.task,
                    digest=digest,
                    retained=is_retained(metadata),
                )
            )
            # Each digest takes up to 6 ms, and there may be many.
            await asyncio.sleep(0)
        return made


def answer_of(applied: JsonObject, resource: Resource, owner: str) -> Answer:
    """Return what the answer to an apply says.

    Args:
        applied: The object in the answer, or as a cache keeps it.
        resource: Its kind.
        owner: uid of the Instance.
    """
    metadata = applied["metadata"]
    stays = resource.namespaced and not is_owned(applied, owner)
    return Answer(str(metadata["uid"]), adopted=stays and not is_retained(metadata))


@dataclass(frozen=True, slots=True)
class Recording:
    """Records the objects of tasks.

    Attributes:
        recorder: Keeps the records.
        reviews: Tell what accounts may apply.
        expected: Finds out what other tasks apply.
        entries: Makes entries.
    """

    recorder: Recorder
    reviews: AccessReviews
    expected: ExpectedObjects
    entries: Entries = field(default_factory=Entries)

    async def expect(
        self, objects: Iterable[tuple[Manifest, Resource]], context: TaskContext
    ) -> None:
        """Have the objects of a task on record before anything of the task is sent.

        Raises:
            FatalTaskError: a template names an Inventory, or the Instance would have too many
                objects.
            TransientTaskError: the record could not be written, or the account may not apply the
                first object; nothing may be sent.
            Superseded, Suspended: the run may not write any more.
        """
        await self._expect(await self._entries(objects, context), context)

    async def expect_named(
        self, objects: Iterable[tuple[Resource, str]], context: TaskContext
    ) -> None:
        """Have objects on record of which the name alone counts; raises as `expect` does."""
        await self._expect([_named(resource, name, context) for resource, name in objects], context)

    async def _expect(self, entries: Sequence[Entry], context: TaskContext) -> None:
        memory, places = context.memory, frozenset(entry.place for entry in entries)
        if memory.expected is not None:
            # It may have been rendered with other random content.
            memory.expected[context.key] = entries

        async def plan() -> Sequence[Entry]:
            await self._check_access(entries, context)
            return await self._plan(entries, context)

        await self.recorder.expect(context, entries, plan)
        # A task may be rendered again, with other names: what it has applied stays its own.
        memory.rendered[context.key] = memory.rendered.get(context.key, frozenset()) | places
        memory.removed.difference_update(places)

    async def _check_access(self, entries: Sequence[Entry], context: TaskContext) -> None:
        """Check whether the account may apply the first object, before anything is on record.

        The others are applied after it, each by a request that the API server checks.
        """
        for entry in entries[:1]:
            place = entry.place
            resource = Resource(
                place.group, entry.version, place.kind, entry.resource, not entry.cluster_scoped
            )
            try:
                await self.reviews.check_apply(
                    context.client, resource, place.namespace or None, place.name
                )
            except Forbidden as error:
                text = f"failed to apply {place.kind} {place.name}: {error}"
                raise TransientTaskError("TaskApplyError", text) from error

    async def _entries(
        self, objects: Iterable[tuple[Manifest, Resource]], context: RenderContext
    ) -> Sequence[Entry]:
        return await self.entries.of(objects, context)

    async def _plan(self, own: Sequence[Entry], context: TaskContext) -> Sequence[Entry]:
        """Return the entries of a whole plan, in the order of its tasks.

        Of an object of several tasks the last one counts, so that they do not write in turn.
        """
        memory = context.memory
        if memory.expected is None:
            memory.expected = {key: made async for key, made in self._ahead(context)}
        memory.expected[context.key] = own
        return [entry for entries in memory.expected.values() for entry in entries]

    async def _ahead(self, context: TaskContext) -> AsyncIterator[tuple[TaskKey, Sequence[Entry]]]:
        async for ref, task in paced(_tasks_left(context), FEW_AT_ONCE):
            key = ref, task.name
            if key == context.key:
                yield key, ()
                continue
            try:
                of_task = context.of_task(ref, task)
                objects = await self.expected.objects(of_task)
                rendered = [
                    (obj.manifest, obj.resource) for obj in objects if obj.manifest is not None
                ]
                made = [*await self._entries(rendered, of_task)]
            except TaskError:
                # It may depend on what an earlier step brings: it is recorded in its own turn.
                continue
            made += [
                _named(obj.resource, obj.name, of_task) for obj in objects if obj.manifest is None
            ]
            check_number(len(made), context, key)
            yield key, made


def check_number(objects: int, context: TaskContext, key: TaskKey | None = None) -> None:
    """Count the objects of a task before anything is done with them, so that few are in memory.

    Args:
        objects: How many there are.
        context: Of the task that runs.
        key: Of the task that is counted, if it is another one of the plan.

    Raises:
        FatalTaskError: those of the plan are too many; reason TooManyObjects.
    """
    counts = context.memory.objects
    counts[key or context.key] = objects
    if sum(counts.values()) > bounds.INSTANCE_OBJECTS:
        text = (
            f'plan "{context.path.plan}" applies more than {bounds.INSTANCE_OBJECTS:,} objects: '
            "have several Instances apply them"
        )
        raise FatalTaskError("TooManyObjects", text)


def _named(resource: Resource, name: str, context: RenderContext) -> Entry:
    """Return the entry of an object of which only the name is known before its task runs.

    It has no digest: an entry with one would have to be written a second time.
    """
    place, path = place_of(resource, context.tenant, name), context.path
    return Entry(place, resource.version, resource.plural, path.plan, path.task)


def remember_rendered(objects: Iterable[tuple[Resource, str]], context: TaskContext) -> None:
    """Remember what a task has rendered that was sent by an earlier process."""
    namespace, memory = context.instance.metadata.namespace, context.memory
    places = frozenset(place_of(resource, namespace, name) for resource, name in objects)
    memory.rendered[context.key] = memory.rendered.get(context.key, frozenset()) | places


def remember_applied(applied: JsonObject, resource: Resource, context: TaskContext) -> None:
    """Remember what the answer to an apply says of an object."""
    metadata = context.instance.metadata
    place = place_of(resource, metadata.namespace, applied["metadata"]["name"])
    context.memory.answers[place] = answer_of(applied, resource, metadata.uid)


def remember_deleted(
    resource: Resource, namespace: str | None, name: str, context: TaskContext
) -> None:
    """Remember an object that was deleted, or that the Instance no longer shares.

    Of more than can be on record, the rest is left to the next run, which takes it off.
    """
    if len(context.memory.removed) < bounds.INSTANCE_OBJECTS:
        context.memory.removed.add(place_of(resource, namespace, name))


def _tasks_left(context: TaskContext) -> Iterator[tuple[StepRef, Task]]:
    """Yield the tasks of the plan that are not finished, with their steps.

    A step that may be skipped is left to its own turn: what it would apply may never exist.
    """
    memory, plan = context.memory, context.version.plans[context.path.plan]
    for ref in steps_of(plan):
        entry = memory.entry
        if entry is not None and step_status(entry, ref).status == ExecutionStatus.COMPLETE:
            continue
        if ref != context.ref and has_conditions(plan, ref):
            continue
        for name in step_of(plan, ref).tasks:
            task = context.version.task(name)
            if task is not None and (ref, name) not in memory.finished:
                yield ref, task
