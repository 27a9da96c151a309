"""Runs `kubectl kudo` in this process, on the loop of a test.

A command is written for a process of its own: it blocks, and starts a loop where it talks to the
cluster. Here it has a thread, and that or the loop of the test works, never both: the loop stands
still while the command blocks, and carries out what the command would have a loop do.
"""

import asyncio
import contextlib
import io
import json
import os
import queue
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from kubectl_kudo.__main__ import main
from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.apiserver.network.transport import MemoryTransport
from tests.support.cluster.commands import Done, environment

_Work = Coroutine[Any, Any, Any]
_KUBECONFIG = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "memory",
        "clusters": [{"name": "memory", "cluster": {"server": "http://memory.invalid"}}],
        "contexts": [{"name": "memory", "context": {"cluster": "memory", "user": "memory"}}],
        "users": [{"name": "memory", "user": {}}],
    }
)


class _Thread:
    """The thread of a command, and the two ways between it and the loop."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self._arguments = arguments
        self._works: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[asyncio.Future[Any]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._code = -1

    async def run(self) -> int:
        """Run the command to its end, and return its exit code."""
        with mock.patch("asyncio.run", self._on_the_loop):
            self._thread.start()
            while (work := self._works.get()) is not None:
                task = asyncio.ensure_future(work)
                await asyncio.wait({task})
                self._answers.put(task)
        self._thread.join()
        return self._code

    def _main(self) -> None:
        try:
            self._code = main(self._arguments)
        finally:
            self._works.put(None)

    def _on_the_loop(self, work: _Work) -> Any:
        """Have the loop of the test do what `asyncio.run` would do on one of its own."""
        assert threading.current_thread() is self._thread, "asyncio.run beside a command"
        self._works.put(work)
        return self._answers.get().result()


async def run_command(arguments: Sequence[str], cluster: MemoryCluster, user: str) -> Done:
    """Run a command as a user of the cluster; one at a time."""

    def connect(config: ClusterConfig, *, timeout: float = 30.0, **_: object) -> Client:
        transport = MemoryTransport(cluster.server, config=config, user=user, timeout=timeout)
        return Client(config, transport=transport)

    out, err = io.StringIO(), io.StringIO()
    with (
        _kubeconfig() as path,
        mock.patch("kubectl_kudo.session.session.Client", connect),
        mock.patch.dict(os.environ, environment()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = await _Thread([*arguments, f"--kubeconfig={path}"]).run()
    return Done(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _kubeconfig() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kubeconfig"
        path.write_text(_KUBECONFIG)
        yield path
