"""Reads a configuration of kind: how many simulated nodes stand for its nodes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kudo_harness.findings import Findings
from kudo_harness.planning.plan import PlannedNode, Substitution
from kudo_harness.suite import DEFAULT_LIMITS, Document, Text
from kudo_harness.suite.documents import read_documents
from kudo_harness.suite.fields import Fields, Reading
from kudo_harness.suite.files import FileReader

MOST_NODES: Final = 100
_SERVER: Final = {
    "featureGates": "a feature gate changes Kubernetes itself",
    "runtimeConfig": "it changes which APIs are served",
    "kubeadmConfigPatches": "there is no kubeadm here",
    "kubeadmConfigPatchesJSON6902": "there is no kubeadm here",
}
"""Fields that change the API server or the kubelet, which cannot be done here."""
_IGNORED: Final = (
    "name",
    "networking",
    "containerdConfigPatches",
    "containerdConfigPatchesJSON6902",
)
_OF_CONTAINERS: Final = ("image", "extraMounts", "extraPortMappings")
_KNOWN: Final = ("apiVersion", "kind", "nodes", *_IGNORED, *_SERVER)
_KNOWN_NODE: Final = (
    "role",
    "labels",
    *_OF_CONTAINERS,
    "kubeadmConfigPatches",
    "kubeadmConfigPatchesJSON6902",
)
_ADVICE: Final = "remove it, or run the suite with --kubeconfig on a cluster of kind"


@dataclass(slots=True)
class KindConfig:
    """Reads a configuration of kind.

    Attributes:
        folder: Relative paths begin here.
        findings: Where errors are noted.
        substitutions: Where what is done instead is noted.
    """

    folder: Path
    findings: Findings
    substitutions: list[Substitution]

    def nodes(self, path: Text) -> tuple[PlannedNode, ...]:
        """Return the nodes that pods are scheduled to: the workers, else one."""
        content = FileReader(self.findings).text(self.folder / path.value, path.place)
        if content is None:
            return (PlannedNode(),)
        documents = read_documents(path.value, content, self.findings, DEFAULT_LIMITS)
        if not documents:
            return (PlannedNode(),)
        nodes = self._nodes(documents[0])
        several = f"{len(nodes)} simulated nodes" if len(nodes) > 1 else "one simulated node"
        self.substitutions.append(Substitution(path.place, f"kindConfig: {path.value}", several))
        return nodes

    def _nodes(self, document: Document) -> tuple[PlannedNode, ...]:
        reading = Reading(document, self.findings, DEFAULT_LIMITS)
        fields = Fields.of(reading, (), document.value, _KNOWN, strict=True)
        self._refuse(fields)
        for name in _IGNORED:
            if fields.has(name):
                self._skip(fields, name)
        items = fields.items("nodes")
        if len(items) > MOST_NODES:
            message = f"more than {MOST_NODES} nodes cannot be simulated"
            fields.error("SuiteTooLarge", message, "nodes")
            return (PlannedNode(),)
        by_role = [self._node(fields, n, item) for n, item in enumerate(items)]
        workers = [node for role, node in by_role if role == "worker"]
        # Without workers kind schedules pods to the node of the control plane.
        return tuple(workers or [node for _, node in by_role[:1]] or [PlannedNode()])

    def _node(self, outer: Fields, n: int, item: object) -> tuple[str, PlannedNode]:
        fields = Fields.of(outer.reading, ("nodes", n), item, _KNOWN_NODE, strict=True)
        self._refuse(fields)
        for name in _OF_CONTAINERS:
            if fields.has(name):
                self._skip(fields, name)
        return fields.text("role", "control-plane"), PlannedNode(fields.labels("labels"))

    def _refuse(self, fields: Fields) -> None:
        for name, why in _SERVER.items():
            if fields.has(name):
                fields.error("CannotBeMapped", f"{name}: {why}; {_ADVICE}", name)

    def _skip(self, fields: Fields, name: str) -> None:
        self.substitutions.append(
            Substitution(fields.place_of(name), name, "skipped: nodes here have no container")
        )
