"""Records one deploy of a real reconciler on the cluster that is measured."""

import asyncio
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from kubeio.connection.config import load_config
from tests.bench.floor.recorder import kubeconfig_of, recording
from tests.bench.floor.recording import Exchange
from tests.bench.workloads.follow import Key, ended, followed
from tests.bench.workloads.installed import Installed
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.waiting import events_written


@dataclass(frozen=True, slots=True)
class Recording:
    """A deploy.

    Attributes:
        file: What the floor's client reads.
        exchanges: All requests for the Instance and its objects, reads included.
    """

    file: Path
    exchanges: list[Exchange]


async def record(installed: Installed, version: Json) -> Recording:
    """Deploy two Instances of an OperatorVersion, and record the second: the first warms up."""
    [first] = await installed.namespaces(version, spread=1)
    [second] = await installed.namespaces(version, spread=1)
    kubeconfig = installed.installation.cluster.kubeconfig("reconciler")
    async with recording(load_config(kubeconfig)) as (recorder, server):
        file = installed.installation.directory / "recorded.kubeconfig"
        file.write_text(json.dumps(kubeconfig_of(server)), encoding="utf-8")
        reconciler = installed.installation.another_reconciler("recorded", f"--kubeconfig={file}")
        await asyncio.to_thread(reconciler.start)
        try:
            await _deployed(installed, (first, "recorded-00000"), version)
            recorder.namespace = second
            created = await _deployed(installed, (second, "recorded-00001"), version)
            await events_written(reconciler)
        finally:
            await asyncio.to_thread(reconciler.stop)
    await installed.clear([first, second])
    found = {"created": created, "exchanges": [asdict(one) for one in recorder.exchanges]}
    output = installed.installation.directory / "recording.json"
    output.write_text(json.dumps(found), encoding="utf-8")
    return Recording(output, recorder.exchanges)


async def _deployed(installed: Installed, key: Key, version: Json) -> Json:
    async with followed(installed.client, [key], ended("deploy")) as following:
        created = await installed.create(key, build.instance(key[1], version["metadata"]["name"]))
        await following
    return created
