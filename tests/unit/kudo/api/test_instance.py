"""What is written into an Instance."""

from kudo.api import Instance, InstanceSpec, PlanExecution, new_run


def test_a_new_run_names_plan_and_uid_and_has_never_run() -> None:
    run = new_run("backup", "u")
    assert run == {"planName": "backup", "uid": "u", "status": "NEVER_RUN"}
    assert PlanExecution.from_wire(run).to_wire() == run


def test_a_field_is_judged_by_all_rules_unless_it_is_said_that_no_plan_has_to_run_for_it() -> None:
    class Wider(InstanceSpec):
        another: str | None = None

    assert Wider(another="x", parameters={"A": "1"}).differing(Wider()) == {"another", "parameters"}
    assert Wider(suspend=True, another="x").differing(Wider(another="x")) == frozenset()


def test_what_a_later_kudo_has_stored_of_a_run_is_written_again() -> None:
    step: dict[str, object] = {"name": "st", "status": "IN_PROGRESS", "tomorrow": [{"a": "b"}]}
    step["tasks"] = [{"name": "t", "status": "COMPLETE", "late": "x"}]
    entry = {"name": "deploy", "status": "IN_PROGRESS", "phases": [{"name": "p", "steps": [step]}]}
    status = {"planStatus": {"deploy": {**entry, "later": {"c": 1}}}}
    read = Instance.from_wire({"metadata": {"name": "i"}, "status": status})
    assert read.to_wire()["status"] == status
