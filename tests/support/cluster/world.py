"""A namespace of a cluster, and what its user does there: through kubectl, `kubectl kudo`, the API.

Waiting watches or polls for a condition with a generous deadline; nothing depends on how fast it
comes.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from kubeio.client import Client
from kubeio.errors import ApiError, Gone, NotFound
from kubeio.resource import Resource
from kudo_cluster.installation import Installation, Service
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.commands import Done, environment, run
from tests.support.cluster.resources import CONFIG_MAPS, EVENTS, INSTANCES, OPERATORS, VERSIONS
from tests.support.cluster.waiting import DEADLINE, events_written, wait_until
from tests.support.prefork import Prefork

_APPLIED = {
    (kind.api_version, kind.kind): kind for kind in (INSTANCES, OPERATORS, VERSIONS, CONFIG_MAPS)
}
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_WATCH_SECONDS = 5


@dataclass(frozen=True)
class World:
    """A namespace, and the ways to act in it."""

    installation: Installation
    client: Client
    namespace: str
    programs: Prefork | None = None
    reconcilers: tuple[Service, ...] = ()

    async def kubectl(self, *arguments: str, text: str | None = None) -> Done:
        cluster = self.installation.cluster
        command = [
            str(cluster.binary("kubectl")),
            f"--kubeconfig={cluster.kubeconfig('user')}",
            f"--cache-dir={cluster.directory / 'kubectl-cache'}",
            f"--namespace={self.namespace}",
        ]
        return await run([*command, *arguments], text=text)

    async def apply(self, *objects: Json) -> Done:
        """Write objects as plain `kubectl apply` does, and by it as soon as it has to say more.

        New objects of known kinds are created with what kubectl leaves on them. Starting kubectl
        would cost more than all the rest; it is started for what exists and for what is refused.
        """
        for number, obj in enumerate(objects):
            if not await self._created(obj):
                return await self.kubectl_apply(*objects[number:])
        return Done(0, "", "")

    async def kubectl_apply(self, *objects: Json) -> Done:
        """Write objects with kubectl itself, for its warnings."""
        return await self.kubectl("apply", "-f", "-", text=build.as_list(objects))

    async def _created(self, obj: Json) -> bool:
        """Create an object as `kubectl apply` does; return False if kubectl has to do it."""
        resource = _APPLIED.get((obj["apiVersion"], obj["kind"]))
        if resource is None or "namespace" in obj["metadata"]:
            return False
        metadata = {"annotations": {}, "namespace": self.namespace, **obj["metadata"]}
        applied = json.dumps({**obj, "metadata": metadata})
        annotations = {**metadata["annotations"], _LAST_APPLIED: applied}
        try:
            await self.client.raw(
                "POST",
                resource.path(self.namespace),
                query={"fieldManager": "kubectl-client-side-apply", "fieldValidation": "Strict"},
                body={**obj, "metadata": {**metadata, "annotations": annotations}},
            )
        except ApiError:
            return False
        return True

    async def kudo(self, *arguments: str) -> Done:
        """Run `kubectl kudo` as the user."""
        cluster = self.installation.cluster
        command = [
            str(Path(sys.executable).with_name("kubectl-kudo")),
            f"--kubeconfig={cluster.kubeconfig('user')}",
            f"--namespace={self.namespace}",
        ]
        if self.programs is None:
            return await run([*command, *arguments])
        ended = await asyncio.to_thread(
            self.programs.run, [*command, *arguments], text=None, environment=environment()
        )
        return Done(ended.code, ended.stdout, ended.stderr)

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
        await events_written(*self.reconcilers)
        events = [
            event
            for event in await self.all(EVENTS)
            if event["involvedObject"]["kind"] == "Instance"
            and (not reason or event["reason"] == reason)
        ]
        return sorted(events, key=lambda event: int(event["metadata"]["resourceVersion"]))
