"""The worked examples of docs/extending.md, as changes of a tree; no tests of its own."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_SECTION = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<path>[^"]+)")?\n(?P<text>.*?)^```$', re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a file that exists.

    Attributes:
        path: The file.
        hunks: What stands there, and what comes in its place.
    """

    path: str
    hunks: tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Example:
    """One section of the page.

    Attributes:
        title: Its heading.
        files: Texts of new files by path.
        edits: Changes of others.
        commands: What shows that it works.
    """

    title: str
    files: dict[str, str] = field(default_factory=dict)
    edits: list[Edit] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [*self.files, *(edit.path for edit in self.edits)]

    def apply(self, root: Path) -> None:
        """Change the tree.

        Raises:
            ValueError: the tree is not the one that the page was written for.
        """
        for path, text in self.files.items():
            if (root / path).exists():
                raise ValueError(f"{path} exists already")
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        for edit in self.edits:
            text = (root / edit.path).read_text()
            for old, new in edit.hunks:
                if text.count(old) != 1:
                    raise ValueError(f"{edit.path} has these lines {text.count(old)} times:\n{old}")
                text = text.replace(old, new)
            (root / edit.path).write_text(text)


def examples(page: str) -> list[Example]:
    """Return the sections that hold files."""
    parts = _SECTION.split(page)
    found = [_example(title, text) for title, text in zip(parts[1::2], parts[2::2], strict=True)]
    return [example for example in found if example.paths]


def _example(title: str, text: str) -> Example:
    example = Example(title)
    for block in _BLOCK.finditer(text):
        match block["kind"], block["path"]:
            case "diff", str(path):
                example.edits.append(Edit(path, tuple(_hunks(block["text"]))))
            case _, str(path):
                example.files[path] = block["text"]
            case "sh", None:
                example.commands += block["text"].splitlines()
    return example


def _hunks(diff: str) -> Iterator[tuple[str, str]]:
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if not line.startswith("+"))
        new = "".join(line[1:] for line in lines if not line.startswith("-"))
        yield old, new
