"""Builds the pages of docs/ with Sphinx.

    python -m tools.docs [--into FOLDER]

The pages are copied first, together with README.md, CONTRIBUTING.md and the other pages of `PAGES`.
Links between them, to pictures and to the JSON schemas lead to the copies. Links to source files
stay as text, since what is built holds no sources. Copies get the navigation of
docs/navigation.toml, and titles of code blocks as Sphinx writes them. Sphinx then takes warnings
for errors: a missing link, heading or picture, or a page that is not in the navigation. No page may
load anything from another server.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Final

ROOT: Final = Path(__file__).parents[1]
COPIES: Final = ROOT / ".kudo" / "pages"
"""What Sphinx reads."""
SETTINGS: Final = ROOT / "docs"
"""The folder of conf.py."""
DOCTREES: Final = ROOT / ".kudo" / "doctrees"
NAVIGATION: Final = SETTINGS / "navigation.toml"
PAGES: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "certs/README.md": "certs.md",
    "examples/README.md": "examples.md",
    "policies/README.md": "policies.md",
    "tests/README.md": "tests.md",
}
"""Pages outside of docs/, and their names among the pages of docs/."""
SCHEMAS: Final = "docs/schemas"
"""Files that editors load from beside the pages."""
PICTURES: Final = "docs/pictures"

_LINK: Final = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<path>[^)#\s]*)(?P<heading>#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
_TITLED: Final = re.compile(r'^```(?P<language>\w+) title="(?P<title>[^"]+)"$', re.MULTILINE)
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
    # A page that was renamed would stay, and links to it would go on working.
    shutil.rmtree(copies, ignore_errors=True)
    sources = [path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")]
    for source in (*sources, *PAGES):
        target = copies / _copy_of(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(relinked((root / source).read_text(), source))
    for folder in (SCHEMAS, PICTURES):
        shutil.copytree(root / folder, copies / _copy_of(folder))


def navigate(copies: Path, navigation: str) -> None:
    """Append the navigation to the copies that other pages stand below.

    Args:
        copies: The pages.
        navigation: The text of docs/navigation.toml.
    """
    read = tomllib.loads(navigation)
    with (copies / "index.md").open("a") as index:
        for door in read["door"]:
            index.write(_tree(door["name"], door["pages"]))
    for name in read["below"]:
        page = copies / name
        text, folder = page.read_text(), f"../{page.parent.name}/"
        linked = (link["path"] for link in _LINK.finditer(text))
        below = [path.removeprefix(folder) for path in linked if path.startswith(folder)]
        page.write_text(text + _tree("", list(dict.fromkeys(below))))


def _tree(caption: str, pages: list[str]) -> str:
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["\n```{toctree}", *options, "", *pages, "```\n"])


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
        folders = tuple(f"{_copy_of(folder)}/" for folder in (SCHEMAS, PICTURES))
        # Links to source files: what is built holds no sources.
        if not target.endswith(".md") and not target.startswith(folders):
            return match["text"]
        up = "../" * _copy_of(source).count("/")
        return f"[{match['text']}]({up}{target}{heading})"

    # In code blocks brackets and parentheses are no links.
    parts = _FENCE.split(text)
    return "".join(_captioned(p) if p.startswith("```") else _LINK.sub(link, p) for p in parts)


def _captioned(block: str) -> str:
    return _TITLED.sub(r"```{code-block} \g<language>\n:caption: \g<title>\n", block)


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
    links = []
    for path in sorted(site.rglob("*")):
        if path.suffix == ".html":
            parser = _Loads()
            parser.feed(path.read_text())
            addresses = parser.addresses
        elif path.suffix == ".css":
            addresses = _STYLE_ADDRESS.findall(path.read_text())
        else:
            continue
        links += [f"{path.relative_to(site).as_posix()}: {address}" for address in addresses]
    return links


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
        # `//host/` is an address, too: of the scheme that the page itself has.
        if (tag, name) in _LOADED and value and re.match(r"(https?:)?//", value):
            yield value


def build(into: Path) -> None:
    """Build the pages.

    Raises:
        DocsError: Sphinx has ended with an error, or a page loads something from elsewhere.
    """
    copy(ROOT, COPIES)
    navigate(COPIES, NAVIGATION.read_text())
    shutil.rmtree(into, ignore_errors=True)
    # A fresh environment: warnings come only for pages that are read.
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--fresh-env"]
    folders = ["--doctree-dir", DOCTREES, "--conf-dir", SETTINGS, COPIES, into.absolute()]
    done = subprocess.run([*command, *map(str, folders)], cwd=ROOT)
    if done.returncode:
        raise DocsError("Sphinx failed; its output above names the page and link to fix")
    shutil.copytree(ROOT / SCHEMAS, into / _copy_of(SCHEMAS))
    elsewhere = loaded_from_elsewhere(into)
    if elsewhere:
        raise DocsError("\n".join(["pages load from other servers; see docs/conf.py:", *elsewhere]))


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
