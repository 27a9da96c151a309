"""`plan retry` against an API server: what it tells beforehand, sends, and refuses to send."""

from typing import Any

import pytest

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]
UID = "3f2a1b2c-0000-4000-8000-000000000000"
STEPS = {"make": "COMPLETE", "copy": "FATAL_ERROR", "check": "PENDING", "log": "COMPLETE"}


def failed(api: FakeApi, state: str = "FATAL_ERROR", plan: str = "deploy") -> JsonObject:
    """Let the last run of instance `tea` be over, and return its entry."""
    instance = api.objects["instances", "tea"]
    status(state, plan=plan, done=True)(instance)
    entry: JsonObject = instance["status"]["planStatus"][plan]
    steps = [{"name": name, "status": one} for name, one in STEPS.items()]
    entry |= {"uid": UID, "phases": [{"name": "main", "status": state, "steps": steps}]}
    return entry


def sent(api: FakeApi) -> JsonObject:
    body = api.requests[-1][2]
    assert body is not None
    execution: JsonObject = body["spec"]["planExecution"]
    return execution


def test_the_last_run_goes_on_at_its_first_unfinished_step(kudo: Cli, installed: FakeApi) -> None:
    failed(installed)
    ran = kudo("plan", "retry", "--instance", "tea")
    assert (ran.code, ran.out) == (
        ExitCode.OK,
        "Triggered retry of deploy plan for kitchen/tea instance\n",
    )
    assert ran.err == (
        "Retry of run 3f2a1b2c of plan deploy: it begins at main.copy.\n"
        "These steps stay finished: main.make, main.log\n"
    )
    execution = sent(installed)
    assert execution.pop("uid") not in {"", UID}
    assert execution == {
        "planName": "deploy",
        "retryOf": UID,
        "from": None,
        "status": None,
        "parameters": None,
    }


def test_from_names_the_steps_that_it_assumes_finished(kudo: Cli, installed: FakeApi) -> None:
    failed(installed)
    retry = ("plan", "retry", "--instance", "tea", "--name", "deploy", "--from", "main.check")
    ran = kudo(*retry)
    assert ran.code == ExitCode.OK
    assert ran.err == (
        "Retry of run 3f2a1b2c of plan deploy: it begins at main.check.\n"
        "These steps stay finished: main.make\n"
        "These steps are assumed finished, although they are not: main.copy\n"
        "These steps run again, although they were finished: main.log\n"
    )
    assert (sent(installed)["retryOf"], sent(installed)["from"]) == (UID, "main.check")


def test_the_plan_is_the_one_that_ran_last(kudo: Cli, installed: FakeApi) -> None:
    failed(installed)
    failed(installed, plan="brew")["uid"] = "2"
    installed.objects["instances", "tea"]["status"]["lastRun"] = {"plan": "brew", "uid": "2"}
    assert kudo("plan", "retry", "--instance", "tea").code == ExitCode.OK
    assert (sent(installed)["planName"], sent(installed)["retryOf"]) == ("brew", "2")


@pytest.mark.parametrize(
    ("argv", "code", "text"),
    [
        ([], ExitCode.NOT_FOUND, "no plan of instance kitchen/tea ever ran: there is nothing to "),
        (
            ["--name", "deploy"],
            ExitCode.NOT_FOUND,
            (
                "plan deploy of instance kitchen/tea never ran: there is nothing to retry; run it: "
                "kubectl kudo plan trigger --instance tea -n kitchen --name deploy\n"
            ),
        ),
        (
            ["--name", "stir"],
            ExitCode.NOT_FOUND,
            "instance kitchen/tea has no plan stir; its plans: deploy\n",
        ),
    ],
)
def test_what_never_ran_is_not_retried(
    kudo: Cli, installed: FakeApi, argv: list[str], code: ExitCode, text: str
) -> None:
    ran = kudo("plan", "retry", "--instance", "tea", *argv)
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith(f"Error: {text}")
    assert installed.writes() == []


def test_a_trigger_is_no_retry_whatever_a_manifest_keeps(kudo: Cli, installed: FakeApi) -> None:
    kept = {"planName": "deploy", "uid": UID, "retryOf": "1", "from": "main.app"}
    installed.objects["instances", "tea"]["spec"]["planExecution"] = kept
    assert kudo("plan", "trigger", "--instance", "tea", "--name", "deploy").code == ExitCode.OK
    stored = installed.objects["instances", "tea"]["spec"]["planExecution"]
    assert set(stored) == {"planName", "uid"}


def test_a_retry_and_a_run_that_timed_out_are_shown(kudo: Cli, installed: FakeApi) -> None:
    failed(installed)["retryOf"] = "9e8d7c6b-0000-4000-8000-000000000000"
    tea = installed.objects["instances", "tea"]
    tea["status"]["history"] = [{"plan": "deploy", "uid": UID, "reason": "TimedOut"}]
    shown = "[FATAL_ERROR], timed out, retry of 9e8d7c6b\n"
    assert shown in kudo("plan", "status", "--instance", "tea").out
    described = kudo("describe", "instance", "tea").out
    assert "FATAL_ERROR (timed out, retry of 9e8d7c6b)" in described
    assert kudo("get", "instances", "-o", "wide").out.splitlines()[0].endswith("RETRY OF")


def test_from_is_completed_with_the_steps_of_the_run_in_the_order_of_the_plan(
    kudo: Cli, installed: FakeApi
) -> None:
    failed(installed)
    retry = ("__complete", "plan", "retry", "--instance", "tea")
    assert kudo(*retry, "--from", "main.c").out == (
        "main.copy\tFATAL_ERROR\nmain.check\tPENDING\n:36\n"
    )
    assert kudo(*retry, "--name", "deploy", "--from", "main.m").out == "main.make\tCOMPLETE\n:36\n"
    assert kudo(*retry, "--name", "brew", "--from", "").out == ":36\n"
    assert kudo(*retry, "--name", "").out == "deploy\n:4\n"
    assert kudo("__complete", "plan", "retry", "--instance", "no", "--from", "").out == ":36\n"
    assert kudo("__complete", "suspend", "--instance", "").out.startswith("tea\t")
    offered = kudo("__complete", "plan", "history", "-o", "").out
    assert offered == "json\nname\ntable\nwide\nyaml\n:4\n"
