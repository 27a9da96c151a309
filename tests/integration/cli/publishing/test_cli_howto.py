"""The commands of docs/howto.md, run in the order of each section by a shell, on a cluster."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from kudo_cluster.control_plane.network import free_ports
from tests.support.cluster.shell import Shell
from tests.support.cluster.world import World
from tests.support.pages import missing, sections

_PAGE = "howto.md"
_PORT = "8080"


@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=pytest.mark.campaign) if number else title
        for number, title in enumerate(sections(_PAGE))
    ],
)
async def test_the_commands_of_a_section_do_what_it_says(
    world: World, tmp_path: Path, title: str
) -> None:
    # The page creates Secrets, which users of KUDO need not be allowed to.
    shell, shown = Shell(world, tmp_path, "admin"), ""
    [port] = free_ports(1)
    async with AsyncExitStack() as background:
        for block in sections(_PAGE)[title]:
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
