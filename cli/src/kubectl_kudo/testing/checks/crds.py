"""The kinds that CRDs of a suite define: those of `crdDir` and `manifestDirs`, and applied ones.

A kind that is unknown now may be known later, where something in the suite may create CRDs.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from kubectl_kudo.testing.checks.known_kinds import Kind
from kudo_harness.suite import Command, Document, SuiteOptions, Text
from kudo_harness.suite.documents import read_documents
from kudo_harness.suite.files import FileReader
from kudo_harness.suite.references import is_url

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
_CRD: Final = "CustomResourceDefinition"
_SUFFIXES: Final = (".yaml", ".yml", ".json")
_DEEPEST: Final = 8
"""Levels of folders below one of `manifestDirs`; links may lead back to it."""


def defined_by(document: Document) -> Iterator[Kind]:
    """Yield apiVersion and kind of what a CRD defines; nothing for other objects."""
    spec = document.value.get("spec")
    if document.value.get("kind") != _CRD or not isinstance(spec, dict):
        return
    names, versions = spec.get("names"), spec.get("versions")
    kind = names.get("kind") if isinstance(names, dict) else None
    if not isinstance(versions, list):
        # Of apiextensions.k8s.io/v1beta1.
        versions = [{"name": spec.get("version")}]
    for version in versions:
        if isinstance(version, dict) and version.get("served", True) and isinstance(kind, str):
            yield f"{spec.get('group')}/{version.get('name')}", kind


def crds_of(options: SuiteOptions, files: FileReader) -> Iterator[Document]:
    """Yield the CRDs of `crdDir`; other documents there, such as of kustomize, are left out.

    What cannot be read is noted in the findings of `files`.
    """
    for document in _read((options.crd_dir,), files):
        if document.value.get("kind") == _CRD:
            yield document


def manifests_of(options: SuiteOptions, files: FileReader) -> Iterator[Document]:
    """Yield the objects of `manifestDirs`; URLs, and what is no object, are left out.

    What cannot be read is noted in the findings of `files`.
    """
    for document in _read(options.manifest_dirs, files):
        if all(isinstance(document.value.get(key), str) for key in ("apiVersion", "kind")):
            yield document


def _read(texts: Iterable[Text | None], files: FileReader) -> Iterator[Document]:
    for text in texts:
        if text is not None and text.value and not is_url(text.value):
            yield from _in(Path(text.value), text, files)


def _in(path: Path, text: Text, files: FileReader, depth: int = 0) -> Iterator[Document]:
    if not path.is_dir():
        yield from _file(path, text, files)
        return
    for entry in files.entries(path, text.place):
        if entry.is_dir() and depth < _DEEPEST:
            yield from _in(path / entry.name, text, files, depth + 1)
        elif entry.name.endswith(_SUFFIXES):
            yield from _file(path / entry.name, text, files)


def _file(path: Path, text: Text, files: FileReader) -> Iterator[Document]:
    content = files.text(path, text.place)
    if content is not None:
        yield from read_documents(str(path), content, files.findings, files.limits) or ()


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
