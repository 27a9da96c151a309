"""Whose an object is, and so how it may be applied.

* What our Instance owns is ours: a conflict over its fields is won by force.
* What another controller owns, another Instance among them, is never touched.
* A cluster-scoped object can have no owner: those who apply it are written on it.
* Anything else is applied without force, and becomes ours if nobody objects.
"""

from dataclasses import dataclass

from kubeio.resource import Resource
from kudo import names
from kudo.api import Instance, JsonObject
from kudo.identity import InstanceIdentity, identity
from kudo.rendering import Manifest
from kudo.sharing import Claim, claim, shared_by, sharers
from kudo.tasks import FatalTaskError, TransientTaskError
from kudo_reconciler.keys import Key
from kudo_reconciler.store.instances import InstanceStore


@dataclass(frozen=True, slots=True)
class Wanted:
    """An object that is to be applied.

    Attributes:
        manifest: Where it comes from, for messages.
        resource: Its kind.
        target: The object to send.
    """

    manifest: Manifest
    resource: Resource
    target: JsonObject

    @property
    def namespace(self) -> str | None:
        return self.target["metadata"]["namespace"] if self.resource.namespaced else None

    @property
    def name(self) -> str:
        return str(self.target["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class Ownership:
    """Knows which Instances there are."""

    instances: InstanceStore

    def claim(
        self, wanted: Wanted, known: JsonObject, instance: Instance
    ) -> tuple[Claim, tuple[str, ...]]:
        """Return what an existing object is to an Instance, and who shares it.

        Raises:
            FatalTaskError: another controller owns it.
            TransientTaskError: an Instance of this name owned it that is gone.
        """
        _refuse_foreign_controller(wanted, known, instance)
        if not wanted.resource.namespaced:
            return claim(known["metadata"], instance, self.lives)
        return (Claim.OURS if is_owned(known, instance.metadata.uid) else Claim.FOREIGN), ()

    def shared(self, wanted: Wanted, known: JsonObject | None, instance: Instance) -> JsonObject:
        """Return the object to send, with the Instances written on it that share it."""
        if wanted.resource.namespaced:
            return wanted.target
        metadata = wanted.target["metadata"]
        annotations = {
            **(metadata.get("annotations") or {}),
            names.ANNOTATION_SHARED_BY: self.sharing(known, instance),
        }
        return {**wanted.target, "metadata": {**metadata, "annotations": annotations}}

    def sharing(self, known: JsonObject | None, instance: Instance) -> str:
        """Return the annotation of an object that this Instance shares from now on."""
        named = () if known is None else sharers(known["metadata"])
        return shared_by((*filter(self.lives, named), identity(instance)))

    def lives(self, one: InstanceIdentity) -> bool:
        """Return whether an Instance exists as far as we know."""
        found = self.instances.cached(Key(one.namespace, one.name))
        return found is not None and found.metadata.uid == one.uid


def controller_of(obj: JsonObject) -> JsonObject | None:
    """Return the owner reference of the controller."""
    owners = obj["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def is_owned(obj: JsonObject, owner: str) -> bool:
    """Return whether the Instance with this uid is the controller."""
    return (controller_of(obj) or {}).get("uid") == owner


def _refuse_foreign_controller(wanted: Wanted, known: JsonObject, instance: Instance) -> None:
    controller = controller_of(known)
    if controller is None or controller.get("uid") == instance.metadata.uid:
        return
    kind, name = controller.get("kind"), controller.get("name")
    text = f"failed to apply {wanted.manifest}: the object is already owned by another "
    if (kind, name) == ("Instance", instance.metadata.name):
        # The garbage collector comes for it: no two Instances of a name live at once.
        text = f"{text}Instance {name} that is gone; it is applied once it has gone as well"
        raise TransientTaskError("TaskEnhancementError", text)
    raise FatalTaskError("TaskEnhancementError", f"{text}{kind} controller {name}")
