"""`suspend` and `resume` against an API server: what they send, print and return."""

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from kubectl_kudo.core.errors import ExitCode
from tests.unit.cli.conftest import Cli, running
from tests.unit.cli.fake_api import Edit, FakeApi, status

JsonObject = dict[str, Any]
RESUME = "`kubectl kudo resume --instance tea -n kitchen`"


def tea(api: FakeApi) -> JsonObject:
    return api.objects["instances", "tea"]


@pytest.fixture
def family(installed: FakeApi) -> FakeApi:
    """Return the server with `tea`, whose child is `pot`, whose child is `lid`."""
    owner = tea(installed)["metadata"]["uid"]
    for name in ("pot", "lid"):
        metadata = {"name": name, "ownerReferences": [{"kind": "Instance", "uid": owner}]}
        spec = {"operatorVersion": {"name": "pot-1"}}
        added = installed.add("instances", {"metadata": metadata, "spec": spec})
        owner = added["metadata"]["uid"]
    return installed


def test_a_running_plan_is_held_up(kudo: Cli, installed: FakeApi) -> None:
    running(installed)
    ran = kudo("suspend", "--instance", "tea")
    assert ran.code == ExitCode.OK
    assert ran.err == (
        "Writes that are in flight may still arrive; with --wait the command ends when nothing "
        "more is sent.\n"
    )
    assert ran.out == (
        "Suspended kitchen/tea instance\n"
        "plan deploy is held up: what was sent is observed, nothing more is sent until "
        f"{RESUME}\n"
    )
    assert tea(installed)["spec"]["suspend"] is True
    uid = tea(installed)["metadata"]["uid"]
    patch = {"metadata": {"uid": uid}, "spec": {"suspend": True}}
    assert installed.requests[-1] == ("PATCH", "instances/tea", patch)


def test_a_plan_that_has_not_begun_waits(kudo: Cli, installed: FakeApi) -> None:
    tea(installed)["spec"]["planExecution"] = {"planName": "deploy", "uid": "1"}
    ran = kudo("suspend", "--instance", "tea")
    assert ran.out.endswith(f"plan deploy was not started yet, and waits until {RESUME}\n")
    ran = kudo("resume", "--instance", "tea")
    assert ran.out == "Resumed kitchen/tea instance\nplan deploy begins\n"


def test_an_idle_instance_is_suspended_and_resumed(kudo: Cli, installed: FakeApi) -> None:
    ran = kudo("suspend", "--instance", "tea")
    assert ran.out.endswith(f"no plan is running; one that is to run waits until {RESUME}\n")
    ran = kudo("resume", "--instance", "tea", "--wait")
    assert (ran.code, ran.out, ran.err) == (
        ExitCode.OK,
        "Resumed kitchen/tea instance\nno plan was held up\n",
        "There is no run to wait for.\n",
    )
    assert "suspend" not in tea(installed)["spec"]


@pytest.mark.parametrize(
    ("verb", "state", "text"),
    [
        ("suspend", True, "Instance kitchen/tea is already suspended\n"),
        ("resume", None, "Instance kitchen/tea is not suspended\n"),
        ("resume", False, "Instance kitchen/tea is not suspended\n"),
    ],
)
def test_what_is_so_already_is_not_written(
    kudo: Cli, installed: FakeApi, verb: str, state: bool | None, text: str
) -> None:
    if state is not None:
        tea(installed)["spec"]["suspend"] = state
    ran = kudo(verb, "--instance", "tea")
    assert (ran.code, ran.out, ran.err) == (ExitCode.OK, text, "")
    assert installed.writes() == []


def test_resume_waits_for_the_plan_that_goes_on(kudo: Cli, installed: FakeApi) -> None:
    running(installed)
    tea(installed)["spec"]["suspend"] = True
    installed.script = [status("COMPLETE"), status("COMPLETE", done=True)]
    ran = kudo("resume", "--instance", "tea", "--wait")
    assert (ran.code, ran.out) == (
        ExitCode.OK,
        "Resumed kitchen/tea instance\nplan deploy goes on\ninstance kitchen/tea ready\n",
    )


def test_a_deletion_is_held_up_by_no_pause(kudo: Cli, installed: FakeApi) -> None:
    tea(installed)["metadata"]["deletionTimestamp"] = "2030-05-06T07:08:09Z"
    ran = kudo("suspend", "--instance", "tea")
    assert (ran.code, ran.out) == (ExitCode.ERROR, "")
    assert ran.err == (
        "Error: instance kitchen/tea is being deleted, which no pause holds up; see it: kubectl "
        "kudo plan status --instance tea -n kitchen\n"
    )


@pytest.mark.parametrize("mode", ["client", "server"])
def test_a_dry_run_stores_nothing_and_prints_the_object(
    kudo: Cli, installed: FakeApi, mode: str
) -> None:
    ran = kudo("suspend", "--instance", "tea", f"--dry-run={mode}", "-o", "json")
    assert ran.code == ExitCode.OK, ran.err
    assert json.loads(ran.out)["spec"]["suspend"] is True
    assert "Suspended kitchen/tea instance (" in ran.err
    assert "suspend" not in tea(installed)["spec"]


def patched(api: FakeApi) -> list[str]:
    return [line.removeprefix("PATCH instances/") for line in api.writes()]


def test_children_are_suspended_from_below_and_resumed_from_above(
    kudo: Cli, family: FakeApi
) -> None:
    assert kudo("suspend", "--instance", "tea").code == ExitCode.OK
    assert patched(family) == ["tea"]
    ran = kudo("suspend", "--instance", "tea", "--children")
    assert ran.code == ExitCode.OK
    assert [line for line in ran.out.splitlines() if "nstance" in line.partition("plan")[0]] == [
        "Suspended kitchen/lid instance",
        "Suspended kitchen/pot instance",
        "Instance kitchen/tea is already suspended",
    ]
    family.requests.clear()
    assert kudo("resume", "--instance", "tea", "--children").code == ExitCode.OK
    assert patched(family) == ["tea", "pot", "lid"]


def test_a_child_that_is_being_deleted_is_left_alone(kudo: Cli, family: FakeApi) -> None:
    family.objects["instances", "lid"]["metadata"]["deletionTimestamp"] = "2030-05-06T07:08:09Z"
    ran = kudo("suspend", "--instance", "tea", "--children")
    assert ran.code == ExitCode.OK
    assert ran.out.startswith("Instance kitchen/lid is being deleted, which no pause holds up\n")
    assert patched(family) == ["pot", "tea"]


def test_a_failure_names_what_was_done_before(kudo: Cli, family: FakeApi) -> None:
    family.refusals["PATCH", "instances/pot"] = (403, "denied the request: no")
    ran = kudo("suspend", "--instance", "tea", "--children")
    assert ran.code == ExitCode.DENIED
    assert ran.err == ("Error: denied the request: no\n  done before: lid\n  not done: pot, tea\n")


def test_who_may_not_list_instances_suspends_none_of_them(kudo: Cli, family: FakeApi) -> None:
    family.refusals["LIST", "instances"] = (403, "instances.kudo.dev is forbidden")
    ran = kudo("suspend", "--instance", "tea", "--children")
    assert (ran.code, ran.out) == (ExitCode.DENIED, "")
    assert family.writes() == []


@pytest.mark.parametrize("verb", ["suspend", "resume"])
def test_the_instance_has_to_be_named_and_exist(kudo: Cli, installed: FakeApi, verb: str) -> None:
    assert kudo(verb).err == 'Error: required flag(s) "instance" not set\n'
    assert kudo(verb, "tea").code == ExitCode.USAGE
    ran = kudo(verb, "--instance", "milk")
    assert (ran.code, ran.err) == (
        ExitCode.NOT_FOUND,
        "Error: instance milk in namespace kitchen does not exist in the cluster\n",
    )


# The wait for a pause


def seen(obj: JsonObject) -> JsonObject:
    """Give an Instance the status that the reconciler writes when it sees the pause."""
    obj.setdefault("status", {})["suspendedAt"] = "2030-05-06T07:08:09Z"
    return obj


def unchanged(obj: JsonObject) -> JsonObject:
    return obj


def test_suspend_waits_until_the_reconciler_has_seen_it(kudo: Cli, installed: FakeApi) -> None:
    running(installed)
    installed.script = [status("IN_PROGRESS", message="one more"), unchanged, seen]
    ran = kudo("suspend", "--instance", "tea", "--wait")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert ran.out.endswith("\ninstance kitchen/tea is suspended: nothing more is sent\n")
    assert installed.script == []


def test_one_that_it_has_seen_before_is_not_waited_for(kudo: Cli, installed: FakeApi) -> None:
    tea(installed)["spec"]["suspend"] = True
    seen(tea(installed))
    ran = kudo("suspend", "--instance", "tea", "--wait")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert ran.out == (
        "Instance kitchen/tea is already suspended\n"
        "instance kitchen/tea is suspended: nothing more is sent\n"
    )


def test_a_pause_that_nobody_sees_times_out_and_stays(kudo: Cli, installed: FakeApi) -> None:
    running(installed)
    ran = kudo("suspend", "--instance", "tea", "--wait", "--wait-time", "1")
    assert ran.code == ExitCode.TIMED_OUT
    assert ran.err == (
        "Error: failed to wait on instance kitchen/tea: timed out waiting for the condition after "
        "1s: the reconciler of KUDO has not seen the pause yet; is it running?\n"
        "The instance stays suspended.\n"
        "See whether the reconciler has seen it: kubectl kudo plan status --instance tea -n "
        "kitchen\n"
    )
    assert tea(installed)["spec"]["suspend"] is True


def resumed(obj: JsonObject) -> JsonObject:
    del obj["spec"]["suspend"]
    return obj


def deleting(obj: JsonObject) -> JsonObject:
    obj["metadata"]["deletionTimestamp"] = "2030-05-06T07:08:09Z"
    return obj


def replaced(obj: JsonObject) -> JsonObject:
    obj["metadata"]["uid"] = "another"
    return seen(obj)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (resumed, "was resumed while waiting for its pause"),
        (deleting, "is being deleted, which no pause holds up"),
        (lambda _: None, "was deleted while waiting for its pause"),
        (replaced, "was deleted while waiting for its pause"),
    ],
)
def test_a_pause_that_ends_before_it_is_seen_fails(
    kudo: Cli, installed: FakeApi, change: Edit, text: str
) -> None:
    running(installed)
    installed.script = [change]
    ran = kudo("suspend", "--instance", "tea", "--wait")
    assert (ran.code, ran.err) == (ExitCode.ERROR, f"Error: instance kitchen/tea {text}\n")


def test_an_interrupt_says_that_the_instance_stays_suspended(kudo: Cli, installed: FakeApi) -> None:
    running(installed)
    # Its warning is the sign that the wait has begun.
    installed.lost_watches = 1000
    command = [sys.executable, "-m", "kubectl_kudo", "suspend", "--instance", "tea", "--wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith(b"lost the watch of instance kitchen/tea")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out.startswith(b"Suspended kitchen/tea instance\n")
    assert err.decode() == (
        "\nStopped waiting for instance kitchen/tea. The instance stays suspended.\n"
        "See whether the reconciler has seen it: kubectl kudo plan status --instance tea -n "
        "kitchen\n"
    )


def test_with_children_all_of_them_are_waited_for(kudo: Cli, family: FakeApi) -> None:
    for name in ("lid", "tea"):
        seen(family.objects["instances", name])
    family.script = [unchanged, seen]
    ran = kudo("suspend", "--instance", "tea", "--wait", "--children")
    assert ran.code == ExitCode.OK, ran.err
    assert ran.out.splitlines()[-3:] == [
        f"instance kitchen/{name} is suspended: nothing more is sent"
        for name in ("lid", "pot", "tea")
    ]
    assert family.objects["instances", "pot"]["status"]["suspendedAt"]


def test_a_child_that_is_being_deleted_is_not_waited_for(kudo: Cli, family: FakeApi) -> None:
    deleting(family.objects["instances", "lid"])
    for name in ("pot", "tea"):
        seen(family.objects["instances", name])
    ran = kudo("suspend", "--instance", "tea", "--wait", "--children")
    assert ran.code == ExitCode.OK, ran.err
    assert "instance kitchen/lid is suspended" not in ran.out


@pytest.mark.parametrize("mode", ["client", "server"])
def test_a_dry_run_waits_for_nothing(kudo: Cli, installed: FakeApi, mode: str) -> None:
    running(installed)
    ran = kudo("suspend", "--instance", "tea", "--wait", f"--dry-run={mode}")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert "nothing more is sent\n" not in ran.out


# Where a pause is shown


def test_a_pause_is_shown_by_plan_status_get_and_describe(
    kudo: Cli, installed: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    running(installed)
    before = kudo("get", "instances", "-o", "wide").out
    tea(installed)["spec"]["suspend"] = True
    tea(installed)["status"]["suspendedAt"] = "2030-05-06T07:08:09Z"
    how = "(kubectl kudo resume --instance tea -n kitchen)"
    line = f"    ├── Suspended since 2030-05-06 07:08:09 {how}\n"
    assert line in kudo("plan", "status", "--instance", "tea").out
    assert line in kudo("plan", "status", "--instance", "tea", "--plan", "deploy").out
    assert line in kudo("plan", "status", "--instance", "tea", "--all").out
    described = kudo("describe", "instance", "tea").out
    assert f"Suspended:          suspended since 2030-05-06 07:08:09 {how}\n" in described
    data = json.loads(kudo("describe", "instance", "tea", "-o", "json").out)
    assert (data["suspended"], data["suspendedAt"]) == (True, "2030-05-06T07:08:09Z")
    after = kudo("get", "instances", "-o", "wide").out
    assert "SUSPENDED" not in before
    assert after.splitlines()[0].endswith("   SUSPENDED")
    assert after.splitlines()[1].endswith("   0s")


def test_a_pause_that_the_reconciler_has_not_seen_has_no_time(
    kudo: Cli, installed: FakeApi
) -> None:
    running(installed)
    tea(installed)["spec"]["suspend"] = True
    assert "Suspended; the reconciler has not seen it yet (kubectl" in (
        kudo("plan", "status", "--instance", "tea").out
    )
    assert kudo("get", "instances", "-o", "wide").out.splitlines()[1].endswith("<unknown>")


def test_a_pause_before_the_first_plan_is_shown(kudo: Cli, installed: FakeApi) -> None:
    tea(installed)["spec"]["suspend"] = True
    assert kudo("plan", "status", "--instance", "tea").out == (
        "No plan ever run for instance - nothing to show for instance tea\n"
        "Suspended; the reconciler has not seen it yet "
        "(kubectl kudo resume --instance tea -n kitchen)\n"
    )


def test_uninstall_says_that_it_ends_the_pause(kudo: Cli, installed: FakeApi) -> None:
    tea(installed)["spec"]["suspend"] = True
    tea(installed)["metadata"]["finalizers"] = ["kudo.dev.instance.cleanup"]
    ran = kudo("uninstall", "--instance", "tea")
    assert ran.code == ExitCode.OK
    assert ran.err.startswith(
        "instance tea is suspended: deleting it ends the pause, and plan cleanup runs\n"
    )


def test_a_suspended_instance_without_a_cleanup_plan_has_none_that_runs(
    kudo: Cli, installed: FakeApi
) -> None:
    tea(installed)["spec"]["suspend"] = True
    ran = kudo("uninstall", "--instance", "tea")
    assert ran.err == "instance tea is suspended: deleting it ends the pause\n"


def test_a_wait_tells_of_the_pause_and_goes_on_waiting(kudo: Cli, installed: FakeApi) -> None:
    running(installed)
    tea(installed)["spec"]["suspend"] = True

    def resumed(instance: JsonObject) -> JsonObject:
        del instance["spec"]["suspend"]
        return instance

    installed.script = [resumed, status("COMPLETE"), status("COMPLETE", done=True)]
    ran = kudo("plan", "wait", "--instance", "tea")
    assert ran.code == ExitCode.OK
    assert (
        "instance tea is suspended; the reconciler has not seen it yet (kubectl kudo resume "
        "--instance tea -n kitchen): what was sent is observed, nothing more is sent\n"
    ) in ran.err
    assert "instance tea is no longer suspended\n" in ran.err


@pytest.mark.parametrize("begun", [True, False])
def test_a_wait_that_gives_up_says_that_the_instance_is_suspended(
    kudo: Cli, installed: FakeApi, begun: bool
) -> None:
    running(installed)
    tea(installed)["spec"]["suspend"] = True
    if not begun:
        tea(installed)["status"] = {}
    ran = kudo("plan", "wait", "--instance", "tea", "--wait-time", "1")
    assert ran.code == ExitCode.TIMED_OUT
    waiting = "plan deploy is scheduled and not started"
    state = "deploy.main.app is IN_PROGRESS" if begun else waiting
    assert f"after 1s: {state}; the instance is suspended; the reconciler" in ran.err
    assert (
        "The plan goes on when the instance is resumed: "
        "kubectl kudo resume --instance tea -n kitchen\n"
    ) in ran.err
    assert "is the reconciler of KUDO running?" not in ran.err


def test_a_trigger_on_a_suspended_instance_says_that_the_run_waits(
    kudo: Cli, installed: FakeApi
) -> None:
    tea(installed)["spec"]["suspend"] = True
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy")
    assert ran.out == "Triggered deploy plan for kitchen/tea instance\n"
    assert ran.err.startswith("The instance is suspended; ")
    assert ran.err.endswith(": the run waits until it is resumed.\n")
