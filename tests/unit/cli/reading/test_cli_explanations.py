"""What is told beside the message of a step: events of the objects, and where children are."""

from typing import Any

import pytest

from kubectl_kudo.reading.explanations import described, telling
from kubectl_kudo.session.errors import ExitCode
from tests.unit.cli.conftest import VERSION, Cli
from tests.unit.cli.fake_api import FakeApi, status

JsonObject = dict[str, Any]
NOW = 1904281689.0
TIME = "2030-05-06T07:08:09Z"


def event(
    kind: str = "Pod",
    name: str = "db-0",
    reason: str = "Failed",
    message: str = "no image",
    **fields: Any,
) -> JsonObject:
    return {
        "metadata": {"name": f"{name}.{reason.lower()}", "namespace": "kitchen"},
        "involvedObject": {"kind": kind, "name": name, "namespace": "kitchen"},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": TIME,
        **fields,
    }


def wait_with(api: FakeApi, message: str, state: str = "IN_PROGRESS", name: str = "tea") -> None:
    """Let the step of an Instance wait with a message."""
    obj = api.objects["instances", name]
    obj["spec"]["planExecution"] = {"planName": "deploy", "uid": "1"}
    status(state, message=message)(obj)


def shown(kudo: Cli) -> str:
    ran = kudo("plan", "status", "--instance", "tea")
    assert ran.code == 0
    return ran.out


# plan status


def test_plan_status_shows_the_last_event_of_the_object_that_is_waited_for(
    kudo: Cli, installed: FakeApi
) -> None:
    installed.add("events", event())
    installed.add("events", event(name="db-1", message="of another pod"))
    wait_with(installed, 'statefulset "db" is not healthy: ...; pod kitchen/db-0: container app')
    out = shown(kudo)
    assert "Step app [IN_PROGRESS] (statefulset" in out
    assert "└── Warning event of Pod db-0: Failed: no image (0s ago)\n" in out
    assert "of another pod" not in out


def test_other_events_are_shown_where_there_is_no_warning(kudo: Cli, installed: FakeApi) -> None:
    created = event("StatefulSet", "db", "SuccessfulCreate", "create Pod db-0", type="Normal")
    installed.add("events", created)
    wait_with(installed, 'statefulset "db" is not healthy: ...; pod kitchen/db-0: container app')
    line = "Normal event of StatefulSet db: SuccessfulCreate: create Pod db-0 (0s ago)\n"
    assert line in shown(kudo)
    installed.add("events", event())
    assert "Warning event of Pod db-0" in shown(kudo)
    assert line not in shown(kudo)


def test_an_object_without_events_and_a_finished_step_are_not_explained(
    kudo: Cli, installed: FakeApi
) -> None:
    wait_with(installed, "pod kitchen/db-0 is not running yet")
    assert "event of" not in shown(kudo)
    installed.add("events", event())
    wait_with(installed, "pod kitchen/db-0 is not running yet", "COMPLETE")
    assert "event of" not in shown(kudo)


def test_who_may_not_read_events_still_sees_the_status(kudo: Cli, installed: FakeApi) -> None:
    installed.refusals["GET", "events"] = (403, "events is forbidden")
    wait_with(installed, "pod kitchen/db-0 is not running yet")
    assert "Step app [IN_PROGRESS] (pod kitchen/db-0" in shown(kudo)


def test_the_claim_of_a_pod_that_has_no_volume_is_explained(kudo: Cli, installed: FakeApi) -> None:
    volumes = [{"name": "a"}, {"name": "b", "persistentVolumeClaim": {"claimName": "data-db-0"}}]
    containers = [{"name": "app", "image": "web"}]
    pod = {"metadata": {"name": "db-0"}, "spec": {"volumes": volumes, "containers": containers}}
    installed.add("pods", pod)
    installed.add("events", event(message="unbound immediate PersistentVolumeClaims"))
    text = 'storageclass "fast" not found'
    installed.add("events", event("PersistentVolumeClaim", "data-db-0", "Provisioning", text))
    wait_with(installed, 'statefulset "db" is not healthy: ...; pod kitchen/db-0: Unschedulable')
    assert (
        f"Warning event of PersistentVolumeClaim data-db-0: Provisioning: {text} (0s ago)\n"
        in shown(kudo)
    )


def test_a_child_is_explained_by_its_own_step_and_the_events_below(
    kudo: Cli, installed: FakeApi
) -> None:
    spec = {"operatorVersion": {"name": VERSION}}
    installed.add("instances", {"metadata": {"name": "milk"}, "spec": spec})
    installed.add("events", event())
    wait_with(installed, "pod kitchen/db-0 is not running yet", name="milk")
    wait_with(installed, "instance kitchen/milk active plan is in state IN_PROGRESS (plan deploy)")
    out = shown(kudo)
    message = "(pod kitchen/db-0 is not running yet)"
    assert f"Instance milk: deploy.main.app is IN_PROGRESS {message}\n" in out
    assert "Warning event of Pod db-0" in out


def test_a_child_that_failed_is_explained_by_the_events_of_its_objects(
    kudo: Cli, installed: FakeApi
) -> None:
    spec = {"operatorVersion": {"name": VERSION}}
    installed.add("instances", {"metadata": {"name": "milk"}, "spec": spec})
    installed.add("events", event("Job", "init", "BackoffLimitExceeded", "backoff limit"))
    milk = installed.objects["instances", "milk"]
    status("FATAL_ERROR", message='job "init" has failed terminally: limit')(milk)
    wait_with(installed, "instance kitchen/milk plan deploy ended", "FATAL_ERROR")
    out = shown(kudo)
    assert "Instance milk:" not in out
    assert "Warning event of Job init: BackoffLimitExceeded: backoff limit (0s ago)\n" in out


def test_a_run_that_has_not_begun_is_not_explained_by_the_one_before(
    kudo: Cli, installed: FakeApi
) -> None:
    installed.add("events", event())
    wait_with(installed, "pod kitchen/db-0 is not running yet", "FATAL_ERROR")
    installed.objects["instances", "tea"]["spec"]["planExecution"]["uid"] = "2"
    assert "event of" not in shown(kudo)


def test_instances_that_wait_for_each_other_have_an_end(kudo: Cli, installed: FakeApi) -> None:
    wait_with(installed, "instance kitchen/tea active plan is in state IN_PROGRESS (plan deploy)")
    assert 0 < shown(kudo).count("Instance tea: deploy.main.app is IN_PROGRESS") <= 3


# --wait


def test_a_wait_that_takes_too_long_says_what_it_waited_for(kudo: Cli, installed: FakeApi) -> None:
    installed.add("events", event())
    wait_with(installed, "")
    installed.script = [status("IN_PROGRESS", message="pod kitchen/db-0 is not running yet")]
    ran = kudo("plan", "wait", "--instance", "tea", "--wait-time", "1")
    assert ran.code == ExitCode.TIMED_OUT
    assert (
        "deploy.main.app is IN_PROGRESS (pod kitchen/db-0 is not running yet)\n"
        "  Warning event of Pod db-0: Failed: no image (0s ago)\n"
        "The plan goes on in the cluster.\n"
    ) in ran.err


@pytest.mark.parametrize("command", [("plan", "wait"), ("plan", "status", "--wait")])
def test_warnings_of_a_run_that_succeeded_are_told(
    kudo: Cli, installed: FakeApi, command: tuple[str, ...]
) -> None:
    wait_with(installed, "")
    uid = installed.objects["instances", "tea"]["metadata"]["uid"]
    about = {"involvedObject": {"kind": "Instance", "name": "tea", "uid": uid}}
    for reason, text, kind in (
        ("UnknownField", "field spec.replica is left out", "Warning"),
        ("PlanFinished", "Execution of plan deploy finished with status COMPLETE", "Normal"),
    ):
        one = event("Instance", "tea", reason, text)
        one["metadata"]["name"] = f"tea.1.{reason.lower()}"
        installed.add("events", one | about | {"type": kind})
    installed.script = [status("COMPLETE", done=True)]
    ran = kudo(*command, "--instance", "tea")
    assert ran.code == 0
    assert ran.err.endswith(
        "Warning events of this run:\n  UnknownField: field spec.replica is left out\n"
    )
    assert "UnknownField" not in ran.out


# Events


def test_the_event_that_tells_most_is_the_last_warning_that_explains() -> None:
    pull = event(
        message='Failed to pull image "x": not found', lastTimestamp="2030-05-06T07:00:00Z"
    )
    error = event(message="Error: ErrImagePull", lastTimestamp="2030-05-06T07:00:01Z")
    normal = event(message="Back-off", type="Normal", lastTimestamp="2030-05-06T07:00:02Z")
    older = event(message="old", lastTimestamp="2030-05-06T06:00:00Z")
    assert telling([older, error, pull, normal]) is pull
    assert telling([error, normal]) is error
    assert telling([normal]) is normal
    assert telling([]) is None


@pytest.mark.parametrize(
    ("fields", "age"),
    [
        ({"lastTimestamp": TIME}, " (0s ago)"),
        ({"lastTimestamp": "2030-05-06T07:07:20Z"}, " (49s ago)"),
        ({"lastTimestamp": None, "eventTime": "2030-05-06T06:58:09.123456Z"}, " (9m ago)"),
        ({"series": {"lastObservedTime": "2030-05-06T04:08:09.000000Z"}}, " (3h ago)"),
        ({"lastTimestamp": "2030-05-01T07:08:09Z"}, " (5d ago)"),
        ({"lastTimestamp": "noon"}, ""),
        ({"lastTimestamp": None}, ""),
    ],
)
def test_an_event_is_described_in_one_line(fields: JsonObject, age: str) -> None:
    one = event(message="no\n  image", **fields)
    assert str(described(one, NOW)) == f"Warning event of Pod db-0: Failed: no image{age}"


def test_a_long_event_is_cut() -> None:
    text = described(event(message="x" * 5000), NOW).text
    assert len(text) < 460
    assert text.endswith(" …")
