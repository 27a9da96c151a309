"""Pages of docs/ whose files and commands a test runs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    `sh` is run, `text` is what the commands before print, `yaml` is a file. `console` is for
    readers only.

    Attributes:
        kind: The word after the fence.
        path: Of a file.
        text: The lines.
    """

    kind: str
    path: str
    text: str

    def write(self, folder: Path) -> None:
        """Write the file below a folder; a later block of the same path replaces it."""
        path = folder / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text)


def blocks(page: str) -> list[Block]:
    """Return all blocks of a page, named as for `sections`."""
    return [Block(*found) for found in _BLOCK.findall((ROOT / "docs" / page).read_text())]


def sections(page: str) -> dict[str, list[Block]]:
    """Return the blocks of each section of the second level of a page, by its heading.

    Args:
        page: Its name in docs/.
    """
    parts = _SECTION.split((ROOT / "docs" / page).read_text())
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
