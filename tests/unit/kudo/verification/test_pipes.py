"""What `package verify` finds in Pipe tasks: in their pods, and in the names that they give."""

import pytest

from kudo.packages.model import Package
from kudo.verification import verify
from tests.unit.kudo.verification.test_verification import (
    OBJECT,
    Json,
    found,
    package,
    places,
    task,
    tasks,
    using,
)

POD = """\
apiVersion: v1
kind: Pod
spec:
  initContainers:
    - name: gen
      image: busybox
      volumeMounts: [{name: out, mountPath: /out}]
  volumes: [{name: out, emptyDir: {}}]
"""
FILE: Json = {"file": "/out/a", "kind": "ConfigMap", "key": "k"}


def piping(pod: str, *files: Json) -> Package:
    pipe = task("Pipe", "p", pod="pod.yaml", pipe=list(files or (FILE,)))
    templates = {"a.yaml": OBJECT, "pod.yaml": pod}
    return package(tasks=tasks(pipe), plans=using("p"), templates=templates)


def test_a_pod_that_can_hand_its_files_on_needs_no_name() -> None:
    assert verify(piping(POD)) == ()


CLAIM = "{name: data, persistentVolumeClaim: {claimName: data-db-0}}"


def test_a_pod_may_have_a_claim_beside_its_shared_volume() -> None:
    mounts = "volumeMounts: [{name: data, mountPath: /data}, "
    pod = POD.replace("volumeMounts: [", mounts).replace("volumes: [", f"volumes: [{CLAIM}, ")
    assert verify(piping(pod)) == ()


def test_a_pod_that_the_engine_would_refuse_is_an_error(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, str]] = [
        (
            POD.replace("{name: out, emptyDir: {}}", CLAIM),
            (
                "pipe pod should define one emptyDir shared volume where the artifacts are "
                "temporary stored"
            ),
        ),
        (
            POD.replace("kind: Pod", "kind: Job"),
            (
                "parsing rendered YAML from pod.yaml failed: pipe pod cannot be read: it must be "
                "of v1, Kind=Pod and not of v1, Kind=Job"
            ),
        ),
        (
            POD + "  restartPolicy: Never\n",
            "pipe pod RestartPolicy should be OnFailure",
        ),
        (
            POD.replace("/out", "/elsewhere"),
            "pipe file /out/a should be a child of /elsewhere mount path",
        ),
    ]
    for pod, message in table:
        with subtests.test(pod=pod, message=message):
            of = piping(pod)
            assert found(of) == [message]
            assert places(of) == ["templates/pod.yaml"]


def test_a_pod_template_that_cannot_be_rendered_is_told_as_any_other() -> None:
    (message,) = found(piping(POD + "  nodeName: {{ .Name.x }}\n"))
    assert message.startswith("error rendering template: template: pod.yaml:9:")


def test_names_that_cannot_be_told_apart_are_an_error() -> None:
    of = piping(POD, FILE | {"key": "a-b"}, FILE | {"key": "ab"})
    assert found(of) == [
        (
            "pipe key a-b of deploy.main.all.p and pipe key ab of deploy.main.all.p would both be "
            "ConfigMap firstinstance.deploy.main.all.p.ab; rename one of them"
        )
    ]
    assert places(of) == ["operator.yaml: plans.deploy"]
