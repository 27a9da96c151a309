"""Reads the API for diagnostics: few requests at a time, and no failure ends the rest."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from kubectl_kudo.session.errors import describe
from kubectl_kudo.session.output import JsonObject
from kubeio.client import Client
from kubeio.errors import KubeError, NotFound
from kubeio.resource import Resource

AT_A_TIME: Final = 5
"""Requests under way; diagnostics are collected where the API server may have enough to do."""
MOST_OF_A_KIND: Final = 20_000
"""Objects of a kind that are looked at; more are not listed."""

_LONGEST_TEXT: Final = 2000
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be read.

    Attributes:
        path: File that says so, in the bundle.
        text: Why.
        absent: Whether it does not exist.
    """

    path: str
    text: str
    absent: bool = False


@dataclass(slots=True)
class Reader:
    """Reads, and notes what failed.

    Attributes:
        client: The connection.
        failures: What could not be read, in the order in which it was tried.
    """

    client: Client
    failures: list[Failure] = field(default_factory=list)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_A_TIME))

    async def attempt(self, path: str, reading: Awaitable[Result]) -> Result | None:
        """Return what is read; None if that failed, which is noted.

        Args:
            path: File of what is read, without its end.
            reading: The requests.
        """
        try:
            async with self._slots:
                return await reading
        except (KubeError, OSError, ValueError) as error:
            text = describe(error) or f"{type(error).__name__}: {error}"
            self.fail(path, text, absent=isinstance(error, NotFound))
            return None

    def fail(self, path: str, text: str, *, absent: bool = False) -> None:
        """Note a failure."""
        shown = text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."
        self.failures.append(Failure(f"{path}.err", shown, absent))

    async def get(
        self, path: str, kind: Resource, name: str, namespace: str | None = None
    ) -> JsonObject | None:
        """Return an object; None if it cannot be read or does not exist, which is noted."""
        return await self.attempt(path, self.client.get(kind, name, namespace=namespace))

    async def find(
        self,
        path: str,
        kind: Resource,
        name: str,
        namespace: str | None = None,
        *,
        metadata_only: bool = False,
    ) -> JsonObject | None:
        """Return an object that need not exist; None if there is none or it cannot be read."""

        async def look() -> JsonObject | None:
            try:
                obj = await self.client.get(
                    kind, name, namespace=namespace, metadata_only=metadata_only
                )
            except NotFound:
                return None
            # Of metadata alone the API server names another kind.
            return {**obj, "apiVersion": kind.api_version, "kind": kind.kind}

        return await self.attempt(path, look())

    async def list(
        self,
        path: str,
        kind: Resource,
        namespace: str | None = None,
        *,
        selector: str | None = None,
        metadata_only: bool = False,
    ) -> list[JsonObject]:
        """Return objects, without managedFields; none if they cannot be read, which is noted."""
        objects: list[JsonObject] = []

        async def read() -> None:
            pages = self.client.pages(
                kind,
                namespace=namespace,
                label_selector=selector,
                metadata_only=metadata_only,
                transform=_slim,
            )
            async for page in pages:
                objects.extend(page.items)
                if len(objects) >= MOST_OF_A_KIND:
                    self.fail(path, f"only the first {len(objects)} objects were looked at")
                    return

        # A later page may fail: what came before it is worth having.
        await self.attempt(path, read())
        return objects


def _slim(obj: JsonObject) -> JsonObject:
    obj["metadata"].pop("managedFields", None)
    return obj
