"""What integration tests say: objects to write, and conditions to wait for.

Everything is done as the user of the cluster would: through kubectl, `kubectl kudo` or the API.
Waiting polls for a condition with a generous deadline; nothing depends on how fast it comes.
"""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.errors import ApiError, Gone, NotFound
from kubeio.resource import Resource
from kudo_cluster.installation import Installation, Service
from tests.support.prefork import Prefork

Json = dict[str, Any]

NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
INSTANCES = Resource("kudo.dev", "v1beta1", "Instance", "instances", namespaced=True)
OPERATORS = Resource("kudo.dev", "v1beta1", "Operator", "operators", namespaced=True)
VERSIONS = Resource("kudo.dev", "v1beta1", "OperatorVersion", "operatorversions", namespaced=True)
CONFIG_MAPS = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
DEPLOYMENTS = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)
JOBS = Resource("batch", "v1", "Job", "jobs", namespaced=True)
EVENTS = Resource("", "v1", "Event", "events", namespaced=True)

_APPLIED = {
    (kind.api_version, kind.kind): kind for kind in (INSTANCES, OPERATORS, VERSIONS, CONFIG_MAPS)
}
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_DEADLINE = 90.0
_POLL = 0.05
_SLOW_POLL = 0.2
_POLLS = 20
"""So many looks follow quickly; who still waits then looks less often."""
_WATCH_SECONDS = 5


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


@dataclass(frozen=True)
class World:
    """A namespace, and the ways to act in it."""

    installation: Installation
    client: Client
    namespace: str
    programs: Prefork | None = None
    reconcilers: tuple[Service, ...] = ()

    async def kubectl(self, *arguments: str, text: str | None = None) -> Done:
        cluster = self.installation.cluster
        command = [
            str(cluster.binary("kubectl")),
            f"--kubeconfig={cluster.kubeconfig('user')}",
            f"--cache-dir={cluster.directory / 'kubectl-cache'}",
            f"--namespace={self.namespace}",
        ]
        return await run([*command, *arguments], text=text)

    async def apply(self, *objects: Json) -> Done:
        """Write objects as plain `kubectl apply` does, and by it as soon as it has to say more.

        New objects of known kinds are created with what kubectl leaves on them. Starting kubectl
        would cost more than all the rest; it is started for what exists and for what is refused.
        """
        for number, obj in enumerate(objects):
            if not await self._created(obj):
                return await self.kubectl_apply(*objects[number:])
        return Done(0, "", "")

    async def kubectl_apply(self, *objects: Json) -> Done:
        """Write objects with kubectl itself, for its warnings."""
        return await self.kubectl("apply", "-f", "-", text=as_list(objects))

    async def _created(self, obj: Json) -> bool:
        """Create an object as `kubectl apply` does; return False if kubectl has to do it."""
        resource = _APPLIED.get((obj["apiVersion"], obj["kind"]))
        if resource is None or "namespace" in obj["metadata"]:
            return False
        metadata = {"annotations": {}, "namespace": self.namespace, **obj["metadata"]}
        applied = json.dumps({**obj, "metadata": metadata})
        annotations = {**metadata["annotations"], _LAST_APPLIED: applied}
        try:
            await self.client.raw(
                "POST",
                resource.path(self.namespace),
                query={"fieldManager": "kubectl-client-side-apply", "fieldValidation": "Strict"},
                body={**obj, "metadata": {**metadata, "annotations": annotations}},
            )
        except ApiError:
            return False
        return True

    async def kudo(self, *arguments: str) -> Done:
        """Run `kubectl kudo` as the user."""
        cluster = self.installation.cluster
        command = [
            str(Path(sys.executable).with_name("kubectl-kudo")),
            f"--kubeconfig={cluster.kubeconfig('user')}",
            f"--namespace={self.namespace}",
        ]
        if self.programs is None:
            return await run([*command, *arguments])
        ended = await asyncio.to_thread(
            self.programs.run, [*command, *arguments], text=None, environment=_environment()
        )
        return Done(ended.code, ended.stdout, ended.stderr)

    async def get(self, resource: Resource, name: str) -> Json:
        return await self.client.get(resource, name, namespace=self.namespace)

    async def find(self, resource: Resource, name: str) -> Json | None:
        try:
            return await self.get(resource, name)
        except NotFound:
            return None

    async def all(self, resource: Resource) -> list[Json]:
        return (await self.client.list(resource, namespace=self.namespace)).items

    async def instance(self, name: str) -> Json:
        return await self.get(INSTANCES, name)

    async def patch(self, name: str, spec: Json) -> Json:
        """Merge-patch the spec of an Instance."""
        return await self.client.merge_patch(
            INSTANCES, name, {"spec": spec}, namespace=self.namespace
        )

    async def until(self, name: str, condition: Callable[[Json], bool], what: str) -> Json:
        """Wait until the Instance fulfils a condition, and return it."""
        seen: Json = {}
        try:
            async with asyncio.timeout(_DEADLINE), aclosing(self._states(name)) as states:
                async for seen in states:
                    if condition(seen):
                        return seen
        except TimeoutError:
            last = json.dumps(seen, indent=1)
            raise AssertionError(
                f"waited {_DEADLINE:.0f} s in vain for {what}; last seen: {last}"
            ) from None
        raise AssertionError("the states of an Instance do not end")

    async def _states(self, name: str) -> AsyncGenerator[Json, None]:
        """Yield the Instance now and after each change; raises NotFound once it is gone.

        A watch costs the API server less than reading again and again. Every few seconds it is
        read anew all the same: a condition may look at more than the Instance.
        """
        while True:
            found = await self.instance(name)
            yield found
            watch = self.client.watch(
                INSTANCES,
                namespace=self.namespace,
                resource_version=found["metadata"]["resourceVersion"],
                field_selector=f"metadata.name={name}",
                timeout_seconds=_WATCH_SECONDS,
            )
            # What was read is older than the API server's history: it is read anew.
            with contextlib.suppress(Gone):
                async with aclosing(watch) as events:
                    async for event in events:
                        if event.type == "DELETED":
                            break
                        if event.type != "BOOKMARK":
                            yield event.object

    async def until_idle(self, name: str) -> Json:
        """Wait until nothing is scheduled and the status speaks of the object as it is."""
        return await self.until(name, idle, "an idle Instance")

    async def until_complete(self, name: str, plan: str = "deploy") -> Json:
        """Wait until the Instance is idle and the plan's last run is COMPLETE."""
        ended = await self.until_ended(name, plan)
        assert status_of(ended, plan) == "COMPLETE", messages(ended, plan)
        return ended

    async def until_failed(self, name: str, plan: str = "deploy") -> Json:
        ended = await self.until_ended(name, plan)
        assert status_of(ended, plan) == "FATAL_ERROR", ended
        return ended

    async def until_ended(self, name: str, plan: str = "deploy") -> Json:
        """Wait until the Instance is idle and the plan's last run has ended either way."""
        ends = {"COMPLETE", "FATAL_ERROR"}
        return await self.until(
            name, lambda i: idle(i) and status_of(i, plan) in ends, f"the end of {plan}"
        )

    async def until_gone(self, resource: Resource, name: str) -> None:
        async def gone() -> bool:
            return await self.find(resource, name) is None

        await wait_until(gone, lambda: f"{resource.kind} {name} to be gone")

    async def events(self, reason: str = "") -> list[Json]:
        """Return the events of Instances, oldest first, once all that is queued is written."""
        await events_written(*self.reconcilers)
        events = [
            event
            for event in await self.all(EVENTS)
            if event["involvedObject"]["kind"] == "Instance"
            and (not reason or event["reason"] == reason)
        ]
        return sorted(events, key=lambda event: int(event["metadata"]["resourceVersion"]))


_CLOSING_SECONDS = 3.0


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[Client]:
    """Yield a client; at the end its connections are closed, those of broken off watches, too."""
    selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
    before = len(selector.get_map())
    async with Client(load_config(kubeconfig)) as client:
        yield client

    async def closed() -> bool:
        return len(selector.get_map()) <= before

    # Closing says goodbye by TLS; a loop that ends first would leave the sockets open. Those of
    # other clients of the same test cannot be told apart, so this does not insist.
    with contextlib.suppress(AssertionError):
        await wait_until(closed, lambda: "every connection to be closed", _CLOSING_SECONDS)


async def events_written(*reconcilers: Service) -> None:
    """Wait until no reconciler that runs has events to write."""

    async def written() -> bool:
        for one in reconcilers:
            text = (await asyncio.to_thread(one.get, "/metrics"))[1]
            if re.search(r"^kudo_events_waiting [^0]", text, re.MULTILINE):
                return False
        return True

    await wait_until(written, lambda: "the events to be written")


async def new_namespace(client: Client) -> str:
    name = f"test-{uuid.uuid4().hex[:10]}"
    await client.create(
        NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    )
    return name


async def run(command: Sequence[str], *, text: str | None = None) -> Done:
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env=_environment(),
    )
    return Done(done.returncode, done.stdout, done.stderr)


def _environment() -> dict[str, str]:
    return {**os.environ, "KUBECONFIG": os.devnull}


async def wait_until(
    condition: Callable[[], Awaitable[bool]], what: Callable[[], str], seconds: float = _DEADLINE
) -> None:
    try:
        async with asyncio.timeout(seconds):
            looks = 0
            while not await condition():
                looks += 1
                await asyncio.sleep(_POLL if looks < _POLLS else _SLOW_POLL)
    except TimeoutError:
        raise AssertionError(f"waited {seconds:.0f} s in vain for {what()}") from None


# What an Instance says


def idle(instance: Json) -> bool:
    status = instance.get("status") or {}
    scheduled = instance["spec"].get("planExecution") or {}
    return not scheduled and status.get("observedGeneration") == instance["metadata"]["generation"]


def scheduled(instance: Json) -> Json:
    found: Json = instance["spec"].get("planExecution") or {}
    return found


def entry(instance: Json, plan: str) -> Json:
    found: Json = ((instance.get("status") or {}).get("planStatus") or {}).get(plan) or {}
    return found


def status_of(instance: Json, plan: str) -> str:
    return str(entry(instance, plan).get("status", ""))


def steps(instance: Json, plan: str) -> dict[str, str]:
    """Return the status of each step as `phase.step`."""
    return {
        f"{phase['name']}.{step['name']}": step["status"]
        for phase in entry(instance, plan).get("phases", [])
        for step in phase.get("steps", [])
    }


def messages(instance: Json, plan: str) -> str:
    """Return the messages of the plan and its steps."""
    found = [entry(instance, plan).get("message", "")]
    for phase in entry(instance, plan).get("phases", []):
        found += [step.get("message", "") for step in phase.get("steps", [])]
    return "\n".join(filter(None, found))


def ready(instance: Json) -> Json:
    conditions = (instance.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if c["type"] == "Ready"), {})


# Objects to write


def as_list(objects: Sequence[Json]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(name: str, *, replicas: str | int = 1, ready_delay: str = "0s") -> Json:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {
                    "labels": {"app": name},
                    "annotations": {"kwok.kudo.dev/ready-delay": ready_delay},
                },
                "spec": {"containers": [{"name": "main", "image": "busybox"}]},
            },
        },
    }


def job(name: str, *, exit_code: int = 0, image: str = "busybox") -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "metadata": {"annotations": {"kwok.kudo.dev/exit-code": str(exit_code)}},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "main", "image": image}],
                },
            },
        },
    }


def template(*objects: Json | str) -> str:
    """Return a template; JSON is YAML, and expressions in it stay as they are."""
    texts = [text if isinstance(text, str) else json.dumps(text) for text in objects]
    return "\n---\n".join(texts).replace('"{{int ', "{{").replace(' int}}"', "}}")


def plan(*phases: Mapping[str, Sequence[str]], strategy: str = "serial") -> Json:
    """Return a plan of phases, each given as step -> tasks."""
    return {
        "strategy": strategy,
        "phases": [
            {
                "name": f"phase{number}",
                "strategy": "serial",
                "steps": [{"name": step, "tasks": list(tasks)} for step, tasks in phase.items()],
            }
            for number, phase in enumerate(phases, 1)
        ],
    }


def parameter(name: str, default: str | None = None, **fields: Any) -> Json:
    found: Json = {"name": name, "required": default is None, **fields}
    if default is not None:
        found["default"] = default
    return found


def operator_version(
    name: str,
    *,
    templates: Mapping[str, str],
    plans: Mapping[str, Json],
    parameters: Sequence[Json] = (),
    tasks: Sequence[Json] | None = None,
    operator: str = "op",
) -> Json:
    """Return an OperatorVersion; without tasks, there is an Apply task for each template."""
    applied = [
        {"name": file.removesuffix(".yaml"), "kind": "Apply", "spec": {"resources": [file]}}
        for file in templates
    ]
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "metadata": {"name": name},
        "spec": {
            "operator": {"kind": "Operator", "name": operator},
            "version": "0.1.0",
            "templates": dict(templates),
            "tasks": list(applied if tasks is None else tasks),
            "parameters": list(parameters),
            "plans": dict(plans),
        },
    }


def new_instance(name: str, version: str, **parameters: str) -> Json:
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {"name": name, "labels": {"kudo.dev/operator": "op"}},
        "spec": {"operatorVersion": {"name": version}, "parameters": parameters},
    }
