"""`plan history`, `plan wait` and `plan cancel`, and the events of a run that failed."""

from typing import Any

import pytest

from kubectl_kudo.commands.plan.history import last_runs
from kubectl_kudo.reading.events import lines
from kubectl_kudo.reading.outcome import State, Target, outcome_of_cancel
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]
TIME = "2030-05-06T07:08:09Z"


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


@pytest.fixture
def tea(api: FakeApi) -> FakeApi:
    """Return a server with an instance `tea` whose plan `deploy` is about to run."""
    execution = {"planName": "deploy", "uid": "1"}
    spec = {"operatorVersion": {"name": "teapot-1"}, "planExecution": execution}
    api.add("instances", {"metadata": {"name": "tea", "uid": "I"}, "spec": spec})
    return api


def ended(api: FakeApi, state: str, message: str = "") -> None:
    """Let the run be over."""
    status(state, message=message, done=True)(api.objects["instances", "tea"])


def event(reason: str, message: str, *, uid: str = "1", kind: str = "Warning") -> JsonObject:
    return {
        "metadata": {"name": f"tea.{uid}.{reason.lower()}", "namespace": "kitchen"},
        "involvedObject": {"kind": "Instance", "name": "tea", "uid": "I"},
        "type": kind,
        "reason": reason,
        "message": message,
        "lastTimestamp": TIME,
    }


# history


def instance(execution: JsonObject | None = None, **entries: JsonObject) -> JsonObject:
    return {"spec": {"planExecution": execution or {}}, "status": {"planStatus": entries}}


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (
            {"status": "COMPLETE", "lastUpdatedTimestamp": TIME},
            "last finished run at 2030-05-06T07:08:09 (COMPLETE)",
        ),
        (
            {"status": "FATAL_ERROR", "lastUpdatedTimestamp": TIME},
            "last finished run at 2030-05-06T07:08:09 (FATAL_ERROR)",
        ),
        ({"status": "COMPLETE"}, "COMPLETE"),
        ({"status": "NEVER_RUN"}, "NEVER_RUN"),
        ({"status": ""}, "never run"),
        ({"status": "IN_PROGRESS", "lastUpdatedTimestamp": TIME}, "is running (IN_PROGRESS)"),
        ({"status": "ERROR", "lastUpdatedTimestamp": TIME}, "is running (ERROR)"),
    ],
)
def test_the_history_tells_how_each_plan_ended(entry: JsonObject, text: str) -> None:
    """KUDO 0.19 said of running plans that they have finished (BTO-63)."""
    assert _lines(instance(deploy=entry)) == [f"deploy ({text})"]


def _lines(found: JsonObject) -> list[str]:
    return [node.text for node in last_runs(found) if node.plain]


def test_a_scheduled_run_is_running_whatever_became_of_the_one_before() -> None:
    before = {"status": "COMPLETE", "uid": "1", "lastUpdatedTimestamp": TIME}
    again = instance({"planName": "deploy", "uid": "2"}, deploy=before)
    assert _lines(again) == ["deploy (is running (PENDING))"]
    first = instance({"planName": "deploy", "uid": "1"}, brew={"status": "NEVER_RUN"})
    assert _lines(first) == [
        "brew (NEVER_RUN)",
        "deploy (is running (PENDING))",
    ]


# wait


def test_wait_has_nothing_to_wait_for_before_the_first_run(kudo: Cli, tea: FakeApi) -> None:
    tea.objects["instances", "tea"]["spec"]["planExecution"] = {}
    ran = kudo("plan", "wait", "--instance", "tea")
    assert ran.code == 0
    assert ran.out.startswith("No plan ever run for instance")


# cancel


def test_cancel_ends_exactly_the_run_that_was_seen(kudo: Cli, tea: FakeApi) -> None:
    ran = kudo("plan", "cancel", "--instance", "tea")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "Cancelled deploy plan of kitchen/tea instance\n"
    assert tea.objects["instances", "tea"]["spec"]["planExecution"] == {
        "planName": "deploy",
        "uid": "1",
        "status": "FATAL_ERROR",
    }
    patch: Any = tea.requests[-1][2]
    assert patch == [
        {"op": "test", "path": "/spec/planExecution/planName", "value": "deploy"},
        {"op": "test", "path": "/spec/planExecution/uid", "value": "1"},
        {"op": "add", "path": "/spec/planExecution/status", "value": "FATAL_ERROR"},
    ]


def give_way(tea: FakeApi, execution: JsonObject) -> None:
    """Let the run give way to another one between reading and cancelling."""

    def end(_: str) -> None:
        obj = tea.objects["instances", "tea"]
        status("COMPLETE")(obj)
        obj["spec"]["planExecution"] = execution

    tea.before_write = end


def test_a_run_that_has_ended_meanwhile_is_not_started_again(kudo: Cli, tea: FakeApi) -> None:
    give_way(tea, {})
    ran = kudo("plan", "cancel", "--instance", "tea")
    assert ran.code == 255
    assert ran.err == (
        "Error: the run of plan deploy of instance kitchen/tea ended before it was cancelled; "
        "plan deploy is COMPLETE\n"
    )
    assert tea.objects["instances", "tea"]["spec"]["planExecution"] == {}


def test_a_newer_run_is_left_alone(kudo: Cli, tea: FakeApi) -> None:
    newer = {"planName": "deploy", "uid": "2"}
    give_way(tea, newer)
    ran = kudo("plan", "cancel", "--instance", "tea")
    assert ran.code == 255
    assert "a newer run, of plan deploy, is in progress and was left alone" in ran.err
    assert tea.objects["instances", "tea"]["spec"]["planExecution"] == newer


def test_a_cancelled_run_that_takes_too_long_stays_cancelled(kudo: Cli, tea: FakeApi) -> None:
    tea.script = [status("IN_PROGRESS")]
    ran = kudo("plan", "cancel", "--instance", "tea", "--wait", "--wait-time", "1")
    assert ran.code == 7
    assert ran.err.endswith(
        "The plan stays cancelled.\nSee its end: kubectl kudo plan wait --instance tea -n kitchen\n"
    )


def test_a_run_that_was_complete_before_it_was_cancelled_is_told(kudo: Cli, tea: FakeApi) -> None:
    tea.script = [status("COMPLETE", done=True)]
    ran = kudo("plan", "cancel", "--instance", "tea", "--wait")
    assert ran.code == 255
    assert "Error: plan deploy of instance kitchen/tea was COMPLETE before" in ran.err


def test_an_instance_that_goes_away_runs_nothing_any_more(kudo: Cli, tea: FakeApi) -> None:
    tea.script = [lambda _: None]
    ran = kudo("plan", "cancel", "--instance", "tea", "--wait")
    assert ran.code == 0
    assert ran.out.endswith("plan deploy of instance kitchen/tea has ended\n")


def test_a_cancelled_run_is_over_when_nothing_names_it() -> None:
    target = Target("I", "kitchen/tea", "deploy", "1")
    running: JsonObject = {
        "metadata": {"uid": "I"},
        "spec": {"planExecution": {"planName": "deploy", "uid": "1"}},
    }
    assert outcome_of_cancel(target, running).state is State.WAITING
    assert outcome_of_cancel(target, {**running, "spec": {}}).state is State.DONE
    assert outcome_of_cancel(target, {**running, "metadata": {"uid": "J"}}).state is State.DONE
    assert outcome_of_cancel(target, None).state is State.DONE


# The events of a run


def test_warnings_of_the_failed_run_are_shown_with_it(kudo: Cli, tea: FakeApi) -> None:
    for one in (
        event("ApplyFailed", "no such kind: Tea"),
        event("PlanFinished", "Execution of plan deploy finished with status FATAL_ERROR"),
        event("ApplyFailed", "of an older run", uid="0"),
        event("PlanStarted", "Execution of plan deploy started", kind="Normal"),
    ):
        tea.add("events", one)
    tea.script = [status("FATAL_ERROR", message="no water")]
    ran = kudo("plan", "wait", "--instance", "tea")
    assert ran.code == 6
    assert ran.err.endswith(
        "FATAL_ERROR at deploy.main.app: no water\n"
        "Warning events of this run:\n  ApplyFailed: no such kind: Tea\n"
        "See why: kubectl kudo why tea -n kitchen\n"
    )


def test_events_are_told_in_the_order_of_time() -> None:
    early, late = event("B", "first"), event("A", "second")
    early["lastTimestamp"] = "2030-05-06T07:08:08Z"
    assert lines([late, early], "tea.1.") == (
        "Warning events of this run:\n  B: first\n  A: second"
    )
    assert lines([late, early], "tea.1.", "it was the first") == (
        "Warning events of this run:\n  B (see above)\n  A: second"
    )
    assert lines([late, early], "tea.2.") == ""
