"""Commands as somebody types them in a folder, on a cluster."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from kudo_cluster.control_plane.identities import Role
from tests.support.cluster.world import World


class Shell:
    """Somebody with a folder, a namespace and a list of repositories of their own.

    Args:
        world: The namespace.
        home: An empty folder; commands run in `work` below it.
        role: What they may do.
    """

    def __init__(self, world: World, home: Path, role: Role = "user") -> None:
        cluster = world.installation.cluster
        self.folder = home / "work"
        self.folder.mkdir()
        config = json.loads(cluster.kubeconfig(role).read_text())
        config["contexts"][0]["context"]["namespace"] = world.namespace
        kubeconfig = home / "kubeconfig"
        kubeconfig.write_text(json.dumps(config))
        programs = (Path(sys.executable).parent, cluster.binary("kubectl").parent)
        self._environment = {
            **os.environ,
            "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
            "HOME": str(home),
            "KUDO_HOME": str(home / ".kudo"),
            "KUBECONFIG": str(kubeconfig),
            "KUBECACHEDIR": str(cluster.directory / "kubectl-cache"),
        }

    async def run(self, line: str) -> str:
        """Run a command that has to succeed; return what it prints."""
        code, shown = await self.attempt(line)
        assert code == 0, f"{line}\n{shown}"
        return shown

    async def attempt(self, line: str) -> tuple[int | None, str]:
        """Run a command; return its exit code and what it prints."""
        process = await self._start(line)
        out, _ = await process.communicate()
        return process.returncode, out.decode()

    @asynccontextmanager
    async def running(self, line: str) -> AsyncIterator[str]:
        """Run a command in the background; yield its first line."""
        process = await self._start(f"exec {line}")
        try:
            assert process.stdout is not None
            yield (await process.stdout.readline()).decode()
        finally:
            process.terminate()
            await process.communicate()

    async def _start(self, line: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            "sh",
            "-ec",
            line,
            cwd=self.folder,
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
