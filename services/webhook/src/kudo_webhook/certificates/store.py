"""Reads and writes what is stored: both Secrets, and the caBundles of both webhook configurations.

A Secret is created by applying it empty, without force, with a field manager of its own: a second
apply changes nothing. It is then filled by an apply that carries its resourceVersion. RBAC can
limit an apply to names, but not a create. If several replicas write at once, the first one wins.

All webhooks of both configurations get the same caBundle; a configuration that does not exist needs
none. A patch tests the resourceVersion that was read, and is sent only where a caBundle differs.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kubeio import jsonpatch
from kubeio.errors import Conflict, Invalid, NotFound
from kubeio.resource import MUTATING_WEBHOOKS, SECRETS, VALIDATING_WEBHOOKS, Resource
from kubeio.types import JsonObject
from kudo_webhook.certificates.authority import Damaged, Pair, pem
from kudo_webhook.certificates.due import Trust, read_bundle, write_bundle
from kudo_webhook.retry import LostRace

MANAGER = "kudo-webhook"
_MAKER = "kudo-webhook-new"
_CERTIFICATE, _KEY, _ISSUER = "tls.crt", "tls.key", "ca.crt"


class SecretApi(Protocol):
    """What the store needs of a `kubeio.client.Client`."""

    async def get(
        self, resource: Resource, name: str, *, namespace: str | None = None
    ) -> JsonObject: ...

    async def apply(
        self, resource: Resource, obj: JsonObject, *, field_manager: str, force: bool = False
    ) -> JsonObject: ...


@dataclass(frozen=True, slots=True)
class Stored:
    """The content of a Secret.

    Attributes:
        version: Its resourceVersion; empty if there is no Secret.
        pair: None if there is no Secret, or none with a usable pair.
        damage: Why the pair cannot be used; empty if it can, or if there is no Secret.
    """

    version: str = ""
    pair: Pair | None = None
    damage: str = ""


class PairSecret:
    """One Secret of type kubernetes.io/tls with `tls.crt`, `tls.key` and `ca.crt`."""

    def __init__(self, api: SecretApi, namespace: str, name: str) -> None:
        self._api = api
        self._namespace = namespace
        self.name = name

    async def read(self) -> Stored:
        """Return what is stored.

        Raises:
            kubeio.errors.KubeError: the API server refused, or cannot be reached.
        """
        try:
            secret = await self._api.get(SECRETS, self.name, namespace=self._namespace)
        except NotFound:
            return Stored()
        version = str(secret["metadata"]["resourceVersion"])
        try:
            return Stored(version, _pair(secret.get("data") or {}))
        except Damaged as error:
            return Stored(version, damage=str(error))

    async def write(self, pair: Pair, replaced: Stored) -> Stored:
        """Store a pair in place of what was read.

        Raises:
            LostRace: another replica has written it meanwhile.
            kubeio.errors.KubeError: the API server refused, or cannot be reached.
        """
        data = {
            _CERTIFICATE: _encode(pair.certificate_pem),
            _KEY: _encode(pair.key_pem),
            _ISSUER: _encode(pem(pair.issuer)),
        }
        try:
            # On the state that the decision was made on: of two replicas the first wins.
            version = replaced.version or await self._make()
            secret = self._secret(data, resourceVersion=version)
            written = await self._api.apply(SECRETS, secret, field_manager=MANAGER, force=True)
        except (Conflict, NotFound) as error:
            raise LostRace(f"Secret {self.name}: {error}") from error
        return Stored(str(written["metadata"]["resourceVersion"]), pair)

    async def _make(self) -> str:
        empty = self._secret({_CERTIFICATE: "", _KEY: ""})
        made = await self._api.apply(SECRETS, empty, field_manager=_MAKER)
        return str(made["metadata"]["resourceVersion"])

    def _secret(self, data: JsonObject, **metadata: str) -> JsonObject:
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {"name": self.name, "namespace": self._namespace, **metadata},
            "data": data,
        }


def _pair(data: JsonObject) -> Pair:
    return Pair.read(*(_decode(data.get(key)) for key in (_CERTIFICATE, _KEY, _ISSUER)))


def _decode(text: object) -> bytes:
    try:
        return base64.b64decode(text) if isinstance(text, str) else b""
    except binascii.Error:
        return b""


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode()


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
        held = [
            read_bundle(bundle)
            for configuration in self.configurations
            for bundle in configuration.bundles
        ]
        return frozenset.intersection(*held) if held else None

    @property
    def held(self) -> Trust:
        """Return the authorities in any caBundle."""
        return frozenset(
            certificate
            for configuration in self.configurations
            for bundle in configuration.bundles
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
        configurations = []
        for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS):
            try:
                obj = await self._api.get(resource, self._name)
            except NotFound:
                # Whoever installs KUDO creates it, maybe later: until then it needs no caBundle.
                continue
            bundles = tuple(_bundle(webhook) for webhook in obj.get("webhooks") or [])
            version = str(obj["metadata"]["resourceVersion"])
            configurations.append(Configuration(resource, version, bundles))
        return Bundles(tuple(configurations))

    async def trust(self, trusted: Trust, bundles: Bundles) -> int:
        """Write these authorities as the caBundle of all webhooks.

        Returns:
            How many configurations were changed.

        Raises:
            LostRace: a configuration has changed since it was read.
            kubeio.errors.KubeError: the API server refused, or cannot be reached.
        """
        bundle = write_bundle(trusted)
        differing = [
            configuration
            for configuration in bundles.configurations
            if {*configuration.bundles} - {bundle}
        ]
        for configuration in differing:
            await self._patch(configuration, bundle)
        return len(differing)

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
