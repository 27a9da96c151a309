"""What `package verify` finds in Job tasks: in their fields, their scripts and their pods."""

import json
from typing import Any

import pytest

from kudo.packages.files import PackageFiles
from kudo.packages.model import Package
from kudo.packages.reader import parse_package
from kudo.verification import Severity, verify
from tests.unit.kudo.verification.test_verification import Json

SCRIPT = "scripts/backup.sh"
POD = "spec:\n  containers: [{name: main, image: mariadb}]\n"
MODE: Json = {"name": "MODE", "default": "full"}


def package(
    job: Json | None = None,
    files: Json | None = None,
    parameters: tuple[Json, ...] = (MODE,),
    **operator: Any,
) -> Package:
    """Return a package whose task is right, but for what is given."""
    fields = {
        "script": SCRIPT,
        "image": "mariadb",
        "env": [{"name": "MODE", "value": "{{ .Params.MODE }}"}],
        **(job or {}),
    }
    task = {"name": "backup", "kind": "Job", "spec": {"job": fields}}
    step = {"name": "dump", "tasks": ["backup"]}
    document = {
        "name": "db",
        "operatorVersion": "0.1.0",
        "kubernetesVersion": "1.30.0",
        "tasks": [task],
        "plans": {"deploy": {"phases": [{"name": "main", "steps": [step]}]}},
        **operator,
    }
    texts = {
        "operator.yaml": json.dumps(document, indent=1),
        "params.yaml": json.dumps({"parameters": parameters}),
        SCRIPT: "echo {{ .Name }}\n",
        **(files or {}),
    }
    written = {path: text.encode() for path, text in texts.items() if text is not None}
    return parse_package(PackageFiles("p", written))


def findings(of: Package) -> list[tuple[str, str, str]]:
    """Return the code, the place without a column, and the message of all findings."""
    return [
        (f.code, f.problem.field.removeprefix("operator.yaml: "), f.problem.message)
        for f in verify(of)
    ]


def test_a_job_task_can_be_right() -> None:
    assert findings(package()) == []
    with_pod = package({"podTemplate": "pod.yaml", "image": None}, {"templates/pod.yaml": POD})
    assert findings(with_pod) == []


AT = "tasks[backup].spec.job"


@pytest.mark.parametrize(
    ("job", "code", "place", "words"),
    [
        ({"image": None}, "TaskBuildError", f"{AT}.image", "job.image: is needed"),
        ({"command": ["x"]}, "TaskBuildError", f"{AT}.command", "there is a script as well"),
        (
            {"env": [{"name": "MODE", "value": 5}, {"name": "X", "value": "{{ .Params.MODE }}"}]},
            "TaskBuildError",
            f"{AT}.env[0].value",
            "is a number and not text; put quotes around it",
        ),
        (
            {"script": "../other.sh"},
            "TaskBuildError",
            f"{AT}.script",
            "is no file of the folder scripts/",
        ),
        (
            {"script": "scripts/bakup.sh"},
            "TemplateUnknown",
            f"{AT}.script",
            'script "scripts/bakup.sh" required by backup but is not defined',
        ),
        (
            {"image": "{{ .Params.IMAGE }}"},
            "ParameterUnknown",
            f"{AT}.image",
            'parameter "IMAGE" in job.image of task backup is not defined',
        ),
        (
            {"image": "{{ .Parms.IMAGE }}"},
            "VariableUnknown",
            f"{AT}.image",
            'job.image of task backup defines an invalid implicit parameter "Parms"',
        ),
        (
            {"image": "{{ .Name"},
            "TemplateInvalid",
            f"{AT}.image",
            "job.image of task backup reports the following error: template: job.image:1: unclosed",
        ),
        (
            {"args": ["", '{{ index "x" 5 }}']},
            "TaskRenderingError",
            f"{AT}.args[1]",
            "task backup: job.args[1]: error rendering template",
        ),
        (
            {"mounts": [{"name": "{{ .Name }}", "mountPath": "/x"}]},
            "TaskBuildError",
            f"{AT}.mounts[0].name",
            "volumes has no volume of this name",
        ),
        (
            {"volumes": [{"name": "a"}, {"name": "{{ printf `a` }}"}]},
            "ResourceValidationError",
            f"{AT}.volumes[1].name",
            "job.volumes[1].name: there is another one of the same",
        ),
        ({"keep": 11}, "TaskBuildError", f"{AT}.keep", "must be from 1 to 10"),
        ({"backofLimit": 1}, "FieldUnknown", "tasks[0].spec.job.backofLimit", "is unknown"),
    ],
)
def test_each_fault_of_the_fields_has_its_place(
    job: Json, code: str, place: str, words: str
) -> None:
    found = findings(package(job))
    of_code = [(where, message) for reason, where, message in found if reason == code]
    assert of_code
    assert of_code[0][0] == place
    assert words in of_code[0][1]


def test_a_field_has_its_line_in_the_short_form_too() -> None:
    step = {"name": "backup", "job": {"script": SCRIPT, "image": "{{ .Params.IMAGE }}"}}
    of = package(tasks=[], plans={"deploy": {"steps": [step]}}, parameters=())
    finding, rendered = verify(of)
    assert (finding.code, rendered.code) == ("ParameterUnknown", "TaskRenderingError")
    assert finding.place == rendered.place
    assert finding.problem.field == "operator.yaml: plans.deploy.steps[backup].job.image"
    lines = of.files.files["operator.yaml"].decode().split("\n")
    assert '"image"' in lines[finding.place.line - 1]


@pytest.mark.parametrize(
    ("script", "code", "place", "words"),
    [
        ("a\n{{ .Params.GONE }}", "ParameterUnknown", f"{SCRIPT}:2", "in script scripts/backup.sh"),
        ("a\n\n{{ .Name", "TemplateInvalid", f"{SCRIPT}:3", "unclosed action"),
        ('a\n{{ index "x" 5 }}', "TaskRenderingError", f"{SCRIPT}:2", "error rendering template"),
    ],
)
def test_a_fault_of_a_script_has_its_line(script: str, code: str, place: str, words: str) -> None:
    first, *more = findings(package(files={SCRIPT: script}))
    assert first[:2] == (code, place)
    assert words in first[2]
    assert {found[1] for found in more} <= {place}


def test_a_script_that_refuses_the_defaults_is_a_warning() -> None:
    [finding] = verify(package(files={SCRIPT: '{{ fail "choose a bucket" }}'}))
    assert finding.severity is Severity.WARNING
    assert "choose a bucket" in finding.problem.message


def test_scripts_that_nothing_runs_are_a_warning_where_tasks_run_scripts() -> None:
    files = {"scripts/old.sh": "", "scripts/sub/x": "\udcff".encode("utf-8", "replace").decode()}
    assert findings(package(files=files)) == [
        (
            "ScriptUnused",
            f"scripts/{name}",
            f'script "scripts/{name}" is not referenced from any task',
        )
        for name in ("old.sh", "sub/x")
    ]
    dummy = {"name": "backup", "kind": "Dummy", "spec": {"done": True}}
    assert findings(package(files=files, tasks=[dummy], parameters=())) == []


def test_a_task_that_nothing_runs_may_have_a_broken_script() -> None:
    dummy = {"name": "app", "kind": "Dummy", "spec": {"done": True}}
    job = {"name": "backup", "kind": "Job", "spec": {"job": {"script": SCRIPT, "image": "i"}}}
    plan = {"phases": [{"name": "main", "steps": [{"name": "s", "tasks": ["app"]}]}]}
    of = package(files={SCRIPT: "{{"}, tasks=[dummy, job], plans={"deploy": plan}, parameters=())
    assert {(f.code, f.ends) for f in verify(of)} == {
        ("TemplateInvalid", False),
        ("TaskUnused", False),
        ("TaskRenderingError", False),
    }


@pytest.mark.parametrize(
    ("pod", "code", "words"),
    [
        ("spec: {}", "ResourceValidationError", "job.image: container main has no image"),
        ("kind: Job\nspec: {}", "ResourceUnmarshalError", "it must be of v1, Kind=Pod"),
        (POD + "---\nspec: {}\n", "ResourceUnmarshalError", "the pod cannot be read"),
        ("spec:\n- {{ .Params.GONE }}", "ParameterUnknown", 'parameter "GONE" in template pod'),
        (
            POD.replace("mariadb", "mariadb, securityContext: {runAsUser: 0}"),
            "RefusedByDefault",
            "container main runs as root, and task backup sets securityContext.runAsNonRoot",
        ),
        (
            POD + "  restartPolicy: OnFailure\n",
            "PodTemplateOverridden",
            "restartPolicy OnFailure is replaced by task backup",
        ),
        (
            POD.replace("mariadb", "i, terminationMessagePolicy: FallbackToLogsOnError"),
            "PodTemplateOverridden",
            "terminationMessagePolicy FallbackToLogsOnError of container main is replaced",
        ),
    ],
)
def test_faults_of_the_pod_template_are_found(pod: str, code: str, words: str) -> None:
    of = package({"podTemplate": "pod.yaml", "image": None}, {"templates/pod.yaml": pod})
    [found] = [one for one in findings(of) if one[0] == code]
    assert words in found[2]


def test_a_pod_that_says_that_it_runs_as_root_is_right() -> None:
    context = "securityContext: {runAsNonRoot: false, runAsUser: 0}"
    pod = f"spec:\n  {context}\n  containers: [{{name: main, image: i}}]\n"
    of = package({"podTemplate": "pod.yaml", "image": None}, {"templates/pod.yaml": pod})
    assert findings(of) == []


def test_a_name_that_an_optional_parameter_gives_is_no_mistake() -> None:
    optional = {"name": "BUCKET", "required": False}
    env = [{"name": "{{ .Params.BUCKET }}", "value": "{{ .Params.MODE }}"}]
    assert findings(package({"env": env}, parameters=(MODE, optional))) == []


def test_a_kind_that_the_original_does_not_know_needs_a_version_that_does() -> None:
    [found] = findings(package(kudoVersion="0.19.0"))
    assert found[0] == "KudoVersionTooLow"
    assert "it does not know tasks of kind Job" in found[2]
    assert findings(package(kudoVersion="0.20.0")) == []
