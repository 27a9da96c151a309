"""Finds objects of kinds that the cluster does not have when their step runs.

A kind is known if the cluster serves it, or if a CRD of `crdDir`, of `manifestDirs` or of the same
case defines it before. An unknown kind is an error if nothing that runs before can create its CRD,
and else a warning: suites install CRDs by commands, and by packages, too.
"""

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import Final

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.resource import Resource, split_api_version
from kudo.api import names
from kudo.api.problems import shown_name
from kudo_harness.findings import Findings, Place, closest
from kudo_harness.suite import (
    Case,
    Command,
    Document,
    RefuseWrites,
    Step,
    Suite,
    Text,
)
from kudo_harness.suite.files import FileReader, is_url
from kudo_harness.suite.step_files import Role

Kind = tuple[str, str]
"""apiVersion and kind."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds of a cluster, as discovery tells them before a run.

    Attributes:
        served: By apiVersion and kind.
    """

    served: Mapping[Kind, Resource]

    def find(self, api_version: object, kind: object) -> Resource | None:
        """Return the resource of a kind, or None if it is not served."""
        return self.served.get((str(api_version), str(kind)))


async def known_kinds(client: Client) -> Kinds:
    """Return the kinds that a cluster serves.

    Raises:
        KubeError: discovery failed.
    """
    resources = await Discovery(client).all_resources()
    return Kinds({(resource.api_version, resource.kind): resource for resource in resources})


def advice(unknown: Kind, kinds: Collection[Kind]) -> str:
    """Return which known kind is probably meant; empty if none is alike.

    A kind of the same name comes first: versions and groups change more often than people mistype.
    """
    api_version, kind = unknown
    if kind == "List" and api_version == "v1":
        return "write its items as documents of their own, with --- between them"
    group, _ = split_api_version(api_version)
    same = sorted(version for version, name in kinds if name == kind)
    if same:
        ours = [version for version in same if split_api_version(version)[0] == group]
        return f"the cluster has {kind} in {' and '.join((ours or same)[:3])}"
    for near_names in (
        {name for version, name in kinds if version == api_version},
        {name for _, name in kinds},
    ):
        for near in closest(kind, near_names):
            where = min(
                (version for version, name in kinds if name == near),
                key=lambda version: version != api_version,
            )
            return f"did you mean {near}{'' if where == api_version else f' in {where}'}?"
    return ""


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


def command_may_create(command: Command) -> bool:
    """Return whether a command may create CRDs, as far as its first words tell."""
    try:
        words = shlex.split(command.command)
    except ValueError:
        return True
    # What a script does is not known without running it.
    if command.script or not words:
        return True
    if words[0] != "kubectl":
        return words[0] not in _INERT_PROGRAMS
    verbs = [word for word in words[1:] if not word.startswith("-")]
    # An Instance may run plans that apply CRDs, so only verbs that start none are inert.
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


_KUDO: Final = frozenset(
    (resource.api_version, resource.kind)
    for resource in starmap(
        Resource, (names.OPERATORS, names.OPERATOR_VERSIONS, names.INSTANCES, names.INVENTORIES)
    )
)
_APPLY: Final = "it cannot be applied"
_ASSERT: Final = "an assert of it can never match"
_ERRORS: Final = "it can never be looked for"
_DELETE: Final = "nothing of it can be deleted"
_FAULT: Final = "this fault can never be caused"
_REF: Final = "the expressions of this assert can never hold"


@dataclass(frozen=True, slots=True)
class _Use:
    """Something that needs a kind.

    Attributes:
        kind: apiVersion and kind.
        effect: What an unknown kind leads to.
        places: Where apiVersion and kind are written.
    """

    kind: Kind
    effect: str
    places: tuple[Place, Place]


@dataclass(slots=True)
class _Available:
    """What is known at a moment of a run.

    Attributes:
        kinds: All kinds that are known.
        open: Whether something ran before that may have created more.
    """

    kinds: set[Kind]
    open: bool = False

    def after(self, commands: Iterable[Command]) -> None:
        """Take note of commands that ran."""
        for command in commands:
            self.open = self.open or command_may_create(command)
            if installs_kudo(command):
                self.kinds.update(_KUDO)


@dataclass(slots=True)
class _Check:
    findings: Findings
    advised: dict[Kind, str] = field(default_factory=dict)
    warned: set[Kind] = field(default_factory=set)
    """Kinds that may come later: one warning is enough, a suite for KUDO has dozens of asserts."""

    def case(self, case: Case, available: _Available) -> None:
        for step in case.steps:
            options = step.options
            commands = options.commands if options else ()
            elsewhere = options is not None and bool(options.kubeconfig or options.context)
            # Commands of a step run before its objects are applied.
            available.after(commands)
            available.open = available.open or any(
                download.role is Role.APPLY for download in step.downloads
            )
            if elsewhere:
                # The kinds of another cluster are not known, nor does it change those of this one.
                continue
            # A CRD of the same step counts: what it defines is waited for.
            for document in step.objects.apply:
                available.kinds.update(defined_by(document))
            for use in _uses_before(step):
                self.use(use, available)
            # After the uses: a controller that this step applies has not run when these are sent.
            available.open = available.open or any(map(object_may_create, step.objects.apply))
            for use in _uses_after(step):
                self.use(use, available)

    def use(self, use: _Use, available: _Available) -> None:
        if use.kind in available.kinds:
            return
        api_version, kind = use.kind
        group, _ = split_api_version(api_version)
        if use.kind not in self.advised:
            self.advised[use.kind] = advice(use.kind, available.kinds)
        name = f"{shown_name(kind)} in {shown_name(api_version)}"
        served = any(each[0] == api_version for each in available.kinds)
        place = use.places[1 if served else 0]
        has_kudo = any(version.startswith(f"{names.GROUP}/") for version, _ in available.kinds)
        if group == names.GROUP and not has_kudo:
            text = f"KUDO is not installed in the cluster, so there is no {name} and {use.effect}"
            more = "; add `kubectl kudo init` to the commands of the suite, or startKUDO: true"
        else:
            text = f"the cluster has no kind {name}, so {use.effect}"
            more = f"; {self.advised[use.kind]}" if self.advised[use.kind] else ""
        # No CRD can add a kind to a group of the API server itself, so that is an error at once.
        if available.open and group not in BUILT_IN_GROUPS:
            text += ", unless something before this step creates its CRD"
            if use.kind not in self.warned:
                self.warned.add(use.kind)
                self.findings.warning("UnknownKind", text + more, place)
        else:
            self.findings.error("UnknownKind", text + more, place)


def check_kinds(suite: Suite, kinds: Kinds, findings: Findings, *, kudo_installed: bool) -> None:
    """Note each object of a suite whose kind the cluster does not have when its step runs.

    Args:
        suite: The suite.
        kinds: The kinds of the cluster.
        findings: Where unknown kinds are noted, with file and line.
        kudo_installed: Whether the run installs KUDO before the cases.
    """
    available = _Available(set(kinds.served))
    if kudo_installed:
        available.kinds.update(_KUDO)
    check = _Check(findings)
    files = FileReader(findings)

    def read(text: Text | None) -> Iterator[Document]:
        # URLs are read when the suite runs.
        if text is not None and text.value and not is_url(text.value):
            yield from files.manifests(Path(text.value), text.place)

    # Other documents in the folder of CRDs, such as of kustomize, are left out.
    crds = [crd for crd in read(suite.options.crd_dir) if crd.value.get("kind") == _CRD]
    manifests = [
        document
        for text in suite.options.manifest_dirs
        for document in read(text)
        if all(isinstance(document.value.get(name), str) for name in ("apiVersion", "kind"))
    ]
    for document in (*crds, *manifests):
        available.kinds.update(defined_by(document))
    available.open = any(is_url(text.value) for text in suite.options.manifest_dirs)
    for document in (*crds, *manifests):
        check.use(_of_document(document, _APPLY), available)
    available.open = available.open or any(map(object_may_create, manifests))
    available.after(suite.options.commands)
    for case in suite.cases:
        check.case(case, _Available(set(available.kinds), available.open))


def _uses_before(step: Step) -> Iterator[_Use]:
    """Yield what a step needs until it has applied its objects, and for its faults."""
    for deletion in step.options.delete if step.options else ():
        yield _Use((deletion.api_version, deletion.kind), _DELETE, (deletion.place, deletion.place))
    yield from (_of_document(document, _APPLY) for document in step.objects.apply)
    for fault in step.options.faults if step.options else ():
        if isinstance(fault.action, RefuseWrites):
            kind = (fault.action.api_version, fault.action.kind)
            yield _Use(kind, _FAULT, (fault.place, fault.place))
        if fault.when is not None:
            yield _of_document(fault.when, _FAULT)


def _uses_after(step: Step) -> Iterator[_Use]:
    """Yield what the asserts of a step need."""
    yield from (_of_document(document, _ASSERT) for document in step.objects.asserts)
    yield from (_of_document(document, _ERRORS) for document in step.objects.errors)
    for ref in step.assert_options.resource_refs if step.assert_options else ():
        yield _Use((ref.api_version, ref.kind), _REF, (ref.place, ref.place))


def _of_document(document: Document, effect: str) -> _Use:
    kind = (str(document.value.get("apiVersion") or ""), str(document.value.get("kind") or ""))
    return _Use(kind, effect, (document.place("apiVersion"), document.place("kind")))
