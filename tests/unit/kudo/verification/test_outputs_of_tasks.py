"""Outputs of tasks in packages: what is not declared, and what is used where it is not known."""

from typing import Any

import pytest

from kudo.verification import verify
from tests.unit.kudo.verification.test_verification import (
    OBJECT,
    Json,
    found,
    package,
    places,
    task,
)

DUMP: Json = task("Job", "dump", job={"image": "i", "command": ["x"], "outputs": ["file", "bytes"]})
PLAIN: Json = task("Job", "plain", job={"image": "i", "command": ["x"]})
NOTE: Json = task("Apply", "note", resources=["a.yaml"])


def phase(steps: Json, strategy: str = "serial", **more: Any) -> Json:
    named = [{"name": name, "tasks": tasks} for name, tasks in steps.items()]
    return {"name": f"p-{'-'.join(steps)}", "strategy": strategy, "steps": named, **more}


def of(text: str, *phases: Json, strategy: str = "serial", **plans: Json) -> Any:
    """Return a package with a template that ends so, whose plan has these phases."""
    deploy = {"strategy": strategy, "phases": list(phases)}
    return package(
        kudoVersion="0.20.0",
        templates={"a.yaml": OBJECT + text},
        tasks=[DUMP, PLAIN, NOTE],
        plans={"deploy": deploy, **plans},
    )


BOTH = phase({"dump": ["dump", "plain"], "note": ["note"]})
FILE = "# {{ .Outputs.dump.file }}"


def codes(found: Any) -> list[tuple[str, str]]:
    return [(finding.code, finding.place.position) for finding in verify(found)]


@pytest.mark.parametrize(
    "text",
    [
        FILE,
        '# {{ index .Outputs "dump" "bytes" }}',
        "# {{ toYaml .Outputs.dump | len }}",
        "# {{ toYaml .Outputs | len }}",
        '# {{ if hasKey .Outputs "dump" }}{{ .Outputs.dump.file }}{{ end }}',
    ],
)
def test_outputs_that_are_declared_and_known_are_fine(text: str) -> None:
    assert verify(of(text, BOTH)) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# {{ .Outputs.dmp.file }}",
            'template a.yaml uses output "file" of task "dmp", and there is no such task',
        ),
        (
            "# {{ .Outputs.plain.file }}",
            'template a.yaml uses output "file" of task "plain", which declares none',
        ),
        (
            "# {{ .Outputs.dump.fil }}",
            'template a.yaml uses output "fil" of task "dump", which does not declare it',
        ),
        (
            '# {{ range index .Outputs "note" }}{{ end }}',
            'template a.yaml uses outputs of task "note", which declares none',
        ),
    ],
)
def test_outputs_that_are_not_declared_are_errors(text: str, message: str) -> None:
    package = of(text, BOTH)
    assert message in found(package)
    assert ("OutputUnknown", f"templates/a.yaml:4:{14 if 'range' not in text else 12}") in codes(
        package
    )


def test_a_name_that_is_close_is_suggested() -> None:
    for text, name in (("# {{ .Outputs.dmp.x }}", "dump"), ("# {{ .Outputs.dump.fil }}", "file")):
        suggestions = [finding.suggestion for finding in verify(of(text, BOTH))]
        assert f'did you mean "{name}"?' in suggestions


USES = "template a.yaml uses output 'file' of task 'dump' in step"
ONE = phase({"dump": ["dump", "note"]})
LATER = phase({"note": ["note"], "dump": ["dump"]})
PARALLEL = phase({"dump": ["dump"], "note": ["note"]}, "parallel")


@pytest.mark.parametrize(
    ("phases", "strategy", "step", "problem"),
    [
        ([ONE], "serial", "p-dump.dump", "which runs in the same step"),
        (
            [LATER],
            "serial",
            "p-note-dump.note",
            'which runs later or at the same time, in step "p-note-dump.dump"',
        ),
        (
            [PARALLEL],
            "serial",
            "p-dump-note.note",
            'which runs later or at the same time, in step "p-dump-note.dump"',
        ),
        (
            [phase({"dump": ["dump"]}), phase({"note": ["note"]})],
            "parallel",
            "p-note.note",
            'which runs later or at the same time, in step "p-dump.dump"',
        ),
        ([phase({"note": ["note"]})], "serial", "p-note.note", "which the plan does not run"),
    ],
)
def test_a_use_where_outputs_are_not_known_names_plan_and_step(
    phases: list[Json], strategy: str, step: str, problem: str
) -> None:
    package = of(FILE, *phases, strategy=strategy)
    errors = [finding for finding in verify(package) if finding.is_error]
    assert [(finding.code, finding.problem.message) for finding in errors] == [
        (
            "OutputUnavailable",
            f"{USES} {step!r} of plan 'deploy', {problem}".replace("'", '"'),
        )
    ]
    assert errors[0].place.position == "templates/a.yaml:4:14"
    # Only a step of the plan that does not run the task may ask.
    asked = '# {{ if hasKey .Outputs "dump" }}{{ .Outputs.dump.file }}{{ end }}'
    told = verify(of(asked, *phases, strategy=strategy))
    assert any(finding.is_error for finding in told) is (problem != "which the plan does not run")


def test_each_plan_counts_by_itself() -> None:
    other = {"phases": [phase({"note": ["note"]})]}
    [message] = found(of(FILE, BOTH, update=other))
    assert message.endswith('in step "p-note.note" of plan "update", which the plan does not run')


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("outputs.dump.file != ''", ""),
        ("outputs['dump'].file != '' && has(outputs.dump)", ""),
        ("instance.labels['outputs.gone.x'] == ''", ""),
        (r"""instance.name != 'it\'s outputs.gone.x' && "outputs.gone" != ''""", ""),
        (
            "outputs.gone.x == ''",
            'when uses output "x" of task "gone", and there is no such task',
        ),
        (
            'outputs.dump["size"] == ""',
            'when uses output "size" of task "dump", which does not declare it',
        ),
        (
            "outputs['plain'] == {}",
            'when uses outputs of task "plain", which declares none',
        ),
    ],
)
@pytest.mark.parametrize("of_phase", [False, True])
def test_conditions_use_outputs_that_are_declared(
    expression: str, message: str, of_phase: bool
) -> None:
    last = phase({"note": ["note"]})
    (last if of_phase else last["steps"][0])["when"] = expression
    package = of("", phase({"dump": ["dump", "plain"]}), last)
    assert found(package) == ([message] if message else [])
    path = "phases[1]" if of_phase else "phases[1].steps[0]"
    assert places(package) == ([f"operator.yaml: plans.deploy.{path}.when"] if message else [])


@pytest.mark.parametrize(
    ("expression", "is_error"),
    [
        ("outputs.dump.file == ''", True),
        ("has(outputs.dump) && outputs.dump.file == ''", False),
        ("'dump' in outputs && outputs.dump.file == ''", False),
        ("outputs.?dump.file.orValue('') == ''", False),
        ("outputs[?'dump'].file.orValue('') == ''", False),
    ],
)
def test_a_condition_may_ask_in_a_plan_that_does_not_run_the_task(
    expression: str, is_error: bool
) -> None:
    asks = phase({"note": ["note"]}, when=expression)
    package = of("", BOTH, other={"phases": [asks]})
    problem = 'of plan "other", which the plan does not run'
    assert [message.endswith(problem) for message in found(package)] == [True] * is_error
    # In the phase of the task, it is never true.
    alone = of("", phase({"dump": ["dump", "plain", "note"]}, when=expression))
    [message] = found(alone)
    assert message.endswith("which runs in the same step")


def test_texts_and_scripts_and_expressions_of_tasks_count_as_well() -> None:
    check = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "{{ .Outputs.dump.nope }}",
        "until": "outputs.dump.gone == self.data.x && self.outputs.dump.x == ''",
    }
    job = {"image": "i", "command": ["x"], "env": [{"name": "A", "value": "{{ .Outputs.x.y }}"}]}
    tasks = [DUMP, task("Check", "ring", check=check), task("Job", "use", job=job)]
    steps = phase({"dump": ["dump"], "ring": ["ring"], "use": ["use"]})
    of_tasks = package(
        kudoVersion="0.20.0", tasks=tasks, templates={}, plans={"deploy": {"phases": [steps]}}
    )
    assert [message for message in found(of_tasks) if "output" in message] == [
        'check.name of task ring uses output "nope" of task "dump", which does not declare it',
        'job.env[0].value of task use uses output "y" of task "x", and there is no such task',
        'check.until of task ring uses output "gone" of task "dump", which does not declare it',
    ]


def test_a_package_without_outputs_is_told_that_there_are_none() -> None:
    [message, *_] = found(package(templates={"a.yaml": OBJECT + FILE}))
    assert message == (
        'template a.yaml uses output "file" of task "dump", and there is no such task'
    )
