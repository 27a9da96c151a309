"""What of an OperatorVersion no run could use, and what the engine runs and must be taken."""

from pathlib import Path
from typing import Any

import pytest

from kudo.admission.version_rules import REASON, version_problems, version_warnings
from kudo.api import JsonObject, OperatorVersion
from kudo.api.task_kinds import FatalTaskError, check_task
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package

ROOT = Path(__file__).parents[4]
PACKAGES = sorted(
    file.parent
    for folder in ("examples", "tests")
    for file in (ROOT / folder).rglob("operator.yaml")
)


def spec(**fields: Any) -> JsonObject:
    """Return the spec of a version that applies one template, with other fields."""
    return {
        "operator": {"name": "first"},
        "version": "1.0.0",
        "plans": {"deploy": plan("a")},
        "tasks": [task("a")],
        "templates": {"a.yaml": "name: {{ .Name }}"},
        **fields,
    }


def plan(*tasks: str, **fields: Any) -> JsonObject:
    step = {"name": "s", "tasks": list(tasks)}
    return {"phases": [{"name": "p", "steps": [step]}], **fields}


def task(name: str, kind: str = "Apply", **fields: Any) -> JsonObject:
    return {"name": name, "kind": kind, "spec": fields or {"resources": ["a.yaml"]}}


def parameter(name: str = "A", **fields: Any) -> JsonObject:
    return {"name": name, **{key.replace("_", "-"): value for key, value in fields.items()}}


def found(wire: JsonObject) -> list[tuple[str, str]]:
    problems = version_problems(OperatorVersion.from_wire({"spec": wire}))
    assert {problem.reason for problem in problems} <= {REASON}
    return [(problem.field, problem.message) for problem in problems]


def test_what_the_engine_runs_is_taken() -> None:
    table: list[JsonObject] = [
        {},
        {"anything": {"else": 1}},
        {"plans": {"deploy": {}}},
        {"plans": {"deploy": {"phases": None}, "own": plan("a", strategy="parallel")}},
        {"plans": {"upgrade": plan("a")}},
        {"plans": {"update": plan("a")}},
        {"operator": None},
        {"version": None, "templates": {"a.yaml": ""}},
        # What no step uses.
        {"tasks": [task("a"), task("b", "Nothing"), task("c", resources=["gone.yaml"])]},
        {"templates": {"a.yaml": "", "README": "{{ not a template"}},
        {"templates": {"../../etc/passwd": "", "a.yaml": ""}},
        # Of duplicates the first counts.
        {"tasks": [task("a"), task("a", "Nothing")]},
        {"parameters": [parameter(default="1"), parameter(default="x", value_type="integer")]},
        # Values that the engine takes.
        {"parameters": [parameter(default="x", value_type="unknown")]},
        {"parameters": [parameter(default="", value_type="integer", enum=["1"])]},
        {"parameters": [parameter(default="null", value_type="array")]},
        {"parameters": [parameter(immutable=True)]},
        {"parameters": [parameter(trigger="gone")]},
        {
            "parameters": [parameter("T", default="maybe")],
            "tasks": [task("a", "Toggle", resources=["a.yaml"], parameter="T")],
        },
        {"tasks": [task("a", "KudoOperator", package="p", operatorVersion="1")]},
        {"tasks": [task("a", "Dummy", done=True)]},
        {"tasks": [task("a", "Job", job={"podTemplate": "a.yaml", "args": ["{{ .Name }}"]})]},
        {"plans": {"deploy": plan("a", timeout="1h30m")}},
    ]
    for fields in table:
        assert found(spec(**fields)) == []


TOGGLE = task("a", "Toggle", resources=["a.yaml"], parameter="T")
PIPE = [{"file": "/f", "kind": "Secret", "key": "k"}]


def test_what_no_run_could_use_is_named(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject, str, str]] = [
        ({"operator": {"name": "-x"}}, "spec.operator.name", "value of a label"),
        ({"operator": {"name": "x" * 64}}, "spec.operator.name", "value of a label"),
        ({"operator": {"name": "../x"}}, "spec.operator.name", "value of a label"),
        ({"operator": {"name": "x\n"}}, "spec.operator.name", "value of a label"),
        ({"plans": None}, "spec.plans", "none of the plans 'deploy'"),
        ({"plans": {"own": plan("a")}}, "spec.plans", "none of the plans 'deploy'"),
        ({"plans": {"deploy": plan("a", strategy="odd")}}, "spec.plans[deploy]", "unknown; use"),
        (
            {"plans": {"deploy": {"phases": [{"name": "p", "strategy": "odd"}]}}},
            "spec.plans[deploy]",
            "strategy 'odd' of phase 'deploy.p'",
        ),
        (
            {"plans": {"deploy": plan("a", "gone")}},
            "spec.plans[deploy].phases[0].steps[0].tasks[1]",
            "task 'gone' does not exist; the tasks are: a",
        ),
        ({"tasks": [task("a", "Nothing")]}, "spec.tasks[a]", "unknown task kind Nothing"),
        ({"tasks": [task("a", resources=[])]}, "spec.tasks[a]", "empty resource list"),
        ({"tasks": [task("a", "KudoOperator", package="p")]}, "spec.tasks[a]", "operatorVersion"),
        (
            {"tasks": [task("a", resources=["a.yaml", "gone.yaml"])]},
            "spec.tasks[a].spec.resources[1]",
            "template 'gone.yaml' of task 'a' is missing",
        ),
        (
            {"tasks": [task("a", "Pipe", pod="gone.yaml", pipe=PIPE)]},
            "spec.tasks[a].spec.pod",
            "template 'gone.yaml'",
        ),
        ({"tasks": [task("a", "Job")]}, "spec.tasks[a].spec.job", "job task 'a': job: is needed"),
        (
            {"tasks": [task("a", "Job", job={"command": ["x"]})]},
            "spec.tasks[a].spec.job.image",
            "job.image: is needed",
        ),
        (
            {"tasks": [task("a", "Job", job={"script": "scripts/a.sh", "image": "i"})]},
            "spec.tasks[a].spec.job.script",
            "script 'scripts/a.sh' of task 'a' is missing",
        ),
        (
            {"tasks": [task("a", "Job", job={"command": ["x", "{{ .Name"], "image": "i"})]},
            "spec.tasks[a].spec.job.command[1]",
            "unclosed action",
        ),
        (
            {
                "tasks": [
                    task("a", "KudoOperator", package="p", operatorVersion="1", parameterFile="x")
                ]
            },
            "spec.tasks[a].spec.parameterFile",
            "template 'x'",
        ),
        ({"tasks": [TOGGLE]}, "spec.tasks[a].spec.parameter", "is not declared"),
        (
            {"tasks": [TOGGLE], "parameters": [parameter("T", value_type="map")]},
            "spec.tasks[a].spec.parameter",
            "has to be a boolean",
        ),
        (
            {"tasks": [task("a", "Pipe", pod="a.yaml", pipe=PIPE * 2)]},
            "spec.plans[deploy]",
            "duplicated pipe key k",
        ),
        ({"plans": {"deploy": plan("a", timeout="soon")}}, "spec.plans.deploy.timeout", "soon"),
        (
            {"parameters": [parameter(default="x", value_type="integer")]},
            "spec.parameters[A]",
            "invalid value",
        ),
        ({"parameters": [parameter(default="c", enum=["a"])]}, "spec.parameters[A]", "allowed"),
        ({"parameters": [parameter(default="[", value_type="array")]}, "spec.parameters[A]", "["),
        ({"templates": {"a.yaml": "{{ .Name"}}, "spec.templates[a.yaml]", "unclosed action"),
        ({"templates": {"a.yaml": "{{ nope }}"}}, "spec.templates[a.yaml]", "nope"),
        ({"templates": {"a.yaml": "{{ env `HOME` }}"}}, "spec.templates[a.yaml]", "env"),
        ({"templates": {"a.yaml": "{{if .a}}" * 200}}, "spec.templates[a.yaml]", "nesting limit"),
    ]
    for fields, field, words in table:
        with subtests.test(fields=fields, field=field, words=words):
            ((where, message),) = found(spec(**fields))
            assert where == field
            assert words in message


def test_everything_is_told_at_once_and_of_many_the_first() -> None:
    bad = spec(
        operator={"name": "-"},
        plans={"deploy": plan("a", *(f"gone{n}" for n in range(30)))},
        templates={"a.yaml": "{{"},
    )
    told = found(bad)
    assert len(told) == 21
    assert told[0][0] == "spec.operator.name"
    assert told[-1] == ("", "and 12 more problems like these")


def test_names_of_any_length_are_told_in_part() -> None:
    long = "n" * 5000
    bad = spec(plans={long: plan(long, strategy=long)}, tasks=[task(long + "x", long)])
    assert all(len(field) + len(message) < 8000 for field, message in found(bad))


def test_triggers_of_missing_plans_are_a_warning() -> None:
    odd = spec(parameters=[parameter("A", trigger="gone"), parameter("B", trigger="deploy")])
    (warning,) = version_warnings(OperatorVersion.from_wire({"spec": odd}))
    assert "name plans that do not exist: gone" in warning
    assert version_warnings(OperatorVersion.from_wire({"spec": spec()})) == ()


def test_every_package_can_be_stored(subtests: pytest.Subtests) -> None:
    """But for versions of children, which installing them fills in."""
    for folder in PACKAGES:
        with subtests.test(folder=folder):
            version = to_objects(read_package(str(folder)), "ns").operator_version
            unresolved = {
                f"spec.tasks[{one.name}]"
                for one in version.spec.tasks or ()
                if one.kind == "KudoOperator"
            }
            assert [one for one in version_problems(version) if one.field not in unresolved] == []


def test_a_task_is_refused_for_what_the_engine_refuses_it() -> None:
    wire = task("a", "Pipe", pod="a.yaml")
    version = OperatorVersion.from_wire({"spec": spec(tasks=[wire])})
    refused = version.task("a")
    assert refused is not None
    with pytest.raises(FatalTaskError) as caught:
        check_task(refused)
    assert [problem.message for problem in version_problems(version)] == [str(caught.value)]


def test_a_secret_parameter_has_no_default_that_everybody_reads() -> None:
    table: list[tuple[JsonObject, list[str]]] = [
        ({"secret": True}, []),
        ({"secret": True, "onChange": "run"}, []),
        ({"secret": True, "default": "canary"}, ["spec.parameters[A].default"]),
        ({"secret": True, "onChange": "restart"}, ["spec.parameters[A].onChange"]),
        ({"onChange": "run"}, ["spec.parameters[A].onChange"]),
    ]
    for fields, places in table:
        problems = found(spec(parameters=[{"name": "A", **fields}]))
        assert [place for place, _ in problems] == places
        assert "canary" not in repr(problems)
