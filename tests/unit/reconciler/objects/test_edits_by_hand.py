"""Edits of the keys of list items, by hand and by others."""

import asyncio

import orjson
import pytest

from kubeio import jsonpatch
from kubeio.resource import DEPLOYMENTS, SERVICES, Resource
from kubeio.types import JsonObject
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.server import Request
from tests.support.apiserver.status import Cause, invalid
from tests.unit.reconciler.scenes.scene import Scene, play, version

CONTAINER = {"name": "c", "image": "busybox", "env": [{"name": "A", "value": "1"}]}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "o"},
    "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}},
    },
}
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "o"},
    "spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"name": "http", "port": 80}]},
}
CONTAINERS = "/spec/template/spec/containers"
OF_SERVICE = version(orjson.dumps(SERVICE).decode(), deploy=["apply"], custom=["apply"])


def spec(scene: Scene, resource: Resource) -> JsonObject:
    stored = scene.stored(resource, "o")
    assert stored is not None
    found: JsonObject = stored["spec"]
    return found


async def edit(scene: Scene, resource: Resource, change: JsonObject, manager: str) -> None:
    """Change an object while the Instance is at rest."""
    await asyncio.sleep(10)
    await scene.admin.json_patch(resource, "o", [change], namespace="ns", field_manager=manager)
    await asyncio.sleep(10)


@pytest.mark.parametrize(
    ("path", "value", "edited"),
    [
        (f"{CONTAINERS}/0/name", "mine", "containers[name=mine]"),
        (f"{CONTAINERS}/0/env/0/name", "B", "env[name=B]"),
    ],
)
def test_edits_by_hand_of_keys_are_reverted(path: str, value: object, edited: str) -> None:
    of = version(orjson.dumps(DEPLOYMENT).decode(), deploy=["apply"], custom=["apply"])

    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.make_healthy()
        await scene.install("i", of=of)
        await edit(scene, DEPLOYMENTS, jsonpatch.replace(path, value), "kubectl-edit")
        entry = await scene.run("i", "custom")
        assert entry["status"] == "COMPLETE"
        [container] = spec(scene, DEPLOYMENTS)["template"]["spec"]["containers"]
        assert container == CONTAINER
        [text] = scene.told("ManualEditReverted")
        assert text.endswith(f"{edited} of kubectl-edit")

    play(body)


@pytest.mark.parametrize("manager", ["kubectl-edit", "a-controller"])
def test_what_others_have_brought_stays(manager: str) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=OF_SERVICE)
        change = jsonpatch.add("/spec/ports/1", {"name": "metrics", "port": 9090})
        await edit(scene, SERVICES, change, manager)
        assert (await scene.run("i", "custom"))["status"] == "COMPLETE"
        assert [port["port"] for port in spec(scene, SERVICES)["ports"]] == [80, 9090]
        assert scene.told("ManualEditReverted") == []

    play(body)


def refuse_two_ports_of_one_name(scene: Scene) -> None:
    """Refuse each apply as an API server does; that in memory does not validate Services."""
    cause = Cause("FieldValueDuplicate", 'Duplicate value: "http"', "spec.ports[1].name")
    shape = scene.network.fate

    def fate(request: Request) -> Fate:
        is_apply = request.content_type == "application/apply-patch+yaml"
        if is_apply and "/services/" in request.path:
            return Fate(refused=invalid("Service", "", "o", cause))
        return shape(request)

    scene.network.fate = fate  # type: ignore[method-assign]


def test_the_error_names_who_has_brought_what_is_in_the_way() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=OF_SERVICE)
        change = jsonpatch.replace("/spec/ports/0/port", 8080)
        await edit(scene, SERVICES, change, "a-controller")
        refuse_two_ports_of_one_name(scene)
        entry = await scene.run("i", "custom")
        assert entry["status"] == "FATAL_ERROR"
        message = scene.message("i", "custom")
        assert (
            "beside those of the template it has spec.ports[port=8080,protocol=TCP] of field "
            "manager \"a-controller\": remove them with 'kubectl edit services o -n ns'"
        ) in message

    play(body)
