"""What the measurements of steps deploy."""

from typing import Final

from tests.support import build
from tests.support.build import Json
from tests.support.hostile import HEAD, VERSION, parallel

GATES: Final = 6
_CONTAINERS: Final = [{"name": "main", "image": "busybox"}]
_NOWHERE: Final = {"restartPolicy": "Never", "nodeSelector": {"no": "node"}}
JOB: Final = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "{{ .Name }}"},
    "spec": {"template": {"spec": {**_NOWHERE, "containers": _CONTAINERS}}},
}
"""It never ends."""
CLAIM: Final = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {
        "name": "{{ .Name }}",
        "annotations": {"volume.kubernetes.io/selected-node": "any"},
    },
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "",
    },
}
"""It is never bound."""


def plain() -> Json:
    return build.operator_version(
        "plain-1",
        templates={"all.yaml": build.template(build.config_map("{{ .Name }}", a="b"))},
        plans={"deploy": build.plan({"step": ["all"]})},
    )


def applying(obj: Json) -> Json:
    return build.operator_version(
        VERSION,
        templates={"t.yaml": build.template(obj)},
        plans={"deploy": build.plan({"step": ["t"]})},
    )


def rendering() -> Json:
    """Return a version whose steps keep all workers busy for about 10 s."""
    return parallel(f"{HEAD}{{{{ range until 90000 }}}}{{{{ $x := print . }}}}{{{{ end }}}}")


def copying() -> Json:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "any"},
        "spec": {
            "initContainers": [
                {
                    "name": "make",
                    "image": "busybox",
                    "volumeMounts": [{"name": "shared", "mountPath": "/out"}],
                }
            ],
            "volumes": [{"name": "shared", "emptyDir": {}}],
        },
    }
    file = {"file": "/out/a", "kind": "ConfigMap", "key": "a"}
    pipe = {"name": "pipe", "kind": "Pipe", "spec": {"pod": "pod.yaml", "pipe": [file]}}
    return build.operator_version(
        VERSION,
        templates={"pod.yaml": build.template(pod)},
        tasks=[pipe],
        plans={"deploy": build.plan({"make": ["pipe"]})},
    )


def gated() -> Json:
    """Return a version with a failing step beside serial ones, each of which waits for a pod."""
    names = [f"gate-{number}" for number in range(GATES)]
    bad = {"name": "bad", "kind": "Dummy", "spec": {"wantErr": True}}
    return build.operator_version(
        VERSION,
        templates={f"{name}.yaml": build.template(_pod(name)) for name in names},
        tasks=[bad, *(_apply(name) for name in names)],
        plans={
            "deploy": build.plan(
                {"bad": ["bad"]}, {name: [name] for name in names}, strategy="parallel"
            )
        },
    )


def _apply(name: str) -> Json:
    return {"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}}


def _pod(name: str) -> Json:
    never = {"kwok.kudo.dev/ready-delay": "1h"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": never},
        "spec": {"containers": _CONTAINERS},
    }
