"""Which account a child Instance names: that of its parent, if the parent names one."""

import asyncio

from kubeio.types import JsonObject
from tests.support import build
from tests.unit.reconciler.scenes.scene import Scene, play
from tests.unit.reconciler.tenancy.test_accounts import account


def parent() -> JsonObject:
    """Return an OperatorVersion that has a child of `child`."""
    spec = {"package": "child", "operatorVersion": "1"}
    return build.stored_version(
        tasks=[{"name": "have", "kind": "KudoOperator", "spec": spec}],
        plans={"deploy": build.serial(["have"])},
    )


def child(*, fails: bool = False) -> JsonObject:
    spec = {"done": not fails, "wantErr": fails, "fatal": fails}
    task = {"name": "it", "kind": "Dummy", "spec": spec}
    made = build.stored_version(tasks=[task], plans={"deploy": build.serial(["it"])})
    made["metadata"]["name"] = "child-1"
    return made


def named(scene: Scene) -> str | None:
    stored = scene.life.observed.instance("i-child")
    assert stored is not None
    found: str | None = stored["spec"].get("serviceAccountName")
    return found


async def install(scene: Scene, *, fails: bool = False, **spec: str) -> None:
    await account(scene, "bob")
    await scene.life.put_version(child(fails=fails))
    await scene.life.put_version(parent())
    await scene.life.user.create("i", {}, dict(spec))
    await scene.until_idle("i")
    await asyncio.sleep(10)


def test_a_child_inherits_the_account_and_loses_it_when_the_parent_does() -> None:
    async def body(scene: Scene) -> None:
        await install(scene, serviceAccountName="bob")
        assert named(scene) == "bob"
        await scene.life.user.set("i", {"serviceAccountName": None})
        await asyncio.sleep(5)
        await scene.run("i", "deploy")
        assert named(scene) is None

    play(body)


def test_a_child_of_a_parent_that_names_none_is_as_before() -> None:
    async def body(scene: Scene) -> None:
        await install(scene)
        stored = scene.life.observed.instance("i-child")
        assert stored is not None
        assert "serviceAccountName" not in stored["spec"]

    play(body)


def test_a_failed_child_is_run_again_as_the_account_that_the_parent_names_now() -> None:
    async def body(scene: Scene) -> None:
        await install(scene, fails=True)
        assert scene.entry("i", "deploy")["status"] == "FATAL_ERROR"
        await scene.life.user.set("i", {"serviceAccountName": "bob"})
        await asyncio.sleep(5)
        await scene.trigger("i", "deploy")
        await asyncio.sleep(60)
        assert named(scene) == "bob"
        stored = scene.life.observed.instance("i-child")
        assert stored is not None
        assert stored["status"]["lastRun"]["serviceAccountName"] == "bob"

    play(body)
