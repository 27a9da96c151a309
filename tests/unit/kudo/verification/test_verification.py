"""What `package verify` finds: each rule, with the words of the original where it has any."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from kudo.packages.files import PackageFiles
from kudo.packages.model import Package
from kudo.packages.reader import parse_package, read_package
from kudo.verification import Severity, softened, verify

Json = dict[str, Any]
EXAMPLES = Path(__file__).parents[4] / "examples"
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

APPLY: Json = {"name": "app", "kind": "Apply", "spec": {"resources": ["a.yaml"]}}
DEPLOY: Json = {"phases": [{"name": "main", "steps": [{"name": "all", "tasks": ["app"]}]}]}


def package(
    *,
    templates: Mapping[str, str] | None = None,
    parameters: Sequence[Json] = (),
    groups: Sequence[Json] = (),
    **operator: Any,
) -> Package:
    """Return a package without faults, but for what is given; operator fields set to None go."""
    fields = {
        "name": "first",
        "operatorVersion": "0.1.0",
        "kubernetesVersion": "1.25.0",
        "tasks": [APPLY],
        "plans": {"deploy": DEPLOY},
        **operator,
    }
    kept = {key: value for key, value in fields.items() if value is not None}
    files = {
        "operator.yaml": json.dumps(kept),
        "params.yaml": json.dumps({"parameters": list(parameters), "groups": list(groups)}),
        **{f"templates/{n}": text for n, text in (templates or {"a.yaml": OBJECT}).items()},
    }
    return parse_package(PackageFiles("p", {name: text.encode() for name, text in files.items()}))


def tasks(*extra: Json) -> list[Json]:
    """Return the tasks of the package and further ones."""
    return [APPLY, *extra]


def task(kind: str, name: str = "x", **spec: Any) -> Json:
    return {"name": name, "kind": kind, "spec": spec}


def plan(*names: str, **fields: Any) -> Json:
    """Return a plan that runs these tasks in one step."""
    return {
        "phases": [{"name": "main", "steps": [{"name": "all", "tasks": list(names)}]}],
        **fields,
    }


def using(*names: str, **more: Json) -> Json:
    return {"deploy": plan("app", *names), **more}


def used(*parameters: Json, **more: Any) -> Json:
    """Return what makes a package whose template uses all of these parameters."""
    text = (
        OBJECT
        + "data:\n"
        + "".join(
            f"  k{n}: '{{{{ index .Params {json.dumps(p['name'])} }}}}'\n"
            for n, p in enumerate(parameters)
        )
    )
    return {"parameters": parameters, "templates": {"a.yaml": text}, **more}


def found(of: Package, severity: Severity = Severity.ERROR) -> list[str]:
    return [f.problem.message for f in verify(of) if f.severity is severity]


def places(of: Package) -> list[str]:
    return [finding.problem.field for finding in verify(of)]


def warned(of: Package) -> list[str]:
    return found(of, Severity.WARNING)


def test_a_package_without_faults_has_no_findings() -> None:
    assert verify(package()) == ()


@pytest.mark.parametrize("folder", sorted(p for p in EXAMPLES.iterdir() if p.is_dir()), ids=str)
def test_every_example_is_clean(folder: Path) -> None:
    for operator in sorted(folder.rglob("operator.yaml")):
        assert verify(read_package(operator.parent)) == ()


# operator.yaml


def test_versions_are_semantic_ones(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str | None, str]] = [
        ("operatorVersion", None, '"operatorVersion" is required and must be semver'),
        ("kubernetesVersion", None, '"kubernetesVersion" is required and must be semver'),
        *(
            (field, text, f'unable to parse "{field}": Invalid Semantic Version')
            for field in ("operatorVersion", "kubernetesVersion", "appVersion", "kudoVersion")
            for text in ("1.2.3.4", "1.x", " 1.2", "one", "1.2.3-", "v", "1" + ".0" * 128)
        ),
        (
            "operatorVersion",
            "1.2.3-01",
            'unable to parse "operatorVersion": Version segment starts with 0',
        ),
    ]
    for field, value, message in table:
        with subtests.test(field=field, value=value, message=message):
            given: Json = {field: value}
            faulty = package(**given)
            # A version that is none may be no part of a name either, or be too long.
            assert found(faulty)[0] == message
            assert set(places(faulty)) == {f"operator.yaml: {field}"}


def test_versions_may_be_as_short_as_the_original_takes_them(subtests: pytest.Subtests) -> None:
    for text in ["1", "v1.2", "01.02.03", "1.2.3-rc.1+build.5", "1.2-alpha"]:
        with subtests.test(text=text):
            names = ("operatorVersion", "kubernetesVersion", "appVersion", "kudoVersion")
            given: Json = dict.fromkeys(names, text)
            in_names = {name: text.partition("+")[0] for name in ("operatorVersion", "appVersion")}
            assert verify(package(**given | in_names)) == ()


def test_a_name_that_no_object_can_have_is_an_error(subtests: pytest.Subtests) -> None:
    for name in [None, "Tea", "tea_pot", "-tea", "a" * 64, "tea pot"]:
        with subtests.test(name=name):
            faulty = package(name=name)
            assert warned(faulty) == []
            [text] = found(faulty)
            assert text.startswith(f'operator name "{name or ""}" is not a DNS-1123 name')
            assert places(faulty) == ["operator.yaml: name"]


# Tasks

EMPTY = "has an empty resource list. if that's what you need, use a Dummy task instead"
FILE = {"file": "/f", "kind": "Secret", "key": "k"}


def test_tasks_need_what_their_kind_needs(subtests: pytest.Subtests) -> None:
    table: list[tuple[Json, str]] = [
        (task("Apply"), f"task validation error: apply task 'x' {EMPTY}"),
        (task("Delete", resources=[]), f"task validation error: delete task 'x' {EMPTY}"),
        (task("Toggle", parameter="P"), f"task validation error: toggle task {EMPTY}"),
        (
            task("Toggle", resources=["a.yaml"]),
            "task validation error: Missing parameter to evaluate the Toggle Task",
        ),
        (
            task("Pipe", pod="a.yaml"),
            "task validation error: pipe task has an empty pipe files list",
        ),
        (
            task("Pipe", pod="a.yaml", pipe=[FILE | {"kind": "Pod"}]),
            "task validation error: invalid pipe kind (must be Secret or ConfigMap): ",
        ),
        (
            task("Pipe", pod="a.yaml", pipe=[FILE | {"key": "a b"}]),
            (
                "task validation error: invalid pipe key (only letters, numbers and _ and - are "
                "allowed): "
            ),
        ),
        (
            task("KudoOperator"),
            "task validation error: kudo operator task 'x' has an empty package name",
        ),
        (task("Aply"), "unknown task kind Aply"),
    ]
    for faulty, message in table:
        with subtests.test(faulty=faulty, message=message):
            parameters = [{"name": "P", "default": "true"}]
            of = package(tasks=tasks(faulty), plans=using("x"), parameters=parameters)
            [text] = found(of)
            assert text.startswith(message)
            assert "operator.yaml: tasks[x]" in places(of)


def test_a_pipe_file_is_a_file_or_an_environment_file() -> None:
    for pipe in (FILE | {"envFile": "/e"}, {"kind": "Secret", "key": "k"}):
        of = package(tasks=tasks(task("Pipe", pod="a.yaml", pipe=[pipe])), plans=using("x"))
        [text] = found(of)
        assert text.endswith("must have either 'file' or 'envFile' field set but not both")


def test_a_child_operator_needs_no_version_before_it_is_resolved() -> None:
    child = task("KudoOperator", package="./child")
    assert verify(package(tasks=tasks(child), plans=using("x"))) == ()


def test_steps_name_tasks_that_there_are() -> None:
    of = package(plans=using("nope", later=plan("nope", "app")))
    assert found(of) == [
        'task "nope" in plan "deploy" is not defined',
        'task "nope" in plan "later" is not defined',
    ]
    assert places(of) == [
        "operator.yaml: plans.deploy.phases[0].steps[0].tasks[1]",
        "operator.yaml: plans.later.phases[0].steps[0].tasks[0]",
    ]


def test_a_task_that_no_step_names_is_warned_of() -> None:
    of = package(tasks=tasks(task("Dummy", done=True)))
    assert warned(of) == ['task "x" defined but not used']
    assert found(of) == []


def test_a_task_is_defined_once() -> None:
    of = package(tasks=[APPLY, APPLY, APPLY])
    assert found(of) == ['task "app" is defined more than once; steps would use the first one']


# Plans


def test_a_trigger_that_names_the_cleanup_plan_is_worth_a_warning() -> None:
    plans = {"cleanup": {"strategy": "serial", "phases": []}}
    of = package(plans=plans, **used({"name": "P", "default": "1", "trigger": "cleanup"}))
    (text,) = (text for text in warned(of) if "used in parameter" in text)
    assert text.startswith('plan "cleanup" used in parameter "P" runs only when an instance is ')


def test_a_trigger_names_a_plan_that_there_is() -> None:
    of = package(**used({"name": "P", "default": "1", "trigger": "brew"}))
    assert found(of) == ['plan "brew" used in parameter "P" is not defined']
    assert places(of) == ["params.yaml: parameters[P].trigger"]


def test_there_is_a_deploy_plan() -> None:
    for plans in [None, {}, {"brew": DEPLOY}]:
        assert found(package(plans=plans)) == ["an operator is required to have 'deploy' plan"]


def test_an_unknown_strategy_is_an_error_and_a_missing_one_is_not_even_a_warning() -> None:
    phase = {**DEPLOY["phases"][0], "strategy": "Serial"}
    of = package(plans={"deploy": {"strategy": "paralell", "phases": [phase]}})
    assert found(of) == [
        "strategy 'paralell' of plan 'deploy' is unknown; use 'serial' or 'parallel'",
        "strategy 'Serial' of phase 'deploy.main' is unknown; use 'serial' or 'parallel'",
    ]


def test_names_of_phases_and_steps_are_unique_where_they_stand() -> None:
    step = {"name": "s", "tasks": ["app"]}
    phases = [{"name": "p", "steps": [step, step]}, {"name": "p", "steps": [step]}]
    assert found(package(plans={"deploy": {"phases": phases}})) == [
        'phase "p" is defined more than once in plan "deploy"; names must be unique',
        'step "s" is defined more than once in phase "p" of plan "deploy"; names must be unique',
    ]
    apart = [{"name": "p", "steps": [step]}, {"name": "q", "steps": [step]}]
    assert verify(package(plans={"deploy": {"phases": apart}, "other": {"phases": apart}})) == ()


def test_the_order_of_findings_is_that_of_the_original_and_always_the_same() -> None:
    # BTO-44: the order changed between runs.
    of = package(
        operatorVersion="x",
        tasks=tasks(task("Aply")),
        plans={"other": plan("app", "gone")},
        parameters=[{"name": "P;", "trigger": "nope"}],
        templates={"b.yaml": "{{ .Params.B }}", "a.yaml": OBJECT + "{{ .Params.A }}"},
    )
    messages = [finding.problem.message for finding in verify(of)]
    assert messages[:10] == [
        "parameter \"P;\" contains invalid character ';'",
        'unable to parse "operatorVersion": Invalid Semantic Version',
        "unknown task kind Aply",
        'task "gone" in plan "other" is not defined',
        'task "x" defined but not used',
        'plan "nope" used in parameter "P;" is not defined',
        "an operator is required to have 'deploy' plan",
        'parameter "A" in template a.yaml is not defined',
        'parameter "B" in template b.yaml is not defined',
        'template "b.yaml" is not referenced from any task',
    ]
    assert [text.split(":")[0] for text in messages[10:]] == ["error rendering template"] * 2


# What ends install, upgrade, package create and repo index


_TRIGGER: Final = {"name": "A", "trigger": "not-allowed", "default": "a"}
_NAMESPACE: Final = "apiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n"
_IN_UNUSED: Final = {"a.yaml": OBJECT, "b.yaml": "{{ .Params.NONE }}"}


def test_what_the_original_installed_and_ran_ends_the_verification_alone(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[str, Package]] = [
        ("PlanUnknown", package(**used(_TRIGGER))),
        (
            "ParameterDuplicate",
            package(**used({"name": "A", "default": "a"}, {"name": "a", "default": "a"})),
        ),
        ("ParameterTypeUnknown", package(**used({"name": "A", "type": "list", "default": "a"}))),
        ("ParameterInvalid", package(**used({"name": "A", "type": "integer", "default": "a"}))),
        ("ParameterInvalid", package(**used({"name": "A", "immutable": True, "required": False}))),
        ("ParameterInvalid", package(**used({"name": "A", "group": "none", "default": "a"}))),
        ("VersionInvalid", package(operatorVersion="one")),
        ("NameDuplicate", package(tasks=tasks(APPLY))),
        ("TaskBuildError", package(tasks=tasks(task("Apply", resources=[])))),
        ("TaskRenderingError", package(templates=_IN_UNUSED)),
        ("NamespaceNotAllowed", package(templates={"a.yaml": _NAMESPACE})),
    ]
    for code, faulty in table:
        with subtests.test(code=code, faulty=faulty):
            findings = [finding for finding in verify(faulty) if finding.code == code]
            assert findings
            assert all(finding.is_error and not finding.ends for finding in findings)
            assert all(not one.is_error for one in softened(findings))
            assert not any(finding.ends for finding in verify(faulty))


def test_what_no_installation_or_run_survives_ends_all_commands() -> None:
    table: list[tuple[str, Package]] = [
        ("VersionMissing", package(operatorVersion=None)),
        ("VersionMissing", package(kubernetesVersion=None)),
        ("VersionInvalid", package(kubernetesVersion="one")),
        ("InvalidName", package(operatorVersion="1.0.0+build.5")),
        ("ParameterInvalid", package(**used({"name": "A", "type": "array", "default": "a: b"}))),
        ("TaskBuildError", package(tasks=[task("Apply", "app", resources=[])])),
        ("TemplateUnknown", package(tasks=tasks(task("Apply", resources=["none.yaml"])))),
        ("TaskRenderingError", package(templates={"a.yaml": "kind: y"})),
    ]
    for code, faulty in table:
        assert [one.ends for one in softened(verify(faulty)) if one.code == code] == [True]
