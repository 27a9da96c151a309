"""AdmissionReviews of about 6 KB, as an API server sends them for Instances that have run.

Five kinds in equal parts: creation before mutation, and a changed parameter before and after
mutation; beside them a requested plan before and after mutation. The constant app gets the same.
"""

import json
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kudo_webhook.routes import MUTATE_PATH, VALIDATE_PATH

Json = dict[str, Any]

PARAMETERS = 20
_SET = 14
_TIME = "2026-01-01T12:00:00Z"
_PLANS = ("deploy", "update", "backup", "cleanup")


def operator_version(name: str) -> Json:
    """Return an OperatorVersion with a template and parameters of each kind."""
    parameters: list[Json] = [
        {
            "name": _parameter(number),
            "description": "what this parameter is good for, in a sentence as packages have it",
            "default": str(number),
        }
        for number in range(PARAMETERS)
    ]
    parameters[1]["value-type"] = "integer"
    parameters[2]["trigger"] = "backup"
    parameters[3]["immutable"] = True
    plan = {"phases": [{"name": "main", "steps": [{"name": "all", "tasks": ["all"]}]}]}
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "OperatorVersion",
        "metadata": {"name": name},
        "spec": {
            "operator": {"kind": "Operator", "name": "bench"},
            "version": "0.1.0",
            "templates": {"all.yaml": "# as long as templates are\n" * 400},
            "tasks": [{"name": "all", "kind": "Apply", "spec": {"resources": ["all.yaml"]}}],
            "parameters": parameters,
            "plans": dict.fromkeys(_PLANS, plan),
        },
    }


def instance(name: str, version: str) -> Json:
    """Return an Instance as a user writes it."""
    values = {_parameter(number): f"value of {number}" for number in range(_SET)}
    values[_parameter(1)] = "3"
    return {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Instance",
        "metadata": {"name": name, "labels": {"kudo.dev/operator": "bench"}},
        "spec": {"operatorVersion": {"name": version}, "parameters": values},
    }


def reviews(namespace: str, versions: Sequence[str]) -> Iterator[tuple[str, Json]]:
    """Yield path and AdmissionReview of each request."""
    for version in versions:
        new = instance(f"{version}-instance", version)
        stored = _stored(new, namespace)
        changed = {_parameter(0): "another value"}
        yield MUTATE_PATH, review(namespace, _padded(new), None)
        yield MUTATE_PATH, review(namespace, _changed(stored, parameters=changed), stored)
        update = _changed(stored, parameters=changed, planExecution=_scheduled("update"))
        yield VALIDATE_PATH, review(namespace, update, stored)
        asked = _changed(stored, planExecution={"planName": "backup"})
        yield MUTATE_PATH, review(namespace, asked, stored)
        backup = _changed(stored, planExecution=_scheduled("backup"))
        yield VALIDATE_PATH, review(namespace, backup, stored)


def review(namespace: str, new: Json, old: Json | None) -> Json:
    kind = {"group": "kudo.dev", "version": "v1beta1", "kind": "Instance"}
    resource = {"group": "kudo.dev", "version": "v1beta1", "resource": "instances"}
    verb = "Create" if old is None else "Update"
    return {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": str(uuid.uuid4()),
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": new["metadata"]["name"],
            "namespace": namespace,
            "operation": verb.upper(),
            "userInfo": {"username": "somebody", "groups": ["people", "system:authenticated"]},
            "object": new,
            "oldObject": old,
            "dryRun": False,
            "options": {"kind": f"{verb}Options", "apiVersion": "meta.k8s.io/v1"},
        },
    }


def write(file: Path, requests: Iterator[tuple[str, Json]]) -> float:
    """Write the bodies as `load` reads them; return their mean size in bytes."""
    lines = [f"{path}\t{json.dumps(body, separators=(',', ':'))}" for path, body in requests]
    file.write_text("\n".join(lines), encoding="utf-8")
    return sum(len(line.partition("\t")[2]) for line in lines) / len(lines)


def _parameter(number: int) -> str:
    return f"PARAMETER_{number:02d}"


def _stored(new: Json, namespace: str) -> Json:
    """Return the Instance as it lies in etcd after its first run."""
    metadata = {
        **new["metadata"],
        "namespace": namespace,
        "uid": str(uuid.uuid4()),
        "resourceVersion": "12345",
        "generation": 3,
        "creationTimestamp": _TIME,
        "finalizers": ["kudo.dev.instance.cleanup"],
        "managedFields": _managed_fields(new),
    }
    entries = {plan: {"name": plan, "status": "NEVER_RUN"} for plan in _PLANS}
    entries["deploy"] = _entry("deploy")
    parameters = dict.fromkeys(new["spec"]["parameters"], "0123456789abcdef")
    status = {
        "planStatus": entries,
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "InstanceReady",
                "message": "all resources are ready",
                "lastTransitionTime": _TIME,
                "observedGeneration": 3,
            }
        ],
        "observedGeneration": 3,
        "lastRun": {"plan": "deploy", "uid": str(uuid.uuid4()), "parameters": parameters},
    }
    return {**new, "metadata": metadata, "status": status}


def _managed_fields(new: Json) -> list[Json]:
    fields: Json = {f"f:{name}": {} for name in new["spec"]["parameters"]}
    return [
        {
            "manager": "kubectl",
            "operation": "Apply",
            "apiVersion": "kudo.dev/v1beta1",
            "time": _TIME,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:operatorVersion": {"f:name": {}}, "f:parameters": fields}},
        }
    ]


def _entry(plan: str) -> Json:
    times = {"startedAt": _TIME, "finishedAt": _TIME}
    task = {"name": "all", "status": "COMPLETE", **times}
    step = {"name": "all", "status": "COMPLETE", "tasks": [task]}
    return {
        "name": plan,
        "status": "COMPLETE",
        "uid": str(uuid.uuid4()),
        "lastUpdatedTimestamp": _TIME,
        **times,
        "phases": [{"name": "main", "status": "COMPLETE", "steps": [step]}],
    }


def _changed(stored: Json, parameters: Json | None = None, **spec: Any) -> Json:
    values = {**stored["spec"]["parameters"], **(parameters or {})}
    return {**stored, "spec": {**stored["spec"], "parameters": values, **spec}}


def _scheduled(plan: str) -> Json:
    return {"planName": plan, "uid": str(uuid.uuid4()), "status": "NEVER_RUN"}


def _padded(new: Json) -> Json:
    """Make a creation as large as the updates, by what kubectl puts beside it."""
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(new) * 6}
    return {**new, "metadata": {**new["metadata"], "annotations": annotation}}
