"""The Markdown pages of the repository, and what they point at; no tests of its own."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"^(```+).*?^\1$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"(?:[\w.-]+/)*[\w.-]+\.(?:py|md|sh|toml|in|json|yaml|go)")
_FOLDER = re.compile(r"(?:[\w.-]+/)+")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


@cache
def paths() -> frozenset[str]:
    """Return all files and folders of the repository, folders with a slash at their end."""
    return frozenset(_below(ROOT))


def _below(folder: Path) -> Iterator[str]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name == "__pycache__":
            continue
        name = path.relative_to(ROOT).as_posix()
        if path.is_dir():
            yield f"{name}/"
            yield from _below(path)
        else:
            yield name


def pages() -> list[Path]:
    """Return README.md, CONTRIBUTING.md, docs/ and the pages beside charts, examples and others."""
    return [ROOT / name for name in sorted(paths()) if name.endswith(".md")]


def prose(page: Path) -> str:
    """Return a page without its fenced blocks, which show files of other trees."""
    return _FENCE.sub("", page.read_text())


def links(text: str) -> list[str]:
    """Return the targets of links that lead to other pages or files, not to other servers."""
    return [target for target in _LINK.findall(text) if "://" not in target]


def named_paths(text: str) -> list[str]:
    """Return what the text names as code and looks like a Python module or a folder."""
    words = _CODE.findall(text)
    return [word for word in words if _FILE.fullmatch(word) or _FOLDER.fullmatch(word)]


def section(text: str, heading: str) -> str:
    """Return the text below a heading of the second level, up to the next one."""
    _, _, rest = text.partition(f"\n## {heading}\n")
    return rest.partition("\n## ")[0]


def dotted_names(text: str) -> list[str]:
    """Return the code in the text that looks like a dotted name of Python."""
    return [word for word in _CODE.findall(text) if _DOTTED.fullmatch(word)]


def anchors(text: str) -> set[str]:
    """Return the anchors of the headings of a page."""
    return {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in _HEADING.findall(text)}
