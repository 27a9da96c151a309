"""`adopt` against an API server: what it sends, waits for and prints."""

from typing import Any

import pytest

from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import Cli, running
from tests.unit.cli.fake_api import Edit, FakeApi
from tests.unit.cli.inventories import entry, identity, record

JsonObject = dict[str, Any]
REQUESTED = "kudo.dev/adopt-requested-at"
ONLY_READS = "it only reads and records: no object is changed or deleted\n"
ADOPT = ("adopt", "--instance", "tea")


def requested(api: FakeApi) -> str:
    annotations = api.objects["instances", "tea"]["metadata"].get("annotations") or {}
    return str(annotations.get(REQUESTED) or "")


def done(instance: JsonObject) -> JsonObject:
    """Do as the reconciler does at the end: remove the annotation."""
    del instance["metadata"]["annotations"][REQUESTED]
    return instance


def event(api: FakeApi, message: str) -> None:
    involved = {"kind": "Instance", "name": "tea", "uid": identity(api).uid}
    fields = {"involvedObject": involved, "reason": "InventoryAdopted", "message": message}
    api.add("events", {"metadata": {"name": "tea.1"}, **fields, "count": 1})


def recorded(api: FakeApi, message: str, *, complete: bool = True) -> Edit:
    """Return what the reconciler does: it records an object, and tells it before it is done."""
    stored = record(api, entry("ConfigMap", "leaves"), complete=False)

    def change(instance: JsonObject) -> JsonObject:
        api.objects["inventories", stored["metadata"]["name"]]["complete"] = complete
        told = api.objects["events", "tea.1"]
        told |= {"message": message, "count": 2}
        return done(instance)

    return change


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no test wait for an event that does not come."""
    monkeypatch.setattr("kubectl_kudo.reading.events._LATE_SECONDS", 0.2)


def test_the_request_is_an_annotation_with_the_time(kudo: Cli, installed: FakeApi) -> None:
    ran = kudo(*ADOPT)
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert ran.out == (
        f"Requested adopt of kitchen/tea instance\n{ONLY_READS}"
        "see the result: kubectl kudo get objects --instance tea -n kitchen\n"
    )
    method, path, body = installed.requests[-1]
    assert (method, path) == ("PATCH", "instances/tea")
    metadata = {"uid": identity(installed).uid, "annotations": {REQUESTED: requested(installed)}}
    assert body == {"metadata": metadata}
    assert requested(installed).endswith("Z")


def test_a_request_is_not_made_twice(kudo: Cli, installed: FakeApi) -> None:
    kudo(*ADOPT)
    first = requested(installed)
    installed.requests.clear()
    ran = kudo(*ADOPT)
    assert ran.code == ExitCode.OK
    assert ran.out.startswith(f"adopt of kitchen/tea instance was requested at {first}\n")
    assert (installed.writes(), requested(installed)) == ([], first)


def test_with_wait_the_result_is_told(kudo: Cli, installed: FakeApi) -> None:
    event(installed, "recorded 7 objects, of an earlier request")
    installed.script = [recorded(installed, "recorded 1 object")]
    ran = kudo(*ADOPT, "--wait")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert ran.out == (
        f"Requested adopt of kitchen/tea instance\n{ONLY_READS}recorded 1 object\n"
        "instance kitchen/tea has 1 object on record; it is complete\n"
    )


def test_who_may_not_list_events_sees_the_record(kudo: Cli, installed: FakeApi) -> None:
    event(installed, "recorded 7 objects, of an earlier request")
    installed.refusals["LIST", "events"] = (403, "events is forbidden")
    installed.script = [recorded(installed, "hidden", complete=False)]
    ran = kudo(*ADOPT, "--wait")
    assert (ran.code, ran.err) == (ExitCode.OK, "")
    assert ran.out.endswith(
        f"{ONLY_READS}instance kitchen/tea has 1 object on record; it is not complete\n"
    )


def test_an_instance_that_owns_nothing(kudo: Cli, installed: FakeApi) -> None:
    installed.script = [done]
    ran = kudo(*ADOPT, "--wait")
    assert ran.out.endswith("instance kitchen/tea has no Inventory: it owns nothing\n")


def test_a_plan_or_a_pause_is_waited_for(kudo: Cli, installed: FakeApi) -> None:
    running(installed)
    assert kudo(*ADOPT).err == "It is done later: plan deploy has to end first.\n"
    installed.objects["instances", "tea"]["spec"]["suspend"] = True
    ran = kudo(*ADOPT, "--wait", "--wait-time", "1")
    assert ran.code == ExitCode.TIMED_OUT
    why = "the instance is suspended (kubectl kudo resume --instance tea -n kitchen)"
    assert ran.err == (
        f"It is done later: {why}.\n"
        f"Error: failed to wait on instance kitchen/tea: timed out waiting for the condition after "
        f"1s: {why}\n"
        "The request stays.\n"
        "Wait for it again: kubectl kudo adopt --instance tea -n kitchen --wait\n"
    )


def test_nobody_does_it(kudo: Cli, installed: FakeApi) -> None:
    ran = kudo(*ADOPT, "--wait", "--wait-time", "1")
    assert ran.code == ExitCode.TIMED_OUT
    assert "the reconciler of KUDO has not done it yet; is it running?" in ran.err


def test_an_instance_that_is_deleted_meanwhile(kudo: Cli, installed: FakeApi) -> None:
    installed.script = [lambda _: None]
    ran = kudo(*ADOPT, "--wait")
    assert ran.code == ExitCode.ERROR
    assert ran.err == "Error: instance kitchen/tea was deleted before adopt was done\n"


def test_an_older_installation_is_not_asked(kudo: Cli, installed: FakeApi) -> None:
    installed.refusals["GET", "inventories"] = (404, "the server could not find it")
    ran = kudo(*ADOPT)
    assert (ran.code, requested(installed)) == (ExitCode.ERROR, "")
    assert ran.err == (
        "Error: nothing can be recorded: the cluster does not serve inventories.kudo.dev: "
        "upgrade KUDO\n"
    )


def test_an_instance_that_is_being_deleted(kudo: Cli, installed: FakeApi) -> None:
    installed.objects["instances", "tea"]["metadata"]["deletionTimestamp"] = "2030-05-06T07:08:09Z"
    ran = kudo(*ADOPT)
    assert (ran.code, ran.out) == (ExitCode.ERROR, "")
    assert ran.err == ("Error: instance kitchen/tea is being deleted: there is nothing to adopt\n")
