"""Which write a request is: its verb, its resource, and its role in the protocol.

A role is read from the request alone, so that the same write has the same label in every run, in
every namespace and by every reconciler. Names of objects belong to the role; uids do not. In a tree
of Instances each has its own: `run ended of NAME`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from kubeio.resource import EVENTS, JOBS
from kudo.api.names import FINALIZER_CLEANUP
from kudo_reconciler.common.keys import INSTANCES, INVENTORIES
from tests.faults.injection.paths import Target, target_of

Json = dict[str, object]

_VERBS = {
    "application/apply-patch+yaml": "apply",
    "application/json-patch+json": "patch",
    "application/merge-patch+json": "merge",
}
_OF_NAMESPACE = re.compile(r"(faults-[0-9a-z]+)-")
_HASH = re.compile(r"[0-9a-f]{8}")
_OF_RUN = re.compile(r"-[0-9a-f]{10}$")
_TERMINAL = {"COMPLETE", "FATAL_ERROR"}
_LEASES = "leases.coordination.k8s.io"


@dataclass(frozen=True, slots=True)
class Write:
    """A request that changes something.

    Attributes:
        namespace: Where; of a cluster-scoped object what its name begins with, if that is a
            namespace of the matrix, else empty.
        verb: create, update, apply, patch, merge or delete.
        resource: plural.group, with /subresource.
        role: What it is in the protocol, or the name of the applied or deleted object.
    """

    namespace: str
    verb: str
    resource: str
    role: str

    @property
    def label(self) -> str:
        return f"{self.verb} {self.resource} {self.role}"

    @property
    def is_lease(self) -> bool:
        return self.resource == _LEASES


def write_of(method: str, path: str, content_type: str, body: bytes) -> Write | None:
    """Return the write that a request is, or None for a read."""
    target = target_of(path)
    if method == "GET" or target is None:
        return None
    verb = _verb(method, content_type)
    content = orjson.loads(body) if body else {}
    resource = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
    role, namespace = _role(verb, target, content), target.namespace
    found = None if namespace else _OF_NAMESPACE.match(role)
    if found is not None:
        # The name of a cluster-scoped object tells which life it belongs to.
        namespace, role = found[1], f"NAMESPACE{role[found.end(1) :]}"
    return Write(namespace, verb, resource, role)


def _verb(method: str, content_type: str) -> str:
    if method == "PATCH":
        return _VERBS[content_type.partition(";")[0]]
    return {"POST": "create", "PUT": "update", "DELETE": "delete"}[method]


def _role(verb: str, target: Target, content: object) -> str:
    known = _ROLES.get((verb, target.resource, target.subresource))
    if known is not None:
        subject = target.name or str(_at(content, "involvedObject").get("name") or "")
        return f"{known(content)} of {subject}"
    if target.resource == _LEASES:
        return "lease"
    name = target.name or _name(content)
    if target.resource == JOBS.name:
        # That of a Job task is another one in each run.
        name = _OF_RUN.sub("-RUN", name)
    return _record(name, content) if target.resource == INVENTORIES.name else name


def _record(name: str, content: object) -> str:
    """Return which Inventory one is, without its uid, and what tells its writes apart."""
    instance, _, number = name.rsplit(".", 2)
    objects = _items(content, "objects") if isinstance(content, dict) else []
    orphans = sum("orphanedBy" in obj for obj in objects)
    return f"record {number} of {instance}, {len(objects)} objects, {orphans} orphans"


def _status(content: object) -> str:
    """Say how far the run is that the status speaks of; the spec that comes with it names it."""
    spec, status = _at(content, "spec"), _at(content, "status")
    plan = str(_at(spec, "planExecution").get("planName") or "")
    if not plan:
        return "idle"
    entry = _at(_at(status, "planStatus"), plan)
    if entry.get("status") in _TERMINAL:
        return "run ended"
    finished = [
        f"{phase['name']}.{step['name']}"
        for phase in _items(entry, "phases")
        for step in _items(phase, "steps")
        if step.get("status") == "COMPLETE"
    ]
    far = f"step {finished[-1]} finished" if finished else "run begun"
    if status.get("suspendedAt"):
        return f"suspended, {far}"
    return f"resumed, {far}" if entry.get("suspendedSeconds") else far


def _patch(content: object) -> str:
    """Say what a JSON Patch of an Instance does, by what it sets."""
    operations = content if isinstance(content, list) else []
    for operation in operations:
        match operation:
            case {"op": "add" | "replace", "path": "/spec/planExecution", "value": value}:
                return "run scheduled" if value else "run cleared"
            case {"op": "add" | "replace", "path": "/metadata/finalizers", "value": value}:
                return f"finalizer {'on' if FINALIZER_CLEANUP in value else 'off'}"
            case {"op": "remove", "path": str(path)} if path.endswith("-requested-at"):
                return f"{path.rpartition('~1')[2].partition('-')[0]} done"
    return "other"


def _event(content: object) -> str:
    parts = _name(content).split(".")
    last = next((part for part in reversed(parts) if not _HASH.fullmatch(part)), "")
    return f"{last}" if last in {"started", "finished"} else f"warning {last}"


_ROLES: dict[tuple[str, str, str], Callable[[object], str]] = {
    ("update", INSTANCES.name, "status"): _status,
    ("patch", INSTANCES.name, ""): _patch,
    ("create", EVENTS.name, ""): _event,
}


def _name(content: object) -> str:
    return str(_at(content, "metadata").get("name") or "")


def _at(content: object, key: str) -> Json:
    found = content.get(key) if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}


def _items(content: Json, key: str) -> list[Json]:
    found = content.get(key)
    return found if isinstance(found, list) else []
