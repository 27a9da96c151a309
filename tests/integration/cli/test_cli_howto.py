"""The commands of docs/howto.md, run in the order of each section by a shell, on a cluster."""

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kudo_cluster.control_plane.ports import free_ports
from tests.integration.conftest import ROOT
from tests.support.cluster.world import World

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_PORT = "8080"


@dataclass(frozen=True)
class Block:
    """A fenced block: `sh` is run, `text` is what the commands before print, `yaml` is a file."""

    kind: str
    path: str
    text: str


def sections() -> dict[str, list[Block]]:
    parts = _SECTION.split((ROOT / "docs" / "howto.md").read_text())
    return {
        title: [Block(*found) for found in _BLOCK.findall(text)]
        for title, text in zip(parts[1::2], parts[2::2], strict=True)
    }


class Shell:
    """Somebody with a folder, a namespace and a list of repositories of their own.

    They may do everything, because the page creates Secrets.
    """

    def __init__(self, world: World, folder: Path) -> None:
        cluster = world.installation.cluster
        self.folder = folder / "work"
        self.folder.mkdir()
        config = json.loads(cluster.kubeconfig("admin").read_text())
        config["contexts"][0]["context"]["namespace"] = world.namespace
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(json.dumps(config))
        programs = (Path(sys.executable).parent, cluster.binary("kubectl").parent)
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([*map(str, programs), os.environ["PATH"]]),
            "HOME": str(folder),
            "KUDO_HOME": str(folder / ".kudo"),
            "KUBECONFIG": str(kubeconfig),
            "KUBECACHEDIR": str(cluster.directory / "kubectl-cache"),
        }

    async def run(self, line: str) -> str:
        """Run a command that has to succeed; return what it prints."""
        process = await self._start(line)
        out, _ = await process.communicate()
        assert process.returncode == 0, f"{line}\n{out.decode()}"
        return out.decode()

    @asynccontextmanager
    async def running(self, line: str) -> AsyncIterator[None]:
        """Run a command in the background, from its first line on."""
        process = await self._start(f"exec {line}")
        try:
            assert process.stdout is not None
            assert await process.stdout.readline(), line
            yield
        finally:
            process.terminate()
            await process.communicate()

    async def _start(self, line: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            "sh",
            "-ec",
            line,
            cwd=self.folder,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )


def missing(expected: str, shown: str) -> Iterator[str]:
    """Yield the lines that were not printed; `...` stands for anything, blanks do not count."""
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for line in filter(None, (" ".join(one.split()) for one in expected.splitlines())):
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        if not any(pattern.fullmatch(one) for one in lines):
            yield line


@pytest.mark.parametrize("title", sections())
async def test_the_commands_of_a_section_do_what_it_says(
    world: World, tmp_path: Path, title: str
) -> None:
    shell, shown = Shell(world, tmp_path), ""
    [port] = free_ports(1)
    async with AsyncExitStack() as background:
        for block in sections()[title]:
            text = block.text.replace(f":{_PORT}", f":{port}")
            if block.kind == "yaml":
                (shell.folder / block.path).write_text(text)
            elif block.kind == "text":
                assert [*missing(text, shown)] == [], shown
                shown = ""
            else:
                assert block.kind == "sh"
                for line in text.splitlines():
                    if line.endswith(" &"):
                        await background.enter_async_context(shell.running(line[:-2]))
                    else:
                        shown += await shell.run(line) + "\n"
