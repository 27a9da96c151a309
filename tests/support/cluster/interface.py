"""What scenarios are written against: a namespace, what its user does there, and KUDO around it.

There are two: `tests.support.world.memory` over the API server in memory, in simulated time, and
`tests.support.cluster.world` on a real cluster. What one of them cannot do is not offered here.
Waiting watches or polls for a condition with a generous deadline; nothing depends on how fast it
comes.
"""

import asyncio
import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Protocol

from kubeio.client import Client
from kubeio.errors import Gone, NotFound
from kubeio.resource import Resource
from kudo_cluster.control_plane.identities import Role
from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.commands import Done
from tests.support.cluster.resources import EVENTS, INSTANCES
from tests.support.cluster.waiting import DEADLINE, wait_until

_WATCH_SECONDS = 5


class Reconciler(Protocol):
    """The process of the reconciler."""

    async def start(self) -> None:
        """Start it, unless it runs, and wait until it is ready."""
        ...

    async def stop(self) -> None:
        """Have it end by itself, and wait for that."""
        ...

    async def kill(self) -> None:
        """End it wherever it is."""
        ...


class World(ABC):
    """A namespace, and the ways to act in it.

    Attributes:
        client: Of the user, who has no rights on workloads.
    """

    client: Client
    namespace: str

    @property
    @abstractmethod
    def reconciler(self) -> Reconciler: ...

    @abstractmethod
    async def elsewhere(self) -> "World":
        """Return the same user in another new namespace."""

    @abstractmethod
    async def apply(self, *objects: Json) -> Done:
        """Write objects as plain `kubectl apply` does."""

    @abstractmethod
    async def kudo(self, *arguments: str) -> Done:
        """Run `kubectl kudo` as the user."""

    @abstractmethod
    def client_as(self, who: Role) -> AbstractAsyncContextManager[Client]:
        """Yield a client with the rights of somebody."""

    @abstractmethod
    def without_webhooks(self) -> AbstractAsyncContextManager[None]:
        """Take both webhook configurations away, and put them back whatever happens."""

    @abstractmethod
    def without_mutating_webhook(self) -> AbstractAsyncContextManager[None]:
        """Take the mutating configuration away, and put it back whatever happens."""

    @abstractmethod
    def unreachable_webhook(self) -> AbstractAsyncContextManager[None]:
        """Have no webhook answer, although both are registered."""

    @abstractmethod
    async def events_written(self) -> None:
        """Wait until no reconciler that runs has events to write."""

    async def get(self, resource: Resource, name: str) -> Json:
        return await self.client.get(resource, name, namespace=self.namespace)

    async def find(self, resource: Resource, name: str) -> Json | None:
        try:
            return await self.get(resource, name)
        except NotFound:
            return None

    async def all(self, resource: Resource) -> list[Json]:
        return (await self.client.list(resource, namespace=self.namespace)).items

    async def instance(self, name: str) -> Json:
        return await self.get(INSTANCES, name)

    async def patch(self, name: str, spec: Json) -> Json:
        """Merge-patch the spec of an Instance."""
        return await self.client.merge_patch(
            INSTANCES, name, {"spec": spec}, namespace=self.namespace
        )

    async def until(self, name: str, condition: Callable[[Json], bool], what: str) -> Json:
        """Wait until the Instance fulfils a condition, and return it."""
        seen: Json = {}
        try:
            async with asyncio.timeout(DEADLINE), aclosing(self._states(name)) as states:
                async for seen in states:
                    if condition(seen):
                        return seen
        except TimeoutError:
            last = json.dumps(seen, indent=1)
            raise AssertionError(
                f"waited {DEADLINE:.0f} s in vain for {what}; last seen: {last}"
            ) from None
        raise AssertionError("the states of an Instance do not end")

    async def _states(self, name: str) -> AsyncGenerator[Json, None]:
        """Yield the Instance now and after each change; raises NotFound once it is gone.

        A watch costs the API server less than reading again and again. Every few seconds it is
        read anew all the same: a condition may look at more than the Instance.
        """
        while True:
            found = await self.instance(name)
            yield found
            watch = self.client.watch(
                INSTANCES,
                namespace=self.namespace,
                resource_version=found["metadata"]["resourceVersion"],
                field_selector=f"metadata.name={name}",
                timeout_seconds=_WATCH_SECONDS,
            )
            # What was read is older than the API server's history: it is read anew.
            with contextlib.suppress(Gone):
                async with aclosing(watch) as events:
                    async for event in events:
                        if event.type == "DELETED":
                            break
                        if event.type != "BOOKMARK":
                            yield event.object

    async def until_idle(self, name: str) -> Json:
        """Wait until nothing is scheduled and the status speaks of the object as it is."""
        return await self.until(name, instances.idle, "an idle Instance")

    async def until_complete(self, name: str, plan: str = "deploy") -> Json:
        """Wait until the Instance is idle and the plan's last run is COMPLETE."""
        ended = await self.until_ended(name, plan)
        assert instances.status_of(ended, plan) == "COMPLETE", instances.messages(ended, plan)
        return ended

    async def until_failed(self, name: str, plan: str = "deploy") -> Json:
        ended = await self.until_ended(name, plan)
        assert instances.status_of(ended, plan) == "FATAL_ERROR", ended
        return ended

    async def until_ended(self, name: str, plan: str = "deploy") -> Json:
        """Wait until the Instance is idle and the plan's last run has ended either way."""
        ends = {"COMPLETE", "FATAL_ERROR"}

        def ended(instance: Json) -> bool:
            return instances.idle(instance) and instances.status_of(instance, plan) in ends

        return await self.until(name, ended, f"the end of {plan}")

    async def until_gone(self, resource: Resource, name: str) -> None:
        async def gone() -> bool:
            return await self.find(resource, name) is None

        await wait_until(gone, lambda: f"{resource.kind} {name} to be gone")

    async def events(self, reason: str = "") -> list[Json]:
        """Return the events of Instances, oldest first, once all that is queued is written."""
        await self.events_written()
        events = [
            event
            for event in await self.all(EVENTS)
            if event["involvedObject"]["kind"] == "Instance"
            and (not reason or event["reason"] == reason)
        ]
        return sorted(events, key=lambda event: int(event["metadata"]["resourceVersion"]))
