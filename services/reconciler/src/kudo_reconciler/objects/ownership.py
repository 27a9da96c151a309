"""Decides whose an object is, and so how it may be applied.

* An object that the Instance owns is applied by force: it wins conflicts over fields.
* An object that another controller owns, such as another Instance, is never changed.
* A cluster-scoped object can have no owner: Instances share it; see `sharers`.
* A retained object of a namespace has no owner either: an annotation names its Instance. That one
  applies it by force, and so does a later one of the same name and operator. If it holds data, only
  the Instance that created it may own it once it is retained no more.
* Any other object is applied without force, and adopted unless a field conflicts. Objects that hold
  data get no owner reference then; see `kudo.objects.adoption`.

`mark_changes` are the marks that tell whose an object is: its owner reference, and the annotations
of its retention. Nothing else is written to an object that is only created; see
`kudo.objects.policies`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from kubeio import jsonpatch
from kubeio.resource import Resource
from kudo.api import Instance, Json, JsonObject, names
from kudo.api.identity import identity
from kudo.api.task_kinds import FatalTaskError, TransientTaskError
from kudo.objects.adoption import (
    Retention,
    applied_by,
    holds_data,
    may_take_over,
    retained_by,
    without_owner,
)
from kudo.objects.policies import is_only_created, is_retained
from kudo.objects.sharing import Claim, claim, goes_with_instance
from kudo.tasks.rendering import Manifest
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.cached_objects import written_by
from kudo_reconciler.objects.run_context import ObjectKey, RunContext, place_of
from kudo_reconciler.objects.sharers import Sharers
from kudo_reconciler.store.instances import InstanceStore


@dataclass(frozen=True, slots=True)
class Desired:
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
    def key(self) -> ObjectKey:
        return self.resource, self.namespace, self.name

    @property
    def namespace(self) -> str | None:
        return self.target["metadata"]["namespace"] if self.resource.namespaced else None

    @property
    def name(self) -> str:
        return str(self.target["metadata"]["name"])

    @property
    def only_created(self) -> bool:
        """Whether it is left as it is if it exists."""
        return is_only_created(self.target["metadata"])

    @property
    def operator(self) -> str:
        """The name of the operator that it is applied for."""
        return str((self.target["metadata"].get("labels") or {}).get(names.LABEL_OPERATOR) or "")


@dataclass(frozen=True, slots=True)
class Ownership:
    """Decides whose an object is, and so how it may be applied."""

    instances: InstanceStore
    sharers: Sharers

    async def claim(
        self, desired: Desired, existing: JsonObject, instance: Instance
    ) -> tuple[Claim, tuple[str, ...]]:
        """Return the claim of an Instance to an existing object, and others that share the object.

        Raises:
            FatalTaskError: another controller owns it, another Instance applies or retains it.
            TransientTaskError: its owner is an earlier Instance of this name, which was deleted.
            KubeError: the Instances that share it could not be read.
        """
        _refuse_foreign_controller(desired, existing, instance)
        if not desired.resource.namespaced:
            metadata, place = existing["metadata"], place_of(desired.resource, None, desired.name)
            others = await self.sharers.others(metadata, place, identity(instance))
            return claim(metadata, instance, others)
        retention, uid = retained_by(existing["metadata"]), instance.metadata.uid
        if is_owned(existing, uid):
            # A restored backup may have brought back an owner reference that it must not have.
            kept = retention is not None and retention.uid == uid and retention.adopted
            return (Claim.KEPT if kept else Claim.OURS), ()
        if retention is not None:
            await self._check_retained(desired, retention, instance)
            existed = retention.adopted or retention.uid != uid
            keeps_data = holds_data(desired.resource.group, desired.resource.kind)
            return (Claim.KEPT if existed and keeps_data else Claim.OURS), ()
        return (await self._unowned(desired, existing, instance)), ()

    async def _check_retained(
        self, desired: Desired, retention: Retention, instance: Instance
    ) -> None:
        """Check that an Instance may apply a retained object that nobody owns.

        Raises:
            FatalTaskError: it is retained for another Instance; ObjectRetained.
            KubeError: that Instance could not be read.
        """
        ours, operator = identity(instance), desired.operator
        if may_take_over(retention, ours, operator, lives=False):
            # Only then it matters whether the former Instance exists.
            lives = retention.uid != ours.uid and await self.sharers.exists(retention.instance)
            if may_take_over(retention, ours, operator, lives=lives):
                return
        raise FatalTaskError("ObjectRetained", _retained_for_another(desired, retention))

    async def _unowned(self, desired: Desired, existing: JsonObject, instance: Instance) -> Claim:
        """Return the claim of an Instance to an object of its namespace that has no owner.

        Raises:
            FatalTaskError: another Instance applies it.
        """
        if not holds_data(desired.resource.group, desired.resource.kind):
            return Claim.FOREIGN
        # All Instances share our field manager, so the API server reports no conflict between them.
        name, metadata = applied_by(existing["metadata"], written_by(existing)), instance.metadata
        if name == metadata.name:
            return Claim.KEPT
        if name and await self.sharers.at(Key(metadata.namespace, name)) is not None:
            text = f"the object is already applied by another Instance {name}"
            raise FatalTaskError(
                "TaskEnhancementError", f"failed to apply {desired.manifest}: {text}"
            )
        return Claim.FOREIGN

    async def shared(
        self, desired: Desired, existing: JsonObject | None, instance: Instance
    ) -> JsonObject:
        """Return the object to send, with the annotation that tells who shares it.

        Raises:
            KubeError: they could not be read.
        """
        if desired.resource.namespaced:
            return desired.target
        metadata, place = desired.target["metadata"], place_of(desired.resource, None, desired.name)
        before = None if existing is None else existing["metadata"]
        sharing = await self.sharers.joined(before, place, identity(instance))
        annotations = {
            **(metadata.get("annotations") or {}),
            names.ANNOTATION_SHARED_BY: sharing,
        }
        return {**desired.target, "metadata": {**metadata, "annotations": annotations}}


def controller_of(obj: JsonObject) -> JsonObject | None:
    """Return the owner reference of the controller."""
    owners = obj["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def is_owned(obj: JsonObject, owner: str) -> bool:
    """Return whether the Instance with this uid is the controller."""
    return (controller_of(obj) or {}).get("uid") == owner


def is_applied(obj: JsonObject, resource: Resource, instance: Instance) -> bool:
    """Return whether a namespaced object is the Instance's, with or without an owner reference."""
    if is_owned(obj, instance.metadata.uid):
        return True
    if controller_of(obj) is not None:
        return False
    retention = retained_by(obj["metadata"])
    if retention is not None:
        return retention.uid == instance.metadata.uid
    if not holds_data(resource.group, resource.kind):
        return False
    return applied_by(obj["metadata"], written_by(obj)) == instance.metadata.name


def _refuse_foreign_controller(desired: Desired, existing: JsonObject, instance: Instance) -> None:
    controller = controller_of(existing)
    if controller is None or controller.get("uid") == instance.metadata.uid:
        return
    kind, name = controller.get("kind"), controller.get("name")
    text = f"failed to apply {desired.manifest}: the object is already owned by another "
    if (kind, name) == ("Instance", instance.metadata.name):
        # The garbage collector will delete it: no two Instances of a name exist at once.
        text = (
            f"{text}Instance {name}, which was deleted; waiting for garbage collection of the "
            "old object"
        )
        raise TransientTaskError("TaskEnhancementError", text)
    raise FatalTaskError("TaskEnhancementError", f"{text}{kind} controller {name}")


def _retained_for_another(desired: Desired, retention: Retention) -> str:
    """Return why a retained object is not applied, and how it can be adopted."""
    command = (
        f"kubectl annotate {desired.resource.name} {desired.name} -n {desired.namespace} "
        f"{names.ANNOTATION_RETAINED_BY}-"
    )
    return (
        f"failed to apply {desired.manifest}: the object is retained for Instance "
        f"{retention.instance} of operator {retention.operator}; if this Instance is to adopt it, "
        f"remove the annotation: {command}"
    )


def keeps_data(desired: Desired) -> bool:
    """Return whether an object stays if the Instance did not create it."""
    return holds_data(desired.resource.group, desired.resource.kind)


def former(desired: Desired, existing: JsonObject, instance: Instance) -> Retention | None:
    """Return the former Instance whose retained object ours takes over; None if it takes none."""
    retention, uid = retained_by(existing["metadata"]), instance.metadata.uid
    if retention is None or not desired.resource.namespaced:
        return None
    return None if retention.uid == uid or is_owned(existing, uid) else retention


def not_owned(desired: Desired, instance: Instance) -> Desired:
    """Return an object that holds data and existed before, as it is sent.

    If it is retained, its annotation says that it existed: nothing else would tell that it must
    have no owner once it is retained no more.
    """
    target = without_owner(desired.target, instance.metadata.uid)
    retention = retained_by(target["metadata"])
    if retention is not None:
        adopted = {names.ANNOTATION_RETAINED_BY: str(replace(retention, adopted=True))}
        annotations = {**target["metadata"]["annotations"], **adopted}
        target = {**target, "metadata": {**target["metadata"], "annotations": annotations}}
    return replace(desired, target=target)


def tell_adopted(desired: Desired, context: RunContext) -> None:
    """Write the event of an object that belonged to nobody."""
    text = f"{desired.manifest} existed and belonged to nobody: it is now managed by KUDO, and "
    context.tell("Normal", "ObjectAdopted", text + _fate(desired))


def tell_taken_over(desired: Desired, retention: Retention | None, context: RunContext) -> None:
    """Write the event of an object that a former Instance retained; none if it is not one."""
    if retention is None:
        return
    text = f"{desired.manifest} was retained for an earlier Instance {retention.instance}, "
    text += "which no longer exists: this one has taken it over, and it "
    context.tell("Normal", "ObjectTakenOver", text + _fate(desired))


def _fate(adopted: Desired) -> str:
    """Return what becomes of an adopted object when its Instance is deleted."""
    resource = adopted.resource
    if is_retained(adopted.target["metadata"]):
        return "stays when the Instance is deleted"
    if resource.namespaced:
        stays = keeps_data(adopted)
        return "stays when the Instance is deleted" if stays else "is deleted with the Instance"
    if goes_with_instance(resource.group, resource.kind, adopted.target["metadata"]):
        return "is deleted with the last Instance that shares it"
    return "stays when the Instance is deleted"


def mark_changes(existing: JsonObject, target: JsonObject, uid: str) -> list[JsonObject]:
    """Return the operations of a JSON patch that give an object the marks of another one.

    Args:
        existing: The object as the API server has it.
        target: As it would be applied.
        uid: Of the Instance: owner references to others stay.

    Returns:
        Empty if the marks are the same. No operation quotes other annotations: `kubectl apply`
        stores the values of a Secret in one.
    """
    live, desired = existing["metadata"], target["metadata"]
    return [*_annotation_changes(live, desired), *_owner_changes(live, desired, uid)]


def _annotation_changes(
    live: Mapping[str, Json], desired: Mapping[str, Json]
) -> Iterator[JsonObject]:
    before, after = _retention(live), _retention(desired)
    if after and live.get("annotations") is None:
        yield jsonpatch.add("/metadata/annotations", after)
        return
    for key in before:
        if key not in after:
            yield jsonpatch.remove(_path(key))
    for key, text in after.items():
        if before.get(key) != text:
            yield jsonpatch.add(_path(key), text)


def _retention(metadata: Mapping[str, Json]) -> dict[str, Json]:
    """Return the annotations of an object that retain it."""
    annotations = metadata.get("annotations") or {}
    policy = {names.ANNOTATION_DELETION_POLICY: names.RETAIN} if is_retained(metadata) else {}
    by = names.ANNOTATION_RETAINED_BY
    return {**policy, **({by: annotations[by]} if by in annotations else {})}


def _owner_changes(
    live: Mapping[str, Json], desired: Mapping[str, Json], uid: str
) -> Iterator[JsonObject]:
    before, after = live.get("ownerReferences") or [], desired.get("ownerReferences") or []
    others = [owner for owner in before if owner.get("uid") != uid]
    ours = [owner for owner in after if owner.get("uid") == uid]
    if bool(ours) != (len(others) < len(before)):
        yield jsonpatch.add("/metadata/ownerReferences", [*others, *ours])


def _path(annotation: str) -> str:
    return jsonpatch.pointer(("metadata", "annotations", annotation))
