"""Steps and Instances beside each other: what a slow or failing one costs the others.

A reconciler with its usual options sees the API server through the proxy, which holds up or refuses
requests of one kind for as long as a measurement takes.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.resource import Resource
from kudo_cluster.installation import Installation
from tests.faults import steps_versions as versions
from tests.faults.injection.faults import Fault, Requests, Rules
from tests.faults.injection.proxy import Proxy
from tests.faults.injection.reconcilers import LEASE_OPTIONS, Reconcilers
from tests.faults.injection.strikes import Strikes
from tests.support import build, instances
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, NAMESPACES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World
from tests.support.hostile import VERSION

_PODS: Final = Resource("", "v1", "Pod", "pods", namespaced=True)
_COPIES: Final = Requests("exec", "pods")
_EVENTS: Final = Requests("create", "events")
_FAILING: Final = Requests("list", "persistentvolumeclaims")
_SLOW: Final = Requests("list", "jobs.batch")
"""Kinds that no other measurement has the reconciler watch."""
_ROUNDS: Final = 3
_DEPLOYS: Final = 12
_COUNTED: Final = 5
_BESIDE: Final = 16
_FAILING_SECONDS: Final = 20.0
"""By then a failing step is tried again after 8 to 16 s."""
_QUIET_SECONDS: Final = 2.0
_NAME: Final = "steps"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a deploy of a ConfigMap costs: reconciles, and seconds of a worker."""

    reconciles: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Beside:
    """Seconds that each deploy took: alone, and beside Instances that fail."""

    alone: list[float]
    beside: list[float]


@dataclass(frozen=True, slots=True)
class Found:
    """What was measured.

    Attributes:
        sibling: Seconds from the end of a step to the beginning of the next one, beside a step
            that fails.
        copy, render, listing: Seconds from the request to cancel to the terminal status, with a
            copy, a rendering or the first LIST of a kind going on.
        together, apart: Deploys beside Instances of a kind whose LIST fails, in the namespace of
            the deploys and each in one of its own.
        usual, throttled: The cost of deploys; where events are answered with 429.
    """

    sibling: list[float]
    copy: list[float]
    render: list[float]
    listing: list[float]
    together: Beside
    apart: Beside
    usual: list[Cost]
    throttled: list[Cost]


@dataclass
class Steps:
    """Measures on a reconciler behind the proxy."""

    installation: Installation
    client: Client
    rules: Rules
    reconcilers: Reconcilers
    _numbers: "count[int]" = field(default_factory=count)

    @classmethod
    @asynccontextmanager
    async def on(cls, installation: Installation) -> AsyncIterator["Steps"]:
        """Yield one on an installation whose own reconciler does not run."""
        cluster, rules = installation.cluster, Rules()
        reconcilers = Reconcilers(installation, LEASE_OPTIONS)
        upstream = load_config(cluster.kubeconfig("reconciler"))
        async with (
            Client(load_config(cluster.kubeconfig("admin"))) as client,
            Proxy(upstream, rules, Strikes(reconcilers)) as proxy,
        ):
            try:
                await reconcilers.start(_NAME, await proxy.listen(_NAME))
                yield cls(installation, client, rules, reconcilers)
            finally:
                await reconcilers.stop(reconcilers.names)

    async def measure(self, say: Callable[[str], None]) -> Found:
        """Measure everything, one after the other."""
        plain = await self._world()
        await plain.apply(versions.plain())
        await self._deploys(plain)
        say("steps: reconciles and worker time of a deploy")
        usual, throttled = list[Cost](), list[Cost]()
        for _ in range(_ROUNDS):
            usual.append(await self._cost(plain))
            with self._struck(_EVENTS, Fault.THROTTLED):
                throttled.append(await self._cost(plain))
        say("steps: a failing step beside others")
        sibling = await self._sibling()
        say("steps: cancelling")
        with self._struck(_COPIES, Fault.HANG):
            copy = await self._cancels(
                versions.copying(), lambda i: "copying" in instances.messages(i, "deploy")
            )
        render = await self._cancels(versions.rendering(), _began)
        with self._struck(_SLOW, Fault.HANG):
            listing = await self._cancels(versions.applying(versions.JOB), _began)
        say("steps: deploys beside Instances of a kind whose LIST fails")
        with self._struck(_FAILING, Fault.ERROR):
            together = await self._ratio([plain] * _BESIDE, plain)
            apart = await self._ratio([await self._world() for _ in range(_BESIDE)], plain)
        return Found(sibling, copy, render, listing, together, apart, usual, throttled)

    @contextmanager
    def _struck(self, requests: Requests, fault: Fault) -> Iterator[None]:
        """Have a fault strike at such requests; one that never came would prove nothing."""
        with self.rules.lasting(requests, fault) as lasting:
            yield
        assert lasting.struck, f"{fault} has never struck at {requests}"

    # Deploys

    async def _deploys(self, world: World) -> list[float]:
        return [await self._deploy(world) for _ in range(_DEPLOYS)]

    async def _deploy(self, world: World) -> float:
        """Deploy a ConfigMap; return how long it takes."""
        name = f"plain-{next(self._numbers)}"
        began = time.monotonic()
        await world.apply(build.instance(name, "plain-1"))
        await world.until(
            name, lambda i: instances.status_of(i, "deploy") == "COMPLETE", "a deploy"
        )
        taken = time.monotonic() - began
        await world.until_idle(name)
        return taken

    async def _cost(self, world: World) -> Cost:
        """Return what a deploy of a ConfigMap costs."""
        number, seconds = await self._reconciled()
        for _ in range(_COUNTED):
            await self._deploy(world)
        number_after, seconds_after = await self._reconciled()
        return Cost((number_after - number) / _COUNTED, (seconds_after - seconds) / _COUNTED)

    async def _reconciled(self) -> tuple[float, float]:
        """Wait for a while without a reconcile; return how many there were, and their seconds."""
        seen, latest = (-1.0, 0.0), self._reconciles()
        while seen != latest:
            await asyncio.sleep(_QUIET_SECONDS)
            seen, latest = latest, self._reconciles()
        return latest

    def _reconciles(self) -> tuple[float, float]:
        _, text = self.reconcilers.get(_NAME, "/metrics")
        number = _value(text, "kudo_reconcile_total")
        return number, _value(text, "kudo_reconcile_duration_seconds_sum")

    async def _ratio(self, worlds: Sequence[World], plain: World) -> Beside:
        """Deploy alone, beside the Instances, and alone again: the machine may get slower."""
        alone = await self._deploys(plain)
        beside = await self._beside(worlds, plain)
        return Beside([*alone, *await self._deploys(plain)], beside)

    async def _beside(self, worlds: Sequence[World], plain: World) -> list[float]:
        """Deploy while an Instance of the kind whose LIST fails waits in each namespace."""
        made = [(world, f"failing-{number}") for number, world in enumerate(worlds)]
        for world in worlds:
            await world.apply(versions.applying(versions.CLAIM))
        async with asyncio.TaskGroup() as group:
            for world, name in made:
                group.create_task(_install(world, build.instance(name, VERSION)))
        taken = await self._deploys(plain)
        for world, name in made:
            found = await world.instance(name)
            assert _began(found), found
            await _delete(world, name)
        return taken

    # Steps

    async def _sibling(self) -> list[float]:
        world = await self._world()
        await world.apply(versions.gated(), build.instance("i", VERSION))
        await _until_pod(world, 0)
        await asyncio.sleep(_FAILING_SECONDS)
        taken = []
        for number in range(versions.GATES - 1):
            await self._open(world, number)
            began = time.monotonic()
            await _until_pod(world, number + 1)
            taken.append(time.monotonic() - began)
        found = await world.instance("i")
        assert instances.steps(found, "deploy")["phase1.bad"] == "ERROR", found
        await _delete(world, "i")
        return taken

    async def _open(self, world: World, number: int) -> None:
        """Have the pod of a step become ready, which ends the step."""
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await self.client.merge_patch(
            _PODS,
            f"gate-{number}",
            {"status": ready},
            namespace=world.namespace,
            subresource="status",
        )

    async def _cancels(self, version: Json, begun: Callable[[Json], bool]) -> list[float]:
        return [await self._cancel(version, begun) for _ in range(_ROUNDS)]

    async def _cancel(self, version: Json, begun: Callable[[Json], bool]) -> float:
        """Cancel a run once it is at what takes long; return how long that takes."""
        world = await self._world()
        await world.apply(version, build.instance("i", VERSION))
        await world.until("i", begun, "a run that takes long")
        began = time.monotonic()
        await world.patch("i", {"planExecution": {"status": "FATAL_ERROR"}})
        ended = await world.until(
            "i",
            lambda i: instances.status_of(i, "deploy") in {"COMPLETE", "FATAL_ERROR"},
            "the end",
        )
        taken = time.monotonic() - began
        assert "COMPLETE" not in instances.steps(ended, "deploy").values(), instances.entry(
            ended, "deploy"
        )
        return taken

    async def _world(self) -> World:
        name = f"steps-{next(self._numbers)}"
        await self.client.create(NAMESPACES, {"metadata": {"name": name}})
        return World(self.installation, self.client, name)


async def _install(world: World, instance: Json) -> None:
    """Create an Instance and wait until its run is on record."""
    await world.apply(instance)
    await world.until(instance["metadata"]["name"], _began, "a run that waits")


async def _delete(world: World, name: str) -> None:
    await world.client.delete(INSTANCES, name, namespace=world.namespace)
    await world.until_gone(INSTANCES, name)


async def _until_pod(world: World, number: int) -> None:
    async def there() -> bool:
        return await world.find(_PODS, f"gate-{number}") is not None

    await wait_until(there, lambda: f"the pod of step {number}")


def _began(instance: Json) -> bool:
    """Whether the run is on record and has not ended."""
    return instances.status_of(instance, "deploy") == "IN_PROGRESS"


def _value(text: str, name: str) -> float:
    return sum(map(float, re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)))
