"""Deploys of one ConfigMap, with the webhook on, beside the protocol floor.

Three subjects take turns on one cluster: the reconciler, and, while it is stopped, two clients that
send the same writes and events as a recorded deploy of it, with 32 connections: one through kubeio,
the reconciler's own transport (the protocol floor), one through aiohttp as it comes. The Instances
are created by the same process in the same way for all three.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from tests.bench.figures import Figure
from tests.bench.floor.process import FloorProcess, floor_process
from tests.bench.floor.recording import told
from tests.bench.measure.processes import API, Cpu
from tests.bench.measure.requests import READS, Request
from tests.bench.rounds import Values, alternating, cpu_seconds
from tests.bench.workloads.batch import Batch, run_batch
from tests.bench.workloads.follow import Key, ended
from tests.bench.workloads.installed import Installed, keys
from tests.bench.workloads.record import Recording, record
from tests.support import build
from tests.support.build import Json

INSTANCES: Final = 500
WARM_UP: Final = 50
_VERSION: Final = "config-map-1"
_FLOOR: Final = "floor client"
_MIN_SHARE: Final = 0.75
_MAX_CPU: Final = 1.5
_MAX_READS: Final = 1
_MAX_WRITES: Final = 4
_MAX_EVENTS: Final = 2
_RESOURCES: Final = ("instances", "operatorversions", "configmaps", "events")


def version() -> Json:
    """Return an OperatorVersion whose deploy plan applies one ConfigMap."""
    return build.operator_version(
        _VERSION,
        templates={"all.yaml": build.template(build.config_map("{{ .Name }}", key="value"))},
        plans={"deploy": build.plan({"step": ["all"]})},
    )


async def bench(installed: Installed) -> list[Figure]:
    """Measure all three subjects in each round."""
    recording = await record(installed, version())
    rounds = installed.options.rounds
    found = await alternating(
        rounds,
        {
            "reconciler": partial(_ours, installed),
            "floor": partial(_floor, installed, recording, "kubeio"),
            "aiohttp": partial(_floor, installed, recording, "aiohttp"),
        },
    )
    ours, floor, plain = found["reconciler"], found["floor"], found["aiohttp"]
    return [
        _throughput(ours, floor),
        _plain_throughput(plain, floor),
        _requests(recording),
        _counted(ours),
        _cpu(ours, floor, plain),
        _latency(ours, floor),
        _others(ours),
    ]


async def _ours(installed: Installed) -> Batch:
    installed.progress("deploys: the reconciler")
    async with (
        installed.reconciler(profile="deploys-reconciler"),
        _instances(installed) as (
            warm,
            measured,
        ),
    ):
        await run_batch(installed, created(installed, warm, _VERSION), ended("deploy"))
        return await run_batch(installed, created(installed, measured, _VERSION), ended("deploy"))


async def _floor(installed: Installed, recording: Recording, transport: str) -> Batch:
    installed.progress(f"deploys: the same writes through {transport}")
    kubeconfig = installed.installation.cluster.kubeconfig("reconciler")
    async with (
        _instances(installed) as (warm, measured),
        floor_process(transport, kubeconfig, recording.file) as client,
    ):

        def cpu() -> Cpu:
            return {**installed.cpu(), _FLOOR: cpu_seconds(client.pid)}

        for some in (warm, measured):
            requests = {key: partial(_handed_over, installed, client, key) for key in some}
            batch = await run_batch(
                installed, requests, ended("deploy"), cpu=cpu, broken=client.ended()
            )
        return batch


async def _handed_over(installed: Installed, client: FloorProcess, key: Key) -> None:
    client.deploy(await installed.create(key, build.instance(key[1], _VERSION)))


@asynccontextmanager
async def _instances(installed: Installed) -> AsyncIterator[tuple[list[Key], list[Key]]]:
    """Yield keys to warm up with and to measure, in namespaces that go with the block."""
    namespaces = await installed.namespaces(version())
    options = installed.options
    try:
        yield (
            keys(namespaces, options.count(WARM_UP), "warm-up0"),
            keys(namespaces, options.count(INSTANCES)),
        )
    finally:
        await installed.clear(namespaces)


def created(
    installed: Installed, wanted: list[Key], version: str, **parameters: str
) -> dict[Key, Callable[[], Awaitable[object]]]:
    """Return the requests that create Instances."""
    return {
        key: partial(installed.create, key, build.instance(key[1], version, **parameters))
        for key in wanted
    }


def rates(batches: list[Batch]) -> Values:
    return Values(tuple(batch.rate for batch in batches))


def cpu_each(batches: list[Batch], process: str) -> Values:
    return Values(tuple(batch.cpu_each(process) for batch in batches))


def latencies(batches: list[Batch]) -> str:
    """Return the percentiles of the latencies for people, as medians of the rounds."""
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
    found = (
        f"{name} {Values(tuple(b.percentile(share) for b in batches)).median:.2f} s"
        for name, share in shares.items()
    )
    return ", ".join(found)


def _throughput(ours: list[Batch], floor: list[Batch]) -> Figure:
    share = rates(ours).over(rates(floor))
    return Figure(
        f"deploys: {len(ours[0].latencies)} Instances of one ConfigMap, rate over the floor's",
        f">= {_MIN_SHARE} (aim 0.85)",
        f"{share.told()}; {rates(ours).told(1, unit='/s')} over {rates(floor).told(1, unit='/s')}",
        share.median >= _MIN_SHARE,
        values={
            "share": share.values,
            "rate": rates(ours).values,
            "floor rate": rates(floor).values,
        },
    )


def _plain_throughput(plain: list[Batch], floor: list[Batch]) -> Figure:
    share = rates(plain).over(rates(floor))
    return Figure(
        "deploys: the floor's client on plain aiohttp, rate over the floor's",
        "a reference",
        f"{share.told()}; {rates(plain).told(1, unit='/s')}",
        ok=True,
        values={"rate": rates(plain).values},
    )


def _requests(recording: Recording) -> Figure:
    exchanges = recording.exchanges
    reads = sum(one.reads for one in exchanges)
    events = sum(one.writes and one.resource == "events" for one in exchanges)
    writes = sum(one.writes for one in exchanges) - events
    rest = len(exchanges) - reads - writes - events
    return Figure(
        "deploys: requests of a recorded deploy, after the creation",
        f"<= {_MAX_READS} read, {_MAX_WRITES} writes, {_MAX_EVENTS} events",
        f"{reads} reads, {writes} writes, {events} events, {rest} others: "
        + ", ".join(told(exchanges)),
        reads <= _MAX_READS and writes <= _MAX_WRITES and events <= _MAX_EVENTS and not rest,
        values={"requests": list(told(exchanges))},
    )


def _counted(ours: list[Batch]) -> Figure:
    number = len(ours[0].latencies)
    # What the bench sends itself: the creations, and a list to watch from.
    sent = {Request("POST", "instances"): number, Request("LIST", "instances"): 1}
    found = [batch.requests.of(_RESOURCES).without(sent) for batch in ours]
    each = Values(tuple(sum(one.counts.values()) / number for one in found))
    reads = Values(tuple(one.total(READS) / number for one in found))
    return Figure(
        "deploys: requests a deploy, as the API server counts them",
        f"<= {_MAX_READS + _MAX_WRITES + _MAX_EVENTS}, of them {_MAX_READS} read",
        f"{each.told()}, of them reads {reads.told()}: {', '.join(found[-1].each(number))}",
        each.median <= _MAX_READS + _MAX_WRITES + _MAX_EVENTS and reads.median <= _MAX_READS,
        values={"requests": each.values, "reads": reads.values},
    )


def _cpu(ours: list[Batch], floor: list[Batch], plain: list[Batch]) -> Figure:
    mine, least = cpu_each(ours, "reconciler"), cpu_each(plain, _FLOOR)
    kubeio = cpu_each(floor, _FLOOR)
    ratio = mine.over(least)
    return Figure(
        "deploys: CPU of the reconciler over that of the client on plain aiohttp",
        f"<= {_MAX_CPU}",
        f"{ratio.told()}; {mine.told(1, factor=1e3, unit='ms')} over "
        f"{least.told(1, factor=1e3, unit='ms')}; the floor's client "
        f"{kubeio.told(1, factor=1e3, unit='ms')}",
        ratio.median <= _MAX_CPU,
        values={"ratio": ratio.values, "reconciler": mine.values, "aiohttp": least.values},
    )


def _latency(ours: list[Batch], floor: list[Batch]) -> Figure:
    return Figure(
        "deploys: from the creation of an Instance until it is idle, all created at once",
        "a reference",
        f"{latencies(ours)}; floor {latencies(floor)}",
        ok=True,
    )


def _others(ours: list[Batch]) -> Figure:
    api, webhook = cpu_each(ours, API), cpu_each(ours, "webhook")
    return Figure(
        "deploys: CPU a deploy of the other processes",
        "a reference",
        f"API server and etcd {api.told(1, factor=1e3, unit='ms')}, "
        f"webhook {webhook.told(1, factor=1e3, unit='ms')}",
        ok=True,
        values={"api": api.values, "webhook": webhook.values},
    )
