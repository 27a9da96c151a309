"""What the pages point at exists: pages, headings, files and folders."""

from pathlib import Path

import pytest

from tests.unit.docs.pages import ROOT, anchors, links, named_paths, pages, paths, prose

# What was released is told as it was.
PAGES = [page for page in pages() if page.name != "CHANGELOG.md"]
# Notes are dated: a file they name may be gone by now, what they link to may not.
CURRENT = [page for page in PAGES if page.parent.name != "design"]
MADE_BY_MAKE = {"dist/"}
BY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@BY_PAGE
def test_links_lead_to_pages_and_headings_that_exist(page: Path) -> None:
    text = page.read_text()
    for target in links(prose(page)):
        path, _, heading = target.partition("#")
        linked = (page.parent / path).resolve()
        assert not path or linked.exists(), target
        assert not heading or heading in anchors(linked.read_text() if path else text), target


def test_files_that_a_page_names_exist_somewhere() -> None:
    """Pages name a module from its package, such as `plans/status.py`."""
    known = {f"/{path}" for path in paths()}
    missing = [
        (page.relative_to(ROOT).as_posix(), name)
        for page in CURRENT
        for name in named_paths(prose(page))
        if name not in MADE_BY_MAKE and not any(path.endswith(f"/{name}") for path in known)
    ]
    assert missing == []


def test_contributing_names_files_by_their_whole_path() -> None:
    page = ROOT / "CONTRIBUTING.md"
    names = named_paths(prose(page))
    assert names
    assert [name for name in names if name not in paths()] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see `kudo/health.py` and `cli/`", ["kudo/health.py", "cli/"]),
        ("`make lint`, `kudo.health`, `v1/Pod`, `/mutate`, `--help`", []),
        ("[a page](docs/plans.md) and `Makefile`", []),
    ],
)
def test_modules_and_folders_are_told_from_other_words(text: str, found: list[str]) -> None:
    assert named_paths(text) == found


def test_links_to_other_servers_and_fenced_blocks_are_left_out(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[a](https://a.test/x.md) [b](b.md#c)\n```\n[d](gone.md)\n```\n[e](#f)\n")
    assert links(prose(page)) == ["b.md#c", "#f"]


def test_headings_become_anchors() -> None:
    assert anchors("# The way in\n\n## Add `kind`, twice\n") == {"the-way-in", "add-kind-twice"}
