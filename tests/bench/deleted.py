"""Memory that the reconciler keeps of deleted objects: 1,000 custom resources of 300 KB.

The real process watches their kind, since its one Instance applied one of them.
"""

import asyncio
from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families as parsed

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.resource import Resource
from kudo.api import names
from kudo_cluster.installation import Service
from tests.bench.figures import Figure
from tests.bench.memory import mebibytes, own_memory, pid, reconciler, until
from tests.bench.reviews import Json
from tests.bench.world import Call, World, each
from tests.support import build
from tests.support.cluster.resources import INSTANCES, NAMESPACES, VERSIONS

_NAMESPACE: Final = "deleted"
_GROUP: Final = "deleted.example.org"
_KIND: Final = Resource(_GROUP, "v1", "Thing", "things", namespaced=True)
_DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
_ROLES: Final = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
_AGGREGATE: Final = "rbac.kudo.dev/aggregate-to-reconciler"
_OBJECTS: Final = 1000
_BYTES: Final = 300_000
_MAX_KEPT: Final = 16 * 2**20
_OWN: Final = "own"


async def bench(world: World, _rounds: int) -> list[Figure]:
    """Measure on a cluster of its own."""
    async with Client(load_config(world.cluster.kubeconfig("admin"))) as client:
        await _prepare(client)
        with reconciler(world) as service:
            await until(partial(_deployed, service))
            # The worker processes still start, and have no part in it.
            before = own_memory(pid(service))
            world.progress(f"creating and deleting {_OBJECTS} objects of {_BYTES // 1000} KB")
            await each(_creations(client))
            held = own_memory(pid(service))
            await each(_deletions(client))
            # The last event of the watch, and the first one of an Instance's object: once that is
            # queued, all others have been seen.
            queued = await _queued(service)
            await client.delete(_KIND, _OWN, namespace=_NAMESPACE)
            await until(partial(_more_queued, service, queued))
            return [_figure(before, held, own_memory(pid(service)))]


async def _prepare(client: Client) -> None:
    await client.create(NAMESPACES, {"metadata": {"name": _NAMESPACE}})
    await client.create(_DEFINITIONS, _definition())
    await client.create(_ROLES, _role())
    await until(partial(_is_served, client))
    version = build.operator_version(
        "thing-1",
        templates={"all.yaml": build.template(_thing(_OWN))},
        plans={"deploy": build.plan({"step": ["all"]})},
    )
    await client.create(VERSIONS, version, namespace=_NAMESPACE)
    await client.create(INSTANCES, build.instance("thing", "thing-1"), namespace=_NAMESPACE)


def _definition() -> Json:
    anything: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
    }
    return {
        "metadata": {"name": f"{_KIND.plural}.{_GROUP}"},
        "spec": {
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {"plural": _KIND.plural, "singular": "thing", "kind": _KIND.kind},
            "versions": [version],
        },
    }


def _role() -> Json:
    """Return rights on the kind, as an administrator gives them to the reconciler."""
    return {
        "metadata": {"name": "things", "labels": {_AGGREGATE: "true"}},
        "rules": [{"apiGroups": [_GROUP], "resources": [_KIND.plural], "verbs": ["*"]}],
    }


async def _is_served(client: Client) -> bool:
    found = await client.get(_DEFINITIONS, f"{_KIND.plural}.{_GROUP}")
    conditions = found.get("status", {}).get("conditions", [])
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _thing(name: str, **spec: Any) -> Json:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": _KIND.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def _creations(client: Client) -> Iterator[Call]:
    labels = {names.LABEL_HERITAGE: names.HERITAGE}
    content = {f"key-{number}": "x" * (_BYTES // 100) for number in range(100)}
    for number in range(_OBJECTS):
        made = _thing(f"thing-{number}", content=content)
        made["metadata"]["labels"] = labels
        yield partial(client.create, _KIND, made, namespace=_NAMESPACE)


def _deletions(client: Client) -> Iterator[Call]:
    for number in range(_OBJECTS):
        yield partial(client.delete, _KIND, f"thing-{number}", namespace=_NAMESPACE)


async def _deployed(service: Service) -> bool:
    text = await _metrics(service)
    watched = 'kudo_watches{resource="other"} 1.0' in text
    return watched and 'kudo_instances{state="ready"} 1.0' in text


async def _more_queued(service: Service, before: float) -> bool:
    return await _queued(service) > before


async def _queued(service: Service) -> float:
    values = {one.name: one.value for f in parsed(await _metrics(service)) for one in f.samples}
    return values["kudo_queue_adds_total"]


async def _metrics(service: Service) -> str:
    _, text = await asyncio.to_thread(service.get, "/metrics")
    return text


def _figure(before: int, held: int, after: int) -> Figure:
    kept = after - before
    return Figure(
        f"reconciler: memory kept of {_OBJECTS} deleted custom resources of {_BYTES // 1000} KB",
        f"<= {mebibytes(_MAX_KEPT)}",
        f"{mebibytes(kept)} (more than {mebibytes(before)}; {mebibytes(held - before)} while they "
        "existed)",
        kept <= _MAX_KEPT,
    )
