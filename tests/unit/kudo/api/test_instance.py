"""What is written into an Instance."""

from kudo.api import PlanExecution, new_run


def test_a_new_run_names_plan_and_uid_and_has_never_run() -> None:
    run = new_run("backup", "u")
    assert run == {"planName": "backup", "uid": "u", "status": "NEVER_RUN"}
    assert PlanExecution.from_wire(run).to_wire() == run
