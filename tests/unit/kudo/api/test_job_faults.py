"""What no Job can be made of: each field that is wrong, and what it has to be."""

from typing import Any

import pytest

from kudo.api import JsonObject, Task, bounds
from kudo.api.problems import path_text
from kudo.api.task_kinds import FatalTaskError, check_task
from kudo.api.task_kinds.job import is_script, job_faults, templates_in

SECRET = {"secretKeyRef": {"name": "{{ .Name }}-root", "key": "password"}}
WHOLE: JsonObject = {
    "script": "scripts/backup.sh",
    "args": ["full"],
    "image": "{{ .Params.IMAGE }}",
    "env": [
        {"name": "MODE", "value": ""},
        {"name": "PASSWORD", "valueFrom": SECRET},
        {
            "name": "HOST",
            "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k", "optional": True}},
        },
    ],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}],
    "mounts": [{"name": "data", "mountPath": "/data"}],
    "resources": {"limits": {"cpu": 1}},
}


def faults(job: JsonObject, *, rendered: bool = False) -> list[str]:
    return [
        f"{path_text(path)}: {fault}".removeprefix(": ")
        for path, fault in job_faults(job, rendered=rendered)
    ]


def test_a_whole_job_has_none() -> None:
    assert faults(WHOLE) == faults(WHOLE, rendered=True) == []
    assert faults({"podTemplate": "pod.yaml"}) == []
    assert faults({"command": ["x"], "image": "i"}) == []


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"command": ["x"]}, "command: there is a script as well; leave one of them out"),
        ({"script": None}, "needs a script, a command or a podTemplate"),
        ({"image": ""}, "image: is needed: the program runs in a container of it"),
        ({"script": "backup.sh"}, 'script: "backup.sh" is no file of the folder scripts/; write'),
        ({"script": "scripts/../x"}, 'script: "scripts/../x" is no file of the folder scripts/'),
        ({"script": "/scripts/x"}, 'script: "/scripts/x" is no file of the folder scripts/'),
        ({"script": "scripts//x"}, 'script: "scripts//x" is no file of the folder scripts/'),
        ({"script": "scripts/"}, 'script: "scripts/" is no file of the folder scripts/'),
        ({"keep": 11}, "keep: must be from 1 to 10"),
        ({"keep": 0}, "keep: must be from 1 to 10"),
        ({"backoffLimit": -1}, "backoffLimit: must be from 0 to 1000"),
        ({"activeDeadlineSeconds": 0}, "activeDeadlineSeconds: must be from 1 to 2147483647"),
        ({"resources": ["cpu"]}, "resources: is not a mapping"),
        ({"env": {"A": "b"}}, "env: is a mapping and not a list"),
        ({"env": ["A=b"]}, "env[0]: is text and not a mapping"),
        ({"env": [{"value": "b"}]}, "env[0]: needs a name"),
        ({"env": [{"name": "A"}]}, "env[0]: needs value or valueFrom, and not both"),
        (
            {"env": [{"name": "A", "value": "", "valueFrom": SECRET}]},
            "env[0]: needs value or valueFrom, and not both",
        ),
        ({"env": [{"name": "A", "value": 1}]}, "env[0].value: is a number and not text; put quot"),
        ({"env": [{"name": "A", "value": None}]}, 'env[0].value: is null; write ""'),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            "env[0].valueFrom: must be one of secretKeyRef and configMapKeyRef",
        ),
        ({"env": [{"name": "A", "valueFrom": {**SECRET, "x": 1}}]}, "env[0].valueFrom: must be"),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}]},
            "env[0].valueFrom.secretKeyRef: needs a key",
        ),
        (
            {"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]},
            "env[1].name: there is another one of the same",
        ),
        ({"volumes": [{"emptyDir": {}}], "mounts": []}, "volumes[0]: needs a name"),
        ({"mounts": [{"name": "data"}]}, "mounts[0]: needs a mountPath"),
        ({"mounts": [{"mountPath": "/x"}]}, "mounts[0]: needs a name, which is that of a volume"),
        (
            {"mounts": [{"name": "gone", "mountPath": "/x"}]},
            "mounts[0].name: volumes has no volume of this name",
        ),
        (
            {"volumes": [{"name": "data", "x": 2**63}]},
            "volumes[0].x: does not fit into 64 bits",
        ),
        ({"args": ["x" * 60_000] * 2}, "its texts have 1"),
        ({"resources": {"x": [0] * bounds.JOB_VALUES}}, "has more than 4000 values"),
    ],
)
def test_what_is_wrong_is_named(fields: JsonObject, fault: str) -> None:
    [found] = faults({**WHOLE, **fields})
    assert found.startswith(fault)


def test_what_is_nested_too_deeply_is_not_looked_at() -> None:
    value: Any = ""
    for _ in range(100_000):
        value = [value]
    assert faults({**WHOLE, "resources": {"x": value}}) == [
        "has more than 4000 values, or 20 in each other"
    ]


def test_rendered_texts_may_be_longer_and_are_not_quoted() -> None:
    assert faults({**WHOLE, "args": ["x" * 60_000] * 2}, rendered=True) == []
    mounts = [{"name": "hunter2", "mountPath": "/hunter2"}] * 2
    said = "\n".join(faults({**WHOLE, "mounts": mounts}, rendered=True))
    assert said
    assert "hunter2" not in said


def test_names_of_volumes_may_be_templates() -> None:
    job = {
        **WHOLE,
        "volumes": [{"name": "{{ .Name }}", "emptyDir": {}}],
        "mounts": [{"name": "{{ .Name }}", "mountPath": "/data"}],
    }
    assert faults(job) == []
    assert faults({**job, "podTemplate": "pod.yaml", "volumes": []}) == []


def test_the_templates_of_a_job_are_its_texts_but_names_of_files() -> None:
    job = {**WHOLE, "podTemplate": "{{ .Name }}.yaml"}
    assert [path_text(path) for path, _ in templates_in(job)] == [
        "image",
        "env[1].valueFrom.secretKeyRef.name",
    ]


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("scripts/a.sh", True),
        ("scripts/sub/a", True),
        ("scripts", False),
        ("scripts/./a", False),
        ("Scripts/a", False),
    ],
)
def test_a_script_is_below_its_folder(path: str, is_one: bool) -> None:
    assert is_script(path) is is_one


def test_a_task_is_refused_with_its_name_and_field() -> None:
    task = Task.from_wire({"name": "backup", "kind": "Job", "spec": {"job": {"command": ["x"]}}})
    with pytest.raises(FatalTaskError, match=r"job task 'backup': job.image: is needed"):
        check_task(task)
    with pytest.raises(FatalTaskError, match=r"job task 'backup': job: is needed"):
        check_task(Task(name="backup", kind="Job"))
