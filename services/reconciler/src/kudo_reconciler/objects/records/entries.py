"""What is put on record of an object of a template."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kubeio.resource import Resource
from kudo.api import JsonObject, names
from kudo.api.task_kinds import FatalTaskError
from kudo.objects.apply_policy import is_only_created
from kudo.objects.deletion_policy import is_retained
from kudo.objects.inventory.digest import digest_of
from kudo.objects.inventory.record import Entry
from kudo.tasks.rendering import Manifest
from kudo_reconciler.common.resources import INVENTORIES
from kudo_reconciler.objects.ownership import is_owned
from kudo_reconciler.objects.places import place_of
from kudo_reconciler.objects.run_context import Answer


@dataclass(frozen=True, slots=True)
class Entries:
    """Makes the entries of the objects of a task.

    Attributes:
        key: Of the digests of Secrets; None if the installation has none.
    """

    key: bytes | None = None

    async def of(
        self, objects: Iterable[tuple[Manifest, Resource]], namespace: str, plan: str, task: str
    ) -> Sequence[Entry]:
        """Return the entries of objects, in their order.

        Args:
            objects: As the templates give them, and their kinds.
            namespace: Of the Instance.
            plan: The plan that applies them.
            task: Its task.

        Raises:
            FatalTaskError: a template names an Inventory.
        """
        made = []
        for manifest, resource in objects:
            _refuse_inventories(resource, manifest)
            place = place_of(resource, namespace, str(manifest.object["metadata"]["name"]))
            metadata = manifest.object["metadata"]
            # Of an object that is only created, nothing but the first rendering counts.
            digest = "" if is_only_created(metadata) else digest_of(manifest.object, self.key)
            made.append(
                Entry(
                    place,
                    resource.version,
                    resource.plural,
                    plan,
                    task,
                    digest=digest,
                    retained=is_retained(metadata),
                )
            )
            # Each digest takes up to 6 ms, and there may be many.
            await asyncio.sleep(0)
        return made


def named(resource: Resource, name: str, namespace: str, plan: str, task: str) -> Entry:
    """Return the entry of an object of which only the name is known before its task runs.

    It has no digest: an entry with one would have to be written a second time.
    """
    place = place_of(resource, namespace, name)
    return Entry(place, resource.version, resource.plural, plan, task)


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


def _refuse_inventories(resource: Resource, manifest: Manifest) -> None:
    """Refuse a template that would write a record, also when it is rendered before its turn."""
    if (resource.group, resource.kind) == (names.GROUP, INVENTORIES.kind):
        text = f"{manifest}: only KUDO writes Inventories; remove the template"
        raise FatalTaskError("TaskEnhancementError", text)
