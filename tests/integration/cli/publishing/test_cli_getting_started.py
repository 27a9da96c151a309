"""The commands of docs/getting-started.md, run one after the other in one folder, on a cluster."""

from pathlib import Path

from tests.support.cluster.shell import Shell
from tests.support.cluster.world import World
from tests.support.pages import missing, sections


async def test_the_commands_of_the_page_do_what_it_says(world: World, tmp_path: Path) -> None:
    shell, shown = Shell(world, tmp_path), ""
    for blocks in sections("getting-started.md").values():
        for block in blocks:
            if block.kind == "yaml":
                block.write(shell.folder)
            elif block.kind == "text":
                assert [*missing(block.text, shown)] == [], shown
                shown = ""
            elif block.kind == "sh":
                for line in block.text.splitlines():
                    shown += await shell.run(line) + "\n"
