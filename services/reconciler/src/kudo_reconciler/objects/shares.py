"""Removes Instances from the sharers of cluster-scoped objects."""

from dataclasses import dataclass

from kubeio import jsonpatch
from kubeio.client import Client
from kubeio.resource import Resource
from kudo import names
from kudo.api import JsonObject
from kudo.identity import InstanceIdentity
from kudo.objects.sharing import shared_by, sharers
from kudo_reconciler.keys import Key
from kudo_reconciler.objects.observer import Observer

_ANNOTATION = jsonpatch.pointer(("metadata", "annotations", names.ANNOTATION_SHARED_BY))


@dataclass(frozen=True, slots=True)
class Shares:
    """Writes the annotation that lists the Instances that share an object."""

    observer: Observer

    async def remove_sharer(
        self, resource: Resource, obj: JsonObject, one: InstanceIdentity, *, client: Client
    ) -> None:
        """Remove an Instance from the sharers of an object, if it is listed.

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
        named = sharers(metadata)
        if one not in named:
            return
        rest = [other for other in named if other != one]
        change = (
            jsonpatch.replace(_ANNOTATION, shared_by(rest))
            if rest
            else jsonpatch.remove(_ANNOTATION)
        )
        version = jsonpatch.test("/metadata/resourceVersion", metadata["resourceVersion"])
        name, author = metadata["name"], Key(one.namespace, one.name)
        with self.observer.writing(resource, None, name, author) as write:
            changed = await client.json_patch(
                resource, name, [version, change], field_manager=names.FIELD_MANAGER
            )
            write.answered(changed, after=obj)
