"""Tells what may create CRDs, so that a kind which is unknown now may be known later."""

import re
import shlex
from typing import Final

from kudo_harness.suite import Command, Document

_INERT_PROGRAMS: Final = frozenset({"cat", "echo", "false", "grep", "ls", "sleep", "test", "true"})
_INERT_VERBS: Final = frozenset(
    {
        *("annotate", "api-resources", "api-versions", "auth", "cluster-info", "config", "cordon"),
        *("delete", "describe", "drain", "events", "explain", "get", "label", "logs", "rollout"),
        *("scale", "taint", "top", "uncordon", "version", "wait"),
    }
)
"""Verbs of kubectl that create nothing that can create a CRD."""
_INERT_KUDO: Final = frozenset({"get", "describe", "package", "search", "uninstall", "version"})
_INERT_KINDS: Final = frozenset(
    {
        *(
            "ClusterRole",
            "ClusterRoleBinding",
            "ConfigMap",
            "CustomResourceDefinition",
            "Endpoints",
        ),
        *("HorizontalPodAutoscaler", "Ingress", "LimitRange", "Namespace", "NetworkPolicy"),
        *("Operator", "OperatorVersion", "PersistentVolume", "PersistentVolumeClaim"),
        *("PodDisruptionBudget", "PriorityClass", "ResourceQuota", "Role", "RoleBinding", "Secret"),
        *("Service", "ServiceAccount", "StorageClass"),
    }
)
"""Kinds whose objects run nothing; a Pod, or an Instance, may be a controller with CRDs."""
_INIT: Final = re.compile(r"\bkudo init\b")
BUILT_IN_GROUPS: Final = frozenset(
    {
        *("", "apps", "autoscaling", "batch", "extensions", "policy"),
        *("admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io"),
        *("authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io"),
        *("coordination.k8s.io", "discovery.k8s.io", "events.k8s.io"),
        *("flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "networking.k8s.io"),
        *("node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io"),
        *("storage.k8s.io", "storagemigration.k8s.io"),
    }
)
"""Groups of the API server itself, to which no CRD can add a kind."""


def command_may_create(command: Command) -> bool:
    """Return whether a command may create CRDs, as far as its first words tell."""
    try:
        words = shlex.split(command.command)
    except ValueError:
        return True
    if command.script or not words:
        return True
    if words[0] != "kubectl":
        return words[0] not in _INERT_PROGRAMS
    verbs = [word for word in words[1:] if not word.startswith("-")]
    if verbs[:1] == ["kudo"]:
        return verbs[1:2] == [] or verbs[1] not in _INERT_KUDO
    # A flag before the verb may have a value, which then looks like the verb.
    return words[1:2] == [] or words[1] not in _INERT_VERBS


def installs_kudo(command: Command) -> bool:
    """Return whether a command installs KUDO: `kubectl kudo init`, also in a script."""
    return _INIT.search(command.command or command.script) is not None


def object_may_create(document: Document) -> bool:
    """Return whether an object that is applied may run something that creates CRDs."""
    return document.value.get("kind") not in _INERT_KINDS
