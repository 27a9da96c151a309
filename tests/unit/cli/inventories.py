"""Inventories of Instance `tea` for the tests of the command line."""

from typing import Any

from kudo.api import Instance, OperatorVersion
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place, inventory_of
from kudo.plans.runs.last_run import configuration_now
from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]
CREATED = "2026-01-01T00:00:00Z"
RUN = "4d3c"
"""uid of the run after which orphans are orphans."""


def identity(api: FakeApi, name: str = "tea") -> InstanceIdentity:
    metadata = api.objects["instances", name]["metadata"]
    return InstanceIdentity(metadata["namespace"], name, metadata["uid"])


def decided(api: FakeApi) -> None:
    """Let `tea` have had a run that is COMPLETE with what is in force now."""
    tea = api.objects["instances", "tea"]
    version = api.objects["operatorversions", tea["spec"]["operatorVersion"]["name"]]
    now = configuration_now(Instance.from_wire(tea), OperatorVersion.from_wire(version))
    tea["status"] = {"lastRun": {"uid": RUN, "status": "COMPLETE", "configuration": now}}


def entry(kind: str, name: str, **fields: Any) -> Entry:
    """Return an entry of task `pot` of plan `deploy`, of one of the kinds below."""
    group, plural, namespace = _KINDS[kind]
    place = Place(group, kind, namespace, name)
    known: JsonObject = {"version": "v1", "resource": plural, "plan": "deploy", "task": "pot"}
    return Entry(place, **known | fields)


def record(api: FakeApi, *entries: Entry, complete: bool = True, number: int = 0) -> JsonObject:
    """Store an Inventory of `tea`."""
    wire = inventory_of(identity(api), number, entries, complete=complete)
    return api.add("inventories", wire)


def owned(api: FakeApi, name: str, **more: Any) -> JsonObject:
    """Return an object that `tea` owns."""
    one = identity(api)
    owner = {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "name": one.name,
        "uid": one.uid,
        "controller": True,
    }
    metadata = {"name": name, "creationTimestamp": CREATED, "ownerReferences": [owner]}
    return {"metadata": metadata, **more}


def shared(api: FakeApi, name: str, *others: str, **annotations: str) -> JsonObject:
    """Return a cluster-scoped object that `tea` and others share."""
    one = identity(api)
    by = ",".join((f"{one.namespace}/{one.name}/{one.uid}", *others))
    found = {"kudo.dev/shared-by": by, **annotations}
    metadata = {"name": name, "creationTimestamp": CREATED, "labels": {"heritage": "kudo"}}
    return {"metadata": {**metadata, "annotations": found}}


_APPS, _RBAC = "apps", "rbac.authorization.k8s.io"
_KINDS = {
    "ClusterRole": (_RBAC, "clusterroles", ""),
    "ConfigMap": ("", "configmaps", "kitchen"),
    "Deployment": (_APPS, "deployments", "kitchen"),
    "PersistentVolumeClaim": ("", "persistentvolumeclaims", "kitchen"),
    "Secret": ("", "secrets", "kitchen"),
}
