"""Reads and writes the caBundles of both webhook configurations.

All webhooks of both get the same caBundle; a configuration that does not exist needs none. A patch
tests the resourceVersion that was read, and is sent only where a caBundle differs.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kubeio import jsonpatch
from kubeio.errors import Conflict, Invalid, NotFound
from kubeio.kinds import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_webhook.certificates.built_in.store import MANAGER
from kudo_webhook.certificates.built_in.trust import Trust, read_bundle, write_bundle
from kudo_webhook.retry import LostRace


class ConfigurationApi(Protocol):
    """What is needed of a `kubeio.client.Client`."""

    async def get(self, resource: Resource, name: str) -> JsonObject: ...

    async def json_patch(
        self,
        resource: Resource,
        name: str,
        ops: Sequence[JsonObject],
        *,
        field_manager: str | None = None,
    ) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class Configuration:
    """A webhook configuration as it was read.

    Attributes:
        resource: The mutating or the validating one.
        version: Its resourceVersion.
        bundles: The caBundle of each webhook, in PEM.
    """

    resource: Resource
    version: str
    bundles: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Bundles:
    """The caBundles of the configurations that exist, as they were read."""

    configurations: tuple[Configuration, ...]

    @property
    def common(self) -> Trust | None:
        """Return the authorities in every caBundle; None if there is no webhook."""
        held = [read_bundle(bundle) for one in self.configurations for bundle in one.bundles]
        return frozenset.intersection(*held) if held else None

    @property
    def held(self) -> Trust:
        """Return the authorities in any caBundle."""
        return frozenset(
            certificate
            for one in self.configurations
            for bundle in one.bundles
            for certificate in read_bundle(bundle)
        )


class Configurations:
    """The mutating and the validating configuration of one name."""

    def __init__(self, api: ConfigurationApi, name: str) -> None:
        self._api = api
        self._name = name

    async def read(self) -> Bundles:
        """Return the caBundles of both.

        Raises:
            kubeio.errors.KubeError: the API server refused, or cannot be reached.
        """
        found = [
            await self._read_one(resource) for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)
        ]
        return Bundles(tuple(one for one in found if one is not None))

    async def trust(self, trusted: Trust, bundles: Bundles) -> int:
        """Write these authorities as the caBundle of all webhooks.

        Returns:
            How many configurations were changed.

        Raises:
            LostRace: a configuration has changed since it was read.
            kubeio.errors.KubeError: the API server refused, or cannot be reached.
        """
        bundle = write_bundle(trusted)
        differing = [one for one in bundles.configurations if {*one.bundles} - {bundle}]
        for configuration in differing:
            await self._patch(configuration, bundle)
        return len(differing)

    async def _read_one(self, resource: Resource) -> Configuration | None:
        try:
            found = await self._api.get(resource, self._name)
        except NotFound:
            return None
        bundles = (_bundle(webhook) for webhook in found.get("webhooks") or [])
        return Configuration(resource, str(found["metadata"]["resourceVersion"]), tuple(bundles))

    async def _patch(self, configuration: Configuration, bundle: bytes) -> None:
        encoded = base64.b64encode(bundle).decode()
        ops = [jsonpatch.test("/metadata/resourceVersion", configuration.version)]
        ops += [
            jsonpatch.add(f"/webhooks/{index}/clientConfig/caBundle", encoded)
            for index in range(len(configuration.bundles))
        ]
        try:
            await self._api.json_patch(
                configuration.resource, self._name, ops, field_manager=MANAGER
            )
        except (Conflict, Invalid, NotFound) as error:
            raise LostRace(f"{configuration.resource.kind} {self._name}: {error}") from error


def _bundle(webhook: JsonObject) -> bytes:
    try:
        return base64.b64decode(webhook["clientConfig"].get("caBundle") or "")
    except binascii.Error:
        return b""
