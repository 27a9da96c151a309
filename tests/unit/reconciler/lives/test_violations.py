"""What the reconciler does about changes that no webhook would have let pass."""

import asyncio
from collections.abc import Awaitable, Callable

from kubeio.types import JsonObject
from kudo.api.fingerprints import fingerprint
from tests.support import build
from tests.unit.reconciler.lives.life import Life, passes

WAIT = 30.0
STUCK: JsonObject = {"name": "t", "kind": "Dummy", "spec": {"wantErr": True}}
DONE: JsonObject = {"name": "t", "kind": "Dummy", "spec": {"done": True}}


def version(task: JsonObject) -> JsonObject:
    return build.stored_version(
        plans={"deploy": build.serial(["t"], ["t"])},
        tasks=[task],
        parameters=[
            {"name": "FIXED", "immutable": True, "default": "a"},
            {"name": "ZONE", "default": "eu-1", "pattern": "^[a-z]+-[0-9]$"},
            {"name": "COUNT", "value-type": "integer", "default": "3", "maximum": 9},
        ],
    )


def unlawful(body: Callable[[Life], Awaitable[None]], task: JsonObject) -> None:
    """Run a body with an Instance whose first run has begun, and whose webhooks are gone then."""

    async def begun(life: Life) -> None:
        life.network.calm = True
        await life.put_version(version(task))
        await life.user.create("i", {})
        await asyncio.sleep(WAIT)
        await life.install_webhooks(mutating=False, validating=False)
        await body(life)
        await asyncio.sleep(WAIT)

    passes(begun, "webhooks missing")


async def changed(life: Life, edit: JsonObject) -> None:
    await life.user.change("i", edit)
    await asyncio.sleep(WAIT)


def stored(life: Life) -> JsonObject:
    found = life.observed.instance("i")
    assert found is not None
    return found


def ready(life: Life) -> tuple[str, str]:
    conditions = stored(life)["status"]["conditions"]
    return next((one["status"], one["reason"]) for one in conditions if one["type"] == "Ready")


def test_a_run_that_begins_to_violate_a_rule_ends_when_the_reconciler_has_died() -> None:
    async def body(life: Life) -> None:
        await changed(life, {"parameters": {"FIXED": "b"}})
        assert stored(life)["status"]["planStatus"]["deploy"]["status"] == "IN_PROGRESS"
        await life.crash(0)
        await asyncio.sleep(1.0)
        await asyncio.sleep(WAIT)
        entry = stored(life)["status"]["planStatus"]["deploy"]
        assert entry["status"] == "FATAL_ERROR"
        assert "parameter 'FIXED' is immutable" in entry["message"]
        assert ready(life)[0] == "False"

    unlawful(body, STUCK)


def test_a_violation_is_refused_until_it_is_taken_back() -> None:
    async def body(life: Life) -> None:
        assert ready(life) == ("True", "ResourcesReady")
        await changed(life, {"parameters": {"FIXED": "b"}})
        assert ready(life)[0] == "False"
        await changed(life, {"parameters": {"FIXED": "a"}})
        assert ready(life) == ("True", "ResourcesReady")

    unlawful(body, DONE)


def test_a_value_outside_of_its_bounds_runs_nothing_until_it_is_taken_back() -> None:
    async def body(life: Life) -> None:
        for name, value, good, text in (
            ("ZONE", "EU", "us-2", "it does not match the pattern"),
            ("COUNT", "10", "9", "it is above the maximum 9; set 9 or less"),
        ):
            before = stored(life)["status"]["lastRun"]["uid"]
            await changed(life, {"parameters": {name: value}})
            assert ready(life) == ("False", "ParameterInvalid")
            [message] = [
                one["message"]
                for one in stored(life)["status"]["conditions"]
                if one["type"] == "Ready"
            ]
            assert f'parameter "{name}" has an invalid value "{value}": {text}' in message
            assert stored(life)["status"]["lastRun"]["uid"] == before
            await changed(life, {"parameters": {name: good}})
            assert ready(life) == ("True", "ResourcesReady")
            assert stored(life)["status"]["lastRun"]["uid"] != before

    unlawful(body, DONE)


def test_a_cancelled_run_that_never_began_makes_no_violation_good() -> None:
    async def body(life: Life) -> None:
        leader = life.replicas[0].candidate
        leader.end()
        await changed(life, {"parameters": {"FIXED": "b"}})
        await changed(life, {"run": {"planName": "deploy", "uid": "x"}})
        await changed(life, {"run": "cancel"})
        leader.begin()
        await asyncio.sleep(WAIT)
        assert stored(life)["spec"]["planExecution"] == {}
        assert ready(life)[0] == "False"
        last = stored(life)["status"]["lastRun"]
        assert last["parameters"]["FIXED"] == fingerprint("a")

    unlawful(body, DONE)


def test_an_upgrade_from_what_is_gone_is_refused_until_it_is_known_what_it_may_change() -> None:
    async def body(life: Life) -> None:
        before, after = version(DONE), version(DONE)
        before["spec"]["parameters"] = [{"name": "FIXED", "default": "a"}]
        after["metadata"]["name"] = "v2"
        await life.put_version(after)
        await life.user.delete_version("v1")
        await changed(life, {"of": "v2", "parameters": {"FIXED": "b"}})
        assert ready(life) == ("False", "ParameterImmutable")
        assert stored(life)["status"]["lastRun"]["operatorVersion"]["name"] == "v1"
        await life.put_version(before)
        await asyncio.sleep(WAIT)
        assert ready(life) == ("True", "ResourcesReady")
        assert stored(life)["status"]["lastRun"]["operatorVersion"]["name"] == "v2"

    unlawful(body, DONE)


def test_an_upgrade_from_what_is_gone_to_another_operator_is_refused() -> None:
    async def body(life: Life) -> None:
        after = version(DONE)
        after["metadata"]["name"] = "v2"
        after["spec"]["operator"]["name"] = "other"
        await life.put_version(after)
        await life.user.delete_version("v1")
        await changed(life, {"of": "v2"})
        assert ready(life) == ("False", "OperatorChanged")

    unlawful(body, DONE)


def test_a_retry_of_a_plan_that_there_is_not_counts_as_honoured() -> None:
    async def body(life: Life) -> None:
        await life.user.set("i", {"historyLimit": 0})
        await asyncio.sleep(WAIT)
        await changed(life, {"run": {"planName": "none", "uid": "x"}})
        failed = stored(life)["status"]["planStatus"]["none"]["uid"]
        await changed(life, {"run": {"planName": "none", "retryOf": failed}})
        first = stored(life)["status"]["planStatus"]["none"]
        assert first["retryOf"] == failed
        await changed(life, {"run": {"planName": "none", "retryOf": failed}})
        assert stored(life)["status"]["planStatus"]["none"] == first
        assert not [what for _, _, what in life.observed.events if what == "retrynotlast"]

    unlawful(body, DONE)
