"""The Job of a Job task: its name, its program, what its pod is without being told."""

from typing import Any

import pytest

from kubeio.names import is_label
from kudo.api import JsonObject
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.job import JobNames, job_object
from kudo.tasks.job.texts import PodTemplate

NAMES = JobNames("db", "9b1c", "backup", "main", "dump", "backup")


def job(
    fields: JsonObject, *, script: str | None = None, pod: PodTemplate | None = None
) -> JsonObject:
    return job_object({"job": fields, "script": script, "pod": pod}, NAMES)


def pod_of(fields: JsonObject, **parts: Any) -> Any:
    return job(fields, **parts)["spec"]["template"]["spec"]


def main_of(fields: JsonObject, **parts: Any) -> Any:
    [container] = pod_of(fields, **parts)["containers"]
    return container


def test_a_script_is_an_argument_of_a_shell_and_all_is_restricted() -> None:
    fields = {"script": "scripts/backup.sh", "args": ["full"], "image": "mariadb:11"}
    assert job(fields, script="mysqldump $1") == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": NAMES.job, "labels": {"kudo.dev/job-of": "backup"}},
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"labels": {"kudo.dev/job-of": "backup"}},
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": False,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "volumes": [{"name": "kudo-tmp", "emptyDir": {}}],
                    "containers": [
                        {
                            "name": "main",
                            "image": "mariadb:11",
                            "command": [
                                *("/bin/sh", "-c", "mysqldump $1", "scripts/backup.sh", "full")
                            ],
                            "terminationMessagePolicy": "File",
                            "securityContext": {
                                "allowPrivilegeEscalation": False,
                                "capabilities": {"drop": ["ALL"]},
                                "readOnlyRootFilesystem": True,
                            },
                            "volumeMounts": [{"name": "kudo-tmp", "mountPath": "/tmp"}],
                        }
                    ],
                },
            },
        },
    }


@pytest.mark.parametrize(
    ("script", "sent"),
    [
        ("echo $HOME ${x} $", "echo $HOME ${x} $"),
        ("now=$(date)", "now=$$(date)"),
        ("kill $$; echo $$$", "kill $$$$; echo $$$$$$"),
        ("echo $$(pwd)", "echo $$$$(pwd)"),
    ],
)
def test_the_shell_gets_the_script_as_it_is_written(script: str, sent: str) -> None:
    command = main_of({"script": "scripts/a.sh", "image": "i"}, script=script)["command"]
    assert command[2] == sent
    assert expanded(sent) == script


def expanded(text: str) -> str:
    """Return what Kubernetes makes of a command, in which no variable of these names is set."""
    out, at = "", 0
    while at < len(text):
        if text[at] == "$" and text[at + 1 : at + 2] == "$":
            out, at = out + "$", at + 2
        elif text[at] == "$" and text[at + 1 : at + 2] == "(" and ")" in text[at:]:
            end = text.index(")", at) + 1
            out, at = out + "VALUE", end
        else:
            out, at = out + text[at], at + 1
    return out


def test_a_command_has_its_arguments_and_the_numbers_of_the_task_are_those_of_the_job() -> None:
    fields = {
        "command": ["pg_dump"],
        "args": ["-v"],
        "image": "postgres",
        "backoffLimit": 2,
        "activeDeadlineSeconds": 600,
        "resources": {"limits": {"cpu": 1}},
        "serviceAccountName": "dumper",
    }
    made = job(fields)
    assert (made["spec"]["backoffLimit"], made["spec"]["activeDeadlineSeconds"]) == (2, 600)
    pod = made["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == "dumper"
    assert "automountServiceAccountToken" not in pod
    main = pod["containers"][0]
    assert (main["command"], main["args"]) == (["pg_dump"], ["-v"])
    assert main["resources"] == {"limits": {"cpu": 1}}


POD: PodTemplate = {
    "metadata": {"labels": {"team": "db"}, "annotations": {"a": "b"}, "name": "ignored"},
    "spec": {
        "nodeSelector": {"disk": "ssd"},
        "restartPolicy": "OnFailure",
        "containers": [
            {
                "name": "proxy",
                "image": "proxy",
                "terminationMessagePolicy": "FallbackToLogsOnError",
            },
            {
                "name": "main",
                "image": "old",
                "args": ["old"],
                "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}],
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data"},
                    {"name": "scratch", "mountPath": "/tmp/"},
                ],
            },
        ],
        "volumes": [{"name": "data", "emptyDir": {}}, {"name": "scratch", "emptyDir": {}}],
    },
}


def test_fields_win_over_the_pod_template_and_lists_are_merged_by_name() -> None:
    fields = {
        "script": "scripts/a.sh",
        "image": "new",
        "env": [{"name": "B", "value": "2"}, {"name": "C", "value": "3"}],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}],
        "mounts": [{"name": "data", "mountPath": "/data", "readOnly": True}],
    }
    made = job(fields, script="true", pod=POD)["spec"]["template"]
    assert made["metadata"] == {
        "labels": {"team": "db", "kudo.dev/job-of": "backup"},
        "annotations": {"a": "b"},
    }
    spec = made["spec"]
    assert (spec["nodeSelector"], spec["restartPolicy"]) == ({"disk": "ssd"}, "Never")
    proxy, main = spec["containers"]
    assert main["image"] == "new"
    assert "args" not in main
    assert main["env"] == [
        {"name": "A", "value": "1"},
        {"name": "B", "value": "2"},
        {"name": "C", "value": "3"},
    ]
    assert main["volumeMounts"] == [
        {"name": "data", "mountPath": "/data", "readOnly": True},
        {"name": "scratch", "mountPath": "/tmp/"},
    ]
    assert spec["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "scratch", "emptyDir": {}},
        {"name": "kudo-tmp", "emptyDir": {}},
    ]
    assert proxy["terminationMessagePolicy"] == "File"
    assert proxy["volumeMounts"] == [{"name": "kudo-tmp", "mountPath": "/tmp"}]


def test_the_pod_template_stays_as_it_is() -> None:
    before = repr(POD)
    job({"script": "scripts/a.sh", "env": [{"name": "B", "value": "2"}]}, script="", pod=POD)
    assert repr(POD) == before


def test_without_a_container_main_the_first_one_runs_the_program() -> None:
    pod: PodTemplate = {"spec": {"containers": [{"name": "a"}, {"name": "b", "image": "j"}]}}
    first, second = pod_of({"command": ["x"], "image": "i"}, pod=pod)["containers"]
    assert first["command"] == ["x"]
    assert "command" not in second


def test_what_the_pod_template_allows_is_allowed() -> None:
    pod: PodTemplate = {
        "spec": {
            "automountServiceAccountToken": True,
            "securityContext": {"runAsNonRoot": False, "fsGroup": 1},
            "initContainers": [{"name": "i", "securityContext": {"privileged": True}}],
            "containers": [
                {
                    "name": "main",
                    "securityContext": {
                        "readOnlyRootFilesystem": False,
                        "allowPrivilegeEscalation": True,
                        "capabilities": {"add": ["NET_ADMIN"]},
                    },
                }
            ],
        }
    }
    spec = pod_of({"image": "i"}, pod=pod)
    assert spec["automountServiceAccountToken"] is True
    assert spec["securityContext"] == {
        "runAsNonRoot": False,
        "fsGroup": 1,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    main, init = spec["containers"][0], spec["initContainers"][0]
    assert main["securityContext"] == {
        "readOnlyRootFilesystem": False,
        "allowPrivilegeEscalation": True,
        "capabilities": {"drop": ["ALL"], "add": ["NET_ADMIN"]},
    }
    assert "volumeMounts" not in main
    assert "allowPrivilegeEscalation" not in init["securityContext"]
    assert init["volumeMounts"] == [{"name": "kudo-tmp", "mountPath": "/tmp"}]


def test_the_volume_for_tmp_has_a_name_of_its_own() -> None:
    pod: PodTemplate = {
        "spec": {
            "containers": [{"name": "main"}],
            "volumes": [{"name": "kudo-tmp", "configMap": {"name": "c"}}],
        }
    }
    assert pod_of({"image": "i"}, pod=pod)["volumes"][1] == {"name": "kudo-tmp-2", "emptyDir": {}}


def test_each_container_needs_an_image() -> None:
    pod: PodTemplate = {"spec": {"containers": [{"name": "main"}, {"name": "proxy"}]}}
    with pytest.raises(FatalTaskError, match="container proxy has no image"):
        job({"image": "i"}, pod=pod)


def test_a_mount_needs_its_volume() -> None:
    fields = {"image": "i", "command": ["x"], "mounts": [{"name": "gone", "mountPath": "/x"}]}
    with pytest.raises(FatalTaskError, match=r"task backup: job\.mounts\[0\]\.name: neither"):
        job(fields)


@pytest.mark.parametrize(
    ("instance", "task", "begin"),
    [
        ("db", "backup", "db-backup-"),
        ("db", "Back_up. now", "db-back-up-now-"),
        ("my.db", "backup", "my-db-backup-"),
        ("i" * 60, "backup", f"{'i' * 52}-"),
        ("i" * 51 + "-x", "backup", f"{'i' * 51}-"),
        ("db", "ß", "db-"),
    ],
)
def test_a_name_is_readable_and_a_label(instance: str, task: str, begin: str) -> None:
    name = JobNames(instance, "u", "p", "ph", "s", task).job
    assert name.startswith(begin)
    assert len(name) == len(begin) + 10
    assert is_label(name)


def test_each_run_and_each_place_has_a_name_of_its_own() -> None:
    place = ("u", "p", "ph", "s", "t")
    others = [(*place[:n], "other", *place[n + 1 :]) for n in range(5)]
    names = {JobNames("i", *parts).job for parts in (place, *others, ("u", "pp", "h", "s", "t"))}
    assert len(names) == 7
    assert JobNames("i", *place).job == "i-t-f3c57b5a13"


@pytest.mark.parametrize(
    ("task", "label"),
    [("backup", "backup"), ("Back_up.1", "Back_up.1"), ("back up", None), ("b" * 64, None)],
)
def test_the_label_is_the_task_or_a_hash_of_it(task: str, label: str | None) -> None:
    found = JobNames("i", "u", "p", "ph", "s", task).label
    assert found == label if label else len(found) == 32
