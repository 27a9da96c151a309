"""Internal errors that repeat: the conditions name them until they are over."""

import asyncio
from typing import Any, NoReturn

import pytest

from kubeio.types import JsonObject
from kudo_reconciler.common.keys import INSTANCES
from kudo_reconciler.controller import idle
from kudo_reconciler.objects import resolver
from tests.unit.reconciler.scenes.scene import Scene, of_kind, play, version

TEMPLATE = of_kind("ConfigMap", "o")


def broken(*_: Any, **__: Any) -> NoReturn:
    raise ZeroDivisionError("what a Secret contains")


def conditions(scene: Scene) -> dict[str, JsonObject]:
    stored = scene.life.observed.instance("i")
    assert stored is not None
    return {one["type"]: one for one in stored.get("status", {}).get("conditions", [])}


def check_named(condition: JsonObject) -> None:
    assert condition["reason"] == "InternalError"
    assert "internal error (ZeroDivisionError)" in condition["message"]
    assert "the reconciler's log has the details" in condition["message"]
    assert "Secret" not in condition["message"]


def forgive(scene: Scene) -> None:
    """Forget the crashes, which every test counts as broken promises otherwise."""
    broken = scene.life.observed.broken
    assert all("crashed" in one for one in broken), broken
    broken.clear()


@pytest.mark.parametrize("plan", ["deploy", "backup"])
def test_one_of_a_step_is_named_until_it_is_over(
    monkeypatch: pytest.MonkeyPatch, plan: str
) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(TEMPLATE, deploy=["done"], backup=["apply"]))
        with monkeypatch.context() as patched:
            patched.setattr(resolver, "enrich", broken)
            of = version(TEMPLATE, deploy=["apply"], backup=["apply"])
            await scene.life.put_version(of)
            await scene.trigger("i", plan)
            await asyncio.sleep(20)
            found = conditions(scene)
            assert [*found] == ["Ready", "Reconciling"]
            assert found["Ready"]["status"] == "False"
            check_named(found["Ready"])
            assert f"plan {plan}: " in found["Ready"]["message"]
            assert scene.entry("i", plan)["status"] == "IN_PROGRESS"
        forgive(scene)
        await scene.until_idle("i")
        assert scene.entry("i", plan)["status"] == "COMPLETE"
        await asyncio.sleep(5)
        assert conditions(scene)["Ready"]["reason"] == "ResourcesReady"

    play(body)


def test_one_of_a_whole_instance_is_named_once_until_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def body(scene: Scene) -> None:
        await scene.install("i", of=version(TEMPLATE, deploy=["apply"]))
        with monkeypatch.context() as patched:
            patched.setattr(idle, "ensure_entries", broken)
            await scene.life.user.change("i", {"run": "clear"})
            await scene.admin.merge_patch(
                INSTANCES, "i", {"metadata": {"labels": {"look": "again"}}}, namespace="ns"
            )
            await asyncio.sleep(30)
            found = conditions(scene)
            assert [*found] == ["Ready", "Stalled"]
            check_named(found["Ready"])
            check_named(found["Stalled"])
            writes = len(scene.network.sent("PUT", "instances"))
            await asyncio.sleep(120)
            assert len(scene.network.sent("PUT", "instances")) == writes
        forgive(scene)
        await asyncio.sleep(90)
        found = conditions(scene)
        assert [*found] == ["Ready"]
        assert found["Ready"]["reason"] == "ResourcesReady"

    play(body)
