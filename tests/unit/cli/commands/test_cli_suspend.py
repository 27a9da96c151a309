"""`suspend` and `resume` against an API server: what they send, print and return."""

from typing import Any

import pytest

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import Cli, running
from tests.unit.cli.fake_api import Edit, FakeApi, interrupted, status

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


def test_the_pause_is_sent_to_the_instance_that_was_seen(kudo: Cli, installed: FakeApi) -> None:
    running(installed)
    assert kudo("suspend", "--instance", "tea").code == ExitCode.OK
    uid = tea(installed)["metadata"]["uid"]
    patch = {"metadata": {"uid": uid}, "spec": {"suspend": True}}
    assert installed.requests[-1] == ("PATCH", "instances/tea", patch)


def test_a_plan_that_has_not_begun_waits(kudo: Cli, installed: FakeApi) -> None:
    tea(installed)["spec"]["planExecution"] = {"planName": "deploy", "uid": "1"}
    ran = kudo("suspend", "--instance", "tea")
    assert ran.out.endswith(f"plan deploy was not started yet, and waits until {RESUME}\n")
    ran = kudo("resume", "--instance", "tea")
    assert ran.out == "Resumed kitchen/tea instance\nplan deploy begins\n"


def test_where_no_plan_was_held_up_there_is_no_run_to_wait_for(
    kudo: Cli, installed: FakeApi
) -> None:
    tea(installed)["spec"]["suspend"] = True
    ran = kudo("resume", "--instance", "tea", "--wait")
    assert (ran.code, ran.out, ran.err) == (
        ExitCode.OK,
        "Resumed kitchen/tea instance\nno plan was held up\n",
        "There is no run to wait for.\n",
    )
    assert "suspend" not in tea(installed)["spec"]


def test_a_deletion_is_held_up_by_no_pause(kudo: Cli, installed: FakeApi) -> None:
    tea(installed)["metadata"]["deletionTimestamp"] = "2030-05-06T07:08:09Z"
    ran = kudo("suspend", "--instance", "tea")
    assert (ran.code, ran.out) == (ExitCode.ERROR, "")
    assert ran.err == (
        "Error: instance kitchen/tea is being deleted, which no pause holds up; see it: kubectl "
        "kudo plan status --instance tea -n kitchen\n"
    )


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


# The wait for a pause


def seen(obj: JsonObject) -> JsonObject:
    """Give an Instance the status that the reconciler writes when it sees the pause."""
    obj.setdefault("status", {})["suspendedAt"] = "2030-05-06T07:08:09Z"
    return obj


def unchanged(obj: JsonObject) -> JsonObject:
    return obj


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
    installed.script = [interrupted]
    ran = kudo("suspend", "--instance", "tea", "--wait")
    assert ran.code == ExitCode.INTERRUPTED
    assert ran.out.startswith("Suspended kitchen/tea instance\n")
    assert ran.err == (
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
