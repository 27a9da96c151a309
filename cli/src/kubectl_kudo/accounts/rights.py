"""The rights that the plans of an Instance need, with kinds and children looked up in a cluster."""

import time
from collections.abc import Iterable, Mapping

from pydantic import ValidationError

from kubectl_kudo.session.kinds import OPERATOR_VERSIONS
from kubectl_kudo.session.output import JsonObject
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import NotFound, UnknownKind
from kudo.api import Instance, OperatorVersion
from kudo.permissions import Kind, Needs, Rights, Served, needs_of, rights_of, successor
from kudo.tasks.kudo_operator import VersionKey, dependencies_of

_SECONDS = 20.0
"""Time for the rendering of one Instance and its children."""
_MOST_VERSIONS = 100

Known = Mapping[VersionKey, OperatorVersion]


class RightsInCluster:
    """Computes rights with what a cluster serves.

    Args:
        client: The connection.
        versions: Reads OperatorVersions.
    """

    def __init__(self, client: Client, versions: "Versions") -> None:
        self._discovery = Discovery(client)
        self._versions = versions

    async def of(self, version: OperatorVersion, instance: Instance, known: Known) -> Rights:
        """Return the rights that all plans of an Instance and its children need.

        Args:
            version: Its OperatorVersion.
            instance: The Instance.
            known: OperatorVersions that are not in the cluster yet.
        """
        found = await self._below(version, known)
        needs = _needs(version, instance, found)
        return rights_of(needs, await self._served(needs.kinds()))

    async def _below(self, version: OperatorVersion, known: Known) -> Known:
        """Return the OperatorVersions of children, and of theirs."""
        found: dict[VersionKey, OperatorVersion] = {}
        missing: set[VersionKey] = set()
        waiting = [one.version for one in dependencies_of(version)]
        while waiting and len(found) < _MOST_VERSIONS:
            key = waiting.pop()
            if key in found or key in missing:
                continue
            below = known.get(key) or await self._versions.find(key)
            if below is None:
                missing.add(key)
            else:
                found[key] = below
                waiting += [one.version for one in dependencies_of(below)]
        return found

    async def _served(self, kinds: Iterable[Kind]) -> dict[Kind, Served]:
        found = {}
        asked = (one for kind in kinds for one in (kind, successor(kind)) if one is not None)
        for kind in dict.fromkeys(asked):
            try:
                served = await self._discovery.resolve(*kind)
            except (UnknownKind, ValueError):
                continue
            found[kind] = Served(served.group, served.plural, served.namespaced)
        return found


class Versions:
    """OperatorVersions of a cluster, each read once."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._wires: dict[VersionKey, JsonObject | None] = {}

    async def wire(self, key: VersionKey) -> JsonObject | None:
        """Return an OperatorVersion as it is stored; None if there is none."""
        if key not in self._wires:
            self._wires[key] = await self._read(key)
        return self._wires[key]

    async def find(self, key: VersionKey) -> OperatorVersion | None:
        """Return an OperatorVersion; None if there is none that can be read."""
        wire = await self.wire(key)
        try:
            return None if wire is None else OperatorVersion.from_wire(wire)
        except ValidationError:
            return None

    async def _read(self, key: VersionKey) -> JsonObject | None:
        namespace, name = key
        try:
            return await self._client.get(OPERATOR_VERSIONS, name, namespace=namespace)
        except (NotFound, ValueError):
            return None


def rights_without_cluster(version: OperatorVersion, instance: Instance, known: Known) -> Rights:
    """Return the rights, with the table of built-in kinds instead of a cluster."""
    return rights_of(_needs(version, instance, known), {})


def _needs(version: OperatorVersion, instance: Instance, known: Known) -> Needs:
    end = time.monotonic() + _SECONDS
    return needs_of(version, instance, known.get, expired=lambda: time.monotonic() > end)
