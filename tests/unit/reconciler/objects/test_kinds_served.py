"""Kinds that are not served yet, and kinds that cannot be applied."""

import orjson
import pytest

from kubeio.resource import Resource
from kubeio.types import JsonObject
from tests.support import build
from tests.support.apiserver.storage import Revision, StorageName
from tests.support.apiserver.types.kinds import CRD
from tests.unit.reconciler.scenes.scene import Scene, play

GROUP = "widgets.example"
MAINS = Resource(GROUP, "v1", "Main", "mains", namespaced=True)


def definition(kind: str, plural: str) -> JsonObject:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }


def resource_of(kind: str) -> JsonObject:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "g"}}


def package(*tasks: tuple[str, str, JsonObject]) -> JsonObject:
    """Return an OperatorVersion whose plan has a step for each task: name, kind, object."""
    templates = {f"{name}.yaml": orjson.dumps(obj).decode() for name, _, obj in tasks}
    steps = [{"name": name, "tasks": [name]} for name, _, _ in tasks]
    phase = {"name": "main", "strategy": "serial", "steps": steps}
    plan = {"strategy": "serial", "phases": [phase]}
    return build.stored_version(
        tasks=[
            {"name": name, "kind": kind, "spec": {"resources": [f"{name}.yaml"]}}
            for name, kind, _ in tasks
        ],
        templates=templates,
        plans={"deploy": plan},
    )


def messages(scene: Scene) -> list[str]:
    stored = scene.life.observed.instance("i") or {}
    entry = stored.get("status", {}).get("planStatus", {}).get("deploy", {})
    steps = [step for phase in entry.get("phases", ()) for step in phase["steps"]]
    return [step["message"] for step in steps if step.get("message")]


def status(scene: Scene) -> str:
    return str(scene.entry("i", "deploy")["status"])


def test_a_kind_that_was_missing_a_moment_ago_is_applied_once_its_crd_is() -> None:
    of = package(
        ("optional", "Delete", resource_of("Option")),
        ("crd", "Apply", definition("Main", "mains")),
        ("resource", "Apply", resource_of("Main")),
    )

    async def body(scene: Scene) -> None:
        await scene.install("i", of=of)
        assert (status(scene), messages(scene)) == ("COMPLETE", [])
        assert scene.stored(MAINS, "g") is not None

    play(body)


@pytest.mark.parametrize("task", ["Apply", "Delete"])
@pytest.mark.parametrize("plural", ["mains", "majority"])
def test_a_kind_whose_crd_exists_is_waited_for(task: str, plural: str) -> None:
    """The API server serves it some time after its CRD was applied."""
    crd = definition("Main", plural)
    of = package(("crd", "Apply", crd), ("resource", task, resource_of("Main")))

    async def body(scene: Scene) -> None:
        server = scene.life.cluster.server

        def serve_later(name: StorageName, revision: Revision) -> None:
            if name == CRD.storage:
                server.registry.undefine(revision.new)

        server.storage.listeners.append(serve_later)
        await scene.life.put_version(of)
        await scene.life.user.create("i", {})
        waits = f"waits until the API server serves its kind, defined by CRD {plural}.{GROUP}"
        await scene.until(lambda: waits in " ".join(messages(scene)))
        server.storage.listeners.remove(serve_later)
        server.registry.define(crd)
        await scene.until_idle("i")
        assert status(scene) == "COMPLETE"

    play(body)


def test_a_kind_that_nothing_defines_ends_the_plan() -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=package(("resource", "Apply", resource_of("Main"))))
        assert status(scene) == "FATAL_ERROR"
        assert "seems to be missing in API resource list" in messages(scene)[0]

    play(body)


def test_a_kind_that_only_can_be_created_ends_the_plan() -> None:
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "metadata": {"name": "r"},
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
    }

    async def body(scene: Scene) -> None:
        await scene.install("i", of=package(("review", "Apply", review)))
        assert status(scene) == "FATAL_ERROR"
        assert "the API server does not offer get and patch for" in messages(scene)[0]

    play(body)
