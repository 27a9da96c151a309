"""Hostile tenants: what each of their inputs costs everybody else, measured on the real processes.

For each input: 20 ordinary Instances are deployed and 100 reviews a second are sent by others, once
alone and once while the input is worked on. The CPU time of both event loops is what the services
say themselves (`kudo_event_loop_turn_cpu_seconds_max`).
"""

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import ApiError, NotFound
from kubeio.resource import Resource
from kudo_cluster.installation import Installation, Service
from serving.event_loop import Longest
from tests.bench import load, reviews
from tests.bench.tenants.cpu import Groups, Seconds, between
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, NAMESPACES, VERSIONS
from tests.support.hostile import INSTANCE, End, Input
from tests.support.loops.loop_turns import scraped

LEASES: Final = Resource("coordination.k8s.io", "v1", "Lease", "leases", namespaced=True)
_LEASE: Final = ("kudo-reconciler", "kudo-system")
_NAMESPACE: Final = "others"
DEPLOYS: Final = 20
_RATE: Final = 100.0
_REVIEWS: Final = 210
ROUNDS: Final = 5
"""Of each input; together 1,050 reviews beside it, so that ten of them are above the p99."""
_AGAIN: Final = 0.5
_TRIES: Final = 20
"""Of an input that is right, on a busy machine."""
_DEADLINE: Final = 120.0
_LATE: Final = re.compile(r"it took more than [0-9.]+ s.*; (?:make|give) .* smaller", re.DOTALL)
"""The denial of a webhook whose worker got too little of a busy machine's CPU to reach a limit."""
_ENDS: Final = {"COMPLETE", "FATAL_ERROR"}


@dataclass(frozen=True, slots=True)
class Told:
    """What the sender of an input is told.

    Attributes:
        end: How it ended.
        text: The message of the denial, or those of the plan.
    """

    end: End
    text: str


@dataclass(frozen=True, slots=True)
class Beside:
    """What others had meanwhile.

    Attributes:
        deploys: Seconds until all ordinary Instances were deployed.
        cpu: What each group of processes used meanwhile.
        reviews: How long others' reviews took, and which of them failed.
    """

    deploys: float
    cpu: Seconds
    reviews: load.Result


@dataclass(frozen=True, slots=True)
class Found:
    """What came of an input that was sent once.

    Attributes:
        webhook, reconciler: The longest turns of their event loops.
        beside: What others had; None if there were none.
        problems: What must not be, whatever the machine; nothing where all is well.
    """

    told: Told
    webhook: Longest
    reconciler: Longest
    beside: Beside | None
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one input.

    Attributes:
        alone: What others had without it, right before.
        found: What came of it, each time that it was sent.
    """

    sent: Input
    alone: Beside
    found: list[Found]

    @property
    def beside(self) -> list[Beside]:
        return [found.beside for found in self.found if found.beside is not None]

    @property
    def problems(self) -> list[str]:
        return [problem for found in self.found for problem in found.problems]


@dataclass(frozen=True, slots=True)
class Standing:
    """What must not change: processes and the Lease."""

    processes: tuple[int, ...]
    holder: str
    transitions: int


@dataclass
class Tenants:
    """Sends inputs, with others beside them."""

    installation: Installation
    client: Client
    ca: Path
    bodies: Path
    loads: load.Elsewhere
    _numbers: "count[int]" = field(default_factory=count)

    @classmethod
    @asynccontextmanager
    async def on(cls, installation: Installation) -> AsyncIterator["Tenants"]:
        """Yield one on an installation whose services run."""
        cluster = installation.cluster
        directory = cluster.directory / "hostile"
        _, _, authority = cluster.serving_certificate(directory, "127.0.0.1")
        config = load_config(cluster.kubeconfig("admin"))
        async with Client(config) as client, load.elsewhere() as process:
            made = cls(installation, client, directory / "ca.crt", directory / "bodies", process)
            made.ca.write_bytes(authority)
            await made._prepare()
            yield made

    async def _prepare(self) -> None:
        names = [f"bench-{number}" for number in range(5)]
        reviews.write(self.bodies, reviews.reviews(_NAMESPACE, names))
        await self.client.create(NAMESPACES, {"metadata": {"name": _NAMESPACE}})
        for name in names:
            version = reviews.operator_version(name)
            await self.client.create(VERSIONS, version, namespace=_NAMESPACE)
        # Connections, caches and worker processes are warm before anything is measured.
        await self._burst()
        await self._load()

    # An input

    async def measure(self, sent: Input, rounds: int) -> Row:
        """Measure others alone once, then beside variants of an input, one after the other."""
        alone = await self.others()
        found = [await self.run(sent.variant(number), others=True) for number in range(rounds)]
        return Row(sent, alone, found)

    async def run(self, sent: Input, *, others: bool) -> Found:
        """Send an input, beside others or alone, and return what came of it."""
        namespace = await self.namespace("hostile")
        if sent.before is not None:
            await self._deploy(*sent.before, namespace)
        standing = await self.standing()
        self.turns()
        told, beside = await self._beside(sent, namespace, others=others)
        webhook, reconciler = self.turns()
        problems = [*_problems(sent, told), *_moved(standing, await self.standing())]
        await self._clear(namespace)
        return Found(told, webhook, reconciler, beside, tuple(problems))

    async def _beside(
        self, sent: Input, namespace: str, *, others: bool
    ) -> tuple[Told, Beside | None]:
        if not others:
            return await self._until_judged(sent, namespace), None
        meanwhile = asyncio.create_task(self.others(), name="others")
        tells = [await self._send(sent, namespace, 0)]
        # Whoever is denied tries again for as long as the others are there.
        for number in count(1):
            if meanwhile.done() or tells[-1].end is not End.DENIED:
                break
            # At a pace of its own: nobody is to measure how many requests the API server decodes.
            await asyncio.sleep(_AGAIN)
            tells.append(await self._send(sent, namespace, number))
        told = next((one for one in tells if one.end is not sent.end), tells[0])
        return told, await meanwhile

    async def _until_judged(self, sent: Input, namespace: str) -> Told:
        """Send an input; one that is right is sent again where the webhook had too little CPU."""
        told = await self._send(sent, namespace, 0)
        for number in range(1, _TRIES):
            if sent.end is not End.DONE or not _is_late(told):
                break
            await asyncio.sleep(_AGAIN)
            told = await self._send(sent, namespace, number)
        return told

    async def _send(self, sent: Input, namespace: str, number: int) -> Told:
        if number == 0:
            try:
                await self._write(VERSIONS, sent.version, namespace)
            except ApiError as error:
                return Told(End.UNSTORED, error.message)
        try:
            await self._write(INSTANCES, sent.instance(number), namespace)
        except ApiError as error:
            return Told(End.DENIED, error.message)
        found = await self._ended(namespace)
        return Told(End(instances.status_of(found, "deploy")), instances.messages(found, "deploy"))

    async def _write(self, resource: Resource, new: Json, namespace: str) -> None:
        """Create an object, or write it over the one that is there."""
        name = new["metadata"]["name"]
        try:
            found = await self.client.get(resource, name, namespace=namespace)
        except NotFound:
            await self.client.create(resource, new, namespace=namespace)
        else:
            changed = {**found, "spec": {**found["spec"], **new["spec"]}}
            await self.client.replace(resource, changed, namespace=namespace)

    async def _deploy(self, version: Json, instance: Json, namespace: str) -> None:
        await self._write(VERSIONS, version, namespace)
        await self._write(INSTANCES, instance, namespace)
        assert instances.status_of(await self._ended(namespace), "deploy") == "COMPLETE"

    async def _ended(self, namespace: str) -> Json:
        found = await self.client.get(INSTANCES, INSTANCE, namespace=namespace)
        if _has_ended(found):
            return found
        since = found["metadata"]["resourceVersion"]
        async with asyncio.timeout(_DEADLINE), self._changes(namespace, since) as changes:
            return await anext(new async for new in changes if _has_ended(new))

    @asynccontextmanager
    async def _changes(self, namespace: str, since: str) -> AsyncIterator[AsyncIterator[Json]]:
        """Yield the changed Instances of a namespace. To list them again and again costs more."""
        watch = self.client.watch(INSTANCES, namespace=namespace, resource_version=since)
        async with contextlib.aclosing(watch) as events:
            yield (event.object async for event in events if event.type != "BOOKMARK")

    async def _clear(self, namespace: str) -> None:
        with contextlib.suppress(NotFound):
            await self.client.delete(INSTANCES, INSTANCE, namespace=namespace)

    # Others

    async def others(self) -> Beside:
        """Deploy Instances and send reviews."""
        loading = asyncio.create_task(self._load(), name="reviews of others")
        deploys, cpu = await self._burst()
        result = await loading
        return Beside(deploys, cpu, result)

    async def _load(self) -> load.Result:
        job = load.Job(
            self.port, str(self.ca), str(self.bodies), _REVIEWS, connections=8, rate=_RATE
        )
        return await self.loads.run(job)

    @property
    def port(self) -> int:
        """The admission port of the webhook."""
        option = next(o for o in self.installation.webhook.command if o.startswith("--port="))
        return int(option.partition("=")[2])

    async def _burst(self) -> tuple[float, Seconds]:
        """Deploy Instances; return how long it took, and what CPU."""
        namespace = await self.namespace("plain")
        version = build.operator_version(
            "plain-1",
            templates={"all.yaml": build.template(build.config_map("{{ .Name }}", a="b"))},
            plans={"deploy": build.plan({"step": ["all"]})},
        )
        await self.client.create(VERSIONS, version, namespace=namespace)
        since = (await self.client.list(INSTANCES, namespace=namespace)).resource_version
        names = [f"plain-{number}" for number in range(DEPLOYS)]
        groups = Groups.of(self.installation)
        before, began = groups.read(), time.monotonic()
        async with asyncio.TaskGroup() as group:
            for name in names:
                made = build.instance(name, "plain-1")
                group.create_task(self.client.create(INSTANCES, made, namespace=namespace))
        await self._all_deployed(namespace, since, set(names))
        return time.monotonic() - began, between(before, groups.read())

    async def _all_deployed(self, namespace: str, since: str, left: set[str]) -> None:
        async with asyncio.timeout(_DEADLINE), self._changes(namespace, since) as changes:
            async for found in changes:
                if instances.status_of(found, "deploy") == "COMPLETE":
                    left.discard(found["metadata"]["name"])
                if not left:
                    return

    async def namespace(self, prefix: str) -> str:
        """Create a namespace, and return its name."""
        name = f"{prefix}-{next(self._numbers)}"
        await self.client.create(NAMESPACES, {"metadata": {"name": name}})
        return name

    # The services

    def turns(self) -> tuple[Longest, Longest]:
        """Return the longest turns of the webhook and the reconciler since the last call."""
        webhook, reconciler = (scraped(service.get("/metrics")[1]) for service in self._services)
        return webhook, reconciler

    async def standing(self) -> Standing:
        name, namespace = _LEASE
        spec = (await self.client.get(LEASES, name, namespace=namespace))["spec"]
        processes = tuple(s.process.pid for s in self._services if s.process and s.process.alive)
        return Standing(processes, spec["holderIdentity"], spec.get("leaseTransitions", 0))

    @property
    def _services(self) -> tuple[Service, Service]:
        return self.installation.webhook, self.installation.reconciler


def _is_late(told: Told) -> bool:
    return told.end is End.DENIED and _LATE.search(told.text) is not None


def _has_ended(instance: Json) -> bool:
    return instances.idle(instance) and instances.status_of(instance, "deploy") in _ENDS


def _problems(sent: Input, told: Told) -> list[str]:
    found = []
    if told.end is not sent.end:
        found.append(f"it ended {told.end}, not {sent.end}: {told.text[:400]}")
    if told.end is sent.end and _is_late(told):
        return found
    found += [f"the sender is not told {w!r}: {told.text[:400]}" for w in sent.says
              if w not in told.text]  # fmt: skip
    if len(told.text) > 20_000:
        found.append(f"the sender is told {len(told.text)} characters")
    return found


def _moved(before: Standing, after: Standing) -> list[str]:
    return [] if before == after else [f"a restart, or another leader: {before}, then {after}"]
