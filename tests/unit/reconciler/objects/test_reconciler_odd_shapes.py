"""Objects of templates whose fields do not have the types that Kubernetes gives them."""

from collections.abc import Iterator
from typing import Any

import orjson

from kubeio.types import JsonObject
from tests.support.apiserver.controllers.workloads import Outcome
from tests.support.selection.cases import cases
from tests.unit.reconciler.scenes.scene import Scene, play, version

ODD: tuple[Any, ...] = ("text", 7, True, [], ["text"], [7], [None], {"a": 7}, {"a": ["x"]})
SPEC: JsonObject = {"containers": [{"name": "c", "image": "i"}]}
POD: JsonObject = {"metadata": {"labels": {"a": "b"}}, "spec": SPEC}
WORKLOAD = {"selector": {"matchLabels": {"a": "b"}}, "template": POD}
SECRET_MOUNT = {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}
OBJECTS: tuple[tuple[str, str, JsonObject], ...] = (
    ("v1", "ConfigMap", {"data": {"a": "b"}}),
    ("v1", "Secret", {"data": {"a": "Yg=="}, "stringData": {"c": "d"}}),
    ("v1", "Pod", {"spec": {**SPEC, **SECRET_MOUNT}}),
    ("v1", "PersistentVolumeClaim", {"spec": {"accessModes": ["ReadWriteOnce"]}}),
    ("apps/v1", "Deployment", {"spec": WORKLOAD}),
    ("apps/v1", "StatefulSet", {"spec": {**WORKLOAD, "volumeClaimTemplates": [{"spec": {}}]}}),
    ("batch/v1", "Job", {"spec": {"template": POD}}),
    ("batch/v1", "CronJob", {"spec": {"jobTemplate": {"spec": {"template": POD}}}}),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", {"rules": [{"verbs": ["get"]}]}),
    ("extensions/v1beta1", "Ingress", {"spec": {"rules": [{"http": {"paths": []}}]}}),
    ("kudo.dev/v1beta1", "Instance", {"spec": {"operatorVersion": {"name": "v"}}}),
)
METADATA = ("labels", "annotations", "ownerReferences", "finalizers", "managedFields", "namespace")


def odd_objects() -> Iterator[JsonObject]:
    """Yield objects with one field each, at any depth, that has a wrong type."""
    for api_version, kind, rest in OBJECTS:
        metadata = {"name": "o", **dict.fromkeys(METADATA)}
        whole = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}
        for number, path in enumerate(_paths(whole)):
            yield _with(whole, path, ODD[number % len(ODD)])


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    steps = value.items() if isinstance(value, dict) else enumerate(value)
    for key, below in steps:
        yield (*path, key)
        if isinstance(below, dict | list):
            yield from _paths(below, (*path, key))


def _with(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copied = value.copy()
    copied[path[0]] = _with(value[path[0]], path[1:], odd)
    return copied


def was_tried(scene: Scene, name: str) -> bool:
    stored = scene.life.observed.instance(name)
    entries = (stored or {}).get("status", {}).get("planStatus", {})
    return "deploy" in entries and bool(entries["deploy"]["phases"][0]["steps"][0].get("tasks"))


def test_no_object_of_a_template_ends_in_an_internal_error() -> None:
    async def body(scene: Scene) -> None:
        scene.life.cluster.workloads.outcome = lambda _: Outcome("stuck")
        await scene.life.put_version(version("{{ .Params.TEXT }}", deploy=["apply"]))
        objects = cases(list(odd_objects()), lambda one: str(one.get("kind")), each=2)
        for number, one in enumerate(objects):
            await scene.life.user.create(f"i{number}", {"TEXT": orjson.dumps(one).decode()})
        names = [f"i{number}" for number in range(len(objects))]
        await scene.until(lambda: all(was_tried(scene, name) for name in names))
        for name, one in zip(names, objects, strict=True):
            message = scene.entry(name, "deploy")["phases"][0]["steps"][0].get("message", "")
            assert "internal error" not in message, (one, message)

    play(body)


def test_labels_and_annotations_that_are_no_texts_end_the_plan() -> None:
    async def body(scene: Scene) -> None:
        await scene.life.put_version(version("{{ .Params.TEXT }}", deploy=["apply"]))
        fields = [(field, odd) for field in ("labels", "annotations") for odd in ODD]
        for number, (field, odd) in enumerate(fields):
            one = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "o", field: odd}}
            await scene.life.user.create(f"i{number}", {"TEXT": orjson.dumps(one).decode()})
        await scene.until_idle(*(f"i{number}" for number in range(len(fields))))
        for number, (field, odd) in enumerate(fields):
            entry = scene.entry(f"i{number}", "deploy")
            assert entry["status"] == "FATAL_ERROR", odd
            message = entry["phases"][0]["steps"][0]["message"]
            assert "parsing YAML from object.yaml" in message
            assert f"metadata.{field}" in message

    play(body)
