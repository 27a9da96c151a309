"""Objects for a real node: their containers are what the one image of every node can do."""

from collections.abc import Sequence
from typing import Any

Json = dict[str, Any]


def container(*command: str) -> Json:
    return {
        "name": "main",
        "image": "busybox",
        "imagePullPolicy": "IfNotPresent",
        "command": list(command),
    }


def pod(name: str, *command: str, **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [container(*command)],
            "restartPolicy": "Never",
            **spec,
        },
    }


def server(name: str, page: str) -> Json:
    """Return a pod that serves a page on port 8080 and is ready once it does."""
    command = f"mkdir /tmp/www; echo '{page}' > /tmp/www/index.html; httpd -f -p 8080 -h /tmp/www"
    found = pod(name, "sh", "-c", command)
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
    found["spec"]["containers"][0]["readinessProbe"] = probe
    return found


def service(name: str, port: int = 80) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": port, "targetPort": 8080}]},
    }


def job(name: str, command: Sequence[str]) -> Json:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "spec": {"restartPolicy": "Never", "containers": [container(*command)]},
            },
        },
    }


def headless_service(name: str) -> Json:
    """Return the Service of a StatefulSet, whose pods have names before they are ready."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"app": name},
            "ports": [{"port": 80}],
        },
    }


def stateful_set(name: str, service_name: str, *command: str, ready: bool) -> Json:
    """Return a StatefulSet of one pod behind a headless Service."""
    labels = {"app": service_name}
    probe = {"exec": {"command": ["true" if ready else "false"]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name},
        "spec": {
            "serviceName": service_name,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{**container(*command), "readinessProbe": probe}],
                },
            },
        },
    }
