"""Removes Instances from the sharers of cluster-scoped objects."""

from dataclasses import dataclass

from kubeio import jsonpatch
from kubeio.client import Client
from kubeio.resource import Resource
from kudo import names
from kudo.api import JsonObject
from kudo.identity import InstanceIdentity
from kudo.objects.inventory.record import Place
from kudo.objects.sharing import is_shared_by, names_everybody
from kudo_reconciler.keys import Key
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.places import place_of
from kudo_reconciler.objects.sharing.sharers import Sharers

_ANNOTATION = jsonpatch.pointer(("metadata", "annotations", names.ANNOTATION_SHARED_BY))


@dataclass(frozen=True, slots=True)
class Shares:
    """Writes the annotation that tells who shares an object."""

    observer: Observer
    sharers: Sharers

    async def remove_sharer(
        self, resource: Resource, obj: JsonObject, one: InstanceIdentity, *, client: Client
    ) -> None:
        """Remove an Instance from the sharers of an object.

        Nothing is sent if the annotation says afterwards what it says now.

        Args:
            resource: The kind of the object.
            obj: The object as it was read.
            one: The Instance to remove.
            client: Sends the request.

        Raises:
            Conflict, Invalid: the object changed since it was read.
            KubeError: the request failed.
        """
        metadata = obj["metadata"]
        place = place_of(resource, None, str(metadata["name"]))
        change = self._change(metadata, place, one)
        if change is not None:
            await self._send(resource, obj, one, change, client)
        self.sharers.left.add(one, place)

    def left(self, resource: Resource, name: str, one: InstanceIdentity) -> None:
        """Remember that an Instance shares an object no more, since it has deleted it."""
        self.sharers.left.add(one, place_of(resource, None, name))

    def _change(
        self, metadata: JsonObject, place: Place, one: InstanceIdentity
    ) -> JsonObject | None:
        """Return the change of the annotation; None if there is none."""
        if names_everybody(metadata) and not is_shared_by(metadata, one):
            return None
        text = self.sharers.without(metadata, place, one)
        if not text:
            return jsonpatch.remove(_ANNOTATION)
        if text == metadata["annotations"][names.ANNOTATION_SHARED_BY]:
            return None
        return jsonpatch.replace(_ANNOTATION, text)

    async def _send(
        self,
        resource: Resource,
        obj: JsonObject,
        one: InstanceIdentity,
        change: JsonObject,
        client: Client,
    ) -> None:
        metadata, author = obj["metadata"], Key(one.namespace, one.name)
        version = jsonpatch.test("/metadata/resourceVersion", metadata["resourceVersion"])
        with self.observer.writing(resource, None, metadata["name"], author) as write:
            changed = await client.json_patch(
                resource, metadata["name"], [version, change], field_manager=names.FIELD_MANAGER
            )
            write.answered(changed, after=obj)
