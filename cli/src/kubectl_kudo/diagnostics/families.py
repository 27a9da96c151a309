"""Reads Instances with their children, OperatorVersions, Operators and objects."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from kubectl_kudo.diagnostics.bundle import file_name
from kubectl_kudo.diagnostics.owned import OwnedObject, Reference, owned_by, references
from kubectl_kudo.diagnostics.reading import Reader
from kubectl_kudo.reading.owned import Names, family
from kubectl_kudo.session.kinds import INSTANCES, INVENTORIES, OPERATOR_VERSIONS, OPERATORS
from kubectl_kudo.session.output import JsonObject
from kubeio.discovery import Discovery
from kubeio.resource import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DAEMON_SETS,
    DEPLOYMENTS,
    EVENTS,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    ROLE_BINDINGS,
    ROLES,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
    Resource,
)
from kudo.api.names import GROUP, LABEL_INSTANCE, LABEL_OPERATOR
from kudo.objects.sharing import sharers

# A bundle is sent by mail, and each object is a request.
MOST_OBJECTS: Final = 1000
"""Objects of all Instances that are read whole."""
MOST_EVENTS: Final = 1000

_WELL_KNOWN: Final = (
    *(CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, PODS, SECRETS, SERVICE_ACCOUNTS, SERVICES),
    *(DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS),
    *(NETWORK_POLICIES, POD_DISRUPTION_BUDGETS, ROLES, ROLE_BINDINGS),
    *(CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS),
)
"""Kinds that are read even if the API server does not say which kinds there are."""
_SKIPPED: Final = frozenset({"events", "endpoints", "componentstatuses", "bindings"})
"""Plurals that are read otherwise, or whose every list gives a warning of their deprecation."""


@dataclass(slots=True)
class Member:
    """An Instance, and what belongs to it.

    Attributes:
        folder: Its folder in the bundle.
        operator_folder: The folder of its operator.
        name: Its name.
        instance: The Instance; None if it cannot be read.
        version: Its OperatorVersion; None if there is none or it cannot be read.
        operator: Its Operator, likewise.
        version_known: Whether there is that OperatorVersion, or is not, and not just unreadable.
        objects: Its other objects, and those that its pods need.
        missing: What its pods need and what does not exist, by the names of the pods.
        events: Events about all of these, oldest first.
    """

    folder: str
    operator_folder: str
    name: str
    instance: JsonObject | None = None
    version: JsonObject | None = None
    operator: JsonObject | None = None
    objects: list[JsonObject] = field(default_factory=list)
    version_known: bool = True
    missing: list[tuple[str, Reference]] = field(default_factory=list)
    events: list[JsonObject] = field(default_factory=list)

    @property
    def pods(self) -> list[JsonObject]:
        return [obj for obj in self.objects if obj["kind"] == PODS.kind]

    def everything(self) -> Iterator[JsonObject]:
        """Yield all objects."""
        own = (self.instance, self.version, self.operator)
        yield from (obj for obj in own if obj is not None)
        yield from self.objects
        yield from self.events


@dataclass(slots=True)
class FamilyReader:
    """Reads the Instances of a namespace and what belongs to them.

    Attributes:
        reader: Reads.
        namespace: The namespace.
        kinds: Kinds of objects to read, and of what pods need the metadata alone; if there are
            none, all that the API server has, and all whole.
    """

    reader: Reader
    namespace: str
    kinds: tuple[Resource, ...] = ()
    _read: dict[tuple[str, str, str], asyncio.Future[tuple[JsonObject | None, bool]]] = field(
        default_factory=dict
    )

    async def members(self, name: str) -> list[Member]:
        """Return an Instance and all below it, or all of the namespace if the name is empty.

        One that cannot be read is among them, too.
        """
        return [member for family in await self.families([name]) for member in family]

    async def families(self, names: Iterable[str]) -> list[list[Member]]:
        """Return each of some Instances and all below it.

        Args:
            names: Their names; an empty one stands for all of the namespace.
        """
        # Metadata alone: owners are in it, and a namespace may have hundreds of Instances.
        listed = await self.reader.list("instances", INSTANCES, self.namespace, metadata_only=True)
        metadata = [obj["metadata"] for obj in listed]
        roots = [root for name in names for root in _roots(metadata, name)]
        trees = await asyncio.gather(*(self._tree(root, "") for root in roots))
        await self._add_objects([member for tree in trees for member in tree])
        return trees

    async def _tree(self, names: Names, above: str) -> list[Member]:
        """Return an Instance and all below it.

        Args:
            names: The Instances.
            above: The folder of the operator of the Instance that owns this one.
        """
        instance = await self.reader.get("instance", INSTANCES, names.name, self.namespace)
        version, operator, title, is_certain = None, None, "unknown", True
        if instance is not None:
            reference = (instance.get("spec") or {}).get("operatorVersion") or {}
            labelled = file_name(_operator_of(instance, None) or title)
            version, is_certain = await self._once(
                f"{above}operator_{labelled}/operatorversion",
                OPERATOR_VERSIONS,
                str(reference.get("name") or ""),
                str(reference.get("namespace") or self.namespace),
            )
            title = _operator_of(instance, version) or title
        folder = f"{above}operator_{file_name(title)}/"
        if version is not None:
            namespace = str(version["metadata"]["namespace"])
            operator, _ = await self._once(f"{folder}operator", OPERATORS, title, namespace)
        here = f"{folder}instance_{file_name(names.name)}/"
        member = Member(
            here, folder, names.name, instance, version, operator, version_known=is_certain
        )
        below = await asyncio.gather(*(self._tree(child, folder) for child in names.children))
        return [member, *(member for tree in below for member in tree)]

    async def _once(
        self, path: str, kind: Resource, name: str, namespace: str
    ) -> tuple[JsonObject | None, bool]:
        """Return an object that several Instances name, read once, and whether that is known."""
        key = kind.kind, namespace, name
        # A future, not a result: Instances are read at the same time, and the second waits.
        if key not in self._read:
            self._read[key] = asyncio.ensure_future(self._known(path, kind, name, namespace))
        return await self._read[key]

    async def _known(
        self, path: str, kind: Resource, name: str, namespace: str
    ) -> tuple[JsonObject | None, bool]:
        before = len(self.reader.failures)
        obj = await self.reader.get(path, kind, name, namespace)
        # Other reads go on at the same time, so the path tells which failure is of this one.
        failures = self.reader.failures[before:]
        return obj, all(failure.absent for failure in failures if failure.path == f"{path}.err")

    async def _add_objects(self, members: list[Member]) -> None:
        """Read what belongs to the Instances."""
        by_uid = {
            str(member.instance["metadata"]["uid"]): member
            for member in members
            if member.instance is not None
        }
        if not by_uid:
            return
        folder = members[0].folder
        kinds = await self._kinds()
        listed = await asyncio.gather(*(self._listed(folder, kind, by_uid) for kind in kinds))
        objects = [obj for page in listed for obj in page]
        owned = owned_by({uid: member.name for uid, member in by_uid.items()}, objects)
        left = MOST_OBJECTS
        # One bound for all: the first Instances keep theirs.
        for own in owned.values():
            del own[left:]
            left -= len(own)
        if left <= 0:
            self.reader.fail(f"{folder}objects", f"only {MOST_OBJECTS} objects were read")
        for uid, member in by_uid.items():
            member.objects = await self._whole(member.folder, owned[uid])
            await self._add_needed(member)
        events = await self.reader.list(f"{folder}eventlist", EVENTS, self.namespace)
        events.sort(key=when)
        for member in by_uid.values():
            names = {(obj["kind"], obj["metadata"]["name"]) for obj in member.everything()}
            # The newest ones: events are sorted by time.
            member.events = [event for event in events if subject_of(event) in names][-MOST_EVENTS:]

    async def _kinds(self) -> list[Resource]:
        """Return all kinds that can be listed, each in its preferred version."""
        if self.kinds:
            return [*self.kinds]
        discovered = await self.reader.attempt(
            "kinds", Discovery(self.reader.client).all_resources()
        )
        kinds = {(kind.group, kind.plural): kind for kind in _WELL_KNOWN}
        for kind in discovered or ():
            # The others of KUDO are read by name; an older KUDO has no Inventories.
            if {"get", "list"} <= kind.verbs and (
                kind.group != GROUP or kind.plural == INVENTORIES.plural
            ):
                kinds.setdefault((kind.group, kind.plural), kind)
        listable = (kind for kind in kinds.values() if kind.plural not in _SKIPPED)
        # Inventories first: where there is too much, the rest is left out.
        return sorted(listable, key=lambda kind: kind.group != GROUP)

    async def _listed(
        self, folder: str, kind: Resource, members: Mapping[str, Member]
    ) -> list[OwnedObject]:
        """Return the objects of a kind that could belong to the Instances."""
        path = f"{folder}{list_name(kind) if kind in (*_WELL_KNOWN, *self.kinds) else 'otherkinds'}"
        if kind.namespaced:
            objects = await self.reader.list(path, kind, self.namespace, metadata_only=True)
            return [OwnedObject.of(kind, obj) for obj in objects]
        # Of all namespaces, so only those that have the label of any Instance.
        objects = await self.reader.list(path, kind, selector=LABEL_INSTANCE, metadata_only=True)
        names = {member.name for member in members.values()}
        return [
            owned
            for obj in objects
            if (owned := _shared(kind, obj, self.namespace, names)) is not None
        ]

    async def _whole(self, folder: str, owned: Iterable[OwnedObject]) -> list[JsonObject]:
        reads = [
            self.reader.find(
                f"{folder}{list_name(each.kind)}",
                each.kind,
                each.name,
                self.namespace if each.kind.namespaced else None,
            )
            for each in owned
        ]
        return [obj for obj in await asyncio.gather(*reads) if obj is not None]

    async def _add_needed(self, member: Member) -> None:
        """Read what the pods of a member need, and note what does not exist."""
        have = {(obj["kind"], obj["metadata"]["name"]) for obj in member.objects}
        needed = {
            reference: str(pod["metadata"]["name"])
            for pod in member.pods
            for reference in references(pod)
            if (reference.kind.kind, reference.name) not in have
        }
        failed = len(self.reader.failures)
        objects = await asyncio.gather(
            *(
                self.reader.find(
                    f"{member.folder}{list_name(reference.kind)}",
                    reference.kind,
                    reference.name,
                    self.namespace,
                    metadata_only=bool(self.kinds),
                )
                for reference in needed
            )
        )
        unread = {failure.path for failure in self.reader.failures[failed:]}
        member.objects += [obj for obj in objects if obj is not None]
        for (reference, pod), obj in zip(needed.items(), objects, strict=True):
            # What could not be read may exist: it is not told as missing.
            absent = obj is None and f"{member.folder}{list_name(reference.kind)}.err" not in unread
            if absent and not reference.optional:
                member.missing.append((pod, reference))


def subject_of(event: JsonObject) -> tuple[str, str]:
    """Return kind and name of the object that an event is about."""
    about = event.get("involvedObject") or {}
    return str(about.get("kind")), str(about.get("name"))


def when(event: JsonObject) -> str:
    """Return when an event was seen last; times in this form sort as texts."""
    series = (event.get("series") or {}).get("lastObservedTime")
    moment = series or event.get("lastTimestamp") or event.get("eventTime")
    return str(moment or event["metadata"].get("creationTimestamp") or "")


def _roots(listed: list[JsonObject], name: str) -> list[Names]:
    """Return the trees of an Instance, or of all that no other one owns."""
    uids = {metadata["uid"] for metadata in listed}
    roots = [
        metadata
        for metadata in listed
        if (metadata["name"] == name if name else uids.isdisjoint(owners_of(metadata)))
    ]
    trees = [Names(metadata["name"], family(metadata["uid"], listed)) for metadata in roots]
    if name:
        # It may be readable although the list is not.
        return trees or [Names(name)]
    # Owner references that are written by hand can form a cycle, which has no root.
    covered = {below.name for root in trees for below in root.all()}
    return [
        *trees,
        *(Names(metadata["name"]) for metadata in listed if metadata["name"] not in covered),
    ]


def owners_of(metadata: JsonObject) -> set[str]:
    """Return the uids of the owners of an object."""
    return {str(owner.get("uid")) for owner in metadata.get("ownerReferences") or []}


def _operator_of(instance: JsonObject, version: JsonObject | None) -> str:
    """Return the operator's name by the OperatorVersion, or by the label of the Instance."""
    named = ((version or {}).get("spec") or {}).get("operator") or {}
    label = (instance["metadata"].get("labels") or {}).get(LABEL_OPERATOR)
    return str(named.get("name") or label or "")


def _shared(kind: Resource, obj: JsonObject, namespace: str, names: set[str]) -> OwnedObject | None:
    """Return a cluster-scoped object that one of these Instances uses, as that one's own.

    Labels name the Instance without its namespace, so the annotation decides where there is one:
    otherwise the objects of other Instances of that name would be taken, too.
    """
    owned = OwnedObject.of(kind, obj)
    users = [sharer.name for sharer in sharers(obj["metadata"]) if sharer.namespace == namespace]
    if sharers(obj["metadata"]):
        mine = sorted(names.intersection(users))
        return OwnedObject(kind, owned.name, owned.uid, (), mine[0]) if mine else None
    return owned if owned.instance in names else None


def list_name(kind: Resource) -> str:
    """Return the file of the objects of a kind, without its end, such as `servicelist`."""
    group = kind.group
    ours = "." not in group or group.endswith(".k8s.io")
    return f"{kind.kind.lower()}list{'' if ours else f'.{file_name(group)}'}"
