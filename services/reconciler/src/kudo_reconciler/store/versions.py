"""Reads OperatorVersions: one by one, or those of a tree of Instances.

Each is parsed once for each resourceVersion. Of one that is too large to be parsed
(`kudo.api.bounds`) only the name is kept.
"""

import math
from dataclasses import dataclass, field

from kubeio.cache.informer import Informer
from kubeio.client import Client
from kubeio.errors import InvalidPath, NotFound
from kubeio.names import is_subdomain
from kudo.admission.tenancy import kept_annotations
from kudo.api import JsonObject, OperatorVersion
from kudo.api.bounds import TOO_LARGE, too_large
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.kudo_operator import VersionKey, check_dependencies, dependencies_of
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.keys import OPERATOR_VERSIONS


class VersionTooLarge(Exception):
    """The OperatorVersion exists, but is too large to be read; the message has the reason.

    Attributes:
        metadata: That of the OperatorVersion, with nothing of its spec.
    """

    def __init__(self, text: str, metadata: OperatorVersion) -> None:
        super().__init__(text)
        self.metadata = metadata


@dataclass
class VersionStore:
    """Reads OperatorVersions from the cache, or live if they are not cached yet."""

    client: Client
    informer: Informer
    _parsed: dict[VersionKey, OperatorVersion] = field(default_factory=dict)
    _read: dict[VersionKey, float] = field(default_factory=dict)

    async def get(self, key: VersionKey) -> OperatorVersion | None:
        """Return the OperatorVersion; one that is not cached is read live.

        Raises:
            KubeError: the request failed.
            VersionTooLarge: it exists, but is too large.
        """
        raw = self.informer.get(*key)
        return await self.live(key) if raw is None else self._parse(key, raw)

    async def as_of(self, key: VersionKey, moment: float) -> OperatorVersion | None:
        """Return the OperatorVersion as it was at a moment, or later; None if there is none.

        It is read live, unless that was done after the moment: runs that were scheduled together
        share one read.

        Args:
            key: The OperatorVersion.
            moment: Time of the event loop's clock, in seconds.

        Raises:
            KubeError: the request failed.
            VersionTooLarge: it exists, but is too large.
        """
        # The clock may stand still between the moment and a request that was sent before it.
        if self._read.get(key, -math.inf) > moment:
            return await self.get(key)
        return await self.live(key)

    async def live(self, key: VersionKey) -> OperatorVersion | None:
        """Read the OperatorVersion from the API server; None if there is none.

        There is none of a name that no object can have, whatever the Instance says.

        Raises:
            KubeError: the request failed.
            VersionTooLarge: it exists, but is too large.
        """
        namespace, name = key
        if not name:
            return None
        began = loop_seconds()
        try:
            raw = await self.client.get(OPERATOR_VERSIONS, name, namespace=namespace)
        except (NotFound, InvalidPath):
            self.forget(key)
            return None
        self.informer.observe(raw)
        # After `observe`, which calls `forget` if this is a new state.
        self._read[key] = began
        return self._parse(key, raw)

    def forget(self, key: VersionKey) -> None:
        """Forget an OperatorVersion that changed or was deleted."""
        self._parsed.pop(key, None)
        self._read.pop(key, None)

    def _parse(self, key: VersionKey, raw: JsonObject) -> OperatorVersion:
        parsed = self._parsed.get(key)
        if parsed is None or parsed.metadata.resource_version != raw["metadata"]["resourceVersion"]:
            self._parsed.pop(key, None)
            why = raw.get(TOO_LARGE) or too_large(raw.get("spec"))
            if why:
                text = f"OperatorVersion {'/'.join(key)} is not read: {why}"
                metadata = OperatorVersion.from_wire({"metadata": raw["metadata"]})
                raise VersionTooLarge(text, metadata)
            parsed = self._parsed[key] = OperatorVersion.from_wire(raw)
        return parsed


def kept_version(raw: JsonObject) -> JsonObject:
    """Return an OperatorVersion as the cache keeps it: of its annotations, with its grant alone.

    `kubectl apply` writes the whole object into another one. Of an object that is too large, only
    the reason is kept instead of its spec.
    """
    metadata = {name: value for name, value in raw["metadata"].items() if name != "annotations"}
    annotations = kept_annotations(raw["metadata"])
    if annotations:
        metadata["annotations"] = annotations
    why = too_large(raw.get("spec"))
    return {**raw, "metadata": metadata} | ({"spec": {}, TOO_LARGE: why} if why else {})


@dataclass(frozen=True, slots=True)
class ChildVersions:
    """Finds the OperatorVersions that the KudoOperator tasks of a plan need.

    They are read with the reconciler's own identity, like all OperatorVersions: their cache is
    shared by all tenants.
    """

    versions: VersionStore

    async def tree(
        self, version: OperatorVersion, plan: str
    ) -> dict[VersionKey, OperatorVersion | None]:
        """Return every OperatorVersion that the children of a plan need, and their children.

        Raises:
            FatalTaskError: one is missing, too large to be read, or part of a dependency cycle.
            KubeError: a request failed.
        """
        versions: dict[VersionKey, OperatorVersion | None] = {}
        waiting = [*dependencies_of(version, plan)]
        while waiting:
            key = waiting.pop().version
            if key not in versions:
                versions[key] = below = await self.find(key)
                waiting += () if below is None else dependencies_of(below)
        check_dependencies(version, plan, versions)
        return versions

    async def find(self, key: VersionKey) -> OperatorVersion | None:
        """Return an OperatorVersion; None if there is none.

        Raises:
            FatalTaskError: it is too large to be read.
            KubeError: a request failed.
        """
        try:
            return await self.versions.get(key) if is_subdomain(key[1]) else None
        except VersionTooLarge as error:
            raise FatalTaskError("InvalidOperatorVersion", str(error)) from error
