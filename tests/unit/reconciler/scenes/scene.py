"""What scenes about objects begin with; no tests of its own."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache

import orjson

from kubeio.client import Client
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INVENTORIES
from kudo_reconciler.settings import Settings
from tests.support import build
from tests.support.apiserver import status
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.support.apiserver.storage import Revision, StorageName
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.network import RandomNetwork
from tests.unit.reconciler.lives.users import Sort

COMPAT, STRICT = "--tenancy=compat", "--tenancy=strict"
RIGHTS = "rbac.authorization.k8s.io"
ROLES = Resource(RIGHTS, "v1", "ClusterRole", "clusterroles", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
SHARED_BY = "kudo.dev/shared-by"
GOES = {"kudo.dev/delete-with-instance": "true"}


def role(name: str = "role", rules: str = "[]", **annotations: str) -> str:
    """Return the template of a ClusterRole."""
    metadata = {"name": name, "annotations": annotations}
    body = {"apiVersion": f"{RIGHTS}/v1", "kind": "ClusterRole", "metadata": metadata}
    return orjson.dumps(body).decode()[:-1] + f', "rules": {rules}}}'


def of_kind(kind: str, name: str, content: str = "") -> str:
    """Return the template of an object of the core group."""
    rest = f', "data": {{"a": "{content}"}}' if content else ""
    return f'{{"apiVersion": "v1", "kind": "{kind}", "metadata": {{"name": "{name}"}}{rest}}}'


def version(template: str, **plans: list[str]) -> JsonObject:
    """Return an OperatorVersion whose plans have one step each, with these tasks.

    The tasks are `apply` and `delete`, of the object of the template, and `fails`.
    """
    spec = {"resources": ["object.yaml"]}
    return build.stored_version(
        parameters=[{"name": "TEXT", "default": "one"}],
        tasks=[
            {"name": "apply", "kind": "Apply", "spec": spec},
            {"name": "delete", "kind": "Delete", "spec": spec},
            {"name": "fails", "kind": "Dummy", "spec": {"wantErr": True}},
            {"name": "done", "kind": "Dummy", "spec": {"done": True}},
        ],
        templates={"object.yaml": template},
        plans={name: build.serial(tasks) for name, tasks in plans.items()},
    )


@dataclass
class Shaped(RandomNetwork):
    """A network that a scene shapes.

    Attributes:
        held: Seconds until the server takes a request.
        seen: The requests, in the order in which they were sent.
    """

    held: Callable[[Request], float] = lambda _: 0.0
    seen: list[Request] = field(default_factory=list)

    def fate(self, request: Request) -> Fate:
        self.seen.append(request)
        return Fate(before=self.held(request))

    def event_delay(self, plural: str) -> float:
        return self.late.get(plural, 0.0)

    def watch_lasts(self, plural: str) -> float | None:
        del plural
        return None

    def sent(self, method: str, plural: str) -> list[Request]:
        """Return the requests of a method to the objects of a kind."""
        return [
            one
            for one in self.seen
            if one.method == method and plural in one.path.split("/") and "watch" not in one.query
        ]


@dataclass
class Refusing(Shaped):
    """Has the API server refuse some requests."""

    refused: Callable[[Request], bool] = lambda _: False

    def fate(self, request: Request) -> Fate:
        if self.refused(request):
            return Fate(refused=status.internal_error("not now"))
        return super().fate(request)


@dataclass
class Scene:
    """A life that goes as a test tells it."""

    life: Life
    network: Shaped
    admin: Client

    async def install(self, *names: str, of: JsonObject, **parameters: str) -> None:
        await self.life.put_version(of)
        for name in names:
            await self.life.user.create(name, parameters)
        await self.until_idle(*names)

    async def run(self, name: str, plan: str) -> JsonObject:
        """Run a plan to its end, and return its entry."""
        await self.trigger(name, plan)
        await self.until_idle(name)
        return self.entry(name, plan)

    async def trigger(self, name: str, plan: str) -> None:
        await self.life.user.change(name, {"run": {"planName": plan}})

    async def until_idle(self, *names: str) -> None:
        """Wait until Instances have had a run and have none scheduled."""
        await self.until(lambda: not any(self.is_busy(name) for name in names))

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of what is stored."""
        changed = asyncio.Event()

        def written(name: StorageName, revision: Revision) -> None:
            del name, revision
            changed.set()

        self.life.cluster.server.storage.listeners.append(written)
        async with asyncio.timeout(300):
            while not holds():
                changed.clear()
                await changed.wait()

    def is_busy(self, name: str) -> bool:
        stored = self.life.observed.instance(name)
        if stored is None:
            return False
        return bool(stored["spec"].get("planExecution")) or "lastRun" not in stored.get(
            "status", {}
        )

    async def lose_records(self) -> None:
        """Delete all Inventories while no process lives that knows what is in them."""
        await self.life.crash(0)
        found = await self.admin.list(INVENTORIES, namespace="ns")
        for one in found.items:
            await self.admin.delete(INVENTORIES, one["metadata"]["name"], namespace="ns")
        await asyncio.sleep(30)

    def inventories(self) -> list[JsonObject]:
        table = self.life.cluster.server.storage.table((INVENTORIES.group, INVENTORIES.plural))
        return list(table.objects.values())

    async def delete(self, name: str) -> None:
        await self.life.user.delete(name)
        await asyncio.sleep(30)

    def entry(self, name: str, plan: str) -> JsonObject:
        stored = self.life.observed.instance(name)
        assert stored is not None
        found: JsonObject = stored["status"]["planStatus"][plan]
        return found

    def stored(self, resource: Resource, name: str) -> JsonObject | None:
        place: StorageName = (resource.group, resource.plural)
        namespace = "ns" if resource.namespaced else ""
        return self.life.cluster.server.storage.table(place).objects.get((namespace, name))

    def uid(self, name: str) -> str:
        stored = self.life.observed.instance(name)
        assert stored is not None
        return str(stored["metadata"]["uid"])

    def sharing(self, name: str = "role") -> list[str]:
        """Return the names of the Instances that the annotation of a ClusterRole names."""
        stored = self.stored(ROLES, name)
        assert stored is not None
        text = stored["metadata"].get("annotations", {}).get(SHARED_BY, "")
        return [entry.split("/")[1] for entry in text.split(",") if entry]

    def told(self, reason: str) -> list[str]:
        """Return the messages of the events with a reason."""
        events = self.life.cluster.server.storage.table(("", "events")).objects.values()
        return [one["message"] for one in events if one["reason"] == reason]

    def message(self, name: str, plan: str) -> str:
        phase = self.entry(name, plan)["phases"][0]
        return str(phase["steps"][0].get("message", ""))


def play(body: Callable[[Scene], Awaitable[None]], *options: str, sort: Sort = "admitted") -> None:
    """Play a scene: one reconciler, both webhooks, nothing goes wrong by itself.

    Args:
        body: What happens.
        options: Of the reconciler.
        sort: Which webhooks there are.
    """

    async def main(life: Life) -> None:
        network = Shaped(life.rng, 0.0)
        life.network = network
        for replica in life.replicas:
            for transport in replica.process.transports:
                transport.network = network
        admin, _ = life.cluster.client()
        await body(Scene(life, network, admin))

    passes(main, sort, settings=_settings(options))


@cache
def _settings(options: tuple[str, ...]) -> Settings:
    return Settings.read(options, {})
