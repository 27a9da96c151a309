"""Records one run of a real reconciler on the cluster that is measured."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from kubeio.connection.config import load_config
from kudo_cluster.installation import Service
from tests.bench.floor.recorder import Recorder, recording
from tests.bench.floor.recording import Exchange
from tests.bench.workloads.follow import Done, Key, followed
from tests.bench.workloads.installed import Installed
from tests.support.build import Json
from tests.support.cluster.waiting import events_written
from tests.support.forwarding import write_kubeconfig

_ATTEMPTS: Final = 5
"""A busy machine may let a request of a run time out; what is repeated then is no part of a run."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A run.

    Attributes:
        file: What the floor's client reads.
        exchanges: All requests for the Instance and its objects, reads included.
    """

    file: Path
    exchanges: list[Exchange]


async def record(
    installed: Installed,
    versions: Sequence[Json],
    prepare: Callable[[Key], Awaitable[None]],
    send: Callable[[Key], Awaitable[Json]],
    done: Done,
) -> Recording:
    """Record what follows a request for an Instance; a first one warms up.

    Args:
        installed: Where.
        versions: OperatorVersions that there are.
        prepare: Makes an Instance ready for the request; what is sent for that is not recorded.
        send: Sends the request and returns the Instance as answered.
        done: Tells when it is done.

    Raises:
        RuntimeError: in every recorded run a request was repeated.
    """
    namespaces = await installed.namespaces(*versions, spread=1 + _ATTEMPTS)
    first, *others = ((name, f"recorded-{place:05}") for place, name in enumerate(namespaces))
    async with _recorded_reconciler(installed) as (recorder, reconciler):
        await prepare(first)
        await _done(installed, first, send, done)
        for key in others:
            # Not before it is needed: an Instance with a cleanup plan would hold its namespace.
            await prepare(key)
            await events_written(reconciler)
            recorder.follow(key[0])
            answered = await _done(installed, key, send, done)
            await events_written(reconciler)
            if not recorder.disturbed:
                break
        else:
            raise RuntimeError(f"none of {_ATTEMPTS} recorded runs went through without a retry")
    await installed.clear(namespaces)
    found = {"answered": answered, "exchanges": [asdict(one) for one in recorder.exchanges]}
    output = installed.installation.directory / "recording.json"
    output.write_text(json.dumps(found), encoding="utf-8")
    return Recording(output, recorder.exchanges)


@asynccontextmanager
async def _recorded_reconciler(installed: Installed) -> AsyncIterator[tuple[Recorder, Service]]:
    """Run a reconciler for the block whose requests go through a recorder."""
    installation = installed.installation
    upstream = load_config(installation.cluster.kubeconfig("reconciler"))
    async with recording(upstream) as (recorder, server):
        file = installation.directory / "recorded.kubeconfig"
        write_kubeconfig(file, server)
        reconciler = installation.another_reconciler("recorded", f"--kubeconfig={file}")
        await asyncio.to_thread(reconciler.start)
        try:
            yield recorder, reconciler
        finally:
            await asyncio.to_thread(reconciler.stop)


async def _done(
    installed: Installed, key: Key, send: Callable[[Key], Awaitable[Json]], done: Done
) -> Json:
    async with followed(installed.client, [key], done) as following:
        answered = await send(key)
        await following
    return answered
