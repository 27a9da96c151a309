"""Whether an object on record is deleted with its Instance or as an orphan, and why not.

The annotation of a cluster-scoped object lists its sharers; those that are gone stay in it.
`LivingSharers` asks, as the user, whether they still exist.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from kubectl_kudo.reading.inventory.live import Condition, Live
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubeio.client import Client
from kubeio.errors import ApiError, NotFound
from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.objects.deletion_policy import is_retained
from kudo.objects.inventory.pruning import why_kept
from kudo.objects.sharing import MOST_LISTED, goes_with_instance, is_of_kudo, lists_all, sharers

_ASKED: Final = MOST_LISTED
"""Instances of an object that are read at most; anybody who may change the object can list more."""
_SHARED_BY_MANY: Final = f"{MOST_LISTED} Instances or more shared it"
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
    Instance that it names may be gone, and then pruning deletes the object. See `LivingSharers`.
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


@dataclass(frozen=True, slots=True)
class Sharing:
    """Who shares an object.

    Attributes:
        living: Another Instance that shares it and exists; None if none is known.
        doubt: Why there may be one all the same; empty if there is none.
    """

    living: InstanceIdentity | None = None
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class LivingSharers:
    """Tells who shares objects; each Instance is read once."""

    client: Client
    known: dict[InstanceIdentity, bool | None] = field(default_factory=dict)

    async def of(self, metadata: JsonObject, one: InstanceIdentity) -> Sharing:
        """Return who shares a cluster-scoped object beside an Instance.

        Raises:
            ConnectionLost: the API server does not answer any more.
        """
        listed, doubt = others(metadata, one), ""
        for other in islice(listed, _ASKED):
            exists = await self._exists(other)
            if exists:
                return Sharing(other)
            if exists is None:
                doubt = doubt or f"you may not read whether Instance {other} exists"
        if len(listed) > _ASKED or not lists_all(metadata):
            return Sharing(doubt=_SHARED_BY_MANY)
        return Sharing(doubt=doubt)

    async def _exists(self, one: InstanceIdentity) -> bool | None:
        """Return whether an Instance exists; None if that is not known."""
        if one not in self.known:
            self.known[one] = await self._read(one)
        return self.known[one]

    async def _read(self, one: InstanceIdentity) -> bool | None:
        try:
            found = await self.client.get(
                INSTANCES, one.name, namespace=one.namespace, metadata_only=True
            )
        except NotFound as error:
            return None if not error.details else False
        except ApiError:
            return None
        except ValueError:  # no Instance can have such a name
            return False
        return bool(found["metadata"]["uid"] == one.uid)
