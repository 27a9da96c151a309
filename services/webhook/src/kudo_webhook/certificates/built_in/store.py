"""Reads and writes both Secrets. If several replicas write at once, the first one wins.

A Secret is created by applying it empty, without force, with a field manager of its own: a second
apply changes nothing. It is then filled by an apply that carries its resourceVersion. RBAC can
limit an apply to names, but not a create.
"""

import base64
import binascii
from dataclasses import dataclass
from typing import Protocol

from kubeio.errors import Conflict, NotFound
from kubeio.kinds import SECRETS
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_webhook.certificates.built_in.authority import Damaged, Pair, pem
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
            found = await self._api.get(SECRETS, self.name, namespace=self._namespace)
        except NotFound:
            return Stored()
        version = str(found["metadata"]["resourceVersion"])
        try:
            return Stored(version, _pair(found.get("data") or {}))
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
