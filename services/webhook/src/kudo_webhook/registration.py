"""Fills both webhook configurations in, once the API server can reach us.

A configuration without a backend refuses every change that has to be judged, and one that we made
would stay when KUDO is uninstalled. So whoever installs KUDO makes both configurations without
webhooks, and owns them; the replicas fill them in.

Invariants: a configuration is never created, so one that was deleted stays deleted. Its webhooks
are written all at once, on the state that was read, and each with a caBundle, or each without one
where public roots were asked for: a webhook that the API server cannot trust refuses every change.
What stands there already is brought up to date once in the life of a process, and filled in anew
only where it is missing, so that replicas of two versions don't undo each other's work.
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
from kubeio.kinds import ENDPOINT_SLICES, MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from kubeio.preconditions import unchanged
from kubeio.resource import Resource
from kubeio.types import Json, JsonObject
from kudo_webhook.certificates.built_in.configurations import ConfigurationApi
from kudo_webhook.certificates.built_in.store import MANAGER
from kudo_webhook.retry import SOON_SECONDS, LostRace, RetryLoop

log = logging.getLogger(__name__)

_SERVICE = "kubernetes.io/service-name"
_MISSING, _POLL = 5.0, 30.0
_TIMEOUT = 30.0


class Unreadable(ValueError):
    """The file does not hold the webhooks of both configurations."""


class NoAuthority(Exception):
    """Webhooks would be registered without a caBundle."""


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
    """The webhooks of both configurations, as `webhooks` of either has them."""

    mutating: tuple[JsonObject, ...]
    validating: tuple[JsonObject, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read them from a JSON file with the lists `mutating` and `validating`.

        Raises:
            Unreadable: the file is missing, or is none of that kind, or a caBundle in it holds no
                certificate.
        """
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            for webhook in (*found["mutating"], *found["validating"]):
                _check_bundle(webhook)
            return cls(tuple(found["mutating"]), tuple(found["validating"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Unreadable(f"{path} holds no webhooks: {error}") from error

    @property
    def bundled(self) -> bool:
        """Whether each of them carries its caBundle."""
        return all(_bundles((*self.mutating, *self.validating)).values())


@dataclass(frozen=True, slots=True)
class Place:
    """Where we are reached, and what we register in.

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
        webhooks: What is to be registered.
        place: Where.
        ready: Whether we can answer.
        authority: Returns what signed the served certificate, in PEM; empty if that is not known.
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
        """Register once we can be reached, and look now and then that it stays so."""
        await self._loop.run()

    async def once(self) -> float:
        """Make one attempt; returns the seconds until the next one."""
        return await self._loop.once()

    async def _register_both(self) -> float:
        """Register what is missing; returns the seconds until the next look."""
        if not self._current and not (self._ready() and await self._reachable()):
            return SOON_SECONDS
        # Mutating first: a change that is only validated is refused for its missing run.
        for resource in self._desired:
            await self._register(resource)
        return _POLL if len(self._current) == len(self._desired) else _MISSING

    async def _reachable(self) -> bool:
        """Whether the Service leads to a replica that is ready."""
        slices = await self._api.list(
            ENDPOINT_SLICES,
            namespace=self._place.namespace,
            label_selector=f"{_SERVICE}={self._place.service}",
        )
        return any(
            (endpoint.get("conditions") or {}).get("ready")
            for one in slices.items
            for endpoint in one.get("endpoints") or []
        )

    async def _register(self, resource: Resource) -> None:
        try:
            found = await self._api.get(resource, self._place.configuration)
        except NotFound:
            return
        held: Sequence[JsonObject] = found.get("webhooks") or []
        desired = self._with_bundles(resource, held)
        if resource in self._current and not self._due_again(held, desired):
            return
        if not _covers(held, desired) or _bundles(held) != _bundles(desired):
            await self._write(resource, found["metadata"]["resourceVersion"], desired)
        self._current.add(resource)

    def _with_bundles(self, resource: Resource, held: Sequence[JsonObject]) -> list[JsonObject]:
        """Return the webhooks with their own caBundle, or the held one, or our authority."""
        if self._public_roots:
            return [*self._desired[resource]]
        found = _with_bundles(self._desired[resource], held, self._authority())
        if not all(_bundles(found).values()):
            raise NoAuthority("the authority of the served certificate is not known")
        return found

    def _due_again(self, held: Sequence[JsonObject], desired: Sequence[JsonObject]) -> bool:
        ours, stored = _bundles(desired), _bundles(held)
        if not stored.keys() >= ours.keys():
            return True
        # A replica with built-in certificates that is on its way out puts its caBundle back.
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
    """Return the webhooks with the caBundle that is held, or else with the authority."""
    bundles = _bundles(held)
    fresh = base64.b64encode(authority).decode()

    def filled(webhook: JsonObject) -> JsonObject:
        config = webhook["clientConfig"]
        bundle = config.get("caBundle") or bundles.get(webhook["name"]) or fresh
        return {**webhook, "clientConfig": {**config, "caBundle": bundle}}

    return [filled(webhook) for webhook in desired]


def _check_bundle(webhook: JsonObject) -> None:
    """Raise ValueError for a caBundle that is none.

    The API server takes any bytes, and then refuses every change that has to be judged.
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
    return {one["name"]: one["clientConfig"].get("caBundle") or "" for one in webhooks}


def _covers(held: Json, desired: Json) -> bool:
    """Whether what is held says all that is wanted, defaults of the API server aside."""
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
