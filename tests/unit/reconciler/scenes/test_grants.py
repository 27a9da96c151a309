"""Scenes of OperatorVersions of other namespaces in strict mode, which no webhook reviewed."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo.admission.tenancy import Tenancy
from kudo.api.names import ANNOTATION_ALLOW_FROM, FINALIZER_CLEANUP
from kudo_reconciler.common.keys import INSTANCES, OPERATOR_VERSIONS
from tests.support import build
from tests.unit.reconciler.lives.life import Life, passes

OWNER = "platform"
NOT_GRANTED = "OperatorVersionNotGranted"
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
SECONDS = 60.0


def version(grant: str = "") -> JsonObject:
    """Return an OperatorVersion whose plans tell nothing but their names."""
    found = build.stored_version(
        tasks=[{"name": "done", "kind": "Dummy", "spec": {"done": True}}],
        plans={name: build.serial(["done"]) for name in ("deploy", "secret-plan", "cleanup")},
    )
    annotations = {ANNOTATION_ALLOW_FROM: grant} if grant else {}
    return {**found, "metadata": {"name": "v1", "namespace": OWNER, "annotations": annotations}}


def instance(**spec: Any) -> JsonObject:
    found = build.instance("i", "v1")
    reference = {"name": "v1", "namespace": OWNER}
    return {**found, "spec": {**found["spec"], "operatorVersion": reference, **spec}}


class Scene:
    """A reconciler without webhooks."""

    def __init__(self, life: Life) -> None:
        self.life = life
        self.admin: Client = life.cluster.client()[0]

    async def enter(self, tenancy: Tenancy) -> None:
        """Replace the reconciler by one in a mode."""
        self.life.settings = replace(self.life.settings, tenancy=tenancy)
        await self.life.crash(0)
        await asyncio.sleep(SECONDS)

    async def create(self, obj: JsonObject) -> None:
        resource = INSTANCES if obj["kind"] == "Instance" else OPERATOR_VERSIONS
        namespace = obj["metadata"].get("namespace", "ns")
        await self.admin.create(resource, obj, namespace=namespace)
        await asyncio.sleep(SECONDS)

    async def grant(self, to: str) -> None:
        patch = {"metadata": {"annotations": {ANNOTATION_ALLOW_FROM: to}}}
        await self.admin.merge_patch(OPERATOR_VERSIONS, "v1", patch, namespace=OWNER)
        await asyncio.sleep(SECONDS)

    async def change(self, **spec: Any) -> None:
        await self.admin.merge_patch(INSTANCES, "i", {"spec": spec}, namespace="ns")
        await asyncio.sleep(SECONDS)

    async def delete(self) -> None:
        await self.admin.delete(INSTANCES, "i", namespace="ns")
        await asyncio.sleep(SECONDS)

    @property
    def stored(self) -> JsonObject | None:
        return self.life.observed.instance("i")

    def ready(self) -> JsonObject:
        assert self.stored is not None
        conditions = self.stored["status"]["conditions"]
        (found,) = [one for one in conditions if one["type"] == "Ready"]
        return dict(found)

    def plans(self) -> JsonObject:
        assert self.stored is not None
        return dict(self.stored["status"].get("planStatus") or {})

    def events(self, reason: str) -> list[str]:
        table = self.life.cluster.server.storage.table(("", "events")).objects
        return [one["message"] for one in table.values() if one["reason"] == reason]


def play(body: Callable[[Scene], Awaitable[None]]) -> None:
    async def main(life: Life) -> None:
        life.network.calm = True
        await life.install_webhooks(mutating=False, validating=False)
        scene = Scene(life)
        await scene.admin.create(NAMESPACES, {"metadata": {"name": OWNER}})
        await body(scene)

    passes(main, "webhooks missing")


@pytest.mark.parametrize("exists", [True, False])
@pytest.mark.parametrize("run", [{}, {"planName": "secret-plan", "uid": "x"}])
@pytest.mark.parametrize("suspend", [False, True])
def test_nothing_is_run_nor_told_of_what_is_not_granted(
    exists: bool, run: dict[str, str], suspend: bool
) -> None:
    texts = set()

    async def body(scene: Scene) -> None:
        await scene.enter(Tenancy.STRICT)
        if exists:
            await scene.create(version("other"))
        await scene.create(instance(planExecution=run, suspend=suspend))
        assert scene.plans() == {}
        assert scene.stored is not None
        assert scene.stored["spec"]["planExecution"] == run
        ready = scene.ready()
        assert (ready["status"], ready["reason"]) == ("False", NOT_GRANTED)
        texts.add(ready["message"])
        assert scene.events(NOT_GRANTED)
        assert not scene.events("PlanStarted")

    play(body)
    (text,) = texts
    assert text.startswith("OperatorVersion platform/v1 does not exist or is not granted to")


def test_it_runs_as_soon_as_it_is_granted() -> None:
    async def body(scene: Scene) -> None:
        await scene.create(version())
        await scene.enter(Tenancy.STRICT)
        await scene.create(instance())
        await scene.grant("other,ns")
        assert scene.events("PlanStarted")
        assert scene.ready()["reason"] != NOT_GRANTED

    play(body)


def test_what_runs_in_compat_stays_and_the_next_run_is_refused_in_strict() -> None:
    async def body(scene: Scene) -> None:
        await scene.create(version())
        await scene.create(instance())
        assert scene.plans()["deploy"]["status"] == "COMPLETE"
        before = scene.ready()
        await scene.enter(Tenancy.STRICT)
        assert scene.ready() == before
        await scene.change(planExecution={"planName": "secret-plan", "uid": "x"})
        assert scene.plans()["secret-plan"]["status"] == "NEVER_RUN"
        assert scene.events(NOT_GRANTED)
        assert scene.stored is not None
        assert not scene.stored["spec"].get("planExecution")

    play(body)


def test_an_instance_that_ran_with_it_is_cleaned_up() -> None:
    async def body(scene: Scene) -> None:
        await scene.create(version("ns"))
        await scene.create(instance())
        await scene.enter(Tenancy.STRICT)
        await scene.grant("other")
        await scene.delete()
        assert [text for text in scene.events("PlanStarted") if "cleanup" in text]

    play(body)


def test_one_that_never_ran_is_deleted_without_a_plan() -> None:
    """Or a finalizer and a deletion would run what nobody granted."""

    async def body(scene: Scene) -> None:
        await scene.create(version())
        await scene.enter(Tenancy.STRICT)
        made = instance()
        await scene.create(
            {**made, "metadata": {**made["metadata"], "finalizers": [FINALIZER_CLEANUP]}}
        )
        await scene.delete()
        assert scene.stored is None
        assert not scene.events("PlanStarted")
        with pytest.raises(NotFound):
            await scene.admin.get(INSTANCES, "i", namespace="ns")

    play(body)


def test_one_that_is_too_large_tells_nothing() -> None:
    async def body(scene: Scene) -> None:
        await scene.enter(Tenancy.STRICT)
        large = version()
        phase = {"name": "p", "steps": [{"name": "s"}] * 500}
        large["spec"]["plans"]["deploy"]["phases"] = [phase] * 11
        await scene.create(large)
        await scene.create(instance())
        assert scene.ready()["reason"] == NOT_GRANTED
        await scene.grant("*")
        assert scene.ready()["reason"] == "InvalidOperatorVersion"

    play(body)


def test_a_parent_says_that_its_child_is_denied() -> None:
    """An Instance of a granted version needs the grants of the children, too."""

    async def body(scene: Scene) -> None:
        scene.life.admission.tenancy = Tenancy.STRICT
        await scene.life.install_webhooks(mutating=True, validating=True)
        child = version()
        await scene.create({**child, "metadata": {**child["metadata"], "name": "below-1"}})
        parent = version("ns")
        task = {"package": "below", "operatorVersion": "1", "instanceName": "child"}
        parent["spec"]["tasks"] = [{"name": "done", "kind": "KudoOperator", "spec": task}]
        await scene.create(parent)
        await scene.create(instance())
        deploy = scene.plans()["deploy"]
        assert deploy["status"] == "FATAL_ERROR"
        (phase,) = deploy["phases"]
        (step,) = phase["steps"]
        assert step["status"] == "FATAL_ERROR"
        assert (
            "OperatorVersion platform/below-1 does not exist or is not granted" in step["message"]
        )

    play(body)
