"""Which write a request is: paths, verbs, and roles in the protocol."""

from typing import Any

import orjson
import pytest

from kudo.api.names import FINALIZER_CLEANUP
from tests.faults.injection.paths import Target, target_of
from tests.faults.injection.roles import write_of

INSTANCES = "/apis/kudo.dev/v1beta1/namespaces/ns/instances"
PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
JSON = "application/json"
ABOUT = {"involvedObject": {"kind": "Instance", "name": "book"}}


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/api/v1/pods", Target("pods")),
        ("/api/v1/namespaces", Target("namespaces")),
        ("/api/v1/namespaces/ns", Target("namespaces", name="ns")),
        ("/api/v1/namespaces/ns/pods/a", Target("pods", "ns", "a")),
        ("/apis/apps/v1/namespaces/ns/deployments", Target("deployments.apps", "ns")),
        (f"{INSTANCES}/i/status", Target("instances.kudo.dev", "ns", "i", "status")),
        ("/api/v1/namespaces/ns/configmaps/a%3Ab", Target("configmaps", "ns", "a:b")),
    ],
)
def test_a_path_names_a_target(path: str, target: Target) -> None:
    assert target_of(path) == target


@pytest.mark.parametrize("path", ["/version", "/api", "/api/v1", "/apis/apps/v1", "/apis", "/"])
def test_a_path_of_discovery_names_none(path: str) -> None:
    assert target_of(path) is None


def status(plan: str, state: str, *steps: str) -> dict[str, Any]:
    """Return a status write; a step is `name` while it waits, `name!` when it is finished."""
    listed = [
        {"name": step.rstrip("!"), "status": "COMPLETE" if "!" in step else "PENDING"}
        for step in steps
    ]
    entry = {"name": "deploy", "status": state, "phases": [{"name": "p", "steps": listed}]}
    run = {"planName": plan, "uid": "u"} if plan else {}
    return {"spec": {"planExecution": run}, "status": {"planStatus": {"deploy": entry}}}


def paused(state: str, *steps: str, seconds: int = 0) -> dict[str, Any]:
    """Return a status write in a pause, or after one of so many seconds."""
    body = status("deploy", state, *steps)
    if seconds:
        body["status"]["planStatus"]["deploy"]["suspendedSeconds"] = seconds
    else:
        body["status"]["suspendedAt"] = "2026-01-01T00:00:00Z"
    return body


@pytest.mark.parametrize(
    ("body", "role"),
    [
        (status("deploy", "IN_PROGRESS", "a", "b"), "run begun"),
        (status("deploy", "IN_PROGRESS", "a!", "b"), "step p.a finished"),
        (status("deploy", "ERROR", "a!", "b!", "c"), "step p.b finished"),
        (status("deploy", "COMPLETE", "a!", "b!"), "run ended"),
        (status("deploy", "FATAL_ERROR", "a", "b"), "run ended"),
        (paused("IN_PROGRESS", "a", "b"), "suspended, run begun"),
        (paused("IN_PROGRESS", "a!", "b"), "suspended, step p.a finished"),
        (paused("IN_PROGRESS", "a!", "b", seconds=3), "resumed, step p.a finished"),
        (paused("FATAL_ERROR", "a!", "b", seconds=3), "run ended"),
        (status("", "COMPLETE", "a!"), "idle"),
        (status("backup", "COMPLETE", "a!"), "run begun"),
        ({"spec": {}, "status": {}}, "idle"),
    ],
)
def test_a_status_tells_how_far_the_run_is(body: dict[str, Any], role: str) -> None:
    write = write_of("PUT", f"{INSTANCES}/i/status", JSON, orjson.dumps(body))

    assert write is not None
    assert write.namespace == "ns"
    assert write.label == f"update instances.kudo.dev/status {role} of i"


@pytest.mark.parametrize(
    ("path", "value", "role"),
    [
        ("/spec/planExecution", {}, "run cleared"),
        ("/spec/planExecution", {"planName": "cleanup"}, "run scheduled"),
        ("/metadata/finalizers", ["other", FINALIZER_CLEANUP], "finalizer on"),
        ("/metadata/finalizers", ["other"], "finalizer off"),
        ("/metadata/labels", {}, "other"),
    ],
)
def test_a_patch_of_an_instance_is_named_by_what_it_sets(path: str, value: Any, role: str) -> None:
    operations = [
        {"op": "test", "path": "/spec/planExecution/uid", "value": "u"},
        {"op": "add", "path": path, "value": value},
    ]

    write = write_of("PATCH", f"{INSTANCES}/i", PATCH, orjson.dumps(operations))

    assert write is not None
    assert write.label == f"patch instances.kudo.dev {role} of i"


@pytest.mark.parametrize(
    ("method", "path", "content_type", "body", "label"),
    [
        ("PATCH", "/api/v1/namespaces/ns/services/s", APPLY, {}, "apply services s"),
        ("PATCH", "/api/v1/namespaces/ns/services/s", PATCH, [], "patch services s"),
        ("PATCH", f"{INSTANCES}/book-db", APPLY, {}, "apply instances.kudo.dev book-db"),
        ("DELETE", "/apis/batch/v1/namespaces/ns/jobs/j", JSON, {}, "delete jobs.batch j"),
        (
            "POST",
            "/api/v1/namespaces/ns/events",
            JSON,
            {**ABOUT, "metadata": {"name": "book.12-34.started"}},
            "create events started of book",
        ),
        (
            "POST",
            "/api/v1/namespaces/ns/events",
            JSON,
            {**ABOUT, "metadata": {"name": "book.12-34.taskapplyerror"}},
            "create events warning taskapplyerror of book",
        ),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases/l",
            JSON,
            {},
            "update leases.coordination.k8s.io lease",
        ),
        (
            "POST",
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            JSON,
            {"metadata": {"name": "l"}},
            "create leases.coordination.k8s.io lease",
        ),
    ],
)
def test_any_other_write_is_named_by_its_object(
    method: str, path: str, content_type: str, body: Any, label: str
) -> None:
    write = write_of(method, path, content_type, orjson.dumps(body))

    assert write is not None
    assert write.label == label


def test_a_write_of_a_lease_is_known_as_such() -> None:
    lease = write_of("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/l", JSON, b"{}")
    event = write_of("POST", "/api/v1/namespaces/a/events", JSON, b"{}")

    assert lease is not None
    assert event is not None
    assert (lease.is_lease, event.is_lease) == (True, False)


def test_a_read_is_no_write() -> None:
    assert write_of("GET", f"{INSTANCES}/i", "", b"") is None


def test_a_delete_without_a_body_is_a_write() -> None:
    write = write_of("DELETE", "/api/v1/namespaces/ns/pods/p", "application/octet-stream", b"")

    assert write is not None
    assert write.label == "delete pods p"
