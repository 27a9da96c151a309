"""Scenes of changes beside a plan that was named by hand, with the webhooks missing."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeio.types import JsonObject
from kudo.api.fingerprints import fingerprint
from kudo_reconciler.common.keys import INSTANCES
from tests.support import build
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.test_scenes import entry, events, version

WAIT = 30.0


def operator(name: str = "v1") -> JsonObject:
    found = version(deploy=[["done"]], update=[["done"]], upgrade=[["done"]], custom=[["done"]])
    found["metadata"]["name"] = name
    found["spec"]["parameters"] = [{"name": "NOTE"}, {"name": "SIZE", "trigger": "deploy"}]
    return found


def past_admission(body: Callable[[Life], Awaitable[None]]) -> None:
    async def missing(life: Life) -> None:
        life.network.calm = True
        await life.put_version(operator())
        await life.put_version(operator("v2"))
        await life.install_webhooks(mutating=False, validating=False)
        await body(life)

    passes(missing, "webhooks missing")


def ran(life: Life, *names: str) -> list[bool]:
    return [entry(life, name)["status"] == "COMPLETE" for name in names]


def stored(life: Life) -> JsonObject:
    found = life.observed.instance("i")
    assert found is not None
    return found


def ready(life: Life) -> str:
    conditions = stored(life)["status"]["conditions"]
    return next(str(one["status"]) for one in conditions if one["type"] == "Ready")


def test_a_parameter_changed_together_with_a_named_plan_gets_its_own_plan_after_that() -> None:
    async def body(life: Life) -> None:
        await life.user.create("i", {"NOTE": "a"})
        await asyncio.sleep(WAIT)
        await life.user.change("i", {"parameters": {"NOTE": "b"}, "run": {"planName": "custom"}})
        await asyncio.sleep(WAIT)
        assert ran(life, "deploy", "custom", "update") == [True, True, True]
        last = stored(life)["status"]["lastRun"]
        assert (last["plan"], last["parameters"]["NOTE"]) == ("update", fingerprint("b"))
        assert ready(life) == "True"

    past_admission(body)


def test_a_version_changed_together_with_a_named_plan_gets_its_upgrade_after_that() -> None:
    async def body(life: Life) -> None:
        await life.user.create("i", {"NOTE": "a"})
        await asyncio.sleep(WAIT)
        await life.user.change("i", {"of": "v2", "run": {"planName": "custom"}})
        await asyncio.sleep(WAIT)
        assert ran(life, "custom", "upgrade") == [True, True]
        assert stored(life)["status"]["lastRun"]["operatorVersion"]["name"] == "v2"

    past_admission(body)


def test_an_instance_created_with_a_named_plan_is_deployed_after_that() -> None:
    async def body(life: Life) -> None:
        leader = life.replicas[0].candidate
        leader.end()
        await life.user.create("i", {"NOTE": "a"})
        await life.user.change("i", {"run": {"planName": "custom"}})
        leader.begin()
        await asyncio.sleep(WAIT)
        assert ran(life, "custom", "deploy") == [True, True]
        assert stored(life)["status"]["lastRun"]["plan"] == "deploy"

    past_admission(body)


@pytest.mark.parametrize("name", ["custom", "cleanup"])
def test_a_run_named_with_the_uid_of_another_one_has_a_uid_and_events_of_its_own(name: str) -> None:
    async def body(life: Life) -> None:
        found = operator()
        found["spec"]["plans"]["cleanup"] = build.serial(["done"], ["fails"])
        await life.put_version(found)
        await life.user.create("i", {"NOTE": "a"})
        await asyncio.sleep(WAIT)
        used = entry(life, "deploy")["uid"]
        if name == "cleanup":
            await life.user.delete("i")
            await asyncio.sleep(WAIT)
        run = {"spec": {"planExecution": {"planName": name, "uid": used}}}
        await life.user.client.merge_patch(INSTANCES, "i", run, namespace="ns")
        await asyncio.sleep(WAIT)
        fresh = entry(life, name)["uid"]
        assert fresh != used
        assert (fresh, "started") in events(life)
        assert [what for uid, what in events(life) if uid == used] == ["finished", "started"]
        assert stored(life)["status"]["lastRun"]["plan"] == name

    past_admission(body)
