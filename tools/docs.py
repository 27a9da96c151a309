"""Builds the pages of docs/ with MkDocs.

    python -m tools.docs [--into FOLDER]

The pages are copied first, together with README.md, CONTRIBUTING.md and the other pages of `PAGES`.
Links between them, and to the JSON schemas, lead to the copies. Links to source files stay as text,
since what is built holds no sources. MkDocs then builds with `--strict`: a missing link,
heading or page of the navigation is an error. No page may load anything from another server.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).parents[1]
COPIES: Final = ROOT / ".kudo" / "pages"
"""`docs_dir` of mkdocs.yml."""
PAGES: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "certs/README.md": "certs.md",
    "examples/README.md": "examples.md",
    "policies/README.md": "policies.md",
}
"""Pages outside of docs/, and their names among the pages of docs/."""
SCHEMAS: Final = "docs/schemas"
"""Files that editors load from beside the pages."""

_LINK: Final = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>[^)#\s]*)(?P<heading>#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_STYLE_ADDRESS: Final = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)")
_LOADED: Final = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("link", "href"),
}
_NOT_LOADED: Final = {"canonical", "prev", "next", "alternate"}
"""Relations of `<link>` that name a page and load nothing."""


class DocsError(Exception):
    """The pages cannot be built; the text names what to change."""


def copy(root: Path, copies: Path) -> None:
    """Write the pages of a checkout to a folder, with links that lead to each other there."""
    shutil.rmtree(copies, ignore_errors=True)
    sources = [path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")]
    for source in (*sources, *PAGES):
        target = copies / _copy_of(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(relinked((root / source).read_text(), source))
    shutil.copytree(root / SCHEMAS, copies / _copy_of(SCHEMAS))


def relinked(text: str, source: str) -> str:
    """Return a page with links as they are from its copy.

    Args:
        text: The page.
        source: Its path in the checkout.
    """

    def link(match: re.Match[str]) -> str:
        path, heading = match["path"], match["heading"] or ""
        if "://" in path or not path:
            return match[0]
        target = _copy_of(_joined(PurePosixPath(source).parent, path))
        if not target.endswith(".md") and not target.startswith(f"{_copy_of(SCHEMAS)}/"):
            return match["text"]
        up = "../" * _copy_of(source).count("/")
        return f"[{match['text']}]({up}{target}{heading})"

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def _copy_of(source: str) -> str:
    """Return the path of a page's copy; of anything else the path as it is."""
    return PAGES.get(source, source.removeprefix("docs/"))


def _joined(folder: PurePosixPath, path: str) -> str:
    parts: list[str] = []
    for part in (folder / path).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def loaded_from_elsewhere(site: Path) -> list[str]:
    """Return what built pages and styles would load from another server, by file."""
    found = []
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            parser = _Loads()
            parser.feed(path.read_text())
            addresses = parser.addresses
        elif path.suffix == ".css":
            addresses = _STYLE_ADDRESS.findall(path.read_text())
        else:
            continue
        found += [f"{path.relative_to(site).as_posix()}: {address}" for address in addresses]
    return found


class _Loads(HTMLParser):
    """Collects the addresses on other servers that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += _elsewhere(tag, attrs)


def _elsewhere(tag: str, attrs: list[tuple[str, str | None]]) -> Iterator[str]:
    if dict(attrs).get("rel") in _NOT_LOADED:
        return
    for name, value in attrs:
        if (tag, name) in _LOADED and value and re.match(r"(https?:)?//", value):
            yield value


def build(into: Path) -> None:
    """Build the pages.

    Raises:
        DocsError: MkDocs has ended with an error, or a page loads something from elsewhere.
    """
    copy(ROOT, COPIES)
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--clean"]
    done = subprocess.run([*command, "--site-dir", str(into.absolute())], cwd=ROOT)
    if done.returncode:
        raise DocsError("mkdocs failed; its output above names the page and link to fix")
    elsewhere = loaded_from_elsewhere(into)
    if elsewhere:
        raise DocsError("\n".join(["pages load from other servers; see mkdocs.yml:", *elsewhere]))


def main() -> int:
    """Build the pages, print their path, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.docs")
    parser.add_argument("--into", type=Path, default=ROOT / ".kudo" / "site")
    into = parser.parse_args().into
    try:
        build(into)
    except DocsError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"built {into / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
