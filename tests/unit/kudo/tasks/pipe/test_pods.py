"""Pipe pods: which are taken, what becomes of them, and what is told while they run."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from kudo.api import JsonObject, PipeFile
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.pipe import read_pod, validate

SHARED = {"name": "shared", "emptyDir": {}}
POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"annotations": {"mine": "1"}, "labels": {"app": "a"}},
    "spec": {
        "serviceAccountName": "robot",
        "initContainers": [
            {
                "name": "gen",
                "image": "busybox",
                "volumeMounts": [
                    {"name": "config", "mountPath": "/etc/config"},
                    {"name": "shared", "mountPath": "/tmp", "readOnly": False},
                ],
            }
        ],
        "volumes": [{"name": "config", "configMap": {"name": "c"}}, SHARED],
    },
}

Edit = Callable[[Any], None]


def file(path: str) -> PipeFile:
    return PipeFile.from_wire({"file": path, "kind": "ConfigMap", "key": "k"})


def env_file(path: str) -> PipeFile:
    return PipeFile.from_wire({"envFile": path, "kind": "Secret", "key": "k"})


def changed(change: Edit) -> JsonObject:
    pod = copy.deepcopy(POD)
    change(pod["spec"])
    return pod


def mounted_at(path: str) -> JsonObject:
    return changed(lambda spec: spec["initContainers"][0]["volumeMounts"][1].update(mountPath=path))


def test_the_first_document_of_a_template_is_the_pod_and_needs_no_name() -> None:
    text = "# it\n---\napiVersion: v1\nkind: Pod\nspec: {}\n---\nkind: Other\n"
    assert read_pod(text) == {"apiVersion": "v1", "kind": "Pod", "spec": {}}


def test_what_is_no_pod_is_refused(subtests: pytest.Subtests) -> None:
    table = [
        ("", "a Kubernetes object must be a mapping"),
        ("- a", "a Kubernetes object must be a mapping"),
        ("a: b: c", "line 1"),
        ("spec: {}", "it must be of v1, Kind=Pod and not of None, Kind=None"),
        ("{apiVersion: v1, kind: pod}", "not of v1, Kind=pod"),
        ("{apiVersion: apps/v1, kind: Pod}", "not of apps/v1, Kind=Pod"),
        ("{apiVersion: v1, kind: Pod, spec: text}", "spec is no mapping"),
        ("{apiVersion: v1, kind: Pod, metadata: 1}", "metadata is no mapping"),
        (
            "{apiVersion: v1, kind: Pod, metadata: {annotations: [a]}}",
            "metadata.annotations is not a mapping",
        ),
        (
            "{apiVersion: v1, kind: Pod, spec: {initContainers: {a: b}}}",
            "spec.initContainers is not a list of mappings",
        ),
        (
            "{apiVersion: v1, kind: Pod, spec: {volumes: [a]}}",
            "spec.volumes is not a list of mappings",
        ),
        (
            "{apiVersion: v1, kind: Pod, spec: {containers: 3}}",
            "spec.containers is not a list of mappings",
        ),
        (
            "{apiVersion: v1, kind: Pod, spec: {securityContext: 1}}",
            "spec.securityContext is not a mapping",
        ),
        (
            "{apiVersion: v1, kind: Pod, spec: {initContainers: [{securityContext: x}]}}",
            "spec.initContainers[].securityContext is not a mapping",
        ),
        (
            "{apiVersion: v1, kind: Pod, spec: {initContainers: [{volumeMounts: [x]}]}}",
            "spec.initContainers[].volumeMounts is not a list of mounts",
        ),
        (
            "{apiVersion: v1, kind: Pod, spec: {initContainers: [{volumeMounts: [{name: a}]}]}}",
            "spec.initContainers[].volumeMounts is not a list of mounts",
        ),
    ]
    for text, words in table:
        with subtests.test(text=text, words=words):
            with pytest.raises(FatalTaskError) as caught:
                read_pod(text)
            assert caught.value.reason == "ResourceUnmarshalError"
            assert str(caught.value).startswith("pipe pod cannot be read: ")
            assert words in str(caught.value)


CONTAINERS = (
    "pipe pod should not have containers. pipe artifacts are generated in the init container"
)
ONE_INIT = "pipe pod should define one init container that generated artifacts defined"
RESTART = "pipe pod RestartPolicy should be OnFailure"
ENDLESS = (
    "pipe pod should have an init container that ends: with restartPolicy Always it never does"
)
VOLUME = (
    "pipe pod should define one emptyDir shared volume where the artifacts are temporary stored"
)


def test_a_pod_that_cannot_hand_files_on_is_told_why() -> None:
    table: list[tuple[Edit, str]] = [
        (lambda spec: spec.update(containers=[{"name": "c"}]), CONTAINERS),
        (lambda spec: spec["initContainers"].append({"name": "second"}), ONE_INIT),
        (lambda spec: spec.update(initContainers=[]), ONE_INIT),
        (lambda spec: spec.pop("initContainers"), ONE_INIT),
        (lambda spec: spec.update(restartPolicy="Never"), RESTART),
        (lambda spec: spec.update(restartPolicy="Always"), RESTART),
        (lambda spec: spec.update(restartPolicy=["OnFailure"]), RESTART),
        (lambda spec: spec["initContainers"][0].update(restartPolicy="Always"), ENDLESS),
        (lambda spec: spec["volumes"].append({"name": "more", "emptyDir": {}}), VOLUME),
        (lambda spec: spec["volumes"].pop(), VOLUME),
        (lambda spec: spec.pop("volumes"), VOLUME),
        (
            lambda spec: spec["initContainers"][0]["volumeMounts"].pop(),
            "pipe pod should save generated artifacts in shared",
        ),
        (
            lambda spec: spec["initContainers"][0].pop("volumeMounts"),
            "pipe pod should save generated artifacts in shared",
        ),
    ]
    for change, problem in table:
        assert list(validate(changed(change), [file("/tmp/a")])) == [problem]


@pytest.mark.parametrize("policy", [None, "", "OnFailure"])
def test_a_valid_pod_has_no_problems(policy: str | None) -> None:
    pod = changed(lambda spec: spec.update(restartPolicy=policy))
    assert list(validate(pod, [file("/tmp/a"), env_file("/tmp/b")])) == []


FURTHER: list[JsonObject] = [
    {"persistentVolumeClaim": {"claimName": "data-db-0"}},
    {"configMap": {"name": "c"}},
    {"secret": {"secretName": "s"}},
    {"projected": {"sources": [{"secret": {"name": "s"}}]}},
    {"downwardAPI": {"items": [{"path": "labels"}]}},
]


def with_further_volumes(spec: Any) -> None:
    for volume in FURTHER:
        (kind,) = volume
        spec["volumes"].append({"name": kind.lower(), **volume})
        mount = {"name": kind.lower(), "mountPath": f"/mnt/{kind}"}
        # Before the shared one: it is found by its name.
        spec["initContainers"][0]["volumeMounts"].insert(0, mount)


def test_the_init_container_may_mount_further_volumes() -> None:
    pod = changed(with_further_volumes)
    assert list(validate(pod, [file("/tmp/a")])) == []
    mount = "/tmp mount path"
    expected = f"pipe file /mnt/persistentVolumeClaim/a should be a child of {mount}"
    assert list(validate(pod, [file("/mnt/persistentVolumeClaim/a")])) == [expected]


def test_further_volumes_are_not_the_one_that_is_shared() -> None:
    pod = changed(with_further_volumes)
    pod["spec"]["volumes"].remove(SHARED)
    assert list(validate(pod, [file("/tmp/a")])) == [VOLUME]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    pod = changed(lambda spec: spec.update(restartPolicy="Never", containers=[{}], volumes=[]))
    assert list(validate(pod, [])) == [CONTAINERS, RESTART, VOLUME]


def test_the_number_of_files_has_a_limit() -> None:
    files = [file(f"/tmp/{number}") for number in range(101)]
    assert list(validate(POD, files[:100])) == []
    assert list(validate(POD, files)) == ["pipe task names 101 files; at most 100 are copied"]


def test_a_file_below_the_mount_path_is_taken() -> None:
    table = [
        ("/tmp", "/tmp/a/b.txt"),
        ("/tmp/", "/tmp//a"),
        ("/tmp", "//tmp/a"),
        ("/tmp/x/..", "/tmp/a"),
        ("/", "/a"),
        ("tmp", "tmp/a"),
        ("tmp", "./tmp/a"),
        ("/tmp", "/tmp/a/.hidden"),
    ]
    for mount, path in table:
        assert list(validate(mounted_at(mount), [file(path)])) == []


def test_a_file_elsewhere_is_not_taken(subtests: pytest.Subtests) -> None:
    table = [
        ("/tmp", "/tmp", ""),
        ("/tmp", "/tmp/", ""),
        ("/tmp", "/tmp/../etc/passwd", ""),
        ("/tmp", "/tmpx/a", ""),
        ("/tmp", "/", ""),
        ("/tmp", "tmp/a", ""),
        ("tmp", "/tmp/a", ""),
        ("tmp", "../tmp/a", ""),
        ("/tmp", "/tmp/.hidden", ": a name that begins with a dot is not taken"),
        ("/tmp", "/tmp/.a/b", ": a name that begins with a dot is not taken"),
    ]
    for mount, path, more in table:
        with subtests.test(mount=mount, path=path, more=more):
            expected = f"pipe file {path} should be a child of {mount} mount path{more}"
            assert list(validate(mounted_at(mount), [file(path)])) == [expected]
            assert list(validate(mounted_at(mount), [env_file(path)])) == [expected]


def test_the_whole_name_of_a_file_must_be_a_key(subtests: pytest.Subtests) -> None:
    for name in ["a$b", "a b", "\u00e9", "d/..x", "x" * 254]:
        with subtests.test(name=name):
            (problem,) = validate(POD, [file(f"/tmp/{name}")])
            assert problem.startswith(f"pipe file /tmp/{name} cannot be a key of a ConfigMap")


def test_the_name_of_an_env_file_is_no_key() -> None:
    for name in ["a$b", "a b"]:
        assert list(validate(POD, [env_file(f"/tmp/{name}")])) == []
