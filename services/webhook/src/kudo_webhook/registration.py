"""Fills in both webhook configurations once the API server can reach the webhook.

A configuration without a backend makes the API server refuse every change of an Instance, and one
that the webhook created would remain when KUDO is uninstalled. So whoever installs KUDO creates
both configurations without webhooks, and owns them; the replicas fill them in.

Invariants: a configuration is never created, so one that was deleted stays deleted. Its webhooks
are written in one patch that tests the resourceVersion, either all with a caBundle or, with public
roots, all without one: where the API server does not trust a webhook it refuses every change.
Webhooks that are there already are updated once in the life of a process, and later added only
where they are missing, so that replicas of two versions don't undo each other's work.
"""

import base64
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from cryptography import x509

from kubeio import jsonpatch
from kubeio.client import ListResult
from kubeio.errors import Conflict, NotFound
from kubeio.preconditions import unchanged
from kubeio.resource import ENDPOINT_SLICES, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS, Resource
from kubeio.types import Json, JsonObject
from kudo_webhook.certificates.store import MANAGER, ConfigurationApi
from kudo_webhook.retry import SOON_SECONDS, LostRace, RetryLoop

log = logging.getLogger(__name__)

_SERVICE = "kubernetes.io/service-name"
_MISSING, _POLL = 5.0, 30.0
_TIMEOUT = 30.0


class Unreadable(ValueError):
    """The file does not contain the webhooks of both configurations."""


class NoAuthority(Exception):
    """The caBundle of the webhooks is not known yet."""


class RegistrationApi(ConfigurationApi, Protocol):
    """What is needed of a `kubeio.client.Client`."""

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
    ) -> ListResult: ...


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The webhooks of both configurations, as in their field `webhooks`."""

    mutating: tuple[JsonObject, ...]
    validating: tuple[JsonObject, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read them from a JSON file with the lists `mutating` and `validating`.

        Raises:
            Unreadable: the file is missing or has another shape, or a caBundle in it contains no
                certificate.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            for webhook in (*content["mutating"], *content["validating"]):
                _check_bundle(webhook)
            return cls(tuple(content["mutating"]), tuple(content["validating"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unreadable(f"{path} holds no webhooks: {error}") from error

    @property
    def bundled(self) -> bool:
        """Whether each of them has a caBundle."""
        return all(_bundles((*self.mutating, *self.validating)).values())


@dataclass(frozen=True, slots=True)
class Place:
    """The Service of the webhook, and the name of the configurations.

    Attributes:
        namespace: Of the Service.
        service: Its name.
        configuration: Name of both configurations.
    """

    namespace: str
    service: str
    configuration: str


class Registration:
    """Registers one replica's webhooks.

    Args:
        api: Access to the API server.
        webhooks: The webhooks to register.
        place: The Service of the webhook, and the name of the configurations.
        ready: Whether this replica is ready.
        authority: Returns the authority of the serving certificate, in PEM; empty if unknown.
        public_roots: Whether the API server trusts the served certificate without a caBundle.
    """

    def __init__(
        self,
        api: RegistrationApi,
        webhooks: Webhooks,
        place: Place,
        *,
        ready: Callable[[], bool],
        authority: Callable[[], bytes],
        public_roots: bool = False,
    ) -> None:
        self._api = api
        self._desired = {
            MUTATING_WEBHOOKS: webhooks.mutating,
            VALIDATING_WEBHOOKS: webhooks.validating,
        }
        self._place = place
        self._ready = ready
        self._authority = authority
        self._public_roots = public_roots
        self._current: set[Resource] = set()
        self._loop = RetryLoop(
            self._register_both,
            timeout=_TIMEOUT,
            longest_delay=_POLL,
            complaint="cannot register",
            expected=(NoAuthority,),
        )

    async def run(self) -> None:
        """Register once the webhook can be reached, and again where webhooks are missing."""
        await self._loop.run()

    async def once(self) -> float:
        """Make one attempt; returns the seconds until the next one."""
        return await self._loop.once()

    async def _register_both(self) -> float:
        """Register what is missing; returns the seconds until the next attempt."""
        if not self._current and not (self._ready() and await self._reachable()):
            return SOON_SECONDS
        # Mutating first: where only the validating one is registered, it denies every change whose
        # plan nobody has scheduled.
        for resource in self._desired:
            await self._register(resource)
        return _POLL if len(self._current) == len(self._desired) else _MISSING

    async def _reachable(self) -> bool:
        """Whether a replica behind the Service is ready."""
        slices = await self._api.list(
            ENDPOINT_SLICES,
            namespace=self._place.namespace,
            label_selector=f"{_SERVICE}={self._place.service}",
        )
        return any(
            (endpoint.get("conditions") or {}).get("ready")
            for endpoint_slice in slices.items
            for endpoint in endpoint_slice.get("endpoints") or []
        )

    async def _register(self, resource: Resource) -> None:
        try:
            configuration = await self._api.get(resource, self._place.configuration)
        except NotFound:
            return
        held: Sequence[JsonObject] = configuration.get("webhooks") or []
        desired = self._with_bundles(resource, held)
        if resource in self._current and not self._due_again(held, desired):
            return
        if not _covers(held, desired) or _bundles(held) != _bundles(desired):
            await self._write(resource, configuration["metadata"]["resourceVersion"], desired)
        self._current.add(resource)

    def _with_bundles(self, resource: Resource, held: Sequence[JsonObject]) -> list[JsonObject]:
        """Return the webhooks, each with its own caBundle, the stored one, or the authority."""
        if self._public_roots:
            return [*self._desired[resource]]
        webhooks = _with_bundles(self._desired[resource], held, self._authority())
        if not all(_bundles(webhooks).values()):
            raise NoAuthority("the authority of the served certificate is not known")
        return webhooks

    def _due_again(self, held: Sequence[JsonObject], desired: Sequence[JsonObject]) -> bool:
        ours, stored = _bundles(desired), _bundles(held)
        if not stored.keys() >= ours.keys():
            return True
        # A replica of the former release, with built-in certificates, may write its caBundle again.
        return self._public_roots and any(stored[name] != ours[name] for name in ours)

    async def _write(self, resource: Resource, version: str, desired: list[JsonObject]) -> None:
        name = self._place.configuration
        patch = [
            jsonpatch.test("/metadata/resourceVersion", version),
            jsonpatch.add("/webhooks", desired),
        ]
        try:
            async with unchanged(version, lambda: self._api.get(resource, name)):
                await self._api.json_patch(resource, name, patch, field_manager=MANAGER)
        except Conflict as error:
            raise LostRace(f"{resource.kind} {name}: {error}") from error
        log.info("registered", extra={"kind": resource.kind})


def _with_bundles(
    desired: Sequence[JsonObject], held: Sequence[JsonObject], authority: bytes
) -> list[JsonObject]:
    """Return the webhooks, each with the caBundle that is stored, or else with the authority."""
    bundles = _bundles(held)
    fresh = base64.b64encode(authority).decode()

    def filled(webhook: JsonObject) -> JsonObject:
        config = webhook["clientConfig"]
        bundle = config.get("caBundle") or bundles.get(webhook["name"]) or fresh
        return {**webhook, "clientConfig": {**config, "caBundle": bundle}}

    return [filled(webhook) for webhook in desired]


def _check_bundle(webhook: JsonObject) -> None:
    """Raise ValueError for a caBundle without a certificate.

    The API server accepts any bytes, and then refuses every change of an Instance.
    """
    bundle = webhook["clientConfig"].get("caBundle")
    if bundle is None:
        return
    try:
        x509.load_pem_x509_certificates(base64.b64decode(bundle))
    except ValueError as error:
        text = f"the caBundle of {webhook['name']} holds no certificate in PEM"
        raise ValueError(text) from error


def _bundles(webhooks: Sequence[JsonObject]) -> dict[str, str]:
    """Return the caBundle of each webhook by its name; empty where it has none."""
    return {webhook["name"]: webhook["clientConfig"].get("caBundle") or "" for webhook in webhooks}


def _covers(held: Json, desired: Json) -> bool:
    """Whether the stored value has everything that is wanted; the API server adds defaults."""
    if isinstance(desired, dict):
        return isinstance(held, dict) and all(
            name in held and _covers(held[name], value) for name, value in desired.items()
        )
    if isinstance(desired, list):
        return (
            isinstance(held, list)
            and len(held) == len(desired)
            and all(map(_covers, held, desired))
        )
    return bool(held == desired)
