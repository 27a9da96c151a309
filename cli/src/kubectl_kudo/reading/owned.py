"""Finds what an Instance owns: child Instances of KudoOperator tasks, and objects of its plans.

Objects are found by the labels that the reconciler gives them, and by owners. Pods and other
objects that controllers create have the labels of the template that they are made from.
Cluster-scoped objects name their Instances in an annotation.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import Forbidden, KubeError
from kubeio.resource import Resource
from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.objects.sharing import is_listed


@dataclass(frozen=True, slots=True)
class Names:
    """An Instance and those that it owns, by name and uid."""

    name: str
    children: tuple["Names", ...] = ()
    uid: str = ""

    def all(self) -> Iterator["Names"]:
        """Yield this Instance and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True, slots=True)
class Member:
    """An Instance, its OperatorVersion (None if there is none), and the Instances that it owns."""

    instance: JsonObject
    version: JsonObject | None
    children: tuple["Member", ...] = ()


async def names_below(session: Session, instance: JsonObject) -> tuple[Names, ...]:
    """Return the Instances that an Instance owns, sorted; none if the user may not list them."""
    try:
        return await listed_below(session, instance)
    except Forbidden:
        return ()


async def listed_below(session: Session, instance: JsonObject) -> tuple[Names, ...]:
    """Return the Instances that an Instance owns, sorted.

    Raises:
        KubeError: they cannot be listed.
    """
    listing = await session.client.list(INSTANCES, namespace=session.namespace, metadata_only=True)
    return family(instance["metadata"]["uid"], [obj["metadata"] for obj in listing.items])


def family(uid: str, instances: Sequence[JsonObject]) -> tuple[Names, ...]:
    """Return the Instances that the one with this uid owns, among these `metadata`."""
    owned: dict[str, list[JsonObject]] = defaultdict(list)
    for metadata in instances:
        for owner in metadata.get("ownerReferences") or []:
            owned[owner.get("uid")].append(metadata)

    def below(uid: str, above: frozenset[str]) -> tuple[Names, ...]:
        # Owner references that are written by hand can form a cycle.
        children = [child for child in owned.get(uid, []) if child["uid"] not in above]
        return tuple(
            Names(child["name"], below(child["uid"], above | {child["uid"]}), child["uid"])
            for child in sorted(children, key=lambda child: str(child["name"]))
        )

    return below(uid, frozenset({uid}))


async def members_below(session: Session, instance: JsonObject) -> tuple[Member, ...]:
    """Return the Instances that an Instance owns, with their OperatorVersions."""

    async def members(children: Sequence[Names]) -> tuple[Member, ...]:
        result = []
        for child in children:
            instance = await session.instance(child.name)
            if instance is not None:
                version = await session.version_of(instance)
                result.append(Member(instance, version, await members(child.children)))
        return tuple(result)

    return await members(await names_below(session, instance))


def statuses(members: Sequence[Member]) -> list[JsonObject]:
    """Return what `plan status -o` prints about Instances below another one."""
    return [
        {
            "name": member.instance["metadata"]["name"],
            "operatorVersion": (member.instance["spec"].get("operatorVersion") or {}).get("name"),
            "status": member.instance.get("status") or {},
            "children": statuses(member.children),
        }
        for member in members
    ]


_OF_KUDO = f"{names.LABEL_HERITAGE}={names.HERITAGE}"
_NEEDED = frozenset({"list", "create"})
"""Verbs of the kinds that are looked at: what cannot be created was never applied."""


@dataclass(frozen=True, slots=True)
class OwnedObject:
    """An object, of which only the metadata is read."""

    kind: Resource
    metadata: JsonObject

    @property
    def name(self) -> str:
        return str(self.metadata["name"])

    @property
    def step(self) -> str:
        """Return plan, phase and step that applied it; empty if a controller created it."""
        annotations = self.metadata.get("annotations") or {}
        keys = (names.ANNOTATION_PLAN, names.ANNOTATION_PHASE, names.ANNOTATION_STEP)
        parts = [annotations.get(key) for key in keys]
        return ".".join(map(str, parts)) if all(parts) else ""

    def owners(self) -> Iterable[JsonObject]:
        return self.metadata.get("ownerReferences") or []

    def to_data(self) -> JsonObject:
        owner = next((owner for owner in self.owners() if owner.get("controller")), None)
        return {
            "apiVersion": self.kind.api_version,
            "kind": self.kind.kind,
            "name": self.name,
            **({"namespace": self.metadata["namespace"]} if self.kind.namespaced else {}),
            "uid": self.metadata.get("uid"),
            "step": self.step,
            "owner": f"{owner.get('kind')}/{owner.get('name')}" if owner else "",
            "creationTimestamp": self.metadata.get("creationTimestamp"),
            "deleting": "deletionTimestamp" in self.metadata,
        }


@dataclass(frozen=True, slots=True)
class Found:
    """The objects that were found, and the kinds that could not be listed.

    Of those the ones with namespaces come first: few users may list the others.
    """

    objects: tuple[OwnedObject, ...]
    unlisted: tuple[str, ...] = ()


async def objects_of(session: Session, instance: JsonObject) -> Found:
    """Return the objects of an Instance, sorted by kind and name, without child Instances."""
    metadata = instance["metadata"]
    owner = InstanceIdentity(metadata["namespace"], metadata["name"], metadata["uid"])
    try:
        resources = await Discovery(session.client).all_resources()
    except KubeError as error:
        return Found((), (f"all kinds ({error})",))
    kinds: dict[tuple[str, str], Resource] = {}
    for kind in resources:
        if kind.verbs >= _NEEDED and kind.group != names.GROUP and kind.kind != "Event":
            # Discovery has the preferred version of a group first; others have the same objects.
            kinds.setdefault((kind.group, kind.kind), kind)
    in_order = sorted(kinds.values(), key=lambda kind: (not kind.namespaced, kind.name))
    parts = await asyncio.gather(*(_of_kind(session.client, kind, owner) for kind in in_order))
    objects = [obj for part in parts for obj in part.objects]
    return Found(
        tuple(sorted(objects, key=lambda obj: (not obj.kind.namespaced, obj.kind.kind, obj.name))),
        tuple(name for part in parts for name in part.unlisted),
    )


async def _of_kind(client: Client, kind: Resource, owner: InstanceIdentity) -> Found:
    selector = f"{_OF_KUDO},{names.LABEL_INSTANCE}={owner.name}" if kind.namespaced else _OF_KUDO
    namespace = owner.namespace if kind.namespaced else None
    try:
        listing = await client.list(
            kind, namespace=namespace, label_selector=selector, metadata_only=True
        )
    except KubeError:
        return Found((), (kind.name,))
    objects = (OwnedObject(kind, obj["metadata"]) for obj in listing.items)
    return Found(tuple(obj for obj in objects if _is_owned(obj, owner)))


def _is_owned(obj: OwnedObject, instance: InstanceIdentity) -> bool:
    if not obj.kind.namespaced:
        return is_listed(obj.metadata, instance)
    for owner in obj.owners():
        group = str(owner.get("apiVersion") or "").partition("/")[0]
        # An object of an Instance that had the same name before belongs to that one.
        is_instance = group == names.GROUP and owner.get("kind") == "Instance"
        if is_instance and owner.get("uid") != instance.uid:
            return False
    return True
