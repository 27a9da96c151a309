"""A stand-in for an API server: the few paths that the commands use, over real HTTP.

It is a seam for the transport, not a model of Kubernetes: no schema, no RBAC, no controllers. What
a webhook or the reconciler would do is told to it: `plan` is what a write of an Instance schedules,
`script` holds what becomes of the Instance once somebody watches it.
"""

import asyncio
import copy
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

JsonObject = dict[str, Any]
Edit = Callable[[JsonObject], JsonObject | None]

GROUP = "/apis/kudo.dev"
KINDS = {"operators": "Operator", "operatorversions": "OperatorVersion", "instances": "Instance"}


class FakeApi:
    """The server's state; tests read and set its attributes from their own thread.

    Attributes:
        objects: By plural and name; all in one namespace.
        requests: Method, path and body of each request to KUDO's kinds, in order.
        dry_runs: Method and path of each request with `dryRun=All`; nothing comes of those.
        refusals: By method (or LIST) and plural: status code and message to answer with.
        plan: Plan that a write of an Instance schedules, as the mutating webhook would.
        runs: Plan and script of the next runs, one for each write of an Instance.
        meanwhile: Done to an Instance just before it is patched, as by somebody else.
        script: Applied to the Instance one after the other as soon as it is watched; one that
            returns None deletes it.
        served: Plurals that discovery lists.
        events: Those of the namespace.
        version: What /version says.
        namespaces: Those that exist.
        lost_watches: How many watches fail before one works.
        warning: Text of a Warning header on every answer.
    """

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], JsonObject] = {}
        self.requests: list[tuple[str, str, JsonObject | None]] = []
        self.dry_runs: list[str] = []
        self.refusals: dict[tuple[str, str], tuple[int, str]] = {}
        self.plan: str | None = None
        self.runs: list[tuple[str, list[Edit]]] = []
        self.meanwhile: Callable[[JsonObject], None] | None = None
        self.script: list[Edit] = []
        self.served = list(KINDS)
        self.events: list[JsonObject] = []
        self.version = "v1.36.3"
        self.namespaces = {"kitchen", "default"}
        self.lost_watches = 0
        self.warning = ""
        self.url = ""
        self._number = 0
        self._stopped: asyncio.Event

    def add(self, plural: str, obj: JsonObject) -> JsonObject:
        """Store an object as the server would."""
        metadata = {"namespace": "kitchen", "generation": 1, **obj["metadata"]}
        metadata["uid"] = metadata.get("uid") or f"uid-{self._next()}"
        metadata["resourceVersion"] = str(self._next())
        stored = {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": KINDS[plural],
            **copy.deepcopy(obj),
            "metadata": metadata,
        }
        self.objects[plural, metadata["name"]] = stored
        return stored

    def names(self, plural: str) -> list[str]:
        return sorted(name for kind, name in self.objects if kind == plural)

    def writes(self) -> list[str]:
        """Return method and path of each request that was no read."""
        return [f"{method} {path}" for method, path, _ in self.requests if method != "GET"]

    @contextmanager
    def running(self) -> Iterator["FakeApi"]:
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
        app = web.Application(middlewares=[self._undo_dry_runs])
        collection = f"{GROUP}/v1beta1/namespaces/{{namespace}}/{{plural}}"
        app.router.add_get("/version", self._version)
        app.router.add_get("/api/v1/namespaces/{name}", self._namespace)
        app.router.add_get("/api/v1/namespaces/{namespace}/events", self._list_events)
        app.router.add_get(GROUP, self._group)
        app.router.add_get(f"{GROUP}/v1beta1", self._discovery)
        app.router.add_get(collection, self._list_or_watch)
        app.router.add_post(collection, self._create)
        app.router.add_get(collection + "/{name}", self._get)
        app.router.add_put(collection + "/{name}", self._replace)
        app.router.add_patch(collection + "/{name}", self._patch)
        app.router.add_delete(collection + "/{name}", self._delete)
        runner = web.AppRunner(app, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        ready.set()
        await self._stopped.wait()
        await runner.cleanup()
        # Transports that were told to close do so in the next rounds of the loop.
        for _ in range(10):
            await asyncio.sleep(0)

    @web.middleware
    async def _undo_dry_runs(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        body = json.loads(await request.text() or "null")
        in_body = isinstance(body, dict) and body.get("dryRun") == ["All"]
        if not in_body and request.query.get("dryRun") != "All":
            return await handler(request)
        self.dry_runs.append(f"{request.method} {request.path.partition('/kitchen/')[2]}")
        before = copy.deepcopy(self.objects)
        try:
            return await handler(request)
        finally:
            self.objects = before

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _answer(self, obj: JsonObject, status: int = 200) -> web.Response:
        headers = {"Warning": f"299 - {json.dumps(self.warning)}"} if self.warning else {}
        return web.json_response(obj, status=status, headers=headers)

    def _refusal(self, status: int, message: str, reason: str = "") -> web.Response:
        reason = reason or {404: "NotFound", 409: "AlreadyExists", 403: "Forbidden"}.get(status, "")
        return self._answer(
            {"kind": "Status", "code": status, "message": message, "reason": reason}, status
        )

    async def _version(self, _request: web.Request) -> web.Response:
        return self._answer({"gitVersion": self.version})

    async def _namespace(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if ("GET", "namespaces") in self.refusals:
            return self._refusal(*self.refusals["GET", "namespaces"])
        if name not in self.namespaces:
            return self._refusal(404, f'namespaces "{name}" not found')
        return self._answer({"metadata": {"name": name}})

    async def _list_events(self, request: web.Request) -> web.Response:
        if ("GET", "events") in self.refusals:
            return self._refusal(*self.refusals["GET", "events"])
        selector = request.query.get("fieldSelector", "")
        chosen = [event for event in self.events if _selects(selector, event)]
        return self._answer({"metadata": {"resourceVersion": "1"}, "items": chosen})

    async def _group(self, _request: web.Request) -> web.Response:
        return self._answer({"versions": [{"version": "v1"}]})

    async def _discovery(self, _request: web.Request) -> web.Response:
        if ("GET", "discovery") in self.refusals:
            return self._refusal(*self.refusals["GET", "discovery"])
        return self._answer({"resources": [{"name": name} for name in self.served]})

    async def _note(self, request: web.Request) -> tuple[str, str, JsonObject, web.Response | None]:
        plural, name = request.match_info["plural"], request.match_info.get("name", "")
        body = json.loads(await request.text() or "null")
        self.requests.append((request.method, f"{plural}/{name}".rstrip("/"), body))
        refusal = self.refusals.get((request.method, plural))
        return plural, name, body or {}, self._refusal(*refusal) if refusal else None

    async def _list_or_watch(self, request: web.Request) -> web.StreamResponse:
        plural, _, _, refused = await self._note(request)
        if ("LIST", plural) in self.refusals:
            refused = self._refusal(*self.refusals["LIST", plural])
        if refused is not None:
            return refused
        selector = request.query.get("fieldSelector", "")
        chosen = [
            obj
            for (kind, name), obj in sorted(self.objects.items())
            if kind == plural and selector in {"", f"metadata.name={name}"}
        ]
        if request.query.get("watch"):
            return await self._watch(request, plural, selector.partition("=")[2])
        return self._answer({"metadata": {"resourceVersion": str(self._number)}, "items": chosen})

    async def _watch(self, request: web.Request, plural: str, name: str) -> web.StreamResponse:
        if self.lost_watches:
            self.lost_watches -= 1
            return self._refusal(503, "not now")
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        while self.script:
            before = self.objects[plural, name]
            after = self.script.pop(0)(copy.deepcopy(before))
            if after is None:
                del self.objects[plural, name]
            else:
                self.objects[plural, name] = after
            event = {"type": "MODIFIED" if after else "DELETED", "object": after or before}
            await response.write(json.dumps(event).encode() + b"\n")
        await self._stopped.wait()
        return response

    async def _get(self, request: web.Request) -> web.Response:
        plural, name, _, refused = await self._note(request)
        return refused or self._found(plural, name)

    def _found(self, plural: str, name: str) -> web.Response:
        if (plural, name) not in self.objects:
            return self._refusal(404, f'{plural}.kudo.dev "{name}" not found')
        return self._answer(self.objects[plural, name])

    async def _create(self, request: web.Request) -> web.Response:
        plural, _, body, refused = await self._note(request)
        name = body["metadata"]["name"]
        if refused is not None:
            return refused
        if (plural, name) in self.objects:
            return self._refusal(409, f'{plural}.kudo.dev "{name}" already exists')
        self._schedule(plural, body)
        return self._answer(self.add(plural, body), 201)

    async def _replace(self, request: web.Request) -> web.Response:
        plural, name, body, refused = await self._note(request)
        if refused is None:
            self.objects[plural, name] = body
        return refused or self._found(plural, name)

    async def _patch(self, request: web.Request) -> web.Response:
        plural, name, patch, refused = await self._note(request)
        if refused is None and (plural, name) in self.objects:
            obj = self.objects[plural, name]
            if self.meanwhile:
                self.meanwhile(obj)
            before = copy.deepcopy(obj["spec"])
            if request.content_type == "application/json-patch+json":
                failed = _operate(obj, patch)
                if failed:
                    return self._refusal(422, failed, "Invalid")
            else:
                _merge(obj, patch)
            if obj["spec"] != before:
                self._schedule(plural, obj)
        return refused or self._found(plural, name)

    async def _delete(self, request: web.Request) -> web.Response:
        plural, name, _, refused = await self._note(request)
        if refused is None and not self.script:
            self.objects.pop((plural, name), None)
        return refused or self._answer({"kind": "Status"})

    def _schedule(self, plural: str, obj: JsonObject) -> None:
        if plural == "instances" and self.runs:
            self.plan, self.script = self.runs.pop(0)
        if plural == "instances" and self.plan:
            uid = f"run-{self._next()}"
            obj["spec"]["planExecution"] = {"planName": self.plan, "uid": uid}


def _merge(target: JsonObject, patch: JsonObject) -> None:
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        elif isinstance(value, dict):
            _merge(target.setdefault(key, {}), value)
        else:
            target[key] = value


def _operate(target: JsonObject, operations: Any) -> str:
    """Apply the `test` and `add` operations of a JSON Patch; return why it cannot be done."""
    for operation in operations:
        *path, last = operation["path"].strip("/").split("/")
        parent = target
        for key in path:
            parent = parent.get(key) or {}
        if operation["op"] == "add":
            parent[last] = operation["value"]
        elif parent.get(last) != operation["value"]:
            return f"testing value {operation['path']} failed"
    return ""


def _selects(selector: str, event: JsonObject) -> bool:
    desired = dict(part.split("=") for part in selector.split(","))
    found = {"type": event["type"], "involvedObject.uid": event["involvedObject"]["uid"]}
    return found == desired


def status(
    state: str,
    *,
    plan: str = "deploy",
    step: str | None = None,
    message: str = "",
    done: bool = False,
) -> Edit:
    """Return a change that gives the scheduled run a status, as the reconciler would.

    Args:
        state: Status of the plan.
        plan: The plan.
        step: Status of its only step; that of the plan if None.
        message: Message of the step.
        done: Whether the run is closed, too.
    """

    def change(instance: JsonObject) -> JsonObject:
        execution = instance["spec"].get("planExecution") or {}
        entries = instance.setdefault("status", {}).setdefault("planStatus", {})
        uid = execution.get("uid") or (entries.get(plan) or {}).get("uid")
        shown = step or state
        entries[plan] = {
            "name": plan,
            "uid": uid,
            "status": state,
            "phases": [
                {
                    "name": "main",
                    "status": shown,
                    "steps": [
                        {"name": "app", "status": shown} | ({"message": message} if message else {})
                    ],
                }
            ],
        }
        if done:
            instance["spec"]["planExecution"] = {}
        return instance

    return change
