"""What KUDO 0.19 leaves in a cluster, written as it writes it.

It creates by a plain POST and patches afterwards, always as the manager `manager`. What it sends is
the Go form of an object, with empty fields that no template names, and what it sent last stands in
an annotation: without a newline when created, with one when patched.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kubeio.client import Client
from kubeio.resource import Resource
from kudo.tasks.rendering import render_objects
from tests.support.build import Json
from tests.support.cluster.resources import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    INSTANCES,
    JOBS,
    OPERATORS,
    VERSIONS,
)

STATEFUL_SETS = Resource("apps", "v1", "StatefulSet", "statefulsets", namespaced=True)
REPLICA_SETS = Resource("apps", "v1", "ReplicaSet", "replicasets", namespaced=True)
REVISIONS = Resource("apps", "v1", "ControllerRevision", "controllerrevisions", namespaced=True)
PODS = Resource("", "v1", "Pod", "pods", namespaced=True)
SECRETS = Resource("", "v1", "Secret", "secrets", namespaced=True)
SERVICES = Resource("", "v1", "Service", "services", namespaced=True)
DAEMON_SETS = Resource("apps", "v1", "DaemonSet", "daemonsets", namespaced=True)
CRON_JOBS = Resource("batch", "v1", "CronJob", "cronjobs", namespaced=True)
CLAIMS = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", namespaced=True)
ACCOUNTS = Resource("", "v1", "ServiceAccount", "serviceaccounts", namespaced=True)
BUDGETS = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", namespaced=True)
CLUSTER_ROLES = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
RESOURCES = {
    resource.kind: resource
    for resource in (
        *(CONFIG_MAPS, SECRETS, SERVICES, CLAIMS, ACCOUNTS, BUDGETS, CLUSTER_ROLES),
        *(DEPLOYMENTS, STATEFUL_SETS, DAEMON_SETS, JOBS, CRON_JOBS),
    )
}

LAST_APPLIED = "kudo.dev/last-applied-configuration"
HASH = "kudo.dev/dependencies-hash"
MANAGER = "manager"
CLI = "kubectl-kudo"
INSTANCE, OPERATOR = "depop", "dep-operator"
"""The names with which the recorded hashes were computed."""
LABELS = {
    "heritage": "kudo",
    "kudo.dev/instance": INSTANCE,
    "kudo.dev/operator": OPERATOR,
}
THEN = "2021-07-02T10:00:00Z"
FIRST_RUN = "11111111-aaaa-4000-8000-000000000001"

_GO_STATUS: Mapping[str, Json] = {
    "Deployment": {},
    "StatefulSet": {"replicas": 0},
    "DaemonSet": {
        "currentNumberScheduled": 0,
        "desiredNumberScheduled": 0,
        "numberMisscheduled": 0,
        "numberReady": 0,
    },
    "Job": {},
    "CronJob": {},
    "PersistentVolumeClaim": {},
    "Service": {"loadBalancer": {}},
    "PodDisruptionBudget": {
        "disruptionsAllowed": 0,
        "currentHealthy": 0,
        "desiredHealthy": 0,
        "expectedPods": 0,
    },
}
_GO_SPEC: Mapping[str, Json] = {
    "Deployment": {"strategy": {}},
    "StatefulSet": {"updateStrategy": {}},
    "DaemonSet": {"updateStrategy": {}},
    "PersistentVolumeClaim": {"resources": {}},
}


def hash_over(*contents: str) -> str:
    """Return the dependency hash over the texts that stand for each dependency, in order."""
    digests = (hashlib.md5(text.encode()).digest() for text in contents)
    return hashlib.md5(b"".join(digests)).hexdigest()


def content_text(name: str, before: str = "", after: str = "") -> str:
    """Return the text that is hashed for an object of ours without labels of its own."""
    labels = "".join(f"      {key}: {LABELS[key]}\n" for key in sorted(LABELS))
    return (
        f'object:\n  apiVersion: ""\n{before}  kind: ""\n  metadata:\n    annotations: {{}}\n'
        f"    deletionGracePeriodSeconds: 0\n    finalizers: []\n    labels:\n{labels}"
        f"    managedFields: []\n    name: {name}\n    ownerReferences: []\n"
        f"    remainingItemCount: 0\n{after}"
    )


def instance_entry(version: Json, name: str, status: str, uid: str = "") -> Json:
    """Return the entry of a plan in `status.planStatus`."""
    phases = [
        {
            "name": phase["name"],
            "status": status,
            "steps": [{"name": step["name"], "status": status} for step in phase["steps"]],
        }
        for phase in version["spec"]["plans"][name]["phases"]
    ]
    entry: Json = {"name": name, "status": status, "phases": phases}
    return {**entry, "uid": uid, "lastUpdatedTimestamp": THEN} if uid else entry


@dataclass
class Original:
    """KUDO 0.19 in one namespace, with one Instance.

    Attributes:
        admin: A client with all rights, since the original had them.
        namespace: Where the Instance is.
        hashes: Dependency hash of each workload that has one, by name.
        uid: Of the Instance, once it is there.
    """

    admin: Client
    namespace: str
    hashes: Mapping[str, str] = field(default_factory=dict)
    uid: str = ""

    async def install(
        self, version: Json, parameters: Mapping[str, str] | None = None, *, cleanup: bool = False
    ) -> None:
        """Write what `kubectl kudo install` writes, and run the deploy plan to its end."""
        operator = {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": "Operator",
            "metadata": {"name": OPERATOR},
            "spec": {},
        }
        await self._post(OPERATORS, operator, CLI)
        await self._post(VERSIONS, version, CLI)
        instance = await self._post(INSTANCES, _instance(version, parameters or {}, cleanup), CLI)
        self.uid = instance["metadata"]["uid"]
        await self.run(version, "deploy", parameters or {})
        await self.finish(version)

    async def run(self, version: Json, plan: str, parameters: Mapping[str, str]) -> None:
        """Do the two passes of a plan that is not healthy at once: create, then patch."""
        found = objects_of(version, plan, parameters, self.namespace)
        for obj in found:
            await self.create(obj)
        for obj in found:
            if obj["kind"] != "ConfigMap":
                await self.patch(obj)

    async def create(self, source: Json) -> Json:
        """Create an object of a template, and return it."""
        target = self.applied(source)
        return await self._post(RESOURCES[source["kind"]], _annotated(target, ""), MANAGER)

    async def patch(self, source: Json) -> Json:
        """Patch an object that has not changed: only the annotation is sent."""
        target = _annotated(self.applied(source), "\n")
        metadata = {
            "annotations": {LAST_APPLIED: target["metadata"]["annotations"][LAST_APPLIED]},
            "creationTimestamp": None,
        }
        found: Json = await self.admin.raw(
            "PATCH",
            RESOURCES[source["kind"]].path(self.namespace, source["metadata"]["name"]),
            query={"fieldManager": MANAGER},
            body={"metadata": metadata},
            content_type="application/strategic-merge-patch+json",
        )
        return found

    def applied(self, source: Json) -> Json:
        """Return what is sent for an object of a template, without the annotation."""
        target: Json = json.loads(json.dumps(source))
        metadata = target["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), **LABELS}
        metadata["annotations"] = {
            **metadata.get("annotations", {}),
            "kudo.dev/plan": "deploy",
            "kudo.dev/phase": "phase1",
            "kudo.dev/step": "all",
            "kudo.dev/last-plan-execution-uid": FIRST_RUN,
        }
        metadata["creationTimestamp"] = None
        if RESOURCES[source["kind"]].namespaced:
            metadata["namespace"] = self.namespace
            metadata["ownerReferences"] = [_owner(self.uid)]
        for template in _pod_templates(target):
            self._fill_pods(metadata["name"], template)
        for claim in target.get("spec", {}).get("volumeClaimTemplates", ()):
            claim["metadata"] |= {"creationTimestamp": None, "labels": LABELS}
            claim["status"] = {}
        if source["kind"] in _GO_SPEC:
            target["spec"] = {**_GO_SPEC[source["kind"]], **target["spec"]}
        if source["kind"] in _GO_STATUS:
            target["status"] = _GO_STATUS[source["kind"]]
        return target

    def _fill_pods(self, workload: str, template: Json) -> None:
        metadata = template.setdefault("metadata", {})
        metadata["creationTimestamp"] = None
        metadata["labels"] = {**metadata.get("labels", {}), **LABELS}
        metadata["annotations"] = {
            **metadata.get("annotations", {}),
            "kudo.dev/operator-version": "0.1.0",
        }
        if workload in self.hashes:
            metadata["annotations"][HASH] = self.hashes[workload]
        for container in template["spec"]["containers"]:
            container.setdefault("resources", {})

    async def finish(self, version: Json) -> None:
        """Store the end of the deploy plan: first the cleared run, then the status."""
        instance = await self.admin.get(INSTANCES, INSTANCE, namespace=self.namespace)
        instance["spec"]["planExecution"] = {}
        instance = await self.admin.replace(INSTANCES, instance, field_manager=MANAGER)
        instance["status"] = finished_status(version)
        await self.admin.replace(INSTANCES, instance, subresource="status", field_manager=MANAGER)

    async def interrupted(self, version: Json) -> None:
        """Store the deploy plan as running, as if the original had been stopped before its end."""
        instance = await self.admin.get(INSTANCES, INSTANCE, namespace=self.namespace)
        instance["spec"]["planExecution"] = {
            "planName": "deploy",
            "uid": FIRST_RUN,
            "status": "IN_PROGRESS",
        }
        instance = await self.admin.replace(INSTANCES, instance, field_manager=MANAGER)
        instance["status"]["planStatus"]["deploy"] = instance_entry(
            version, "deploy", "IN_PROGRESS", FIRST_RUN
        )
        await self.admin.replace(INSTANCES, instance, subresource="status", field_manager=MANAGER)

    async def _post(self, resource: Resource, obj: Json, manager: str) -> Json:
        namespace = self.namespace if resource.namespaced else None
        return await self.admin.create(resource, obj, namespace=namespace, field_manager=manager)


def finished_status(version: Json) -> Json:
    """Return the status of an Instance whose deploy plan is COMPLETE and no other one ever ran."""
    plans = version["spec"]["plans"]
    entries = {name: instance_entry(version, name, "NEVER_RUN") for name in plans}
    entries["deploy"] = instance_entry(version, "deploy", "COMPLETE", FIRST_RUN)
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "ResourcesReady",
        "message": "",
        "lastTransitionTime": THEN,
    }
    return {"planStatus": entries, "conditions": [ready]}


def objects_of(
    version: Json, plan: str, parameters: Mapping[str, str], namespace: str
) -> list[Json]:
    """Return the objects that the Apply tasks of a plan give, in order."""
    spec = version["spec"]
    values = {one["name"]: one["default"] for one in spec["parameters"]} | dict(parameters)
    tasks = {task["name"]: task for task in spec["tasks"]}
    named: Sequence[str] = [
        file
        for phase in spec["plans"][plan]["phases"]
        for step in phase["steps"]
        for task in step["tasks"]
        for file in tasks[task]["spec"]["resources"]
    ]
    manifests = render_objects(
        tuple(named), spec["templates"], {"Params": values, "Namespace": namespace}
    )
    return [manifest.object for manifest in manifests]


def _instance(version: Json, parameters: Mapping[str, str], cleanup: bool) -> Json:
    metadata: Json = {"name": INSTANCE, "labels": {"kudo.dev/operator": OPERATOR}}
    if cleanup:
        metadata["finalizers"] = ["kudo.dev.instance.cleanup"]
    spec: dict[str, Any] = {
        "operatorVersion": {"name": version["metadata"]["name"]},
        "planExecution": {"planName": "deploy", "uid": FIRST_RUN},
    }
    if parameters:
        spec["parameters"] = dict(parameters)
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": metadata,
        "spec": spec,
        "status": {},
    }


def _pod_templates(target: Json) -> Iterator[Json]:
    spec = target.get("spec", {})
    if "jobTemplate" in spec:
        spec["jobTemplate"].setdefault("metadata", {})["creationTimestamp"] = None
        yield spec["jobTemplate"]["spec"]["template"]
    if "template" in spec:
        yield spec["template"]


def _owner(uid: str) -> Json:
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "name": INSTANCE,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _annotated(target: Json, end: str) -> Json:
    text = json.dumps(target, separators=(",", ":"), sort_keys=True) + end
    annotations = {**target["metadata"]["annotations"], LAST_APPLIED: text}
    return {**target, "metadata": {**target["metadata"], "annotations": annotations}}
