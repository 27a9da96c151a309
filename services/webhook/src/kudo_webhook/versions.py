"""Finds OperatorVersions in the cache of an informer, or reads them from the API server.

An OperatorVersion is created moments before its Instance, so one that is not in the cache yet is
read from the API server, once for each request. The cache holds only what rules look at: templates
and tasks, most of an OperatorVersion, are dropped before, and so is the whole spec of one that is
too large to be parsed (`kudo.api.bounds`). Invariant: an OperatorVersion is parsed once for each
resourceVersion, not once for each request. A retry needs all of an OperatorVersion, which is read
for it alone.
"""

import asyncio
import logging
from typing import Final, Protocol

import orjson

from kubeio.cache.informer import Informer
from kubeio.cache.reflector import Status
from kubeio.cache.store import Delta
from kubeio.client import Client
from kubeio.errors import KubeError, NotFound
from kubeio.names import is_subdomain
from kubeio.resource import Resource
from kudo.admission.reading import VersionMalformed, parse_version
from kudo.admission.tenancy import is_granted, kept_annotations
from kudo.api import JsonObject, OperatorVersion, names
from kudo.api.bounds import TOO_LARGE, too_large

log = logging.getLogger(__name__)

OPERATOR_VERSIONS = Resource(*names.OPERATOR_VERSIONS)

_NEEDED = ("operator", "version", "appVersion", "upgradableFrom")
_UNREAD = frozenset({"description", "displayName"})
"""Fields of a parameter that no rule looks at; they are most of its text."""


class VersionUnreadable(Exception):
    """The OperatorVersion cannot be read now; whether it exists may be unknown."""

    def __init__(self, namespace: str, name: str, reason: str) -> None:
        super().__init__(f"OperatorVersion {namespace}/{name} cannot be read: {reason}")


class VersionTooLarge(VersionUnreadable):
    """The OperatorVersion is too large to be parsed; trying again does not help."""

    limit: Final = "entries"


class VersionSource(Protocol):
    """Finds OperatorVersions."""

    @property
    def synced(self) -> bool:
        """Whether the first list of OperatorVersions has been read."""

    async def get(
        self, namespace: str, name: str, grantee: str | None = None
    ) -> OperatorVersion | None:
        """Return the OperatorVersion; None if it does not exist or is not granted.

        Args:
            namespace: Its namespace.
            name: Its name.
            grantee: The namespace that it must be granted to; None where grants do not count.

        Raises:
            VersionUnreadable: it cannot be read now.
            VersionTooLarge: it exists and is too large to be parsed.
        """

    async def wire(
        self, namespace: str, name: str, grantee: str | None = None, *, whole: bool = False
    ) -> bytes | None:
        """Return the OperatorVersion as JSON with the fields that rules look at, or all of it.

        None if it does not exist or is not granted; arguments as for `get`.

        Raises:
            VersionUnreadable: it cannot be read now.
            VersionTooLarge: it exists and is too large to be parsed.
        """


class InformedVersions:
    """The OperatorVersions of all namespaces, kept by an informer.

    Args:
        client: Access to the API server.
        timeout: Seconds that reading one from the API server may take.
    """

    def __init__(self, client: Client, *, timeout: float) -> None:
        self._client = client
        self._timeout = timeout
        self._informer = Informer(client, OPERATOR_VERSIONS, transform=slim, on_status=_log_trouble)
        self._informer.add_handler(self._forget)
        self._parsed: dict[tuple[str, str], OperatorVersion] = {}

    @property
    def synced(self) -> bool:
        return self._informer.has_synced

    async def run(self) -> None:
        """Keep the cache up to date until cancelled."""
        await self._informer.run()

    async def get(
        self, namespace: str, name: str, grantee: str | None = None
    ) -> OperatorVersion | None:
        cached = self._informer.get(namespace, name)
        if cached is not None and _is_granted(cached, namespace, grantee):
            parsed = self._parsed.get((namespace, name))
            version = cached["metadata"]["resourceVersion"]
            if parsed is None or parsed.metadata.resource_version != version:
                parsed = self._parsed[namespace, name] = _parse(namespace, name, cached)
            return parsed
        live = await self._read(namespace, name, grantee)
        return None if live is None else _parse(namespace, name, slim(live))

    async def wire(
        self, namespace: str, name: str, grantee: str | None = None, *, whole: bool = False
    ) -> bytes | None:
        raw = self._informer.get(namespace, name)
        if whole or raw is None or not _is_granted(raw, namespace, grantee):
            live = await self._read(namespace, name, grantee)
            # Of one that is too large, `slim` keeps the reason, whatever was asked for.
            is_whole = live is not None and whole and not too_large(live.get("spec") or {})
            raw = live if live is None or is_whole else slim(live)
        if raw is None:
            return None
        _check_size(namespace, name, raw)
        return orjson.dumps(raw)

    async def _read(self, namespace: str, name: str, grantee: str | None) -> JsonObject | None:
        """Read an OperatorVersion that the cache does not have, or has without the grant.

        Of one of another namespace the grant is read first, whether the cache knows it or not: the
        same requests are sent for one that does not exist as for one that is not granted, and the
        whole object, which may be large, is read for nobody else.
        """
        if not is_subdomain(namespace) or not is_subdomain(name):
            return None
        if grantee not in {None, namespace}:
            metadata = await self._read_live(namespace, name, metadata_only=True)
            if metadata is None or not _is_granted(metadata, namespace, grantee):
                return None
        live = await self._read_live(namespace, name)
        return live if live is not None and _is_granted(live, namespace, grantee) else None

    def _forget(self, delta: Delta) -> None:
        # With every change: after a restore of etcd a resourceVersion may come a second time.
        metadata = delta.object["metadata"]
        self._parsed.pop((metadata["namespace"], metadata["name"]), None)

    async def _read_live(
        self, namespace: str, name: str, *, metadata_only: bool = False
    ) -> JsonObject | None:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._client.get(
                    OPERATOR_VERSIONS, name, namespace=namespace, metadata_only=metadata_only
                )
        except NotFound:
            return None
        except TimeoutError as error:
            reason = f"the API server did not answer within {self._timeout:g} s"
            raise VersionUnreadable(namespace, name, reason) from error
        except KubeError as error:
            raise VersionUnreadable(namespace, name, str(error)) from error


def _log_trouble(status: Status) -> None:
    if status.error is not None:
        extra = {"error": str(status.error), "retry_in": round(status.delay, 1)}
        log.warning("cannot follow OperatorVersions", extra=extra)


def slim(raw: JsonObject) -> JsonObject:
    """Return an OperatorVersion with the fields that rules look at.

    One that is too large has no spec, but the reason under `bounds.TOO_LARGE`.
    """
    metadata, spec = raw.get("metadata") or {}, raw.get("spec") or {}
    why, annotations = too_large(spec), kept_annotations(metadata)
    return {
        "apiVersion": raw.get("apiVersion"),
        "kind": raw.get("kind"),
        "metadata": {
            field: metadata[field]
            for field in ("name", "namespace", "uid", "resourceVersion")
            if field in metadata
        }
        | ({"annotations": annotations} if annotations else {}),
    } | ({TOO_LARGE: why} if why else {"spec": _slim_spec(spec)})


def _is_granted(raw: JsonObject, namespace: str, grantee: str | None) -> bool:
    if grantee is None:
        return True
    return is_granted((raw.get("metadata") or {}).get("annotations"), namespace, grantee)


def _slim_spec(spec: JsonObject) -> JsonObject:
    kept = {field: spec[field] for field in _NEEDED if field in spec}
    kept["parameters"] = _slim_parameters(spec)
    kept["plans"] = {
        name: {"parameters": _slim_parameters(plan)} if plan and plan.get("parameters") else {}
        for name, plan in (spec.get("plans") or {}).items()
    }
    return kept


def _slim_parameters(declaring: JsonObject) -> list[JsonObject]:
    return [
        {field: value for field, value in parameter.items() if field not in _UNREAD}
        for parameter in declaring.get("parameters") or ()
    ]


def _parse(namespace: str, name: str, raw: JsonObject) -> OperatorVersion:
    _check_size(namespace, name, raw)
    try:
        return parse_version(raw)
    except VersionMalformed as error:
        raise VersionUnreadable(namespace, name, str(error)) from error


def _check_size(namespace: str, name: str, raw: JsonObject) -> None:
    if TOO_LARGE in raw:
        raise VersionTooLarge(namespace, name, raw[TOO_LARGE])
