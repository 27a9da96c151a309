"""Objects that existed before their Instance applied them: how they are sent, and their fate."""

from dataclasses import replace

from kudo.api import Instance, JsonObject, names
from kudo.objects.adoption import holds_data, without_owner
from kudo.objects.deletion_policy import is_retained
from kudo.objects.inventory.retention import Retention, retained_by
from kudo.objects.sharing import goes_with_instance
from kudo_reconciler.objects.ownership import Desired, is_owned
from kudo_reconciler.objects.run_context import RunContext


def keeps_data(desired: Desired) -> bool:
    """Return whether an object stays if the Instance did not create it."""
    return holds_data(desired.resource.group, desired.resource.kind)


def former(desired: Desired, known: JsonObject, instance: Instance) -> Retention | None:
    """Return the former Instance whose retained object ours takes over; None if it takes none."""
    retention, uid = retained_by(known["metadata"]), instance.metadata.uid
    if retention is None or not desired.resource.namespaced:
        return None
    return None if retention.uid == uid or is_owned(known, uid) else retention


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
