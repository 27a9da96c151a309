"""The commands of docs/howto.md, run in the order of each section by a shell, on a cluster."""

import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from kudo_cluster.control_plane.ports import free_ports
from tests.integration.conftest import ROOT
from tests.support.cluster.shell import Shell
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
    # The page creates Secrets, which users of KUDO need not be allowed to.
    shell, shown = Shell(world, tmp_path, "admin"), ""
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
