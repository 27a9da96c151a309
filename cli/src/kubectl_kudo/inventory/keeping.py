"""Whether an object on record is deleted with its Instance or as an orphan, and why not."""

from collections.abc import Iterable
from typing import Final

from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.inventory.live import Condition, Live
from kudo import names
from kudo.identity import InstanceIdentity
from kudo.objects.deletion_policy import is_retained
from kudo.objects.inventory.pruning import why_kept
from kudo.objects.sharing import MOST_LISTED, goes_with_instance, is_of_kudo, lists_all, sharers

_MANY: Final = f"{MOST_LISTED} Instances or more share it"
_ASKS: Final = f'{names.ANNOTATION_DELETE_WITH_INSTANCE}: "true"'


def others(metadata: JsonObject, one: InstanceIdentity) -> tuple[InstanceIdentity, ...]:
    """Return the other Instances that the annotation lists; they may be gone."""
    return tuple(other for other in sharers(metadata) if other != one)


def shared_with(live: Live, one: InstanceIdentity) -> str:
    """Return who else shares a cluster-scoped object; empty if nobody does."""
    if live.metadata is None or not live.entry.cluster_scoped:
        return ""
    if not lists_all(live.metadata):
        return _MANY.removesuffix(" share it")
    return _listed(map(str, others(live.metadata, one)))


def why_orphan_stays(live: Live, one: InstanceIdentity) -> str:
    """Return why pruning may leave an orphan; empty if it deletes it.

    By the rules of the reconciler, on what the user may see. The annotation is believed: an
    Instance that it names may be gone, and then pruning deletes the object. See `living_sharers`.
    """
    if live.metadata is None:
        return ""
    if live.entry.cluster_scoped and not lists_all(live.metadata):
        return _MANY
    other = next(iter(others(live.metadata, one)), None) if live.entry.cluster_scoped else None
    return why_kept(live.entry, live.metadata, one, shared_with=other)


def why_left(live: Live, one: InstanceIdentity) -> str:
    """Return why an object stays when its Instance is deleted; empty if it does not stay."""
    entry, metadata = live.entry, live.metadata
    if live.condition is Condition.MISSING:
        return ""
    if metadata is None:
        return "by the record" if entry.retained or entry.adopted else ""
    if is_retained(metadata):
        return "retained"
    if entry.cluster_scoped:
        return _why_shared_left(live, metadata, one)
    owners = metadata.get("ownerReferences") or ()
    owned = any(owner.get("uid") == one.uid for owner in owners)
    return "it existed before" if entry.adopted and not owned else ""


def _why_shared_left(live: Live, metadata: JsonObject, one: InstanceIdentity) -> str:
    if not is_of_kudo(metadata):
        return ""  # it is somebody else's
    shared = shared_with(live, one)
    if shared:
        return f"shared with {shared}"
    group, kind = live.entry.place.group, live.entry.place.kind
    if goes_with_instance(group, kind, metadata):
        return ""
    asking = {"annotations": {names.ANNOTATION_DELETE_WITH_INSTANCE: "true"}}
    return f"without {_ASKS}" if goes_with_instance(group, kind, asking) else "its kind stays"


def _listed(texts: Iterable[str]) -> str:
    *rest, last = [*texts] or [""]
    return f"{', '.join(rest)} and {last}" if rest else last
