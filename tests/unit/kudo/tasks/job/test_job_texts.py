"""Rendering a Job task: every text of it, and what no Job can be made of."""

from collections.abc import Mapping
from typing import Any

import pytest

from kudo.api import JsonObject
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.job import RenderedJob, rendered_job
from kudo.tasks.rendering import Engine

VALUES = {"Name": "db", "Params": {"IMAGE": "mariadb:11", "EMPTY": "", "LONG": "x" * 50_000}}
POD = "spec:\n  containers: [{name: main, image: '{{ .Params.IMAGE }}'}]\n"


def rendered(job: JsonObject, templates: Mapping[str, str] | None = None) -> RenderedJob:
    *texts, made = rendered_job("backup", job, templates or {}, VALUES, engine=Engine.full())
    assert texts == [None] * len(texts)
    assert made is not None
    return made


def fault(job: JsonObject, templates: Mapping[str, str] | None = None) -> FatalTaskError:
    with pytest.raises(FatalTaskError) as caught:
        rendered(job, templates)
    return caught.value


def test_every_text_is_a_template_but_names_of_files_and_keys() -> None:
    job = {
        "script": "scripts/{{ .Name }}.sh",
        "image": "{{ .Params.IMAGE }}",
        "env": [
            {"name": "A", "value": "{{ .Name }}-a"},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "{{ .Name }}", "key": "k"}}},
        ],
        "resources": {"limits": {"{{ .Name }}": "{{ .Name }}", "cpu": 1}},
        "keep": 2,
    }
    templates = {"scripts/{{ .Name }}.sh": "echo {{ .Name }}\n"}
    assert rendered(job, templates) == {
        "job": {
            "script": "scripts/{{ .Name }}.sh",
            "image": "mariadb:11",
            "env": [
                {"name": "A", "value": "db-a"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "db", "key": "k"}}},
            ],
            "resources": {"limits": {"{{ .Name }}": "db", "cpu": 1}},
            "keep": 2,
        },
        "script": "echo db\n",
        "pod": None,
    }
    assert job["image"] == "{{ .Params.IMAGE }}"


@pytest.mark.parametrize("head", ["", "apiVersion: v1\nkind: Pod\n", "---\n"])
def test_a_pod_template_may_say_what_it_is(head: str) -> None:
    made = rendered({"podTemplate": "pod.yaml"}, {"pod.yaml": head + POD})
    assert made["pod"] is not None
    assert made["pod"]["spec"] == {"containers": [{"name": "main", "image": "mariadb:11"}]}


def test_an_error_names_task_and_field_and_quotes_no_value() -> None:
    env = [{"name": "A", "value": "a"}, {"name": "B", "value": "{{ .Params.GONE }}"}]
    error = fault({"image": "i", "command": ["x"], "env": env})
    assert str(error).startswith("error expanding task backup: job.env[1].value: error rendering")
    assert 'map has no entry for key "GONE"' in str(error)
    error = fault({"image": "{{ .Params.EMPTY }}", "command": ["x"]})
    assert error.reason == "ResourceValidationError"
    assert str(error) == (
        "task backup: job.image: is needed: the program runs in a container of it"
    )
    twice = [{"name": name, "value": ""} for name in ("mariadb:11", "{{ .Params.IMAGE }}")]
    error = fault({"image": "i", "command": ["x"], "env": twice})
    assert str(error) == "task backup: job.env[1].name: there is another one of the same"


def test_a_script_that_is_missing_or_grows_is_an_error() -> None:
    job = {"script": "scripts/a.sh", "image": "i"}
    assert str(fault(job)) == "error finding resource named scripts/a.sh"
    error = fault(job, {"scripts/a.sh": "{{ .Params.LONG }}" * 2})
    assert "scripts/a.sh: it has more than 65536 bytes once it is rendered" in str(error)
    assert error.limit == "output"


def test_all_texts_together_are_bounded() -> None:
    args = ["{{ .Params.LONG }}"] * 6
    error = fault({"image": "i", "command": ["x"], "args": args})
    assert "job.args[5]: the texts of the task have more than 262144 characters" in str(error)
    assert error.limit == "output"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[]", "a pod must be a mapping"),
        ("kind: Job\nspec: {}", "it must be of v1, Kind=Pod and not of v1, Kind=Job"),
        ("metadata: {}", "it has no spec"),
        ("spec: {containers: {a: 1}}", "spec.containers is not a list of mappings"),
        ("spec: {volumes: [1]}", "spec.volumes is not a list of mappings"),
        ("spec: {securityContext: 1}", "spec.securityContext is not a mapping"),
        ("spec: {initContainers: [{env: 1}]}", "spec.initContainers[0].env is not a list of"),
        (
            "spec: {containers: [{volumeMounts: [{mountPath: 1}]}]}",
            "spec.containers[0].volumeMounts[0].mountPath is a number and not text",
        ),
        (
            "spec: {containers: [{securityContext: {capabilities: [x]}}]}",
            "spec.containers[0].securityContext is not a mapping",
        ),
        ("metadata: {labels: [a]}\nspec: {}", "metadata.labels is not a mapping"),
        ("spec: {x: 99999999999999999999}", "the integer at .spec.x does not fit into 64 bits"),
        (f"spec: {{x: [{'1,' * 20_001}]}}", "it has more than 20000 values; make it smaller"),
        ("spec: {a: {}\n---\nspec: {}", "template pod.yaml: the pod cannot be read"),
    ],
)
def test_what_is_no_pod_is_an_error(text: str, problem: str) -> None:
    error = fault({"podTemplate": "pod.yaml"}, {"pod.yaml": text})
    assert error.reason == "ResourceUnmarshalError"
    assert problem in str(error)


def test_each_text_is_told_before_it_is_rendered() -> None:
    told: list[str] = []
    job: dict[str, Any] = {
        "script": "scripts/a.sh",
        "image": "{{ .Name }}",
        "args": ["plain", "{{ .Name }}"],
        "podTemplate": "pod.yaml",
    }
    templates = {"scripts/a.sh": "", "pod.yaml": POD}
    parts = rendered_job("t", job, templates, VALUES, engine=Engine.full(), begin=told.append)
    assert [*parts][:3] == [None, None, None]
    assert told == [
        "task t: job.image",
        "task t: job.args[1]",
        'script "scripts/a.sh"',
        'template "pod.yaml"',
    ]
