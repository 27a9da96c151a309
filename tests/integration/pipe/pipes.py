"""What the tests of Pipe tasks write and read."""

import base64
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support import build
from tests.support.build import Json
from tests.support.cluster.resources import EVENTS, NODES
from tests.support.cluster.waiting import wait_until
from tests.support.cluster.world import World

PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
POD = "i.deploy.phase1.make.pipe.pipepod"
SLOW = {"kwok.kudo.dev/ready-delay": "1h"}
"""Annotations of a pod that does not become ready by itself."""


@dataclass(frozen=True)
class Kubelet:
    """The kwok that runs commands in containers.

    Attributes:
        port: Where it listens.
    """

    port: int
    process: "subprocess.Popen[bytes]"

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Have every copy hang: connections are accepted, and nobody answers."""
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


@dataclass(frozen=True)
class Pipes:
    """A namespace with one Pipe task to run in it.

    Attributes:
        world: The namespace, as its user sees it.
        admin: A client with all rights; users may not read Secrets, and delete no pods.
        folder: The shared volume of every pipe pod.
    """

    world: World
    admin: Client
    folder: Path

    def file(self, name: str, content: bytes) -> str:
        """Have the init container make a file; return its path in the pod."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return str(path)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def pod(self, **annotations: str) -> Json:
        """Return a valid pipe pod that mounts the folder."""
        mount = {"name": "shared", "mountPath": str(self.folder)}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "any", "annotations": annotations},
            "spec": {
                "initContainers": [{"name": "gen", "image": "busybox", "volumeMounts": [mount]}],
                "volumes": [{"name": "shared", "emptyDir": {}}],
            },
        }

    async def install(
        self,
        *files: Json,
        pod: Json | str | None = None,
        after: Json | None = None,
        name: str = "i",
    ) -> None:
        """Create an Instance whose deploy plan runs a Pipe task, and then applies `after`."""
        version = self.version(f"v-{name}", files, pod=pod, after=after)
        done = await self.world.apply(version, build.instance(name, f"v-{name}"))
        assert done.code == 0, done.output

    def version(
        self,
        name: str,
        files: Sequence[Json],
        *,
        pod: Json | str | None = None,
        after: Json | None = None,
    ) -> Json:
        templates = {"pod.yaml": build.template(self.pod() if pod is None else pod)}
        tasks = [{"name": "pipe", "kind": "Pipe", "spec": {"pod": "pod.yaml", "pipe": [*files]}}]
        phases = [{"make": ["pipe"]}]
        if after is not None:
            templates["after.yaml"] = build.template(after)
            tasks.append({"name": "after", "kind": "Apply", "spec": {"resources": ["after.yaml"]}})
            phases.append({"use": ["after"]})
        return build.operator_version(
            name, templates=templates, tasks=tasks, plans={"deploy": build.plan(*phases)}
        )

    async def secret(self, key: str, name: str = "i") -> Json:
        artifact = f"{name}.deploy.phase1.make.pipe.{key}"
        return await self.admin.get(SECRETS, artifact, namespace=self.world.namespace)

    async def pods(self) -> list[Json]:
        """Return the pipe pods that are not on their way out."""
        found = await self.world.all(PODS)
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]


async def serve_from(client: Client, port: int) -> None:
    """Have the API server look for the kubelet of every node where ours listens."""
    status: Json = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    nodes: list[Json] = []

    async def listed() -> bool:
        nodes[:] = (await client.list(NODES)).items
        return bool(nodes)

    await wait_until(listed, lambda: "nodes")
    for node in nodes:
        name = node["metadata"]["name"]
        await client.merge_patch(NODES, name, {"status": status}, subresource="status")


def entry_of(path: str, key: str, kind: str = "ConfigMap", *, env: bool = False) -> Json:
    """Return an entry of `pipe` in the spec of a task."""
    return {"envFile" if env else "file": path, "kind": kind, "key": key}


def decoded(data: Json) -> dict[str, bytes]:
    return {key: base64.b64decode(text) for key, text in data.items()}


# Pods


async def set_status(pipes: Pipes, pod: Json, **status: Any) -> None:
    await pipes.admin.merge_patch(
        PODS,
        pod["metadata"]["name"],
        {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status},
        namespace=pipes.world.namespace,
        subresource="status",
    )


async def make_ready(pipes: Pipes, pod: Json) -> None:
    ready = [{"type": "Ready", "status": "True"}]
    await set_status(pipes, pod, phase="Running", conditions=ready)


async def scheduled_pods(pipes: Pipes) -> list[str]:
    """Return the uids of all pipe pods that there have been."""
    return [
        event["involvedObject"]["uid"]
        for event in await pipes.world.all(EVENTS)
        if event["involvedObject"]["name"] == POD and event["reason"] == "Scheduled"
    ]
