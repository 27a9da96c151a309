"""The clusters of a run: that of the suite, and those of steps with a kubeconfig of their own."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from kubectl_kudo import __version__
from kubectl_kudo.core.files import write_file
from kubectl_kudo.testing.running.objects.cluster import Cluster
from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.connection.minified import minified_kubeconfig
from kudo_harness.suite import StepOptions
from kudo_harness.suite.variables import expand


@dataclass(slots=True)
class Clusters:
    """Opens each cluster once, and closes all at the end.

    Attributes:
        folder: Where kubeconfigs of contexts are written; they contain secrets.
        default: The cluster of the suite; None while a killed run is cleaned.
    """

    folder: Path
    default: Cluster | None = None
    _known: dict[str, Cluster] = field(default_factory=dict)
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __aenter__(self) -> Self:
        if self.default is not None:
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
        async with self._lock:
            known = self._known.get(str(kubeconfig))
            if known is None:
                config = load_config(kubeconfig, user_agent=f"kubectl-kudo/{__version__}")
                client = await self._stack.enter_async_context(Client(config))
                known = self._known[str(kubeconfig)] = Cluster.of(client, kubeconfig)
            return known

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
        write_file(path, content.encode(), mode=0o600)
        return path
