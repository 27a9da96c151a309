"""What is kept of the parameters of runs, and what stands for them where there is no run."""

import pytest

from kudo.api import Instance, OperatorVersion, PlanExecution, PlanStatus, bounds
from kudo.api.task_kinds import FatalTaskError
from kudo.jobs.render import Request
from kudo.plans.runs.history import with_history
from kudo.plans.runs.run_parameters import (
    are_lost,
    as_begun,
    bounded_run_parameters,
    digest_of,
    given_to,
    recorded,
)
from kudo.tasks.rendering import Engine, OutputsUnknown, Variables, render, stand_ins, variables

VERSION = OperatorVersion.from_wire(
    {
        "metadata": {"name": "v"},
        "spec": {
            "plans": {
                "deploy": {},
                "backup": {
                    "parameters": [
                        {"name": "name", "required": True},
                        {"name": "keep", "value-type": "integer", "default": "7"},
                        {"name": "tags", "value-type": "array"},
                        {"name": "size", "value-type": "integer", "required": True},
                        {"name": "kind", "required": True, "enum": ["full", "part"]},
                    ]
                },
            }
        },
    }
)


def seen(plan: str, given: dict[str, str] | None, version: OperatorVersion = VERSION) -> Variables:
    at = {"phase": "p", "step": "s"}
    return variables(
        Instance(), version, plan=plan, phase=at["phase"], step=at["step"], run_parameters=given
    )


def entry(given: dict[str, str] | None, **fields: str) -> PlanStatus:
    wire = {"name": "p", "uid": "A", **fields}
    return PlanStatus.from_wire(wire).model_copy(update={"run_parameters": given})


def test_templates_see_them_by_their_types_and_other_plans_see_none() -> None:
    given = {"name": "mon", "tags": "[a, b]"}
    assert seen("backup", given).read()["RunParams"] == {
        "name": "mon",
        "keep": "7",
        "tags": ["a", "b"],
        "size": "",
        "kind": "",
    }
    other = seen("deploy", {})
    assert other.read()["RunParams"] == {}
    with pytest.raises(FatalTaskError, match='map has no entry for key "name"'):
        render("t", "{{ .RunParams.name }}", other.read(), engine=Engine.full(other))


def test_a_package_that_declares_none_does_not_see_the_map() -> None:
    assert "RunParams" not in seen("deploy", {}, OperatorVersion()).read()


def test_outside_of_a_run_what_uses_them_is_not_rendered() -> None:
    outside = seen("backup", None)
    assert render("t", "{{ .Name }}", outside.read(), engine=Engine.full(outside)) == ""
    for engine in (Engine.full(outside), Engine.inline(outside)):
        with pytest.raises(OutputsUnknown, match="uses parameters of a run, and only a run has"):
            render("t", '{{ hasKey .RunParams "x" }}', outside.read(), engine=engine)
    # No run of a plan that declares none has any.
    assert seen("deploy", None).run_parameters_known


def test_a_worker_gets_them_as_they_are() -> None:
    for found in (seen("backup", {"name": "x" * 9}), seen("backup", None), seen("deploy", {})):
        asked = Request("objects", (), {}, found)
        assert Request.decode(asked.encode()) == asked
    assert Request("objects", (), {}, seen("backup", {"name": "x" * 9})).size == len("7") + 9


def test_stand_ins_are_of_the_declared_types() -> None:
    plan = VERSION.plans["backup"]
    assert stand_ins(plan) == {"name": "<run.name>", "size": "1", "kind": "full"}


def test_a_retry_has_those_of_the_run_that_it_continues_and_no_other() -> None:
    status = {"planStatus": {"p": {"name": "p", "uid": "A", "runParameters": {"a": "1"}}}}
    instance = Instance.from_wire({"status": status})
    run = PlanExecution(plan_name="p", uid="B", parameters={"a": "2"})
    assert given_to(instance, run) == {"a": "2"}
    assert given_to(instance, run.model_copy(update={"retry_of": "A"})) == {"a": "1"}
    assert given_to(instance, run.model_copy(update={"retry_of": "Z"})) is None
    assert as_begun(instance, "p").parameters == {"a": "1"}
    assert as_begun(instance, "other") == PlanExecution()


def test_digests_tell_values_apart_and_none_from_some() -> None:
    digests = [digest_of(one) for one in ({"a": "1"}, {"a": "2"}, {"a": "1", "b": ""})]
    assert len({*digests}) == len(digests)
    assert (digest_of({}), digest_of(None)) == (None, None)


def test_the_last_run_keeps_its_own_and_the_oldest_ones_lose_theirs() -> None:
    most = {"v": "x" * (bounds.RUN_PARAMETER_BYTES - 1)}
    entries = {
        f"p{n}": entry(most, lastUpdatedTimestamp=f"2026-01-01T00:00:0{n}Z") for n in range(10)
    }
    kept = bounded_run_parameters(entries, "p0")
    assert [name for name, one in kept.items() if are_lost(one)] == ["p1", "p2"]
    fewer = {name: entries[name] for name in ("p1", "p2")}
    assert bounded_run_parameters(fewer, "p1") is fewer


def test_the_history_keeps_twenty_and_cuts_long_values() -> None:
    many = {f"n{n:02}": "é" * 200 for n in range(25)}
    kept, left_out = recorded(many)
    assert kept is not None
    assert (len(kept), left_out) == (20, 5)
    assert {len(value) for value in kept.values()} == {100}
    assert recorded({"a": "1"}) == ({"a": "1"}, None)
    assert recorded(None) == recorded({}) == (None, None)


def test_a_run_that_is_superseded_is_recorded_with_its_own() -> None:
    running = {"name": "p", "uid": "A", "status": "IN_PROGRESS", "runParameters": {"a": "1"}}
    stored = Instance.from_wire({"status": {"planStatus": {"p": running}}})
    following = stored.status.model_copy(update={"plan_status": {"p": entry({"a": "2"}, uid="B")}})
    [record] = with_history(stored, following).history or ()
    assert (record.uid, record.run_parameters) == ("A", {"a": "1"})
