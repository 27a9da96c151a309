"""The files and commands of docs/galera.md, as far as simulated nodes go."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from kubeio.client import Client
from tests.galera.beside import beside
from tests.galera.volumes import Volumes
from tests.support import instances
from tests.support.cluster.shell import Shell
from tests.support.cluster.world import World
from tests.support.pages import ROOT, Block, missing, sections

_PAGE = sections("galera.md")
_PARTS = [title for title in _PAGE if title.startswith("Part ")]


@asynccontextmanager
async def shell_of(world: World, admin: Client, home: Path) -> AsyncIterator[Shell]:
    """Yield the shell of somebody whose claims get volumes, and who may read Secrets."""
    volumes = Volumes.of(admin, world.namespace, world.installation.cluster.directory)
    async with beside(volumes.run()):
        yield Shell(world, home, "admin")


async def follow(shell: Shell, blocks: Sequence[Block]) -> None:
    """Write the files and run the commands, and compare what they print."""
    shown = ""
    for block in blocks:
        if block.kind == "yaml":
            block.write(shell.folder)
        elif block.kind == "sh":
            for line in block.text.splitlines():
                shown += await shell.run(line) + "\n"
        elif block.kind == "text":
            assert [*missing(block.text, shown)] == [], shown
            shown = ""
        else:
            # For real nodes.
            assert block.kind == "console"


@pytest.mark.campaign
async def test_the_three_parts_build_a_cluster_and_scale_it(
    world: World, admin: Client, tmp_path: Path
) -> None:
    assert len(_PARTS) == 3
    async with shell_of(world, admin, tmp_path) as shell:
        for title in _PARTS:
            await follow(shell, _PAGE[title])


@pytest.mark.campaign
async def test_the_commands_of_day_2_do_what_the_page_says(
    world: World, admin: Client, tmp_path: Path
) -> None:
    async with shell_of(world, admin, tmp_path) as shell:
        (shell.folder / "examples").symlink_to(ROOT / "examples")
        install = "kubectl kudo install ./examples/galera --instance db -p STORAGE_CLASS=local"
        await shell.run(install)
        # Simulated nodes run no container, so the pod of this task never looks into the volume.
        await world.until(
            "db",
            lambda i: instances.steps(i, "deploy").get("volumes.state") == "IN_PROGRESS",
            "the Pipe task of deploy",
        )
        await shell.run("kubectl kudo plan cancel --instance db --wait")

        await follow(shell, _PAGE["Day 2"])
