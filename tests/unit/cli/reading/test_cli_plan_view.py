"""`plan status` as a tree, against literal text."""

import io
from typing import Any

import pytest

from kubectl_kudo.reading.plan_view import plan_node, plans_node, shown_plan
from kubectl_kudo.session.blocks import Tree
from kubectl_kudo.session.screen import draw_blocks

JsonObject = dict[str, Any]


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def steps(*names: str) -> list[JsonObject]:
    return [{"name": name, "tasks": ["t"]} for name in names]


PLANS: JsonObject = {
    "rinse": {"strategy": "parallel", "phases": [{"name": "boil", "steps": steps("rinse")}]},
    "deploy": {
        "strategy": "serial",
        "phases": [{"name": "boil", "strategy": "parallel", "steps": steps("fill", "heat")}],
    },
}


def instance(execution: JsonObject | None = None, **plan_status: JsonObject) -> JsonObject:
    spec: JsonObject = {"operatorVersion": {"name": "teapot-2.1.0-0.3.0"}}
    if execution is not None:
        spec["planExecution"] = execution
    return {
        "metadata": {"name": "tea-blue", "namespace": "kitchen"},
        "spec": spec,
        "status": {"planStatus": plan_status},
    }


DEPLOYING = {
    "uid": "1",
    "status": "IN_PROGRESS",
    "message": "heating",
    "lastUpdatedTimestamp": "2030-05-06T07:08:09Z",
    "phases": [
        {
            "name": "boil",
            "status": "IN_PROGRESS",
            "steps": [
                {"name": "fill", "status": "COMPLETE"},
                {"name": "heat", "status": "PENDING", "message": "72 of 100 degrees"},
            ],
        }
    ],
}


def tree(obj: JsonObject, plans: JsonObject = PLANS) -> str:
    return Tree([plans_node(obj, plans)]).plain()


def test_one_plan_is_shown_alone_as_it_ran_last_or_as_it_would_run() -> None:
    rinsed = {"status": "COMPLETE", "phases": [{"name": "boil", "status": "COMPLETE"}]}
    obj = instance({"planName": "deploy", "uid": "1"}, deploy=DEPLOYING, rinse=rinsed)
    shown = Tree([plan_node(obj, PLANS, "rinse")]).plain()
    assert "Plan rinse (parallel strategy) [COMPLETE]\n" in shown
    assert "deploy (" not in shown
    assert "Step heat [PENDING] (72 of" in Tree([plan_node(obj, PLANS, "deploy")]).plain()
    never = Tree([plan_node(instance({}), PLANS, "rinse")]).plain()
    assert "Plan rinse (parallel strategy) [NEVER_RUN]\n" in never
    assert "Step rinse [NEVER_RUN]\n" in never


def test_what_was_skipped_is_told_with_its_condition() -> None:
    skipped = {"status": "COMPLETE", "skipped": True, "message": "params.RING"}
    phase = {"name": "main", "status": "COMPLETE", "steps": [{"name": "ring", **skipped}]}
    other = {"name": "zone", **skipped, "steps": [{"name": "a", **skipped}]}
    entry = {"status": "COMPLETE", "uid": "1", "phases": [phase, other]}
    shown = tree(instance(deploy=entry))
    assert "Step ring [SKIPPED] (when: params.RING)" in shown
    assert "Phase zone (serial strategy) [SKIPPED] (when: params.RING)" in shown
    assert "Phase main (serial strategy) [COMPLETE]" in shown


def test_the_names_of_outputs_stand_below_their_step_and_their_texts_do_not() -> None:
    outputs = {"b": {"z": "hunter2", "a\n": "hunter2"}, "a": {f"n{at}": "" for at in range(25)}}
    fill = {"name": "fill", "status": "COMPLETE", "outputs": outputs}
    phase = {"name": "boil", "status": "COMPLETE", "steps": [fill]}
    shown = tree(instance(deploy={"status": "COMPLETE", "uid": "1", "phases": [phase]}))
    [line] = [line for line in shown.splitlines() if "Outputs: " in line]
    names = sorted(f"a.n{at}" for at in range(25))
    assert line[line.index("Outputs") :] == f"Outputs: {', '.join(names[:20])} and 7 more"
    fill["outputs"] = {"b": outputs["b"]}
    assert "Outputs: b.a , b.z" in tree(
        instance(deploy={"status": "COMPLETE", "uid": "1", "phases": [phase]})
    )
    assert "hunter2" not in shown


def test_outputs_fit_into_a_terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outputs = {"dump-of-all-databases": {f"name-of-an-output-{at}": "" for at in range(9)}}
    step = {"name": "dump", "status": "COMPLETE", "outputs": outputs}
    phase = {"name": "main", "status": "COMPLETE", "steps": [step]}
    entry = {"status": "COMPLETE", "uid": "1", "phases": [phase]}
    stream = io.StringIO()
    draw_blocks([Tree([plans_node(instance(deploy=entry), PLANS)])], stream)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("dump-of-all-databases.name-of-an-output-" in line for line in lines) >= 5


def test_the_strategy_of_a_phase_is_that_of_its_own_plan() -> None:
    """KUDO 0.19 looked phases up over all plans (BTO-61)."""
    rinsing = {"status": "COMPLETE", "phases": [{"name": "boil", "status": "COMPLETE"}]}
    assert "Phase boil (serial strategy) [COMPLETE]" in tree(instance(rinse=rinsing))


def test_a_finished_plan_stays_the_one_that_is_shown() -> None:
    obj = instance({}, deploy={**DEPLOYING, "status": "COMPLETE"})
    assert shown_plan(obj) == "deploy"
    assert 'Active-Plan: "deploy"' in tree(obj)


def test_a_run_that_was_not_taken_up_yet_is_pending_and_not_what_the_last_one_was() -> None:
    obj = instance({"planName": "deploy", "uid": "2"}, deploy={**DEPLOYING, "status": "COMPLETE"})
    assert "Plan deploy (serial strategy) [PENDING]\n" in tree(obj)
    assert "Step heat [PENDING]\n" in tree(obj)


def test_the_first_run_is_shown_before_there_is_any_status() -> None:
    obj = instance({"planName": "deploy", "uid": "1"})
    assert "Plan deploy (serial strategy) [PENDING]\n" in tree(obj)


def test_an_instance_whose_plans_never_ran_has_nothing_to_show() -> None:
    assert shown_plan(instance({}, deploy={"status": "NEVER_RUN"})) is None


def test_a_plan_that_the_version_lacks_is_shown_all_the_same() -> None:
    obj = instance({}, gone={"status": "FATAL_ERROR", "message": "no such plan"})
    assert "Plan gone (serial strategy) [FATAL_ERROR] (no such plan)\n" in tree(obj)


def test_a_time_that_cannot_be_read_is_shown_as_it_is() -> None:
    obj = instance({}, deploy={"status": "COMPLETE", "lastUpdatedTimestamp": "noon"})
    assert "[COMPLETE], last updated noon\n" in tree(obj)
