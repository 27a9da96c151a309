"""A stand-in for an API server that `init` writes to: any object by its path, over real HTTP.

It is a seam for the transport, not a model of Kubernetes: what controllers would do is done at
once. CRDs are established and Deployments rolled out as soon as they are applied, unless a test
says otherwise.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

JsonObject = dict[str, Any]

HOOK = "mutate.instance-admission.kudo.dev"
BUILT_IN = "--unsafe-self-signed-webhook-ca"
SYSTEM = "namespaces/kudo-system"
OLD_MANAGER = f"/apis/apps/v1/{SYSTEM}/statefulsets/kudo-controller-manager"
OLD_CONFIGURATION = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/"
    "kudo-manager-instance-admission-webhook-config"
)
JUDGED = (404, "OperatorVersionNotFound", f'admission webhook "{HOOK}" denied the request: none')


class InitApi:
    """The server's state; tests read and set its attributes from their own thread.

    Attributes:
        objects: By path.
        writes: Method and path of each write, in order, with the part that all share left out.
        denied: Plurals that may not be patched or created.
        named_rights: Whether those may be, where the right is asked for by name.
        refusals: By the end of a path: status code and message of what is applied there.
        silent: Ends of paths: what is applied there is never answered.
        unavailable: Names of Deployments that have no pods ready.
        judgement: Status code, reason and message for an Instance that is tried; None stores it.
        cert_manager: Whether its kinds are served.
        version: What /version says.
        kept: Names of objects that do not go.
        lists: Items by the plural that is listed.
    """

    def __init__(self) -> None:
        self.objects: dict[str, JsonObject] = {}
        self.writes: list[str] = []
        self.denied: set[str] = set()
        self.named_rights = False
        self.refusals: dict[str, tuple[int, str]] = {}
        self.silent: tuple[str, ...] = ()
        self.unavailable: set[str] = set()
        self.judgement: tuple[int, str, str] | None = JUDGED
        self.cert_manager = False
        self.version = "v1.36.3"
        self.kept: set[str] = set()
        self.lists: dict[str, list[JsonObject]] = {}
        self.on_apply: Callable[[str], None] | None = None
        self.url = ""
        self._number = 0
        self._stopped: asyncio.Event

    def find(self, ending: str) -> JsonObject:
        """Return the only object whose path ends so."""
        [found] = [obj for path, obj in self.objects.items() if path.endswith(ending)]
        return found

    def names(self, plural: str) -> set[str]:
        """Return the names of all objects of a kind."""
        return {path.split("/")[-1] for path in self.objects if path.split("/")[-2] == plural}

    def add(self, path: str, obj: JsonObject) -> JsonObject:
        """Store an object as the server would, and as controllers would leave it."""
        self._number += 1
        metadata = {"uid": f"uid-{self._number}", "generation": 1, **obj.get("metadata", {})}
        metadata.setdefault("name", path.split("/")[-1])
        stored = {**obj, "metadata": metadata}
        plural, name = path.split("/")[-2:]
        if plural == "customresourcedefinitions":
            stored["status"] = {"conditions": [{"type": "Established", "status": "True"}]}
        if plural in {"deployments", "statefulsets"}:
            ready = 0 if name in self.unavailable else stored["spec"].get("replicas", 1)
            counts = dict.fromkeys(("replicas", "availableReplicas", "updatedReplicas"), ready)
            stored["status"] = {"observedGeneration": 1, **counts}
        self.objects[path] = stored
        return stored

    @contextmanager
    def running(self) -> Iterator["InitApi"]:
        ready = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), daemon=True)
        thread.start()
        assert ready.wait(10)
        try:
            yield self
        finally:
            self._loop.call_soon_threadsafe(self._stopped.set)
            thread.join(10)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        ready.set()
        await self._stopped.wait()
        await runner.cleanup()
        # Transports that were told to close do so in the next rounds of the loop.
        for _ in range(10):
            await asyncio.sleep(0)

    async def _answer(self, request: web.Request) -> web.Response:
        path, body = request.path, json.loads(await request.text() or "null")
        if request.method == "GET":
            return self._read(path, request.query.get("labelSelector", ""))
        if path.endswith("/selfsubjectaccessreviews"):
            asked = body["spec"]["resourceAttributes"]
            by_name = self.named_rights and bool(asked["name"])
            allowed = asked["resource"] not in self.denied or by_name
            return web.json_response({"status": {"allowed": allowed}})
        if path.endswith("/instances"):
            return _refusal(*self.judgement) if self.judgement else web.json_response(body)
        self.writes.append(f"{request.method} {'/'.join(path.split('/')[-2:])}")
        if self.silent and path.endswith(self.silent):
            await self._stopped.wait()
        if request.method == "DELETE":
            kept = path.split("/")[-1] in self.kept
            found = self.objects.get(path) if kept else self.objects.pop(path, None)
            return web.json_response(found) if found else _refusal(404, "NotFound", "gone")
        return self._write(path, body, request.content_type)

    def _write(self, path: str, body: JsonObject, content_type: str) -> web.Response:
        for ending, (code, message) in self.refusals.items():
            if path.endswith(ending):
                return _refusal(code, "Forbidden", message)
        if content_type == "application/merge-patch+json":
            found = self.objects[path]
            return web.json_response(self.add(path, found | {"spec": found["spec"] | body["spec"]}))
        if self.on_apply is not None:
            self.on_apply(path)
        return web.json_response(self.add(path, body))

    def _read(self, path: str, selector: str) -> web.Response:
        if path == "/version":
            return web.json_response({"gitVersion": self.version})
        if path == "/apis/cert-manager.io/v1" and self.cert_manager:
            kinds = [{"name": name} for name in ("certificates", "issuers")]
            return web.json_response({"resources": kinds})
        if path in self.objects:
            return web.json_response(self.objects[path])
        plural = path.split("/")[-1]
        if plural in self.lists:
            return _listed(self.lists[plural])
        if selector and (plural not in {"certificates", "issuers"} or self.cert_manager):
            return _listed(
                [obj for name, obj in self.objects.items() if _is_in(path, name, selector, obj)]
            )
        return _refusal(404, "NotFound", f'"{plural}" not found')


def _is_in(path: str, name: str, selector: str, obj: JsonObject) -> bool:
    labels = obj["metadata"].get("labels") or {}
    desired = dict(part.split("=") for part in selector.split(","))
    return name.rpartition("/")[0] == path and desired.items() <= labels.items()


def _listed(items: list[JsonObject]) -> web.Response:
    named = [{**one, "metadata": {"resourceVersion": "1", **one["metadata"]}} for one in items]
    return web.json_response({"metadata": {"resourceVersion": "1"}, "items": named})


def _refusal(code: int, reason: str, message: str) -> web.Response:
    status = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return web.json_response(status, status=code)


def old_manager(server: InitApi) -> None:
    """Have KUDO 0.19 installed."""
    server.add(OLD_MANAGER, {"spec": {"replicas": 1}})
    service = {"name": "kudo-controller-manager-service", "namespace": "kudo-system"}
    server.add(OLD_CONFIGURATION, {"webhooks": [{"clientConfig": {"service": service}}]})


def of_helm(server: InitApi) -> None:
    """Have the chart installed."""
    labels = {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "mine"}
    pod: JsonObject = {"spec": {"containers": []}}
    deployment = {"metadata": {"labels": labels}, "spec": {"template": pod}}
    server.add(f"/apis/apps/v1/{SYSTEM}/deployments/kudo-webhook", deployment)
