"""An informer of an API server whose etcd is restored from a backup.

It has a control plane of its own, of etcd and an API server alone: the cluster of the other tests
must not go back.
"""

import asyncio
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from kubeio.cache.informer import Informer
from kubeio.cache.reflector import Timing
from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.types import JsonObject
from kudo_cluster.control_plane import components, identities, startup
from kudo_cluster.control_plane.api import health_problem
from kudo_cluster.control_plane.components import Component, Ports
from kudo_cluster.control_plane.network import LoopbackNetwork
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import Process, Supervision
from kudo_cluster.programs import binaries
from kudo_cluster.programs.binaries import Binaries
from tests.integration.kubeio.conftest import CONFIG_MAP, until
from tests.support.informers import reached

LOST = 200
"""Writes after the backup: more than an API server makes when it starts."""


@dataclass
class ControlPlane:
    """etcd and an API server, which can be stopped and started."""

    layout: Layout
    programs: Binaries
    supervision: Supervision
    ports: Ports = field(default_factory=Ports.pick)
    running: list[Process] = field(default_factory=list)

    def prepare(self) -> None:
        self.layout.logs.mkdir()
        startup.prepare(self.layout, self.ports, LoopbackNetwork(), name="restore")

    @property
    def kubeconfig(self) -> Path:
        return identities.path_of(self.layout.root, "admin")

    async def start(self) -> None:
        extra = ("--endpoint-reconciler-type=none",)
        await self._start(components.storage(self.layout, self.ports))
        network = LoopbackNetwork()
        await self._start(components.apiserver(self.layout, self.ports, network, extra))

    async def stop(self) -> None:
        """End the API server at once, and etcd in order, so that its files can be copied."""
        storage, server = self.running
        # Told to stop, it waits a minute for its watches to end by themselves.
        server.signal(signal.SIGKILL)
        await until(lambda: not server.alive)
        storage.signal(signal.SIGTERM)
        await until(lambda: not storage.alive)
        self.running.clear()

    async def _start(self, component: Component) -> None:
        command = [str(self.programs.path(component.name)), *component.arguments]
        log = self.layout.log(component.name)
        self.running.append(self.supervision.start(command, log, {"HOME": str(self.layout.root)}))
        authority = self.layout.pki / "ca.crt"
        while await asyncio.to_thread(health_problem, component.health, authority):
            assert self.running[-1].alive, log.read_text()
            await asyncio.sleep(0.1)


@pytest.fixture
def control_plane(tmp_path: Path) -> Iterator[ControlPlane]:
    supervision = Supervision(tmp_path / "supervisor.log", remove=None)
    try:
        made = ControlPlane(Layout(tmp_path / "plane"), binaries.obtain(), supervision)
        made.layout.root.mkdir()
        made.prepare()
        yield made
    finally:
        supervision.stop()


def config_map(name: str, text: str = "") -> JsonObject:
    metadata = {"name": name, "namespace": "default", "labels": {"heritage": "kudo"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}


async def test_after_a_restore_of_etcd_an_informer_shows_what_is_there_again(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    database, backup = control_plane.layout.etcd, tmp_path / "backup"
    await control_plane.start()
    async with Client(load_config(control_plane.kubeconfig)) as client:
        await client.create(CONFIG_MAP, config_map("kept", "first"))
        await control_plane.stop()
        await asyncio.to_thread(shutil.copytree, database, backup)
        await control_plane.start()
        informer = Informer(
            client,
            CONFIG_MAP,
            namespace="default",
            label_selector="heritage=kudo",
            timing=Timing(backoff=(0.1, 1.0)),
        )
        async with asyncio.TaskGroup() as group:
            task = group.create_task(informer.run())
            await informer.wait_synced(30)
            patch = {"data": {"text": "lost"}}
            await client.merge_patch(CONFIG_MAP, "kept", patch, namespace="default")
            for number in range(LOST):
                await client.create(CONFIG_MAP, config_map(f"lost-{number}"))
            await until(lambda: len(informer) == LOST + 1)
            before = reached(informer)

            await control_plane.stop()
            await asyncio.to_thread(shutil.rmtree, database)
            await asyncio.to_thread(shutil.copytree, backup, database)
            await control_plane.start()
            await until(lambda: texts(informer) == {"kept": "first"})
            await client.create(CONFIG_MAP, config_map("new", "second"))
            await until(lambda: texts(informer) == {"kept": "first", "new": "second"})
            assert reached(informer) < before
            task.cancel()
    await control_plane.stop()


def texts(informer: Informer) -> dict[str, str]:
    return {one["metadata"]["name"]: one["data"]["text"] for one in informer.list()}
