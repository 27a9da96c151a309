"""What is not in force, as `describe`, `plan status` and `update` say it."""

import json
from typing import Any

import pytest

from kubectl_kudo.reading.instance_state import is_due, not_in_force
from tests.unit.cli.conftest import Cli, complete
from tests.unit.cli.fake_api import Edit, FakeApi, status

JsonObject = dict[str, Any]
REST: JsonObject = {"parameters": ["SIZE"], "plan": "update"}
WAITS = (
    "SIZE (plan update waits, since plan custom failed; retry that: kubectl kudo plan retry "
    "--instance tea -n kitchen"
)
UNCHANGED = "nothing changed: instance kitchen/tea has these values already\n"
DESCRIBE = ("describe", "instance", "tea")


def instance(
    ran: str = "COMPLETE", *, run: str = "", rest: JsonObject = REST, deleting: bool = False
) -> JsonObject:
    """Return an Instance whose plan `custom` ran last, with this state.

    Args:
        ran: State of that run.
        run: The plan that is scheduled.
        rest: status.notInForce.
        deleting: Whether it is being deleted.
    """
    uid = {"custom": "1"}.get(run, "2")
    metadata = {"name": "tea", "namespace": "kitchen", "uid": "I"}
    return {
        "metadata": metadata | ({"deletionTimestamp": "2030-01-01T00:00:00Z"} if deleting else {}),
        "spec": {"planExecution": {"planName": run, "uid": uid} if run else {}},
        "status": {
            "notInForce": rest,
            "lastRun": {"plan": "custom", "uid": "1"},
            "planStatus": {"custom": {"name": "custom", "uid": "1", "status": ran}},
        },
    }


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (instance(rest={}), ""),
        (instance(deleting=True), ""),
        (
            instance("IN_PROGRESS", run="custom"),
            "SIZE (plan update runs when plan custom is COMPLETE)",
        ),
        (instance(), "SIZE (plan update is about to run)"),
        (instance(run="update"), "SIZE (plan update is scheduled)"),
        (
            instance("FATAL_ERROR"),
            f"{WAITS}, or run kubectl kudo plan trigger --name update --instance tea -n kitchen)",
        ),
        (instance(rest={"parameters": ["SIZE"]}), "SIZE (Ready says what forbids it)"),
        (
            instance(rest={**REST, "parameters": [*"ABCDEFG"], "parametersLeftOut": 3}),
            "A, B, C, D, E and 5 more (plan update is about to run)",
        ),
        (
            instance(rest={"parameters": ["a\x1b[2J"], "plan": "up\ndate"}),
            r"a\x1b[2J (plan up date is about to run)",
        ),
    ],
)
def test_what_is_not_in_force_and_why(found: JsonObject, text: str) -> None:
    assert not_in_force(found) == text
    assert is_due(found) == ("is about to run" in text)


def with_rest(edit: Edit, rest: JsonObject | None = REST) -> Edit:
    """Return a change that says in addition what is not in force."""

    def change(found: JsonObject) -> JsonObject | None:
        found = edit(found) or found
        if rest is None:
            found["status"].pop("notInForce", None)
        else:
            found["status"]["notInForce"] = rest
        found["status"]["lastRun"] = {"plan": "custom", "uid": "run"}
        return found

    return change


def scheduled(plan: str, uid: str) -> Edit:
    def change(found: JsonObject) -> JsonObject:
        found["spec"]["planExecution"] = {"planName": plan, "uid": uid}
        return found

    return change


def put(api: FakeApi, *edits: Edit) -> None:
    for edit in edits:
        edit(api.objects["instances", "tea"])


def test_describe_and_plan_status_say_it(kudo: Cli, installed: FakeApi) -> None:
    put(
        installed,
        scheduled("custom", "run"),
        with_rest(status("FATAL_ERROR", plan="custom", done=True)),
    )
    (line,) = [one for one in kudo(*DESCRIBE).out.splitlines() if one.startswith("Not in force:")]
    assert WAITS in line
    assert f"Not in force: {WAITS}" in kudo("plan", "status", "--instance", "tea").out
    assert json.loads(kudo(*DESCRIBE, "-o", "json").out)["notInForce"] == REST


def test_an_update_waits_until_the_rest_is_in_force(kudo: Cli, installed: FakeApi) -> None:
    installed.plan = "custom"
    installed.script = [
        with_rest(status("IN_PROGRESS", plan="custom")),
        with_rest(status("COMPLETE", plan="custom", done=True)),
        with_rest(scheduled("update", "second")),
        with_rest(status("IN_PROGRESS", plan="update"), None),
        with_rest(status("COMPLETE", plan="update", done=True), None),
    ]
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert (ran.code, ran.out) == (
        0,
        "Instance tea was updated.\nCUPS: 2 → 3; plan custom runs\ninstance kitchen/tea ready\n",
    )
    stored = installed.objects["instances", "tea"]
    assert stored["status"]["planStatus"]["update"]["status"] == "COMPLETE"


def test_an_update_fails_with_the_plan_of_the_rest(kudo: Cli, installed: FakeApi) -> None:
    installed.plan = "custom"
    installed.script = [
        with_rest(status("COMPLETE", plan="custom", done=True)),
        with_rest(scheduled("update", "second")),
        with_rest(status("FATAL_ERROR", plan="update", done=True), None),
    ]
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 6
    assert "plan update ended with FATAL_ERROR" in ran.err


def test_values_that_are_set_and_not_in_force_are_no_success(kudo: Cli, installed: FakeApi) -> None:
    put(
        installed,
        scheduled("custom", "run"),
        with_rest(status("FATAL_ERROR", plan="custom", done=True)),
    )
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=2", "--wait")
    assert (ran.code, ran.out) == (6, UNCHANGED)
    assert ran.err.startswith("Error: instance kitchen/tea: not in force: SIZE (plan update waits,")
    again = kudo("update", "--instance", "tea", "-p", "CUPS=2")
    assert again.code == 0
    assert again.err.startswith("Not in force: SIZE (plan update waits, since plan custom failed;")


def test_a_value_that_is_about_to_come_into_force_is_waited_for(
    kudo: Cli, installed: FakeApi
) -> None:
    complete(installed, "update")
    put(
        installed,
        scheduled("custom", "run"),
        with_rest(status("COMPLETE", plan="custom", done=True)),
    )
    installed.script = [
        with_rest(scheduled("update", "second")),
        with_rest(status("COMPLETE", plan="update", done=True), None),
    ]
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=2", "--wait")
    assert (ran.code, ran.out) == (0, f"{UNCHANGED}instance kitchen/tea ready\n")
