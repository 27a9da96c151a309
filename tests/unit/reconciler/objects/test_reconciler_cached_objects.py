"""What the observer's caches keep: what is read, in few bytes; of deleted objects Jobs alone."""

import asyncio
import tracemalloc
from typing import Any

import orjson
import pytest

from kubeio.cache.reflector import Timing
from kubeio.cache.store import Store
from kubeio.client import Client
from kubeio.resource import Resource
from kudo.api import JsonObject, names
from kudo.objects.health import health_of
from kudo.objects.managed_fields import needs_migration
from kudo.objects.sharing import sharers
from kudo_reconciler.execution.recording import answer_of
from kudo_reconciler.objects.cached_objects import reduced, written_by
from kudo_reconciler.objects.observer import Observer
from kudo_reconciler.objects.ownership import controller_of
from tests.unit.kubeio.fake_api import WIDGET, FakeApi, fake_api, until

_PODS = 200
_BYTES = 4096


def _managed_fields() -> list[JsonObject]:
    below: JsonObject = {f"f:field{n}": {f"f:part{m}": {} for m in range(8)} for n in range(12)}
    return [
        {"manager": manager, "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": below}
        for manager in ("kube-controller-manager", "kubelet")
    ]


def _pod(number: int) -> JsonObject:
    instance = f"instance-{number // 4}"
    condition = {"status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{instance}-web-{number:08}",
            "namespace": f"team-{number % 20}",
            "uid": f"8c0a5b5e-0000-4000-8000-{number:012}",
            "resourceVersion": str(1_000_000 + number),
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {
                names.LABEL_HERITAGE: names.HERITAGE,
                names.LABEL_INSTANCE: instance,
                names.LABEL_OPERATOR: "first-operator",
                "pod-template-hash": "6b8f9c",
            },
            "annotations": {
                names.ANNOTATION_PLAN: "deploy",
                names.ANNOTATION_PHASE: "main",
                names.ANNOTATION_STEP: "web",
                names.ANNOTATION_PLAN_UID: f"8c0a5b5e-1111-4000-8000-{number // 4:012}",
                "cni.example.org/networks": "x" * 400,
            },
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": f"{instance}-web",
                    "uid": f"8c0a5b5e-2222-4000-8000-{number // 4:012}",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": _managed_fields(),
        },
        "spec": {
            "containers": [
                {
                    "name": "web",
                    "image": "web:1",
                    "env": [{"name": f"E{n}", "value": "v" * 20} for n in range(15)],
                    "volumeMounts": [{"name": f"v{n}", "mountPath": f"/v{n}"} for n in range(4)],
                }
            ],
            "volumes": [{"name": f"v{n}", "configMap": {"name": f"c{n}"}} for n in range(4)],
            "tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute"}] * 2,
        },
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [
                {"type": kind, **condition}
                for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
            ],
            "containerStatuses": [
                {
                    "name": "web",
                    "image": "web:1",
                    "imageID": "sha256:" + "0" * 64,
                    "containerID": "containerd://" + "0" * 64,
                    "ready": True,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}},
                }
            ],
        },
    }


def _of_instance(obj: JsonObject) -> list[str]:
    return [f"{obj['metadata']['namespace']}/{obj['metadata']['labels'][names.LABEL_INSTANCE]}"]


def _bytes_per_pod(**options: Any) -> float:
    """Return what each of the cached pods takes, indexes included."""
    texts = [orjson.dumps(_pod(number)) for number in range(_PODS)]
    tracemalloc.start()
    try:
        store = Store(lambda _: None, indexers={"instance": _of_instance}, **options)
        for text in texts:
            store.put(orjson.loads(text))
        assert len(store.objects) == _PODS
        return tracemalloc.get_traced_memory()[0] / _PODS
    finally:
        tracemalloc.stop()


def test_a_cached_pod_takes_little_memory() -> None:
    assert _bytes_per_pod() > 2 * _BYTES  # what it takes as it comes
    assert _bytes_per_pod(transform=reduced) <= _BYTES


def test_what_decides_about_an_object_is_kept() -> None:
    pod = _pod(1)
    pod["metadata"]["annotations"][names.ANNOTATION_LAST_APPLIED] = "{}" * 1000
    kept = reduced(pod)
    assert health_of(kept) == health_of(pod)
    assert (controller_of(kept) or {})["uid"] == (controller_of(pod) or {})["uid"]
    assert written_by(kept) == written_by(pod)
    annotations = kept["metadata"]["annotations"]
    assert annotations[names.ANNOTATION_LAST_APPLIED] == ""
    assert needs_migration(written_by(kept), annotations)
    assert "managedFields" in pod["metadata"]


def test_every_instance_that_shares_an_object_is_kept() -> None:
    shared = ",".join(f"team-{n}/instance-{n}/uid-{n}" for n in range(1000))
    metadata = {"name": "x", "uid": "u", "annotations": {names.ANNOTATION_SHARED_BY: shared}}
    kept = reduced({"apiVersion": "v1", "kind": "ClusterRole", "metadata": metadata})
    assert len(sharers(kept["metadata"])) == 1000


def test_a_cached_object_tells_that_it_is_retained_and_for_whom() -> None:
    annotations = {
        names.ANNOTATION_DELETION_POLICY: names.RETAIN,
        names.ANNOTATION_RETAINED_BY: f"ns/{'i' * 200}/op/u",
    }
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "x"}}
    body["metadata"] |= {"annotations": annotations}  # type: ignore[operator]
    kept = reduced(body)
    assert kept["metadata"]["annotations"] == annotations
    resource = Resource("", "v1", "ConfigMap", "configmaps", namespaced=True)
    assert not answer_of(kept, resource, "u").adopted


def test_owners_that_control_nothing_are_not_kept() -> None:
    owners = [{"kind": "Thing", "name": f"t{n}", "uid": f"u{n}"} for n in range(500)]
    metadata = {"name": "x", "uid": "u", "ownerReferences": owners}
    kept = reduced({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    assert kept["metadata"] == {"name": "x", "uid": "u"}


_JOBS = Resource("batch", "v1", "Job", WIDGET.plural, namespaced=True)
_LABELS = {names.LABEL_HERITAGE: names.HERITAGE, names.LABEL_INSTANCE: "i"}


@pytest.mark.parametrize(("resource", "kept"), [(WIDGET, False), (_JOBS, True)], ids=str)
async def test_of_deleted_objects_jobs_alone_are_remembered(resource: Resource, kept: bool) -> None:
    async with fake_api() as api, Client(api.config) as client, asyncio.TaskGroup() as group:
        api.handlers[resource.path(None)] = _at(api)
        observer = Observer(client, group, lambda _: None, Timing())
        api.put("a", labels=_LABELS)
        uid = api.objects["a"]["metadata"]["uid"]
        assert await observer.watch(resource)
        seen = await observer.current(resource, "ns", "a", client=client)
        assert seen is not None
        assert "spec" not in seen
        api.delete("a")
        await until(lambda: not observer.informers()[0].list())
        assert (observer.last_state(uid) is not None) == kept
        observer.close()


def _at(api: FakeApi) -> Any:
    """Serve the objects of the fake API at another path, too."""

    async def answer(request: Any) -> Any:
        return await (api._watch(request) if "watch" in request.query else api.answer_list(request))

    return answer
