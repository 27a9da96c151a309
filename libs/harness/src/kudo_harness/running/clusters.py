"""The clusters of a run: that of the suite, and those of steps with a kubeconfig of their own."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kubeio.client import Client
from kubeio.connection.config import load_config, minified_kubeconfig
from kubeio.discovery import Discovery
from kubeio.errors import ApiError, KubeError, NotFound, UnknownKind
from kubeio.resource import Resource
from kubeio.types import JsonObject
from kudo_harness.running.waiting import until
from kudo_harness.suite import StepOptions
from kudo_harness.suite.words import expand

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

        async def is_served(version: str) -> bool:
            return await self.find_kind(version, kind) is not None

        try:
            # One limit for all versions of a CRD: they are served together.
            async with asyncio.timeout(CRD_SECONDS):
                for version in _served(crd):
                    # Discovery may have been read before the CRD was created.
                    self.discovery.invalidate(version)
                    await until(partial(is_served, version), every=_POLL)
        except TimeoutError:
            raise NotServed(await self._why_not(crd)) from None

    async def _why_not(self, crd: JsonObject) -> str:
        name = str((crd.get("metadata") or {}).get("name") or "")
        text = f"the API server does not serve the kind of {name} after {CRD_SECONDS:.0f} s"
        try:
            crd = await self.client.raw("GET", f"{_CRDS}/{name}")
            conditions = crd["status"]["conditions"]
            # Terminating is False for each CRD that is not being deleted.
            bad = [condition for condition in conditions if condition["type"] != "Terminating"]
            reasons = [
                str(condition["message"]) for condition in bad if condition["status"] == "False"
            ]
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


@dataclass(slots=True)
class Clusters:
    """Opens each cluster once, and closes all at the end.

    Attributes:
        folder: Where kubeconfigs of contexts are written; they contain secrets.
        user_agent: How this program names itself in requests.
        default: The cluster of the suite; None while a killed run is cleaned.
    """

    folder: Path
    user_agent: str
    default: Cluster | None = None
    _known: dict[str, Cluster] = field(default_factory=dict)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __aenter__(self) -> Self:
        if self.default is not None:
            # A step that names the same kubeconfig shares the connection, and the caller closes it.
            self._known[str(self.default.kubeconfig)] = self.default
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    async def open(self, kubeconfig: Path) -> Cluster:
        """Return the cluster of a kubeconfig.

        Raises:
            ConfigError: the file does not exist or cannot be used.
        """
        # Steps of several cases may name the same kubeconfig at once: one connection is enough.
        async with self._lock:
            cluster = self._known.get(str(kubeconfig))
            if cluster is None:
                config = load_config(kubeconfig, user_agent=self.user_agent)
                client = await self._stack.enter_async_context(Client(config))
                cluster = self._known[str(kubeconfig)] = Cluster.of(client, kubeconfig)
            return cluster

    async def of_step(
        self, options: StepOptions | None, folder: Path, variables: Mapping[str, str]
    ) -> Cluster:
        """Return the cluster that a step names, or that of the suite.

        Raises:
            ConfigError: its kubeconfig does not exist or cannot be used.
        """
        assert self.default is not None
        if options is None or not (options.kubeconfig or options.context):
            return self.default
        kubeconfig = self.default.kubeconfig
        if options.kubeconfig:
            kubeconfig = (folder / expand(options.kubeconfig, variables)).absolute()
        if options.context:
            kubeconfig = self._of_context(kubeconfig, expand(options.context, variables))
        return await self.open(kubeconfig)

    def _of_context(self, kubeconfig: Path, context: str) -> Path:
        """Write a kubeconfig whose current context is the one of a step, for its commands."""
        content = json.dumps(minified_kubeconfig(kubeconfig, context=context))
        number = sum(1 for _ in self.folder.glob("context-*.yaml"))
        for path in self.folder.glob("context-*.yaml"):
            if path.read_text(encoding="utf-8") == content:
                return path
        path = self.folder / f"context-{number}.yaml"
        # First the mode, then the content: it has credentials.
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(content, encoding="utf-8")
        return path
