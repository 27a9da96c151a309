"""Memory: of a cached pod, and of the webhook with large OperatorVersions.

The services are real processes with the caches of a real cluster. A process counts with all that it
started. What is said is what is resident now and, of the process itself, what it was at most.
"""

import asyncio
import gc
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import yaml

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.resource import Resource
from kudo.api import bounds, names
from kudo_cluster.control_plane.network import free_ports
from kudo_cluster.installation import Service
from kudo_reconciler.objects.cached_objects import reduced
from kudo_webhook.routes import MUTATE_PATH
from tests.bench import load, reviews
from tests.bench.figures import Figure
from tests.bench.reviews import Json
from tests.bench.world import Call, World, each, program
from tests.support.cluster.resources import INSTANCES, NAMESPACES, VERSIONS
from tests.support.loops.lacking import within

_NAMESPACE: Final = "memory"
_INSTANCES: Final = 1000
PODS_EACH: Final = 4
_ORDINARY: Final = 500
_LARGE: Final = 20
_LARGE_BYTES: Final = 1_000_000
_MAX_POD: Final = 4096
_IDLE_SECONDS: Final = 600.0
_SELECTOR: Final = f"{names.LABEL_HERITAGE}={names.HERITAGE}"
_PODS: Final = Resource("", "v1", "Pod", "pods", namespaced=True)
_CHART: Final = Path(__file__).resolve().parents[2] / "charts" / "kudo" / "values.yaml"
_TIME: Final = "2026-01-01T12:00:00Z"


@dataclass(frozen=True, slots=True)
class Resident:
    """Bytes of a process and all that it started.

    Attributes:
        now: Resident set sizes, added up; pages that several share count for each.
        shared_once: The same, with a page that several share counted once.
        peak: The largest that the process itself had.
    """

    now: int
    shared_once: int
    peak: int


async def bench(world: World, _rounds: int) -> list[Figure]:
    """Measure on a cluster of its own."""
    async with Client(load_config(world.cluster.kubeconfig("admin"))) as client:
        await client.create(NAMESPACES, {"metadata": {"name": _NAMESPACE}})
        # Pods need it, and the controller that makes it takes its time.
        accounts = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
        await until(partial(_exists, client, accounts, "default"))
        await _fill_with_pods(world, client)
        pod = await _bytes_of_a_pod(client)
        await _fill_with_versions(world, client)
        webhook = await _webhook(world)
    return [_pod_figure(pod), _webhook_figure(webhook)]


# A cached pod


async def _fill_with_pods(world: World, client: Client) -> None:
    world.progress(f"creating {_INSTANCES} Instances and {PODS_EACH} pods for each")
    await client.create(VERSIONS, dummy_version(), namespace=_NAMESPACE)
    await each(
        partial(create_with_pods, client, _NAMESPACE, f"i-{number}") for number in range(_INSTANCES)
    )


async def create_with_pods(client: Client, namespace: str, name: str) -> None:
    """Create an Instance of `dummy_version`, and pods that look as if it had applied them."""
    instance = reviews.instance(name, "dummy-1")
    instance["spec"]["parameters"] = {}
    owner = await client.create(INSTANCES, instance, namespace=namespace)
    for number in range(PODS_EACH):
        made = await client.create(_PODS, _pod(f"{name}-{number}", owner), namespace=namespace)
        await client.replace(_PODS, {**made, "status": _RUNNING}, subresource="status")


def dummy_version() -> Json:
    """Return an OperatorVersion that applies nothing."""
    version = reviews.operator_version("dummy-1")
    version["spec"]["tasks"] = [{"name": "all", "kind": "Dummy", "spec": {"done": True}}]
    return version


def _pod(name: str, owner: Json) -> Json:
    metadata = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    container = {
        "name": "web",
        "image": "web:1",
        "env": [{"name": f"VARIABLE_{n}", "value": "as long as values are"} for n in range(20)],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
    }
    return {
        "metadata": {
            "name": name,
            "labels": {
                names.LABEL_HERITAGE: names.HERITAGE,
                names.LABEL_INSTANCE: metadata["name"],
                names.LABEL_OPERATOR: "bench",
            },
            "annotations": {names.ANNOTATION_PLAN: "deploy", names.ANNOTATION_PLAN_UID: "u" * 36},
            "ownerReferences": [reference],
        },
        "spec": {
            "containers": [container],
            "automountServiceAccountToken": False,
            # Neither the scheduler nor a node touches it: its status is what is written here.
            "schedulerName": "nobody",
        },
    }


_CONDITIONS: Final = ("PodScheduled", "Initialized", "ContainersReady", "Ready")
_RUNNING: Final[Json] = {
    "phase": "Running",
    "conditions": [
        {"type": kind, "status": "True", "lastTransitionTime": _TIME} for kind in _CONDITIONS
    ],
    "containerStatuses": [
        {
            "name": "web",
            "image": "web:1",
            "imageID": "sha256:" + "0" * 64,
            "ready": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": _TIME}},
        }
    ],
}


async def _bytes_of_a_pod(client: Client) -> float:
    """Return what a cached pod takes, indexes included."""
    gc.collect()
    tracemalloc.start()
    try:
        informer = Informer(
            client,
            _PODS,
            label_selector=_SELECTOR,
            indexers={"instance": lambda obj: [obj["metadata"]["labels"][names.LABEL_INSTANCE]]},
            transform=reduced,
        )
        task = asyncio.create_task(informer.run())
        await informer.wait_synced(60.0)
        gc.collect()
        taken = tracemalloc.get_traced_memory()[0]
        assert len(informer) == _INSTANCES * PODS_EACH
        task.cancel()
    finally:
        tracemalloc.stop()
    return taken / (_INSTANCES * PODS_EACH)


def _pod_figure(measured: float) -> Figure:
    return Figure(
        f"memory of a cached pod, {_INSTANCES * PODS_EACH} pods",
        f"<= {_MAX_POD / 1024:.0f} KiB",
        f"{measured / 1024:.1f} KiB",
        measured <= _MAX_POD,
    )


# The reconciler


@contextmanager
def reconciler(world: World) -> Iterator[Service]:
    """Run a reconciler for the block; it is ready, and has its Lease soon."""
    [port] = free_ports(1)
    kubeconfig = world.cluster.kubeconfig("reconciler")
    command = [str(program("kudo-reconciler")), f"--kubeconfig={kubeconfig}"]
    command += ["--probe-host=127.0.0.1", f"--probe-port={port}"]
    # The one namespace in which it may have a Lease, as in the chart.
    command.append("--lease-namespace=kudo-system")
    log = world.directory / "reconciler.log"
    service = Service("reconciler", command, log, port, world.supervision)
    service.start()
    try:
        yield service
    finally:
        service.stop()


# The webhook


async def _fill_with_versions(world: World, client: Client) -> None:
    world.progress(f"creating {_ORDINARY} ordinary and {_LARGE} large OperatorVersions")
    await each(_creations(client))


def _creations(client: Client) -> Iterator[Call]:
    for number in range(_ORDINARY):
        version = reviews.operator_version(f"ordinary-{number}")
        yield partial(client.create, VERSIONS, version, namespace=_NAMESPACE)
    for name in _large_names():
        yield partial(client.create, VERSIONS, _large_version(name), namespace=_NAMESPACE)


def _large_names() -> list[str]:
    return [f"large-{number}" for number in range(_LARGE)]


def _large_version(name: str) -> Json:
    """Return an OperatorVersion with as many parameters as it may have, of 1 MB."""
    version = reviews.operator_version(name)
    value = "x" * (_LARGE_BYTES // bounds.PARAMETERS - 40)
    version["spec"]["parameters"] = [
        {"name": f"PARAMETER_{number:02}", "default": value} for number in range(bounds.PARAMETERS)
    ]
    return version


async def _webhook(world: World) -> Resident:
    world.progress("judging Instances of each of them")
    kubeconfig = world.cluster.kubeconfig("webhook")
    command = [str(program("kudo-webhook")), f"--kubeconfig={kubeconfig}", "--host=127.0.0.1"]
    command += ["--probe-host=127.0.0.1", "--drain-seconds=0"]
    service, port = world.service("webhook", command)
    service.start()
    try:
        bodies = world.directory / "memory-bodies"
        ordinary = [f"ordinary-{number}" for number in range(_ORDINARY)]
        reviews.write(bodies, _creates([*ordinary, *_large_names()]))
        job = load.Job(port, str(world.ca), str(bodies), 2 * (_ORDINARY + _LARGE))
        failures = (await load.once(job)).failures
        if failures:
            raise RuntimeError(f"webhook: {failures[0]}")
        return resident(pid(service))
    finally:
        service.stop()


def _creates(versions: list[str]) -> Iterator[tuple[str, Json]]:
    for version in versions:
        new = reviews.instance("new", version)
        yield MUTATE_PATH, reviews.review(_NAMESPACE, new, None)


def _webhook_figure(measured: Resident) -> Figure:
    values = yaml.safe_load(_CHART.read_text(encoding="utf-8"))
    limit = _bytes_of(values["webhook"]["resources"]["limits"]["memory"])
    return Figure(
        f"webhook: RSS with {_ORDINARY} OperatorVersions and {_LARGE} of 1 MB, all processes",
        f"<= {mebibytes(limit)}, its limit in the chart",
        said(measured),
        max(measured.now, measured.peak) <= limit,
    )


# Processes


def resident(process: int) -> Resident:
    """Return how much memory a process and its descendants have."""
    family = [process, *_descendants(process)]
    return Resident(
        now=sum(_status(one, "VmRSS") for one in family),
        shared_once=sum(_proportional(one) for one in family),
        peak=_status(process, "VmHWM"),
    )


def own_memory(process: int) -> int:
    """Return the bytes that a process has without its descendants."""
    return _status(process, "VmRSS")


def _descendants(pid: int) -> Iterator[int]:
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in file.read_text(encoding="utf-8").split():
            yield int(child)
            yield from _descendants(int(child))


def _proportional(pid: int) -> int:
    return _field(Path(f"/proc/{pid}/smaps_rollup"), "Pss")


def _status(pid: int, field: str) -> int:
    return _field(Path(f"/proc/{pid}/status"), field)


def _field(file: Path, field: str) -> int:
    text = file.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def pid(service: Service) -> int:
    assert service.process is not None
    return service.process.pid


def _bytes_of(quantity: str) -> int:
    assert quantity.endswith("Mi"), quantity
    return int(quantity.removesuffix("Mi")) * 2**20


def mebibytes(count: int) -> str:
    return f"{count / 2**20:.0f} MiB"


def said(measured: Resident) -> str:
    return (
        f"{mebibytes(measured.now)}, shared pages counted once "
        f"{mebibytes(measured.shared_once)} (the process at most {mebibytes(measured.peak)})"
    )


async def _exists(client: Client, resource: Resource, name: str) -> bool:
    found = await client.list(resource, namespace=_NAMESPACE)
    return any(item["metadata"]["name"] == name for item in found.items)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with within(_IDLE_SECONDS, condition):
        while not await condition():  # noqa: ASYNC110 - other processes bring it about
            await asyncio.sleep(0.2)
