"""Has Instances share cluster-scoped objects no more."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kubeio import jsonpatch
from kubeio.client import Client
from kubeio.errors import Forbidden
from kubeio.resource import Resource
from kudo.api import JsonObject, names
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Place
from kudo.objects.sharing import is_listed, sharers
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.places import place_of
from kudo_reconciler.objects.records.recorder import Recorder
from kudo_reconciler.objects.sharing.sharers import Sharers

log = logging.getLogger(__name__)

_ANNOTATION = jsonpatch.pointer(("metadata", "annotations", names.ANNOTATION_SHARED_BY))


@dataclass(frozen=True, slots=True)
class Shares:
    """Gives up shares of objects."""

    observer: Observer
    sharers: Sharers
    recorder: Recorder

    async def give_up(
        self, resource: Resource, obj: JsonObject, one: InstanceIdentity, *, client: Client
    ) -> tuple[JsonObject, InstanceIdentity | None]:
        """Give up the share of an object that is deleted unless another Instance has one.

        First the list, then the record, then the question: of two that leave together, the one that
        asks last finds nobody. Who takes a share again after that is not listed, so that its apply
        changes the object, and a deletion that was decided before fails. If the object lists nobody
        else, its next apply changes it all the same: it names its run.

        Args:
            resource: The kind of the object.
            obj: The object as it was read.
            one: The Instance.
            client: Sends the requests for the object.

        Returns:
            The object as it is now, and another Instance that shares it; None if there is none.

        Raises:
            Conflict, Invalid: the object changed since it was read, or who shares it is not known.
            KubeError: a request failed; it is safe to retry.
        """
        metadata = obj["metadata"]
        place = place_of(resource, None, str(metadata["name"]))
        if any(other != one for other in sharers(metadata)):
            obj = await self.unlist(resource, obj, one, client=client)
        await self._record(one, [place])
        another = await self.sharers.another(resource, obj["metadata"], one)
        if another is not None:
            obj = await self.unlist(resource, obj, one, client=client)
        return obj, another

    async def give_up_all(
        self, objects: Iterable[tuple[Resource, JsonObject]], one: InstanceIdentity
    ) -> None:
        """Take the shares of an Instance that is being deleted off its record, by one write.

        The objects list it still.

        Raises:
            KubeError: a request failed; it is safe to retry.
        """
        places = [place_of(kind, None, str(obj["metadata"]["name"])) for kind, obj in objects]
        await self._record(one, places)

    async def _record(self, one: InstanceIdentity, places: Collection[Place]) -> None:
        record = self.recorder.of(one)
        if record.leaving(places) is record:
            return
        try:
            await self.recorder.save(one, lambda record: record.leaving(places))
        except Forbidden as error:
            # As the reconciler, whatever the account may do. Others that leave keep the object.
            log.warning("shares stay on record", extra={"instance": str(one), "why": str(error)})

    async def unlist(
        self, resource: Resource, obj: JsonObject, one: InstanceIdentity, *, client: Client
    ) -> JsonObject:
        """Remove an Instance from the list on an object, and return the object as it is then.

        Nothing is sent if it is not listed.

        Raises:
            Conflict, Invalid: the object changed since it was read.
            KubeError: the request failed.
        """
        metadata, author = obj["metadata"], Key(one.namespace, one.name)
        if not is_listed(metadata, one):
            return obj
        place = place_of(resource, None, str(metadata["name"]))
        text = self.sharers.without(metadata, place, one)
        change = jsonpatch.replace(_ANNOTATION, text) if text else jsonpatch.remove(_ANNOTATION)
        version = jsonpatch.test("/metadata/resourceVersion", metadata["resourceVersion"])
        with self.observer.writing(resource, None, metadata["name"], author) as write:
            changed = await client.json_patch(
                resource, metadata["name"], [version, change], field_manager=names.FIELD_MANAGER
            )
            write.answered(changed, after=obj)
        return changed
