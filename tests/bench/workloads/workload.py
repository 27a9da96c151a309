"""A workload: one request for each of many Instances, worked on by the reconciler or by the floor.

The subjects take turns on one cluster: the reconciler, and, while it is stopped, clients that send
the same writes and events as it did in a recorded run, with 32 connections: one through kubeio, the
reconciler's own transport (the protocol floor), one through aiohttp as it comes. The requests
themselves are sent by the same process in the same way for all.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Final

from kubeio.client import Client
from tests.bench.floor.process import FloorProcess, floor_process
from tests.bench.measure.processes import Cpu
from tests.bench.measure.requests import Request
from tests.bench.rounds import alternating, cpu_seconds
from tests.bench.workloads.batch import Batch, run_batch
from tests.bench.workloads.follow import Done, Key, ended
from tests.bench.workloads.installed import Installed, keys
from tests.bench.workloads.record import Recording, record
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES
from tests.support.cluster.waiting import events_written

RECONCILER: Final = "reconciler"
FLOOR: Final = "kubeio"
PLAIN: Final = "aiohttp"
CLIENT: Final = "client"
"""The process of the floor, in readings of CPU time."""
_WARM_UP: Final = 50


Send = Callable[[Client, Key], Awaitable[Json]]
Beside = Callable[[str], AbstractAsyncContextManager[None]]


def _nothing(_: str) -> AbstractAsyncContextManager[None]:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Workload:
    """What is asked for, and when it is done.

    Attributes:
        name: Of the rows and profiles.
        count: Instances.
        versions: OperatorVersions that there are.
        send: Sends the request for an Instance and returns the Instance as answered.
        done: Tells when it is done.
        sent: What that is to the API server.
        stands: Name of the OperatorVersion of which the Instances are deployed before; empty if
            the request creates them.
    """

    name: str
    count: int
    versions: tuple[Json, ...]
    send: Send
    done: Done
    sent: Request
    stands: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """What each subject took, in one batch of each round.

    Attributes:
        recording: The run whose writes the clients sent.
        batches: By subject.
    """

    recording: Recording
    batches: dict[str, list[Batch]]


def creating(version: str, **parameters: str) -> Send:
    """Return what creates an Instance of an OperatorVersion."""

    async def send(client: Client, key: Key) -> Json:
        made = build.instance(key[1], version, **parameters)
        return await client.create(INSTANCES, made, namespace=key[0])

    return send


def patching(spec: Json) -> Send:
    """Return what changes the spec of an Instance by a merge patch."""

    async def send(client: Client, key: Key) -> Json:
        return await client.merge_patch(INSTANCES, key[1], {"spec": spec}, namespace=key[0])

    return send


def requests_of(
    installed: Installed, send: Send, desired: Iterable[Key]
) -> dict[Key, Callable[[], Awaitable[Json]]]:
    """Return a request for each of some Instances."""
    return {key: partial(send, installed.client, key) for key in desired}


async def deleting(client: Client, key: Key) -> Json:
    return await client.delete(INSTANCES, key[1], namespace=key[0])


async def compare(
    installed: Installed, workload: Workload, subjects: tuple[str, ...] = (RECONCILER, FLOOR, PLAIN)
) -> Compared:
    """Measure all subjects in each round."""
    recording = await _recorded(installed, workload)
    measures = {name: partial(_measured, installed, workload, recording, name) for name in subjects}
    return Compared(recording, await alternating(installed.options.rounds, measures))


async def _measured(
    installed: Installed, workload: Workload, recording: Recording, subject: str
) -> Batch:
    installed.progress(f"{workload.name}: {subject}")
    if subject == RECONCILER:
        return await measure_reconciler(installed, workload)
    async with _instances(installed, workload) as batches:
        return await _by_client(installed, workload, recording, subject, batches)


async def measure_reconciler(
    installed: Installed,
    workload: Workload,
    beside: Beside = _nothing,
    options: Sequence[str] = (),
) -> Batch:
    """Return what a reconciler that was started for it takes, once it is warm.

    Args:
        installed: Where.
        workload: What is asked of it.
        beside: Entered with the namespace of the first Instance once the reconciler is warm, and
            left when the batch is over.
        options: Of the reconciler, besides those that it always has.
    """
    async with (
        _instances(installed, workload) as (warm, measured),
        installed.reconciler(f"{workload.name}-reconciler", options),
    ):
        settled = partial(events_written, installed.installation.reconciler)
        warmed = requests_of(installed, workload.send, warm)
        await run_batch(installed, warmed, workload.done, settled=settled)
        async with beside(measured[0][0]):
            requests = requests_of(installed, workload.send, measured)
            return await run_batch(installed, requests, workload.done, settled=settled)


async def _by_client(
    installed: Installed,
    workload: Workload,
    recording: Recording,
    transport: str,
    batches: tuple[list[Key], list[Key]],
) -> Batch:
    kubeconfig = installed.installation.cluster.kubeconfig("reconciler")
    desired = [key for some in batches for key in some]
    async with floor_process(transport, kubeconfig, recording.file, desired) as client:

        def cpu() -> Cpu:
            return {**installed.cpu(), CLIENT: cpu_seconds(client.pid)}

        for some in batches:
            requests = {
                key: partial(_handed_over, installed, workload, client, key) for key in some
            }
            batch = await run_batch(
                installed, requests, workload.done, cpu=cpu, broken=client.ended
            )
    return batch


async def _handed_over(
    installed: Installed, workload: Workload, client: FloorProcess, key: Key
) -> None:
    client.work_on(await workload.send(installed.client, key))


@asynccontextmanager
async def _instances(
    installed: Installed, workload: Workload
) -> AsyncIterator[tuple[list[Key], list[Key]]]:
    """Yield keys to warm up with and keys to measure, in namespaces that go after the block."""
    count = installed.options.count
    namespaces = await installed.namespaces(*workload.versions)
    warm = keys(namespaces, count(_WARM_UP), "warm-up0")
    measured = keys(namespaces, count(workload.count))
    if workload.stands:
        async with installed.reconciler():
            await _deploy(installed, workload, [*warm, *measured])
    yield warm, measured
    # Not after an error: finalizers would hold the namespaces, and the cluster goes anyway.
    await installed.clear(namespaces)


async def _deploy(installed: Installed, workload: Workload, desired: list[Key]) -> None:
    requests = requests_of(installed, creating(workload.stands), desired)
    await run_batch(installed, requests, ended("deploy"))


async def _recorded(installed: Installed, workload: Workload) -> Recording:
    async def prepare(key: Key) -> None:
        if workload.stands:
            await _deploy(installed, workload, [key])

    return await record(
        installed,
        workload.versions,
        prepare,
        partial(workload.send, installed.client),
        workload.done,
    )
