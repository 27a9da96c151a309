"""Reading runs off plain JSON: the same answers as the models of the domain give."""

from itertools import product
from typing import Any

from kubectl_kudo.reading import runs
from kudo.api import ExecutionStatus, Instance
from kudo.plans.runs.plan_choice import active_run, used_uids

JsonObject = dict[str, Any]


def instance(execution: JsonObject | None, entry: JsonObject | None) -> JsonObject:
    obj: JsonObject = {"metadata": {"name": "tea", "namespace": "kitchen"}, "spec": {}}
    if execution is not None:
        obj["spec"]["planExecution"] = execution
    if entry is not None:
        obj["status"] = {"planStatus": {"deploy": entry}}
    return obj


EXECUTIONS: list[JsonObject | None] = [
    None,
    {},
    {"planName": "deploy"},
    {"planName": "deploy", "uid": "1", "status": "COMPLETE"},
    {"planName": "deploy", "uid": "2"},
    {"planName": "rinse", "uid": "1"},
]
ENTRIES: list[JsonObject | None] = [
    None,
    *({"uid": uid, "status": s} for uid in ("1", "") for s in (*ExecutionStatus, "", "ODD")),
]


def test_active_runs_and_used_uids_are_those_of_the_domain() -> None:
    for execution, entry in product(EXECUTIONS, ENTRIES):
        obj = instance(execution, entry)
        model = Instance.from_wire(obj)
        expected = active_run(model)
        found = runs.active(obj)
        assert (found is None) == (expected is None), obj
        if found and expected:
            assert (found.plan, found.uid) == (expected.plan_name, expected.uid or ""), obj
        assert runs.used_uids(obj) == used_uids(model), obj


def test_statuses_are_those_of_the_domain() -> None:
    assert {status for status in ExecutionStatus if status.terminal} == runs.TERMINAL
    assert {status for status in ExecutionStatus if status.running} == runs.RUNNING


def entries(**entries: JsonObject) -> JsonObject:
    return {"metadata": {}, "spec": {}, "status": {"planStatus": entries}}


def test_a_running_plan_is_the_last_one_whatever_the_times_say() -> None:
    obj = entries(
        a={"status": "ERROR"}, b={"status": "COMPLETE", "lastUpdatedTimestamp": "2030-01-01"}
    )
    assert runs.last_executed(obj) == "a"


def test_of_finished_plans_the_recorded_last_run_is_the_last_one() -> None:
    at = {"lastUpdatedTimestamp": "2030-01-01T00:00:00Z", "status": "COMPLETE"}
    obj = entries(a={**at, "uid": "1"}, b={**at, "uid": "2"})
    obj["status"]["lastRun"] = {"plan": "b", "uid": "2"}
    assert runs.last_executed(obj) == "b"


def test_without_a_record_the_newest_time_decides() -> None:
    obj = entries(
        a={"status": "COMPLETE", "lastUpdatedTimestamp": "2030-01-01T00:00:00Z"},
        b={"status": "FATAL_ERROR", "lastUpdatedTimestamp": "2030-01-02T00:00:00Z"},
        c={"status": "NEVER_RUN", "lastUpdatedTimestamp": "2030-01-03T00:00:00Z"},
    )
    assert runs.last_executed(obj) == "b"


def test_an_instance_without_status_never_ran() -> None:
    assert runs.last_executed({"metadata": {}, "spec": {}}) is None


def test_the_fault_is_at_the_deepest_part_that_failed() -> None:
    entry = {
        "status": "FATAL_ERROR",
        "message": "plan failed",
        "phases": [
            {"name": "one", "status": "COMPLETE", "steps": [{"name": "a", "status": "COMPLETE"}]},
            {
                "name": "two",
                "status": "FATAL_ERROR",
                "steps": [{"name": "b", "status": "FATAL_ERROR", "message": "no such kind"}],
            },
        ],
    }
    assert runs.at_fault("deploy", entry) == ("deploy.two.b", "no such kind")


def test_a_plan_that_failed_as_a_whole_is_at_fault_itself() -> None:
    entry = {"status": "FATAL_ERROR", "message": "superseded", "phases": [{"name": "one"}]}
    assert runs.at_fault("deploy", entry) == ("deploy", "superseded")


def test_a_fault_without_a_message_says_so() -> None:
    assert runs.at_fault("deploy", {"status": "FATAL_ERROR"})[1] == "no message was recorded"
