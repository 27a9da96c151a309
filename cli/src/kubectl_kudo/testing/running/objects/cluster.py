"""A cluster as a run uses it: client, kinds, kubeconfig."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubectl_kudo.testing.running.polling import until
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, KubeError, NotFound, UnknownKind
from kubeio.resource import Resource
from kubeio.types import JsonObject

CRD_SECONDS: Final = 10.0
"""Seconds until the API server serves the kind of a CRD."""
_POLL: Final = 0.1


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster of a run.

    Attributes:
        client: The connection.
        discovery: Its kinds.
        kubeconfig: For commands.
    """

    client: Client
    discovery: Discovery
    kubeconfig: Path

    @classmethod
    def of(cls, client: Client, kubeconfig: Path) -> "Cluster":
        return cls(client, Discovery(client), kubeconfig)

    async def find(self, resource: Resource, namespace: str, name: str) -> JsonObject | None:
        """Return an object, None if there is none."""
        try:
            return await self.client.get(resource, name, namespace=namespace or None)
        except NotFound:
            return None

    async def find_kind(self, api_version: str, kind: str) -> Resource | None:
        """Return the resource of a kind, None if the API server serves no such kind now."""
        try:
            return await self.discovery.resolve(api_version, kind)
        except UnknownKind:
            return None

    async def until_served(self, crd: JsonObject) -> None:
        """Wait until the API server serves the kind of a CRD.

        Raises:
            NotServed: it does not after `CRD_SECONDS`.
        """
        kind = str(((crd.get("spec") or {}).get("names") or {}).get("kind") or "")
        try:
            async with asyncio.timeout(CRD_SECONDS):
                for version in _served(crd):
                    self.discovery.invalidate(version)
                    await self._until_known(version, kind)
        except TimeoutError:
            raise NotServed(await self._why_not(crd)) from None

    async def _until_known(self, version: str, kind: str) -> None:
        async def known() -> bool:
            return await self.find_kind(version, kind) is not None

        await until(known, every=_POLL)

    async def _why_not(self, crd: JsonObject) -> str:
        name = str((crd.get("metadata") or {}).get("name") or "")
        text = f"the API server does not serve the kind of {name} after {CRD_SECONDS:.0f} s"
        try:
            found = await self.client.raw("GET", f"{_CRDS}/{name}")
            conditions = found["status"]["conditions"]
            bad = [one for one in conditions if one["type"] != "Terminating"]
            reasons = [str(one["message"]) for one in bad if one["status"] == "False"]
        except (ApiError, KubeError, KeyError, TypeError):
            return text
        return ": ".join([text, *reasons[:1]])


_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class NotServed(Exception):
    """The API server does not serve the kind of a CRD in time."""


def is_crd(obj: JsonObject) -> bool:
    """Return whether an object is a CustomResourceDefinition."""
    api_version = str(obj.get("apiVersion") or "")
    return (
        obj.get("kind") == "CustomResourceDefinition"
        and api_version.partition("/")[0] == "apiextensions.k8s.io"
    )


def _served(crd: JsonObject) -> list[str]:
    """Return the group versions that a CRD asks to serve."""
    spec = crd.get("spec") or {}
    group, versions = spec.get("group"), spec.get("versions")
    if not isinstance(versions, list):
        return []
    return [
        f"{group}/{version['name']}"
        for version in versions
        if isinstance(version, dict) and version.get("served") and version.get("name")
    ]
