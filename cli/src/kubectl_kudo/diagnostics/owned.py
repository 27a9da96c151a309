"""Finds the objects that belong to an Instance: by owner references, and by KUDO's labels."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from kubectl_kudo.session.output import JsonObject
from kubeio.resource import (
    CONFIG_MAPS,
    PERSISTENT_VOLUME_CLAIMS,
    SECRETS,
    SERVICE_ACCOUNTS,
    Resource,
)
from kudo.api.names import LABEL_INSTANCE


@dataclass(frozen=True, slots=True)
class OwnedObject:
    """An object, before it is read.

    Attributes:
        kind: Its kind.
        name: Its name.
        uid: Its uid.
        owners: The uids of its owners.
        instance: The Instance that its label names.
    """

    kind: Resource
    name: str
    uid: str
    owners: tuple[str, ...] = ()
    instance: str = ""

    @classmethod
    def of(cls, kind: Resource, obj: JsonObject) -> "OwnedObject":
        """Return what the metadata of an object says."""
        metadata = obj["metadata"]
        owners = metadata.get("ownerReferences") or []
        return cls(
            kind,
            str(metadata["name"]),
            str(metadata.get("uid") or ""),
            tuple(str(owner.get("uid")) for owner in owners),
            str((metadata.get("labels") or {}).get(LABEL_INSTANCE) or ""),
        )


def owned_by(
    instances: Mapping[str, str], objects: Iterable[OwnedObject]
) -> dict[str, list[OwnedObject]]:
    """Return the objects of each Instance, by its uid.

    An object that an Instance owns over any number of levels is its own, and one that its label
    names. Another Instance's objects are not, although it may be a child.

    Args:
        instances: Names of the Instances by their uids.
        objects: All objects of their namespace, without Instances.
    """
    by_owner: dict[str, list[OwnedObject]] = defaultdict(list)
    by_label: dict[str, list[OwnedObject]] = defaultdict(list)
    for obj in objects:
        for owner in obj.owners:
            by_owner[owner].append(obj)
        if obj.instance:
            by_label[obj.instance].append(obj)
    taken: set[str] = set()
    owned: dict[str, list[OwnedObject]] = {}
    for uid, name in instances.items():
        owned[uid] = list(_below([*by_owner[uid], *by_label[name]], by_owner, taken))
    return owned


def _below(
    first: list[OwnedObject], by_owner: Mapping[str, list[OwnedObject]], taken: set[str]
) -> Iterator[OwnedObject]:
    queue = first
    while queue:
        obj = queue.pop(0)
        if obj.uid not in taken:  # owner references that are written by hand can form a cycle
            taken.add(obj.uid)
            yield obj
            queue = [*queue, *by_owner.get(obj.uid, ())]


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that a pod needs.

    Attributes:
        kind: Its kind.
        name: Its name.
        optional: Whether the pod starts without it.
    """

    kind: Resource
    name: str
    optional: bool = False


def references(pod: JsonObject) -> frozenset[Reference]:
    """Return the ConfigMaps, Secrets, claims and the ServiceAccount that a pod names."""
    spec = pod.get("spec") or {}
    needed = {_reference(SERVICE_ACCOUNTS, {"name": spec.get("serviceAccountName")})}
    needed |= {_reference(SECRETS, secret) for secret in spec.get("imagePullSecrets") or []}
    for volume in spec.get("volumes") or []:
        needed |= set(_of_volume(volume))
    for container in containers(pod):
        for source in container.get("envFrom") or []:
            needed |= {_reference(CONFIG_MAPS, source.get("configMapRef"))}
            needed |= {_reference(SECRETS, source.get("secretRef"))}
        for variable in container.get("env") or []:
            source = variable.get("valueFrom") or {}
            needed |= {_reference(CONFIG_MAPS, source.get("configMapKeyRef"))}
            needed |= {_reference(SECRETS, source.get("secretKeyRef"))}
    return frozenset(reference for reference in needed if reference is not None)


def containers(pod: JsonObject) -> list[JsonObject]:
    """Return all containers of a pod, in the order in which they start."""
    spec = pod.get("spec") or {}
    lists = ("initContainers", "containers", "ephemeralContainers")
    return [container for name in lists for container in spec.get(name) or []]


def _of_volume(volume: JsonObject) -> Iterator[Reference | None]:
    for source in (volume, *((volume.get("projected") or {}).get("sources") or [])):
        secret = source.get("secret") or {}
        yield _reference(SECRETS, {**secret, "name": secret.get("secretName", secret.get("name"))})
        yield _reference(CONFIG_MAPS, source.get("configMap"))
    claim = volume.get("persistentVolumeClaim") or {}
    yield _reference(PERSISTENT_VOLUME_CLAIMS, {"name": claim.get("claimName")})


def _reference(kind: Resource, named: JsonObject | None) -> Reference | None:
    name = (named or {}).get("name")
    return Reference(kind, str(name), bool((named or {}).get("optional"))) if name else None
