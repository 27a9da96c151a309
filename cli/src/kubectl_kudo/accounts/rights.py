"""The rights that the plans of an Instance need, with kinds and children looked up in a cluster."""

import time
from collections.abc import Mapping

from pydantic import ValidationError

from kubectl_kudo.session.kinds import OPERATOR_VERSIONS
from kubectl_kudo.session.output import JsonObject
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import NotFound, UnknownKind
from kudo.api import Instance, OperatorVersion
from kudo.permissions.model import Kind, Needs, Rights, Served
from kudo.permissions.needs import needs_of
from kudo.permissions.rights import rights_of, successor
from kudo.tasks.kudo_operator import VersionKey, dependencies_of

_SECONDS = 20.0
"""Time for the rendering of one Instance and its children."""
_MOST_VERSIONS = 100

NewVersions = Mapping[VersionKey, OperatorVersion]


class RightsInCluster:
    """Computes rights with what a cluster serves.

    Args:
        client: The connection.
        versions: Reads OperatorVersions.
    """

    def __init__(self, client: Client, versions: "Versions") -> None:
        self._discovery = Discovery(client)
        self._versions = versions

    async def of(
        self, version: OperatorVersion, instance: Instance, new_versions: NewVersions
    ) -> Rights:
        """Return the rights that all plans of an Instance and its children need.

        Args:
            version: Its OperatorVersion.
            instance: The Instance.
            new_versions: OperatorVersions that are not in the cluster yet.
        """
        needs = _needs(version, instance, await self._children(version, new_versions))
        served: dict[Kind, Served] = {}
        # A kind that is not served any more may live on in a newer version of its group.
        kinds = (k for kind in needs.kinds() for k in (kind, successor(kind)) if k is not None)
        for kind in dict.fromkeys(kinds):
            try:
                resource = await self._discovery.resolve(*kind)
            except (UnknownKind, ValueError):
                continue
            served[kind] = Served(resource.group, resource.plural, resource.namespaced)
        return rights_of(needs, served)

    async def _children(self, version: OperatorVersion, new_versions: NewVersions) -> NewVersions:
        """Return the OperatorVersions of children, and of theirs."""
        children: dict[VersionKey, OperatorVersion] = {}
        missing: set[VersionKey] = set()
        waiting = [dependency.version for dependency in dependencies_of(version)]
        # Bounded: who writes OperatorVersions must not decide how long the command runs.
        while waiting and len(children) < _MOST_VERSIONS:
            key = waiting.pop()
            if key in children or key in missing:
                continue
            child = new_versions.get(key) or await self._versions.find(key)
            if child is None:
                missing.add(key)
            else:
                children[key] = child
                waiting += [dependency.version for dependency in dependencies_of(child)]
        return children


class Versions:
    """OperatorVersions of a cluster, each read once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._wires: dict[VersionKey, JsonObject | None] = {}

    async def wire(self, key: VersionKey) -> JsonObject | None:
        """Return an OperatorVersion as it is stored; None if there is none."""
        if key not in self._wires:
            namespace, name = key
            try:
                wire = await self._client.get(OPERATOR_VERSIONS, name, namespace=namespace)
            except (NotFound, ValueError):
                # ValueError: no object can have this name, which a template has made.
                wire = None
            self._wires[key] = wire
        return self._wires[key]

    async def find(self, key: VersionKey) -> OperatorVersion | None:
        """Return an OperatorVersion; None if there is none that can be read."""
        wire = await self.wire(key)
        try:
            return None if wire is None else OperatorVersion.from_wire(wire)
        except ValidationError:
            return None


def rights_without_cluster(
    version: OperatorVersion, instance: Instance, new_versions: NewVersions
) -> Rights:
    """Return the rights, with the table of built-in kinds instead of a cluster."""
    return rights_of(_needs(version, instance, new_versions), {})


def _needs(version: OperatorVersion, instance: Instance, new_versions: NewVersions) -> Needs:
    end = time.monotonic() + _SECONDS
    return needs_of(version, instance, new_versions.get, expired=lambda: time.monotonic() > end)
