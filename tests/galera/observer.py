"""Looks at the nodes of a database all the time: cluster sizes, and pods that start again."""

import asyncio
import itertools
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kubeio.client import Client
from kubeio.errors import ApiError
from kubeio.resource import Resource
from tests.galera import database
from tests.galera.database import Member, Server
from tests.support.build import Json

PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
_POLL = 0.5


@dataclass(frozen=True, slots=True)
class Node:
    """A pod of a database at one moment.

    Attributes:
        name: Of the pod.
        uid: Of the pod; a pod that replaced another one has another one.
        restarts: Of its containers.
        address: IP address, empty without one.
        ready: Whether it is.
        containers: Their IDs, without the name of the runtime.
    """

    name: str
    uid: str
    restarts: int
    address: str
    ready: bool
    containers: tuple[str, ...] = ()

    @classmethod
    def of(cls, pod: Json) -> "Node":
        """Read a pod."""
        metadata, status = pod["metadata"], pod.get("status", {})
        containers = status.get("containerStatuses", [])
        conditions = {one["type"]: one["status"] for one in status.get("conditions", [])}
        return cls(
            metadata["name"],
            metadata["uid"],
            sum(one["restartCount"] for one in containers),
            status.get("podIP", ""),
            conditions.get("Ready") == "True" and "deletionTimestamp" not in metadata,
            tuple(one["containerID"].split("//")[1] for one in containers if "containerID" in one),
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A pod that was replaced, or containers of it that started again.

    Attributes:
        time: When it was seen, of the machine's monotonic clock.
        node: The name of the pod.
        replaced: Whether it is another pod.
        count: How many restarts there were.
    """

    time: float
    node: str
    replaced: bool
    count: int = 1


def changes(before: Mapping[str, Node], after: Sequence[Node], now: float) -> list[Change]:
    """Compare pods with those that had their names last.

    Args:
        before: The last pod of each name; it may have gone meanwhile.
        after: The pods of now.
        now: When they were seen.
    """
    found = []
    for node in after:
        last = before.get(node.name)
        if last is None:
            restarts = node.restarts
        elif last.uid != node.uid:
            found.append(Change(now, node.name, replaced=True))
            restarts = node.restarts
        else:
            restarts = node.restarts - last.restarts
        if restarts:
            found.append(Change(now, node.name, replaced=False, count=restarts))
    return found


@dataclass
class Observer:
    """What was seen of the database of one Instance.

    Attributes:
        client: With the rights of an administrator.
        namespace: Of the Instance.
        instance: Its name.
        password: Of the user of the database, once there is one.
        changes: Of the pods, in their order.
        sizes: The size of the cluster whenever it was another one, and when.
        problem: The last error of the API server.
    """

    client: Client
    namespace: str
    instance: str
    password: str = field(default="", repr=False)
    changes: list[Change] = field(default_factory=list)
    sizes: list[tuple[float, int]] = field(default_factory=list)
    problem: str = ""
    _last: dict[str, Node] = field(default_factory=dict)

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            try:
                await self._look()
            except ApiError as error:
                self.problem = str(error)
            await asyncio.sleep(_POLL)

    async def nodes(self) -> list[Node]:
        """Return the pods of the database, the bootstrapping one included."""
        pattern = re.compile(rf"{re.escape(self.instance)}(-bootstrap)?-\d+")
        pods = (await self.client.list(PODS, namespace=self.namespace)).items
        return [Node.of(pod) for pod in pods if pattern.fullmatch(pod["metadata"]["name"])]

    async def _look(self) -> None:
        nodes = await self.nodes()
        self.changes += changes(self._last, nodes, time.monotonic())
        self._last |= {node.name: node for node in nodes}
        members = await asyncio.gather(*(self._ask(node) for node in nodes if node.ready))
        sizes = {one.size for one in members if one is not None and one.primary}
        # While a node joins, the others may know of it and it not yet: the next look tells.
        if len(sizes) == 1 and (not self.sizes or self.sizes[-1][1] not in sizes):
            self.sizes.append((time.monotonic(), sizes.pop()))

    async def _ask(self, node: Node) -> Member | None:
        if not self.password or not node.address:
            return None
        try:
            return await asyncio.to_thread(
                database.member, Server(node.address, password=self.password)
            )
        except database.ERRORS:
            return None

    def sizes_between(self, start: float, end: float) -> list[int]:
        """Return the sizes in a time, the one that it began with first."""
        earlier = [size for when, size in self.sizes if when < start][-1:]
        later = [size for when, size in self.sizes if start <= when <= end]
        return [size for size, _ in itertools.groupby([*earlier, *later])]

    def unasked(
        self, start: float, end: float, *, replaced: int = 0, excused: Sequence[str] = ()
    ) -> int:
        """Count restarts in a time that nobody asked for.

        Args:
            start: Of the time.
            end: Of the time.
            replaced: How often each pod may be replaced, as a rolling update does.
            excused: Pods that were killed meanwhile; what follows from that is not counted.
        """
        count = 0
        allowed: dict[str, int] = {}
        for change in self.changes:
            if not start <= change.time <= end or change.node in excused:
                continue
            left = allowed.setdefault(change.node, replaced)
            if change.replaced and left:
                allowed[change.node] = left - 1
            else:
                count += change.count
        return count
