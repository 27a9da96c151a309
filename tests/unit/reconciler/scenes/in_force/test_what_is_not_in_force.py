"""Scenes of parameters that no run has brought into force yet: what runs for them, and when."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeio.types import JsonObject
from kudo.api.fingerprints import fingerprint
from kudo_reconciler.common.keys import INSTANCES
from tests.unit.reconciler.lives.life import Life, passes
from tests.unit.reconciler.lives.test_scenes import entry, version

WAIT = 30.0
BOTH = {"parameters": {"NOTE": "b", "PORT": "81"}}
"""A parameter without a trigger, and one that triggers `custom`."""


def operator(*custom: list[str], update: str = "done", of: str = "v1") -> JsonObject:
    """Return an OperatorVersion whose plan `custom` has these steps; `stops` fails for good."""
    plans = {"deploy": [["done"]], "update": [[update]], "upgrade": [["done"]]}
    found = version(**plans, custom=[*custom], other=[["stops"]], backup=[["done"]])
    found["metadata"]["name"] = of
    stops = {"name": "stops", "kind": "Dummy", "spec": {"wantErr": True, "fatal": True}}
    found["spec"]["tasks"] = [*found["spec"]["tasks"], stops]
    found["spec"]["parameters"] = [
        {"name": "NOTE"},
        {"name": "PORT", "trigger": "custom"},
        {"name": "ZONE", "trigger": "other"},
    ]
    return found


def scene(
    body: Callable[[Life], Awaitable[None]], *custom: list[str], update: str = "done"
) -> None:
    """Play a scene of an idle Instance that was deployed with NOTE=a."""

    async def deployed(life: Life) -> None:
        life.network.calm = True
        await life.put_version(operator(*custom, update=update))
        await life.user.create("i", {"NOTE": "a"})
        await asyncio.sleep(WAIT)
        await body(life)

    passes(deployed, "webhooks missing")


def status(life: Life) -> JsonObject:
    found = life.observed.instance("i")
    assert found is not None
    return dict(found["status"])


def last(life: Life) -> tuple[str, str]:
    found = status(life)["lastRun"]
    return found["plan"], found["status"]


def in_force(life: Life, name: str) -> str | None:
    found: str | None = status(life)["lastRun"]["parameters"].get(name)
    return found


def history(life: Life) -> list[str]:
    """Return the plans that have run, in their order."""
    return [one["plan"] for one in reversed(status(life)["history"])]


def test_a_change_beside_one_with_a_trigger_gets_its_own_plan_after_that() -> None:
    async def body(life: Life) -> None:
        await life.user.change("i", BOTH)
        await asyncio.sleep(WAIT)
        assert history(life) == ["deploy", "custom", "update"]
        assert (in_force(life, "NOTE"), in_force(life, "PORT")) == (
            fingerprint("b"),
            fingerprint("81"),
        )
        assert "notInForce" not in status(life)
        assert status(life)["history"][0]["cause"] == {"parameters": ["NOTE"]}

    scene(body, ["done"])


def test_a_status_names_what_is_not_in_force_while_the_other_plan_runs() -> None:
    async def body(life: Life) -> None:
        await life.user.change("i", BOTH)
        await asyncio.sleep(WAIT)
        assert last(life) == ("custom", "IN_PROGRESS")
        assert status(life)["notInForce"] == {"parameters": ["NOTE"], "plan": "update"}
        assert in_force(life, "NOTE") == fingerprint("a")

    scene(body, ["done"], ["fails"])


def test_nothing_follows_a_run_that_failed_until_another_one_is_complete() -> None:
    async def body(life: Life) -> None:
        await life.user.change("i", BOTH)
        await asyncio.sleep(WAIT)
        assert last(life) == ("custom", "FATAL_ERROR")
        assert status(life)["notInForce"] == {"parameters": ["NOTE"], "plan": "update"}
        assert status(life)["conditions"][0]["reason"] == "PlanInFatalError"
        await life.user.change("i", {"run": {"planName": "other"}})
        await asyncio.sleep(WAIT)
        assert last(life) == ("other", "FATAL_ERROR")
        await life.user.change("i", {"run": {"planName": "backup"}})
        await asyncio.sleep(WAIT)
        assert history(life) == ["deploy", "custom", "other", "backup", "update"]
        assert in_force(life, "NOTE") == fingerprint("b")
        assert "notInForce" not in status(life)

    scene(body, ["stops"])


def test_a_cancelled_run_is_followed_by_nothing_and_its_retry_by_the_rest() -> None:
    async def body(life: Life) -> None:
        await life.user.change("i", BOTH)
        await asyncio.sleep(WAIT)
        await life.user.change("i", {"run": "cancel"})
        await asyncio.sleep(WAIT)
        assert last(life) == ("custom", "FATAL_ERROR")
        assert status(life)["notInForce"]["parameters"] == ["NOTE"]
        failed = entry(life, "custom")["uid"]
        await life.user.change("i", {"run": {"planName": "custom", "retryOf": failed}})
        await asyncio.sleep(WAIT)
        assert last(life) == ("custom", "IN_PROGRESS")
        assert status(life)["notInForce"]["parameters"] == ["NOTE"]

    scene(body, ["done"], ["fails"])


@pytest.mark.parametrize("plan", ["update", "deploy"])
def test_the_plan_of_the_rest_can_be_triggered_after_a_failed_run(plan: str) -> None:
    async def body(life: Life) -> None:
        await life.user.change("i", BOTH)
        await asyncio.sleep(WAIT)
        await life.user.change("i", {"run": {"planName": plan}})
        await asyncio.sleep(WAIT)
        assert history(life) == ["deploy", "custom", plan]
        assert in_force(life, "NOTE") == fingerprint("b")
        assert "notInForce" not in status(life)

    scene(body, ["stops"])


def test_a_plan_that_fails_is_not_scheduled_again() -> None:
    async def body(life: Life) -> None:
        await life.user.change("i", BOTH)
        await asyncio.sleep(WAIT)
        assert history(life) == ["deploy", "custom", "update"]
        assert last(life) == ("update", "FATAL_ERROR")
        await asyncio.sleep(10 * WAIT)
        assert history(life) == ["deploy", "custom", "update"]
        assert "notInForce" not in status(life)

    scene(body, ["done"], update="stops")


def test_a_value_that_is_set_back_needs_nothing_more() -> None:
    async def body(life: Life) -> None:
        await life.install_webhooks(mutating=False, validating=False)
        await life.user.change("i", BOTH | {"run": {"planName": "other"}})
        await asyncio.sleep(WAIT)
        assert status(life)["notInForce"] == {"parameters": ["NOTE", "PORT"], "plan": "custom"}
        await life.user.change("i", {"parameters": {"NOTE": "a", "PORT": None}})
        await asyncio.sleep(WAIT)
        assert history(life) == ["deploy", "other"]
        assert "notInForce" not in status(life)

    scene(body, ["stops"])


def test_a_suspended_instance_gets_the_rest_when_it_is_resumed() -> None:
    async def body(life: Life) -> None:
        await life.user.change("i", BOTH)
        await life.user.set("i", {"suspend": True})
        await asyncio.sleep(WAIT)
        await life.user.set("i", {"suspend": False})
        await asyncio.sleep(WAIT)
        assert history(life) == ["deploy", "custom", "update"]

    scene(body, ["done"])


def test_the_rest_runs_whatever_write_a_crash_comes_after() -> None:
    async def body(life: Life) -> None:
        for number in range(12):
            note = f"note {number}"
            await life.user.change("i", {"parameters": {"NOTE": note, "PORT": str(number)}})
            await life.crash(10 * number)
            await asyncio.sleep(4 * WAIT)
            assert in_force(life, "NOTE") == fingerprint(note)
            assert last(life) == ("update", "COMPLETE")

    scene(body, ["done"])


@pytest.mark.parametrize("mutating", [True, False])
def test_what_came_past_admission_runs_like_what_came_through_it(mutating: bool) -> None:
    async def body(life: Life) -> None:
        await life.install_webhooks(mutating=mutating, validating=mutating)
        await life.user.change("i", BOTH)
        await asyncio.sleep(WAIT)
        assert history(life) == ["deploy", "custom", "update"]

    scene(body, ["done"])


def test_an_upgrade_past_admission_is_followed_by_the_plan_of_a_parameter() -> None:
    async def body(life: Life) -> None:
        await life.put_version(operator(["done"], of="v2"))
        await life.user.change("i", {"parameters": {"PORT": "80"}})
        await asyncio.sleep(WAIT)
        await life.install_webhooks(mutating=False, validating=False)
        await life.user.change("i", {"of": "v2", "parameters": {"PORT": "81"}})
        await asyncio.sleep(WAIT)
        assert history(life) == ["deploy", "custom", "upgrade", "custom"]
        assert in_force(life, "PORT") == fingerprint("81")

    scene(body, ["done"])


@pytest.mark.parametrize("mutating", [True, False])
def test_what_the_original_left_is_in_force_and_later_changes_differ_from_it(
    mutating: bool,
) -> None:
    async def body(life: Life) -> None:
        life.network.calm = True
        leader = life.replicas[0].candidate
        leader.end()
        await life.put_version(operator(["done"]))
        await life.install_webhooks(mutating=False, validating=False)
        await life.user.create("i", {"NOTE": "a"})
        found = life.observed.instance("i")
        ran = {"name": "deploy", "uid": "u1", "status": "COMPLETE"}
        await life.user.client.replace(
            INSTANCES,
            {**(found or {}), "status": {"planStatus": {"deploy": ran}}},
            subresource="status",
        )
        await life.install_webhooks(mutating=mutating, validating=mutating)
        leader.begin()
        await asyncio.sleep(WAIT)
        assert status(life)["lastRun"] == {
            "operator": "op",
            "operatorVersion": {"name": "v1", "namespace": "ns"},
            "parameters": {"NOTE": fingerprint("a")},
        }
        await life.user.change("i", BOTH)
        await asyncio.sleep(WAIT)
        assert history(life) == ["custom", "update"]
        assert in_force(life, "NOTE") == fingerprint("b")

    passes(body, "webhooks missing")
