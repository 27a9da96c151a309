"""What is written into an Instance."""

from kudo.api import InstanceSpec, PlanExecution, new_run


def test_a_new_run_names_plan_and_uid_and_has_never_run() -> None:
    run = new_run("backup", "u")
    assert run == {"planName": "backup", "uid": "u", "status": "NEVER_RUN"}
    assert PlanExecution.from_wire(run).to_wire() == run


def test_a_field_is_judged_by_all_rules_unless_it_is_said_that_no_plan_has_to_run_for_it() -> None:
    class Wider(InstanceSpec):
        another: str | None = None

    assert Wider(another="x", parameters={"A": "1"}).differing(Wider()) == {"another", "parameters"}
    assert Wider(suspend=True, another="x").differing(Wider(another="x")) == frozenset()
