"""Secret parameters of packages: where verification warns of them, and where it refuses them."""

from typing import Any

import pytest

from kudo.verification import verify
from tests.unit.kudo.verification.test_jobs import SCRIPT
from tests.unit.kudo.verification.test_jobs import package as package_of_job
from tests.unit.kudo.verification.test_verification import Json, package, plan, task

PASSWORD: Json = {"name": "PASSWORD", "secret": True}
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: "{{ .Params.PASSWORD }}"}
data: {again: "{{ .Params.PASSWORD | b64enc }}"}
"""
JOB: Json = {"image": "i", "command": ["x"]}


def of(*, text: str = "", parameter: Json = PASSWORD, **job: Any) -> Any:
    """Return a package with a secret parameter, a template that puts it into a Secret, and more."""
    tasks = [task("Apply", "app", resources=["a.yaml"])]
    if job:
        tasks.append(task("Job", "job", job={**JOB, **job}))
    return package(
        kudoVersion="0.20.0",
        parameters=[parameter],
        templates={"a.yaml": f"{SECRET}{text}"},
        tasks=tasks,
        plans={"deploy": plan(*[each["name"] for each in tasks])},
    )


def findings(found: Any) -> list[tuple[str, str, str]]:
    return [(f.severity.value, f.code, f.problem.message) for f in verify(found)]


def test_a_secret_is_for_it() -> None:
    assert findings(of()) == []
    assert findings(of(text="# {{ .Params.PASSWORD }}\n")) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("data: {url: 'x://{{ .Params.PASSWORD }}@h'}", "data.url"),
        ("data: {url: '{{ .Params.PASSWORD | b64enc }}'}", "data.url"),
        ("metadata: {name: c, labels: {sum: 'a{{ .Params.PASSWORD | sha256sum | trunc 9 }}'}}", ""),
        ("data: {'{{ .Params.PASSWORD }}': x}", "data"),
    ],
)
def test_another_object_is_warned_about_whatever_was_made_of_the_value(
    text: str, where: str
) -> None:
    named = "" if text.startswith("metadata") else "metadata: {name: c}\n"
    shown = findings(of(text=f"---\napiVersion: v1\nkind: ConfigMap\n{named}{text}\n"))
    ((severity, code, message),) = shown
    assert (severity, code) == ("warning", "SecretExposed")
    assert message.startswith('secret parameter "PASSWORD" is put into ConfigMap "c" (' + where)


def test_the_name_of_a_secret_is_no_place_for_it() -> None:
    text = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: 'a-{{ .Params.PASSWORD }}'}\n"
    ((severity, _, message),) = findings(of(text=text))
    assert severity == "warning"
    assert "(metadata.name)" in message


def test_random_texts_are_none_of_it() -> None:
    text = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"
    random = "data: {x: '{{ if .Params.PASSWORD }}{{ randAlphaNum 9 }}{{ end }}'}\n"
    assert findings(of(text=text + random)) == []


POD = """\
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: i, %s}]}
"""


@pytest.mark.parametrize(
    ("field", "severity"),
    [
        ("args: ['{{ .Params.PASSWORD }}']", "error"),
        ("command: [sh, -c, 'x {{ .Params.PASSWORD }}']", "error"),
        ("env: [{name: P, value: '{{ .Params.PASSWORD }}'}]", "warning"),
    ],
)
def test_it_is_refused_in_the_command_line_of_a_container(field: str, severity: str) -> None:
    ((found, code, _),) = findings(of(text=POD % field))
    assert (found, code) == (severity, "SecretExposed")


@pytest.mark.parametrize(
    ("job", "severity"),
    [
        ({"args": ["{{ .Params.PASSWORD }}"]}, "error"),
        ({"command": ["sh", "-c", "x {{ .Params.PASSWORD }}"]}, "error"),
        ({"env": [{"name": "P", "value": "{{ .Params.PASSWORD }}"}]}, "warning"),
    ],
)
def test_job_tasks_are_judged_alike(job: Json, severity: str) -> None:
    ((found, code, message),) = findings(of(**job))
    assert (found, code) == (severity, "SecretExposed")
    assert "the Job of task job" in message
    reads = {"name": "P", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}
    assert findings(of(env=[reads])) == []


def test_a_script_is_refused() -> None:
    script = {SCRIPT: "echo {{ .Params.PASSWORD }}"}
    found = package_of_job({"env": []}, files=script, parameters=(PASSWORD,))
    (message,) = [message for severity, _, message in findings(found) if severity == "error"]
    assert message == f'secret parameter "PASSWORD" in script {SCRIPT} would be seen by many'


@pytest.mark.parametrize(
    "text",
    [
        "params.PASSWORD == 'x'",
        "params['PASSWORD'] != ''",
        "has(params.PASSWORD)",
        "params.?PASSWORD.hasValue()",
    ],
)
def test_no_condition_sees_it(text: str) -> None:
    deploy = plan("app")
    deploy["phases"][0]["when"] = text
    found = package(
        kudoVersion="0.20.0",
        parameters=[PASSWORD, {"name": "PASSWORD2", "required": False}],
        templates={"a.yaml": SECRET},
        tasks=[task("Apply", "app", resources=["a.yaml"])],
        plans={"deploy": deploy},
    )
    assert [c for s, c, _ in findings(found) if s == "error"] == ["SecretExposed"]


def test_a_toggle_does_not_decide_by_it() -> None:
    found = package(
        kudoVersion="0.20.0",
        parameters=[{**PASSWORD, "type": "boolean"}],
        templates={"a.yaml": SECRET.replace("{{ .Params.PASSWORD }}", "x")},
        tasks=[task("Toggle", "app", parameter="PASSWORD", resources=["a.yaml"])],
        plans={"deploy": plan("app")},
    )
    assert "SecretExposed" in [c for s, c, _ in findings(found) if s == "error"]


def test_a_check_does_not_see_it() -> None:
    check = {"kind": "Pod", "name": "{{ .Params.PASSWORD }}", "condition": "true"}
    found = package(
        kudoVersion="0.20.0",
        parameters=[PASSWORD],
        tasks=[task("Check", "c", check=check)],
        plans={"deploy": plan("c")},
    )
    assert "SecretExposed" in [c for s, c, _ in findings(found) if s == "error"]


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"default": "x"}, "sees its default; remove it"),
        ({"onChange": "restart"}, "onChange restart is unknown; use run"),
        ({"secret": False, "onChange": "run", "required": False}, "onChange is for secret"),
    ],
)
def test_a_secret_parameter_has_no_default(fields: Json, text: str) -> None:
    shown = [f for f in findings(of(parameter={**PASSWORD, **fields})) if f[0] == "error"]
    assert [code for _, code, _ in shown] == ["ParameterInvalid"]
    assert text in shown[0][2]
