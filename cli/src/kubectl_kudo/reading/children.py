"""Finds the Instances that an Instance owns, over all levels of KudoOperator tasks."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import Forbidden


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
    found = await session.client.list(INSTANCES, namespace=session.namespace, metadata_only=True)
    return family(instance["metadata"]["uid"], [obj["metadata"] for obj in found.items])


def family(uid: str, instances: Sequence[JsonObject]) -> tuple[Names, ...]:
    """Return the Instances that the one with this uid owns, among these `metadata`."""
    owned: dict[str, list[JsonObject]] = defaultdict(list)
    for metadata in instances:
        for owner in metadata.get("ownerReferences") or []:
            owned[owner.get("uid")].append(metadata)
    return _below(uid, owned, frozenset({uid}))


def _below(
    uid: str, owned: dict[str, list[JsonObject]], above: frozenset[str]
) -> tuple[Names, ...]:
    # Owner references that are written by hand can form a cycle.
    children = [one for one in owned.get(uid, []) if one["uid"] not in above]
    return tuple(
        Names(one["name"], _below(one["uid"], owned, above | {one["uid"]}), one["uid"])
        for one in sorted(children, key=lambda one: str(one["name"]))
    )


async def members_below(session: Session, instance: JsonObject) -> tuple[Member, ...]:
    """Return the Instances that an Instance owns, with their OperatorVersions."""
    return await _members(session, await names_below(session, instance))


async def _members(session: Session, names: Sequence[Names]) -> tuple[Member, ...]:
    found = []
    for one in names:
        instance = await session.instance(one.name)
        if instance is not None:
            version = await session.version_of(instance)
            found.append(Member(instance, version, await _members(session, one.children)))
    return tuple(found)


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
