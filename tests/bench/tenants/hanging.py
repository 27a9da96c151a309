"""Namespaces whose own webhook never answers: what others have beside them."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from kubeio.errors import NotFound
from kubeio.resource import Resource
from tests.bench.figures import Figure
from tests.bench.tenants.tenants import Beside, Tenants
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, VERSIONS
from tests.support.cluster.waiting import wait_until

NAME: Final = "namespaces whose own webhook hangs"
_WEBHOOKS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    namespaced=False,
)
_NAMESPACES: Final = 20
_EACH: Final = 20
"""Instances of each; together they would take all slots for operations several times."""
_ROUNDS: Final = 3
_TIMEOUT: Final = 30
"""Seconds; the longest that the API server waits for a webhook."""
_MOST_SECONDS: Final = 2.0
_DEADLINE: Final = 120.0


@dataclass(frozen=True, slots=True)
class Hanging:
    """What was measured beside the namespaces.

    Attributes:
        alone, beside: What others had before, and beside them.
        operations: Operations that ran and that waited, each time before others were measured.
    """

    alone: Beside
    beside: list[Beside]
    operations: list[tuple[int, int]]


async def measure_hanging(tenants: Tenants) -> list[Figure]:
    """Return the figures of others beside 20 namespaces whose requests all hang."""
    return list(_figures(await _measure(tenants)))


async def _measure(tenants: Tenants) -> Hanging:
    alone = await tenants.others()
    found = Hanging(alone, [], [])
    async with _silent() as port:
        names = [await tenants.namespace("hanging") for _ in range(_NAMESPACES)]
        webhook = _webhook(port, names)
        await tenants.client.create(_WEBHOOKS, webhook)
        try:
            for name in names:
                await _fill(tenants, name)
            # What is measured is that they hang, not that so many Instances are created.
            await wait_until(lambda: _hang(tenants), lambda: "an operation of each", _DEADLINE)
            for _ in range(_ROUNDS):
                found.operations.append(_operations(tenants))
                found.beside.append(await tenants.others())
        finally:
            # Without it, and while the port is open, what hangs comes to its end.
            await tenants.client.delete(_WEBHOOKS, webhook["metadata"]["name"])
            await _clear(tenants, names)
    return found


def _figures(found: Hanging) -> Iterator[Figure]:
    """Yield the figures of others, and how many operations ran and waited meanwhile."""
    alone = found.alone.deploys
    worst = max(one.deploys for one in found.beside)
    rounds = ", ".join(f"{one.deploys - alone:+.2f}" for one in found.beside)
    running, waiting = (max(column) for column in zip(*found.operations, strict=True))
    yield Figure(
        f"hostile: {_NAMESPACES} {NAME}: 20 deploys of others, over {alone:.2f} s alone",
        f"<= {_MOST_SECONDS:g} s more",
        f"{rounds} s; {running} operations ran and {waiting} waited",
        worst - alone <= _MOST_SECONDS,
    )
    failed = sum(len(one.reviews.failures) for one in found.beside)
    p99 = max(one.reviews.percentile(0.99) for one in found.beside)
    yield Figure(
        f"hostile: {_NAMESPACES} {NAME}: others' reviews",
        "p99 <= 100 ms, 0 failed",
        f"{p99 * 1e3:.0f} ms, {failed} failed",
        p99 <= 0.1 and not failed,
    )


@asynccontextmanager
async def _silent() -> AsyncIterator[int]:
    """Yield a port whose connections are accepted and never answered."""
    end = asyncio.Event()

    async def hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await end.wait()
        writer.transport.abort()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        end.set()


def _webhook(port: int, namespaces: Sequence[str]) -> Json:
    label = "kubernetes.io/metadata.name"
    return {
        "metadata": {"name": "hanging"},
        "webhooks": [
            {
                "name": "hanging.example.org",
                "clientConfig": {"url": f"https://127.0.0.1:{port}/"},
                "namespaceSelector": {
                    "matchExpressions": [
                        {"key": label, "operator": "In", "values": list(namespaces)}
                    ]
                },
                "rules": [
                    {
                        "operations": ["CREATE", "UPDATE"],
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["configmaps"],
                    }
                ],
                "timeoutSeconds": _TIMEOUT,
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


async def _fill(tenants: Tenants, namespace: str) -> None:
    version = build.operator_version(
        "hanging-1",
        templates={"all.yaml": build.template(build.config_map("{{ .Name }}", a="b"))},
        plans={"deploy": build.plan({"step": ["all"]})},
    )
    await tenants.client.create(VERSIONS, version, namespace=namespace)
    async with asyncio.TaskGroup() as group:
        for number in range(_EACH):
            made = build.instance(f"hanging-{number}", "hanging-1")
            group.create_task(tenants.client.create(INSTANCES, made, namespace=namespace))


async def _clear(tenants: Tenants, namespaces: Sequence[str]) -> None:
    async with asyncio.TaskGroup() as group:
        for namespace in namespaces:
            for number in range(_EACH):
                group.create_task(_delete(tenants, f"hanging-{number}", namespace))


async def _delete(tenants: Tenants, name: str, namespace: str) -> None:
    try:
        await tenants.client.delete(INSTANCES, name, namespace=namespace)
    except NotFound:
        return


async def _hang(tenants: Tenants) -> bool:
    """Return whether an operation of each Instance runs or waits."""
    return sum(_operations(tenants)) >= _NAMESPACES * _EACH


def _operations(tenants: Tenants) -> tuple[int, int]:
    """Return how many operations of the reconciler run, and how many wait."""
    text = tenants.installation.reconciler.get("/metrics")[1]
    values = re.findall(r"^kudo_operations_(?:running|waiting) (\S+)$", text, re.MULTILINE)
    running, waiting = (int(float(value)) for value in values)
    return running, waiting
