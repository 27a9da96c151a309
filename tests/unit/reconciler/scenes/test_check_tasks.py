"""Check tasks: what they wait for and tell, what ends them, and what they cost."""

import asyncio
from typing import Any

import pytest

from kubeio.resource import CRDS, SERVICE_ACCOUNTS, Resource
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import StatusError
from tests.unit.reconciler.scenes.scene import CONFIG_MAPS, SECRETS, STRICT, Scene, play

ACCOUNT = "deployer"
USER = f"system:serviceaccount:ns:{ACCOUNT}"
RINGS = Resource("example.org", "v1", "Ring", "rings", namespaced=True)
READY = "self.data.ready == string(params.NODES)"
SAID = '"%s of %d".format([self.data.ready, params.NODES])'
OURS = {"heritage": "kudo", "kudo.dev/instance": "{{ .Name }}"}
RING = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Name }}-ring"}
data: {ready: "2"}
"""
SCHEMA = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
DEFINITION: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "rings.example.org"},
    "spec": {
        "group": "example.org",
        "names": {"kind": "Ring", "plural": "rings"},
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": SCHEMA}],
    },
}


def version(*before: str, task: JsonObject | None = None, **check: Any) -> JsonObject:
    """Return a version whose plan has a Check, and applies a ConfigMap after it.

    Args:
        before: Tasks of a step before that.
        task: More fields of the task.
        check: Of the check.
    """
    spec = {"apiVersion": "v1", "kind": "ConfigMap", "until": READY, **check}
    if "selector" not in spec:
        spec.setdefault("name", "{{ .Name }}-ring")
    steps = [*([before] if before else []), ["ring"], ["after"]]
    return build.stored_version(
        plans={"deploy": build.serial(*steps)},
        tasks=[
            build.task("apply", "Apply", "ring.yaml"),
            {"name": "ring", "kind": "Check", "spec": {"check": spec}, **(task or {})},
            build.task("after", "Apply", "after.yaml"),
        ],
        templates={
            "ring.yaml": RING,
            "after.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: after}\n",
        },
        parameters=[{"name": "NODES", "value-type": "integer", "default": "3"}],
    )


def ring(name: str = "i-ring", **data: str) -> JsonObject:
    metadata = {"name": name, "labels": {"app": "ring"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def put(scene: Scene, obj: JsonObject, resource: Resource = CONFIG_MAPS) -> None:
    await scene.admin.apply(resource, obj, field_manager="alice", namespace="ns", force=True)


def reads(scene: Scene, plural: str = "configmaps") -> list[Request]:
    """Return the reads of objects of a kind; what the informers of watches list is left out."""
    found = scene.network.sent("GET", plural)
    return [one for one in found if "namespaces" in one.path.split("/")]


async def begin(scene: Scene, made: JsonObject, **settings: str) -> None:
    await scene.life.put_version(made)
    await scene.life.user.create("i", {}, settings)
    await asyncio.sleep(10)


def status(scene: Scene) -> str:
    return str(scene.entry("i", "deploy")["status"])


def step(scene: Scene, number: int = 0) -> JsonObject:
    found: JsonObject = scene.entry("i", "deploy")["phases"][0]["steps"][number]
    return found


def waiting(scene: Scene, number: int = 0) -> str:
    """Return what a step waits for; it must be waiting."""
    found = step(scene, number)
    assert found["status"] == "IN_PROGRESS", found
    return str(found["message"])


def test_a_plan_waits_until_there_is_an_object_and_the_expression_is_true() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, version(message=SAID))
        assert waiting(scene) == "no ConfigMap i-ring yet"
        await put(scene, ring(ready="2"))
        await asyncio.sleep(40)
        assert waiting(scene) == "2 of 3"
        await put(scene, ring(ready="3"))
        await asyncio.sleep(40)
        assert status(scene) == "COMPLETE"

    play(body)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ({"until": "self.data.ring == 'whole'"}, "until: there is no field ring"),
        ({"failure": "self.data.broken == 'yes'"}, "failure: there is no field broken"),
        ({"message": "self.data.text"}, "message: there is no field text"),
        ({"message": "'a\\nb' + self.data.ready"}, "a b2"),
        ({"until": "false"}, "until is not true yet: false"),
    ],
)
def test_what_cannot_be_evaluated_on_what_was_read_is_waited_for(
    check: JsonObject, message: str
) -> None:
    async def body(scene: Scene) -> None:
        await put(scene, ring(ready="2"))
        await begin(scene, version(**check))
        assert message in waiting(scene)
        assert status(scene) == "IN_PROGRESS"

    play(body)


def test_a_failure_ends_the_run_with_the_message() -> None:
    async def body(scene: Scene) -> None:
        await put(scene, ring(ready="1"))
        failure = 'self.data.?phase.orValue("") == "broken"'
        await begin(scene, version(failure=failure, message=SAID))
        assert waiting(scene) == "1 of 3"
        # Also if `until` is true.
        await put(scene, ring(ready="3", phase="broken"))
        await asyncio.sleep(40)
        assert status(scene) == "FATAL_ERROR"
        assert step(scene)["message"].endswith(": 3 of 3")
        (told,) = scene.told("CheckFailed")
        assert told.endswith(": 3 of 3")
        assert scene.stored(CONFIG_MAPS, "after") is None

    play(body)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ({"until": "selv.data"}, "check.until: unknown name selv; did you mean self?"),
        ({"until": "self.data"}, "check.until is neither true nor false but of type map"),
        ({"failure": "1"}, "check.failure: the expression is of type int"),
        ({"message": "1"}, "check.message: the expression is of type int, and must be a text"),
        ({"name": "a/b"}, "check.name: 'a/b' cannot be the name in an API path"),
        ({"kind": "Config Map"}, "check.kind: 'Config Map' is no kind of an object"),
        ({"apiVersion": "v1/v1/v1"}, "check.apiVersion: 'v1/v1/v1' is not an API version"),
        ({"selector": {"app": "a,b"}}, "check.selector.app: 'a,b' is no value of a label"),
        (
            {"selector": {"app": f"{{{{ .Name }}}}{'a' * 63}"}},
            "is no value of a label: use at most 63",
        ),
        ({"selector": {"a b": "a"}}, "check.selector: 'a b' is no name of a label"),
        (
            {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"},
            "check.kind: the API server does not offer get for selfsubjectaccessreviews",
        ),
    ],
)
def test_what_can_never_be_evaluated_ends_the_run(check: JsonObject, message: str) -> None:
    async def body(scene: Scene) -> None:
        await put(scene, ring(ready="2"))
        await begin(scene, version(**check))
        assert status(scene) == "FATAL_ERROR"
        assert message in step(scene)["message"]
        assert scene.told("CheckInvalid") != []

    play(body)


def test_a_kind_that_is_not_served_is_waited_for() -> None:
    async def body(scene: Scene) -> None:
        rings: JsonObject = {"apiVersion": "example.org/v1", "kind": "Ring"}
        await begin(scene, version(**rings))
        told = "no Ring i-ring yet: the API server does not serve Ring of example.org/v1"
        assert waiting(scene) == told
        await scene.admin.create(CRDS, DEFINITION)
        await asyncio.sleep(40)
        assert waiting(scene) == "no Ring i-ring yet"
        await put(scene, {**rings, "metadata": {"name": "i-ring"}, "data": {"ready": "3"}}, RINGS)
        await asyncio.sleep(40)
        assert status(scene) == "COMPLETE"

    play(body)


def test_a_kind_that_is_no_longer_served_is_looked_up_again() -> None:
    async def body(scene: Scene) -> None:
        await scene.admin.create(CRDS, DEFINITION)
        rings: JsonObject = {"apiVersion": "example.org/v1", "kind": "Ring"}
        await begin(scene, version(**rings))
        assert waiting(scene) == "no Ring i-ring yet"
        await scene.admin.delete(CRDS, DEFINITION["metadata"]["name"])
        await asyncio.sleep(40)
        assert waiting(scene).startswith("no Ring i-ring yet")
        await scene.admin.create(CRDS, DEFINITION)
        await put(scene, {**rings, "metadata": {"name": "i-ring"}, "data": {"ready": "3"}}, RINGS)
        await asyncio.sleep(60)
        assert status(scene) == "COMPLETE"

    play(body)


def test_a_selector_reads_all_objects_with_its_labels() -> None:
    async def body(scene: Scene) -> None:
        await put(scene, {**ring("other"), "metadata": {"name": "other"}})
        await begin(
            scene,
            version(
                selector={"app": "{{ .OperatorName }}-ring"},
                until="objects.size() == 60 && objects.all(o, o.data.ready == 'yes')",
                message='"%d of 60".format([objects.size()])',
            ),
        )
        assert waiting(scene) == "no ConfigMap with app=op-ring yet"
        for number in range(60):
            made = ring(f"r{number}", ready="yes")
            made["metadata"]["labels"] = {"app": "op-ring"}
            await put(scene, made)
            if number == 54:
                await asyncio.sleep(40)
                assert waiting(scene) == "55 of 60"
        await asyncio.sleep(40)
        assert status(scene) == "COMPLETE"
        limits = {one.query.get("limit") for one in reads(scene) if "labelSelector" in one.query}
        assert limits == {"50"}

    play(body)


@pytest.mark.parametrize(
    ("number", "size", "message"),
    [
        (501, 10, "check.selector selects more than 500 objects; have it select fewer"),
        (9, 1_000_000, "the objects of check are larger than 8 MiB; have it read fewer"),
    ],
)
def test_a_selection_is_bounded(number: int, size: int, message: str) -> None:
    async def body(scene: Scene) -> None:
        for one in range(number):
            await put(scene, ring(f"r{one}", text="x" * size))
        await begin(scene, version(selector={"app": "ring"}, until="false"))
        assert status(scene) == "FATAL_ERROR"
        assert message in step(scene)["message"]
        assert scene.told("CheckInvalid") != []

    play(body)


def test_of_a_secret_nothing_but_the_names_of_its_keys_is_seen() -> None:
    async def body(scene: Scene) -> None:
        copy = "kubectl.kubernetes.io/last-applied-configuration"
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "i-ring", "annotations": {copy: "s3cret", "a": "b"}},
            "type": "Opaque",
            "data": {"password": "czNjcmV0"},
        }
        await put(scene, secret, SECRETS)
        seen = (
            'self.data == {"password": ""} && self.type == "Opaque" && !has(self.stringData) && '
            'self.metadata.annotations == {"a": "b"} && !has(self.metadata.managedFields)'
        )
        await begin(scene, version(kind="Secret", until=seen))
        assert status(scene) == "COMPLETE"

    play(body)


def test_it_reads_as_the_account_and_a_missing_right_is_named_and_waited_for() -> None:
    async def body(scene: Scene) -> None:
        account = {"metadata": {"name": ACCOUNT, "namespace": "ns"}}
        await scene.admin.create(SERVICE_ACCOUNTS, account)
        await put(scene, ring(ready="3"))
        text = (
            f'configmaps "i-ring" is forbidden: User "{USER}" cannot get resource "configmaps" in '
            'API group "" in the namespace "ns"'
        )

        def authorize(request: Request) -> None:
            if request.user == USER and "configmaps" in request.path.split("/"):
                raise StatusError(403, "Forbidden", text)

        server = scene.life.cluster.server
        allow, server.authorize = server.authorize, authorize
        await begin(scene, version(), serviceAccountName=ACCOUNT)
        assert step(scene)["status"] == "ERROR"
        assert f"cannot read ConfigMap i-ring: {text}" in step(scene)["message"]
        server.authorize = allow
        await asyncio.sleep(100)
        assert status(scene) == "COMPLETE"
        assert {one.user for one in reads(scene) if one.path.endswith("/i-ring")} == {USER}

    play(body, STRICT)


def test_a_time_limit_ends_the_waiting() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, version(task={"timeout": "1m"}))
        await asyncio.sleep(80)
        assert status(scene) == "FATAL_ERROR"
        assert "no ConfigMap i-ring yet" in step(scene)["message"]
        assert scene.told("TimedOut") != []

    play(body)


def test_a_deadline_of_progress_passes_while_the_object_does_not_change() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, version(task={"progressDeadline": "70s"}))
        for number in range(4):
            await put(scene, ring(ready="2", number=str(number)))
            await asyncio.sleep(40)
        assert waiting(scene).startswith("until is not true yet")
        await asyncio.sleep(100)
        assert scene.told("TimedOut") != []

    play(body)


def test_a_suspended_instance_looks_and_sends_nothing() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, version())
        await scene.life.user.set("i", {"suspend": True})
        await asyncio.sleep(10)
        await put(scene, ring(ready="2"))
        before = len(reads(scene))
        await asyncio.sleep(60)
        assert len(reads(scene)) > before
        await put(scene, ring(ready="3"))
        await asyncio.sleep(60)
        assert scene.stored(CONFIG_MAPS, "after") is None
        await scene.life.user.set("i", {"suspend": None})
        await asyncio.sleep(60)
        assert status(scene) == "COMPLETE"

    play(body)


@pytest.mark.parametrize("turns", [0, 3, 30, 100])
def test_after_a_crash_it_waits_for_the_same(turns: int) -> None:
    async def body(scene: Scene) -> None:
        scene.life.network.calm = True
        await begin(scene, version("apply", message=SAID))
        assert waiting(scene, 1) == "2 of 3"
        await put(scene, ring(ready="3"))
        await scene.life.crash(turns)
        await asyncio.sleep(100)
        assert status(scene) == "COMPLETE"

    play(body)


def test_what_is_not_watched_is_read_after_2_s_and_then_less_and_less_often() -> None:
    async def body(scene: Scene) -> None:
        await put(scene, ring(ready="2"))
        await begin(scene, version())
        scene.network.seen.clear()
        await asyncio.sleep(290)
        # After 2, 4 and 8 s, of which 10 have passed; then after 16 s, and after 30 s each time.
        assert 9 <= len(reads(scene)) <= 11

    play(body)


@pytest.mark.parametrize(
    "which",
    [{}, {"selector": OURS, "until": "objects[0].data.ready == '3'"}],
    ids=["name", "labels"],
)
def test_objects_of_the_instance_are_read_when_they_change_and_at_most_once_a_second(
    which: JsonObject,
) -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, version("apply", **which))
        assert waiting(scene, 1).startswith("until is not true yet")
        await asyncio.sleep(60)
        scene.network.seen.clear()
        # Nothing changes: neither rechecks nor changes of the Instance read anything.
        for label in range(10):
            await scene.life.user.label("i", str(label))
            await asyncio.sleep(120)
        assert reads(scene) == []
        for number in range(100):
            change = {"data": {"number": str(number)}}
            await scene.admin.merge_patch(CONFIG_MAPS, "i-ring", change, namespace="ns")
            await asyncio.sleep(0.1)
        await asyncio.sleep(5)
        mine = [one for one in reads(scene) if one.user != "admin"]
        assert 9 <= len(mine) <= 12
        done = {"data": {"ready": "3"}}
        await scene.admin.merge_patch(CONFIG_MAPS, "i-ring", done, namespace="ns")
        await asyncio.sleep(2)
        assert status(scene) == "COMPLETE"

    play(body)


def test_a_thousand_checks_of_objects_that_do_not_change_cost_no_request() -> None:
    async def body(scene: Scene) -> None:
        made = version("apply")
        spec = made["spec"]
        check = spec["tasks"][1]
        names = [f"c{number}" for number in range(500)]
        spec["tasks"] = [spec["tasks"][0], *({**check, "name": name} for name in names)]
        steps = [{"name": name, "tasks": names} for name in ("one", "two")]
        spec["plans"]["deploy"]["phases"] += [
            {"name": "checks", "strategy": "parallel", "steps": steps}
        ]
        spec["plans"]["deploy"]["phases"][0]["steps"] = [{"name": "a", "tasks": ["apply"]}]
        await begin(scene, made)
        await asyncio.sleep(60)
        assert len(reads(scene)) >= 1000
        scene.network.seen.clear()
        for label in range(2):
            await scene.life.user.label("i", str(label))
            await asyncio.sleep(600)
        assert reads(scene) == []
        done = {"data": {"ready": "3"}}
        await scene.admin.merge_patch(CONFIG_MAPS, "i-ring", done, namespace="ns")
        await asyncio.sleep(60)
        assert status(scene) == "COMPLETE"

    play(body)


def test_an_object_that_is_deleted_and_made_again_is_waited_for() -> None:
    async def body(scene: Scene) -> None:
        await begin(scene, version("apply"))
        assert waiting(scene, 1).startswith("until is not true yet")
        await scene.admin.delete(CONFIG_MAPS, "i-ring", namespace="ns")
        await asyncio.sleep(5)
        assert waiting(scene, 1) == "no ConfigMap i-ring yet"
        await put(scene, ring(ready="3"))
        await asyncio.sleep(40)
        assert status(scene) == "COMPLETE"

    play(body)


def test_labels_of_the_instance_are_those_that_the_run_began_with() -> None:
    async def body(scene: Scene) -> None:
        await put(scene, ring(ready="2"))
        until = "self.data.ready == '3' && !has(instance.labels.l)"
        await begin(scene, version(until=until))
        await scene.life.user.label("i", "gold")
        await scene.life.crash(0)
        await put(scene, ring(ready="3"))
        await asyncio.sleep(60)
        assert status(scene) == "COMPLETE"

    play(body)
