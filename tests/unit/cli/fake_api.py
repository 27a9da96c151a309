"""The API server in memory, over HTTP, as the tests of the command line use it.

What the webhook and the reconciler of KUDO would do is told to it: `plan` is what a write of an
Instance schedules, `script` holds what becomes of the Instance once somebody watches it.
"""

import copy
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from kudo.api.crds import definitions
from kudo.api.names import GROUP
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.apiserver.network.http import HttpServer
from tests.support.apiserver.reads.watching import Watch
from tests.support.apiserver.server import Request, Response, refusal
from tests.support.apiserver.status import StatusError
from tests.support.apiserver.storage import Storage, StorageName
from tests.support.apiserver.writes.admission import Review

JsonObject = dict[str, Any]
Edit = Callable[[JsonObject], JsonObject | None]
Key = tuple[str, str]
"""Plural and name of an object."""

DEFINITIONS = tuple(definitions().values())
_DISCOVERY = "discovery"
_REVIEWS = {"selfsubjectaccessreviews", "subjectaccessreviews", "localsubjectaccessreviews"}
LEFT_ALONE = Outcome("stuck", seconds=86_400.0)
"""Of a workload whose status nobody writes while a test runs."""
_REASONS = {403: "Forbidden", 404: "NotFound", 409: "AlreadyExists"}


class Objects(Mapping[Key, JsonObject]):
    """What is stored, by plural and name, without what a cluster has before the first write.

    An object is the stored one: a test that changes it changes what the server reads, and tells no
    watch and no controller.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._before = {key for key, _, _ in self._everything()}

    def __getitem__(self, key: Key) -> JsonObject:
        return self.place(key)[1]

    def __iter__(self) -> Iterator[Key]:
        return (key for key, _, _ in self._everything() if key not in self._before)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def place(self, key: Key) -> tuple[StorageName, JsonObject]:
        """Return where an object is stored, and the object."""
        for found, name, obj in self._everything():
            if found == key:
                return name, obj
        raise KeyError(key)

    def _everything(self) -> Iterator[tuple[Key, StorageName, JsonObject]]:
        for name, obj in self._storage.everything():
            yield (name[1], obj["metadata"]["name"]), name, obj


class FakeApi:
    """The server; tests read and set its attributes from their own thread.

    Attributes:
        objects: What is stored.
        requests: Method, path and body of each write, and of each read of KUDO's kinds, in order.
            Of a path the namespace and all before it are left out.
        changes: Method and path of each write that was no dry run.
        dry_runs: Method and path of each request with `dryRun=All`.
        refusals: By method and plural or path, status code and message to answer with; the plural
            of discovery is `discovery`, that of logs `pods/log`, the method of a list also `LIST`.
        only_namespaced: Plurals that may be listed in a namespace alone.
        silent: Paths; what is written there is never answered, nor is a log of a pod there.
        interrupts: Whether such a write interrupts this process, as ctrl-C does.
        plan: Plan that a write of an Instance schedules, as the mutating webhook would.
        runs: Plan and script of the next runs, one for each write of an Instance.
        judgement: Status code, reason and message for each Instance that is created, as of a
            webhook that denies it or does not answer.
        before_write: Called with method and path before each write is carried out.
        script: Applied to the Instance one after the other as soon as it is watched; one that
            returns None deletes it.
        lost_watches: How many watches fail before one works.
        unavailable: Names of Deployments that have no pods ready.
        denied: Plurals that access reviews say no to; also verb and plural, as `bind roles`.
        reviews: User and resource attributes of each access review.
        named_rights: Whether they say yes where the right is asked for by name.
        warning: Text of a Warning header on every answer.
        texts: What GET of a path answers that is no object, such as a log; a log is found under
            `pods/POD/log?CONTAINER`, with `?previous` behind it for that before the last restart.
    """

    def __init__(self) -> None:
        self.cluster: MemoryCluster
        self.objects: Mapping[Key, JsonObject]
        self.requests: list[tuple[str, str, JsonObject | None]] = []
        self.changes: list[str] = []
        self.dry_runs: list[str] = []
        self.refusals: dict[tuple[str, str], tuple[int, str]] = {}
        self.only_namespaced: set[str] = set()
        self.silent: set[str] = set()
        self.interrupts = False
        self.plan: str | None = None
        self.runs: list[tuple[str, list[Edit]]] = []
        self.judgement: tuple[int, str, str] | None = None
        self.before_write: Callable[[str], None] | None = None
        self.script: list[Edit] = []
        self.lost_watches = 0
        self.unavailable: set[str] = set()
        self.denied: set[str] = set()
        self.reviews: list[tuple[str, JsonObject]] = []
        self.named_rights = False
        self.warning = ""
        self.texts: dict[str, bytes] = {}
        self._http = HttpServer(self._handle)
        self._objects: Objects
        self._number = 0

    @property
    def url(self) -> str:
        return self._http.url

    @contextmanager
    def running(self, *, kudo: bool = True) -> Iterator["FakeApi"]:
        """Serve, with KUDO's CRDs and two namespaces or with nothing at all."""
        crds, namespaces = (DEFINITIONS, ("kitchen", "default")) if kudo else ((), ())
        with self._http.running():
            self.cluster = self._http.do(
                lambda: MemoryCluster.start(admission=self, crds=crds, namespaces=namespaces)
            )
            self.cluster.workloads.outcome = self._outcome
            self.objects = self._objects = Objects(self.cluster.server.storage)
            yield self

    def do(self, act: Callable[[], None]) -> None:
        """Call a function on the server's loop."""
        self._http.do(act)

    def set_version(self, version: str) -> None:
        """Have /version say this."""
        server = self.cluster.server
        server.version = {**server.version, "gitVersion": version}

    def add(self, plural: str, obj: JsonObject) -> JsonObject:
        """Store an object as it is, and return what is stored; no admission, no schema."""
        server = self.cluster.server
        kind = next(kind for kind in server.registry if kind.plural == plural)
        metadata = {"generation": 1, "uid": self._fresh("uid"), **copy.deepcopy(obj["metadata"])}
        if kind.namespaced:
            metadata.setdefault("namespace", "kitchen")
        identity = {"apiVersion": kind.api_version, "kind": kind.kind}
        stored = {**identity, **copy.deepcopy(obj), "metadata": metadata}
        return self._http.do(lambda: server.storage.put(kind.storage, stored))

    def remove(self, plural: str, name: str) -> None:
        """Delete an object at once, whatever holds it."""
        place, obj = self._objects.place((plural, name))
        self._http.do(lambda: self.cluster.server.storage.remove(place, obj))

    def names(self, plural: str) -> list[str]:
        return sorted(name for kind, name in self.objects if kind == plural)

    def plurals(self) -> set[str]:
        """Return the plurals of all objects."""
        return {plural for plural, _ in self.objects}

    def writes(self) -> list[str]:
        """Return method and path of each request that was no read."""
        return [f"{method} {path}" for method, path, _ in self.requests if method != "GET"]

    # Admission

    def mutate(self, review: Review) -> JsonObject:
        """Return an Instance with the run that its write schedules."""
        if review.kind.plural != "instances":
            return review.obj
        if review.old is None and self.judgement is not None:
            raise StatusError(*self.judgement)
        if review.old is not None and review.old["spec"] == review.obj["spec"]:
            return review.obj
        if self.runs:
            self.plan, self.script = self.runs.pop(0)
        if not self.plan:
            return review.obj
        execution = {"planName": self.plan, "uid": self._fresh("run")}
        return {**review.obj, "spec": {**review.obj["spec"], "planExecution": execution}}

    def validate(self, review: Review) -> None:
        del review

    # Requests

    def _handle(self, request: Request) -> Response | None:
        call = _Call.of(request)
        self._note(call)
        if (call.is_write or call.is_log) and call.path in self.silent:
            if self.interrupts:
                interrupt()
            return None
        try:
            response = self._answer(call)
        except StatusError as error:
            response = refusal(error)
        if self.warning:
            response = replace(response, warnings=(*response.warnings, self.warning))
        return response

    def _note(self, call: "_Call") -> None:
        if call.plural in _REVIEWS:
            return
        if call.is_write or (call.group == GROUP and call.plural != _DISCOVERY):
            self.requests.append((call.method, call.path, call.body))
        if call.is_dry_run:
            self.dry_runs.append(f"{call.method} {call.path}")
        elif call.is_write:
            self.changes.append(f"{call.method} {call.path}")

    def _answer(self, call: "_Call") -> Response:
        if call.plural in _REVIEWS:
            return self._reviewed(call)
        for key in call.subjects:
            if key in self.refusals:
                code, message = self.refusals[key]
                raise StatusError(*_refusal(code, message))
        if call.text in self.texts:
            return Response(200, self.texts[call.text])
        if call.is_log:
            raise StatusError(400, "BadRequest", "the container has no log")
        if call.plural in self.only_namespaced and "/namespaces/" not in call.request.path:
            raise StatusError(403, "Forbidden", f"{call.plural} is forbidden at the cluster scope")
        if call.is_watch and self.lost_watches:
            self.lost_watches -= 1
            raise StatusError(503, "", "not now")
        if call.is_write and self.before_write is not None:
            self.before_write(f"{call.method} {call.path}")
        response = self.cluster.server.handle(call.request)
        if response.watch is not None and call.plural == "instances":
            self._run_script(response.watch)
        return response

    def _reviewed(self, call: "_Call") -> Response:
        if (call.method, call.plural) in self.refusals:
            raise StatusError(*_refusal(*self.refusals[call.method, call.plural]))
        assert call.body is not None
        spec = call.body["spec"]
        about = spec.get("resourceAttributes") or spec["nonResourceAttributes"]
        self.reviews.append((spec.get("user") or "", about))
        by_name = self.named_rights and bool(about["name"])
        plural, verb = about.get("resource"), about["verb"]
        allowed = by_name or not {plural, f"{verb} {plural}"} & self.denied
        return Response(201, json.dumps({**call.body, "status": {"allowed": allowed}}).encode())

    def _run_script(self, watch: Watch) -> None:
        """Do to the Instance that is watched what the script says."""
        storage, name = self.cluster.server.storage, watch.selection.fields["metadata.name"]
        while self.script:
            place, before = self._objects.place(("instances", name))
            after = self.script.pop(0)(copy.deepcopy(before))
            if after is None:
                storage.remove(place, before)
            else:
                storage.put(place, after)

    def _outcome(self, obj: JsonObject) -> Outcome:
        if obj["kind"] == "Pod":
            # A pod keeps the status that a test has given it.
            return LEFT_ALONE
        stuck = obj["metadata"]["name"] in self.unavailable
        return Outcome("stuck" if stuck else "healthy", seconds=0.0)

    def _fresh(self, prefix: str) -> str:
        self._number += 1
        return f"{prefix}-{self._number}"


def interrupt() -> None:
    """Send this process what ctrl-C sends; a command that runs in it ends."""
    os.kill(os.getpid(), signal.SIGINT)


def interrupted(instance: JsonObject) -> JsonObject:
    """Interrupt this process, and leave an Instance as it is; for a `script`."""
    interrupt()
    return instance


def _refusal(code: int, message: str) -> tuple[int, str, str]:
    return code, _REASONS.get(code, ""), message


@dataclass(frozen=True, slots=True)
class _Call:
    """A request, and what it is about.

    Attributes:
        path: Plural and name, or the plural alone.
    """

    request: Request
    group: str
    plural: str
    path: str
    body: JsonObject | None

    @classmethod
    def of(cls, request: Request) -> "_Call":
        prefix, *parts = request.path.strip("/").split("/")
        group, rest = ("", parts[1:]) if prefix == "api" else ((parts or [""])[0], parts[2:])
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            rest = rest[2:]
        body = json.loads(request.body or b"null")
        return cls(request, group, rest[0] if rest else _DISCOVERY, "/".join(rest[:2]), body)

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def subjects(self) -> list[tuple[str, str]]:
        """Return the keys under which a test may refuse this request."""
        is_list = self.method == "GET" and self.path == self.plural
        listed = [("LIST", self.plural)] if is_list else []
        if self.is_log:
            return [(self.method, f"{self.plural}/log")]
        return [*listed, (self.method, self.plural), (self.method, self.path)]

    @property
    def is_log(self) -> bool:
        return self.request.path.endswith("/log")

    @property
    def text(self) -> str:
        """Return the path behind the namespace, and which of several texts is asked for."""
        path = self.request.path.partition("/namespaces/")[2].partition("/")[2]
        query = self.request.query
        container = f"?{query['container']}" if "container" in query else ""
        return f"{path}{container}{'?previous' if 'previous' in query else ''}"

    @property
    def is_write(self) -> bool:
        return self.method != "GET"

    @property
    def is_watch(self) -> bool:
        return "watch" in self.request.query

    @property
    def is_dry_run(self) -> bool:
        options = self.body.get("dryRun") if isinstance(self.body, dict) else None
        return options == ["All"] or self.request.query.get("dryRun") == "All"


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
