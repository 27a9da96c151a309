"""The OperatorVersions, parsed once for each of their resourceVersions."""

from dataclasses import dataclass, field

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.informer import Informer
from kudo.api import JsonObject, OperatorVersion
from kudo_reconciler.resources import OPERATOR_VERSIONS

VersionKey = tuple[str, str]


@dataclass
class VersionStore:
    """Finds OperatorVersions in the cache, and live where the cache does not have them yet."""

    client: Client
    informer: Informer
    _parsed: dict[VersionKey, OperatorVersion] = field(default_factory=dict)

    async def get(self, key: VersionKey) -> OperatorVersion | None:
        """Return the OperatorVersion; one that is not cached is asked for.

        Raises:
            KubeError: the API server could not be asked.
        """
        raw = self.informer.get(*key)
        return await self.live(key) if raw is None else self._parse(key, raw)

    async def live(self, key: VersionKey) -> OperatorVersion | None:
        """Read the OperatorVersion from the API server; None if there is none.

        Raises:
            KubeError: the API server could not be asked.
        """
        namespace, name = key
        if not name:
            return None
        try:
            raw = await self.client.get(OPERATOR_VERSIONS, name, namespace=namespace)
        except NotFound:
            self._parsed.pop(key, None)
            return None
        self.informer.observe(raw)
        return self._parse(key, raw)

    def forget(self, key: VersionKey) -> None:
        """Forget an OperatorVersion that is gone."""
        self._parsed.pop(key, None)

    def _parse(self, key: VersionKey, raw: JsonObject) -> OperatorVersion:
        parsed = self._parsed.get(key)
        if parsed is None or parsed.metadata.resource_version != raw["metadata"]["resourceVersion"]:
            parsed = self._parsed[key] = OperatorVersion.from_wire(raw)
        return parsed
