"""Workloads in a namespace of a cluster whose nodes are simulated."""

from collections.abc import Callable
from dataclasses import dataclass

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import PODS, SERVICE_ACCOUNTS, Resource
from tests.support.build import Json
from tests.support.cluster.waiting import wait_until


@dataclass(frozen=True)
class Simulated:
    """Creates objects in a namespace and waits for what becomes of them."""

    client: Client
    namespace: str

    async def create(self, resource: Resource, obj: Json) -> None:
        await self.client.create(resource, obj, namespace=self.namespace)

    async def get(self, resource: Resource, name: str) -> Json:
        return await self.client.get(resource, name, namespace=self.namespace)

    async def pods(self) -> list[Json]:
        return (await self.client.list(PODS, namespace=self.namespace)).items

    async def until(
        self, resource: Resource, name: str, holds: Callable[[Json], bool], what: str
    ) -> Json:
        """Wait until something holds of an object, and return the object."""
        seen: Json = {}

        async def held() -> bool:
            nonlocal seen
            try:
                seen = await self.get(resource, name)
            except NotFound:
                return False
            return holds(seen)

        await wait_until(held, lambda: f"{what}; last seen: {seen}")
        return seen

    async def until_account(self) -> None:
        """Wait until pods can be created: they need the account of the namespace."""
        await self.until(SERVICE_ACCOUNTS, "default", bool, "the account of the namespace")


def condition(kind: str, status: str = "True") -> Callable[[Json], bool]:
    """Return whether an object has a condition in its status."""

    def holds(obj: Json) -> bool:
        found = obj.get("status", {}).get("conditions", [])
        return any(one["type"] == kind and one["status"] == status for one in found)

    return holds
