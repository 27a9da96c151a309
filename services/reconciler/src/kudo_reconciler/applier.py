"""Server-side apply of one object, with the rules about what belongs to whom.

* What our Instance owns is ours: a conflict over its fields is won by force.
* What another controller owns, another Instance among them, is never touched: that is fatal.
* Anything else is applied without force: a conflict is fatal and names fields and managers.
* An object that has been seen is applied with its uid and resourceVersion, so that a write held up
  in the network never lands on an object that changed since, nor creates it anew.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, Conflict, ConnectionLost, NotFound, UnknownKind
from kubeio.resource import Resource
from kudo.api import JsonObject
from kudo.names import FIELD_MANAGER
from kudo.rendering import Manifest
from kudo.tasks import FatalTaskError, TransientTaskError
from kudo_reconciler.metrics import Metrics
from kudo_reconciler.observer import Observer
from kudo_reconciler.refused import Refusal, stays_refused, task_error, told

_ATTEMPTS = 5


class Superseded(Exception):
    """The run is no longer the one that the Instance wants; nothing more is sent for it."""


@dataclass(frozen=True, slots=True)
class Applier:
    """Applies objects on behalf of an Instance."""

    client: Client
    discovery: Discovery
    observer: Observer
    metrics: Metrics

    async def resolve(self, manifest: Manifest) -> Resource:
        """Find out where the kind of an object is served, and whether it has a namespace.

        Raises:
            FatalTaskError: no such kind is served.
            TransientTaskError: the API server could not be asked.
        """
        api_version, kind = manifest.object["apiVersion"], manifest.object["kind"]
        try:
            return await self.discovery.resolve(api_version, kind)
        except UnknownKind as error:
            raise FatalTaskError(
                "TaskEnhancementError",
                f"failed to determine if object {manifest} is namespaced: a resource with GVK "
                f"{api_version}, Kind={kind} seems to be missing in API resource list",
            ) from error
        except (ApiError, ConnectionLost) as error:
            raise TransientTaskError(
                "TaskEnhancementError", f"cannot ask for the kind of {manifest}: {error}"
            ) from error

    async def apply(
        self,
        manifest: Manifest,
        target: JsonObject,
        resource: Resource,
        *,
        owner: str,
        still_wanted: Callable[[], bool],
    ) -> JsonObject:
        """Apply an enriched object and return it as the API server has it.

        Args:
            manifest: Where the object comes from, for messages.
            target: The object to send.
            resource: Its kind.
            owner: uid of the Instance.
            still_wanted: Asked in the same tick as each send.

        Raises:
            Superseded: the run was replaced meanwhile.
            FatalTaskError: the API server will not take the object.
            TransientTaskError: it may take it later.
        """
        metadata = target["metadata"]
        namespace, name = metadata.get("namespace"), metadata["name"]
        for _ in range(_ATTEMPTS):
            try:
                known = await self.observer.current(resource, namespace, name)
                self._check_owner(manifest, known, owner)
                if not still_wanted():
                    raise Superseded
                applied = await self._send(target, resource, known, owner)
            except Conflict as conflict:
                await self._check_conflict(manifest, resource, target, conflict, owner)
            except NotFound as error:
                if known is None:
                    raise self._refused(manifest, error) from error
                await self._read_live(manifest, resource, target)
            except (ApiError, ConnectionLost) as error:
                raise self._refused(manifest, error) from error
            else:
                self.metrics.applied.labels("applied").inc()
                self.observer.applied(resource, applied)
                return applied
        raise TransientTaskError("TaskApplyError", f"{manifest} keeps changing while it is applied")

    def _check_owner(self, manifest: Manifest, known: JsonObject | None, owner: str) -> None:
        controller = controller_of(known) if known is not None else None
        if controller is not None and controller.get("uid") != owner:
            raise FatalTaskError(
                "TaskEnhancementError",
                f"failed to apply {manifest}: the object is already owned by another "
                f"{controller.get('kind')} controller {controller.get('name')}",
            )

    async def _send(
        self, target: JsonObject, resource: Resource, known: JsonObject | None, owner: str
    ) -> JsonObject:
        ours = known is not None and is_owned(known, owner)
        if known is not None:
            seen = {key: known["metadata"][key] for key in ("uid", "resourceVersion")}
            target = {**target, "metadata": {**target["metadata"], **seen}}
        return await self.client.apply(resource, target, field_manager=FIELD_MANAGER, force=ours)

    async def _check_conflict(
        self,
        manifest: Manifest,
        resource: Resource,
        target: JsonObject,
        conflict: Conflict,
        owner: str,
    ) -> None:
        """Read the object again; refuse if its fields are somebody else's."""
        live = await self._read_live(manifest, resource, target)
        if conflict.field_managers and (live is None or not is_owned(live, owner)):
            raise self._refused(manifest, conflict)

    async def _read_live(
        self, manifest: Manifest, resource: Resource, target: JsonObject
    ) -> JsonObject | None:
        """Bring what we know of the object up to date."""
        metadata = target["metadata"]
        try:
            live = await self.client.get(
                resource, metadata["name"], namespace=metadata.get("namespace")
            )
        except NotFound:
            return None
        except (ApiError, ConnectionLost) as error:
            raise self._refused(manifest, error) from error
        self.observer.applied(resource, live)
        return live

    def _refused(self, manifest: Manifest, error: Refusal) -> FatalTaskError | TransientTaskError:
        text = f"failed to apply {manifest}: {told(error)}"
        if isinstance(error, Conflict) and error.field_managers:
            fields = "; ".join(f"{m}: {', '.join(f)}" for m, f in error.field_managers.items())
            text = f"failed to apply {manifest}: these fields belong to other managers: {fields}"
        self.metrics.applied.labels("refused" if stays_refused(error) else "failed").inc()
        return task_error("TaskApplyError", text, error)


def controller_of(obj: JsonObject) -> JsonObject | None:
    """Return the owner reference of the object's controller, if it has one."""
    references = obj["metadata"].get("ownerReferences") or []
    return next((ref for ref in references if ref.get("controller")), None)


def is_owned(obj: JsonObject, owner: str) -> bool:
    """Return whether the object's controller is the Instance with this uid."""
    controller = controller_of(obj)
    return controller is not None and controller.get("uid") == owner
