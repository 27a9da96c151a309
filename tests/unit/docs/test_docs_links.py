"""What the pages point at exists: pages, headings, files, folders and functions."""

import re
from pathlib import Path
from pkgutil import resolve_name

import pytest

from tests.unit.docs.pages import (
    ROOT,
    anchors,
    dotted_names,
    links,
    named_paths,
    pages,
    paths,
    prose,
    section,
)

# What was released is told as it was.
PAGES = [page for page in pages() if page.name != "CHANGELOG.md"]
# Notes are dated: a file they name may be gone by now, what they link to may not.
CURRENT = [page for page in PAGES if page.parent.name != "design"]
MADE_BY_MAKE = {"dist/", ".kudo/campaigns.json"}
# Patterns, and what users may have.
OF_USERS = {"NN-name.yaml", "NN-name.gotmpl.yaml", ".gotmpl.yaml", "kuttl-test.yaml"}
_FILE_AS_TEXT = re.compile(r"\[(`?[\w./-]+\.md`?)\]\(")
BY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@BY_PAGE
def test_links_lead_to_pages_and_headings_that_exist(page: Path) -> None:
    text = page.read_text()
    for target in links(prose(page)):
        path, _, heading = target.partition("#")
        linked = (page.parent / path).resolve()
        assert not path or linked.exists(), target
        assert not heading or heading in anchors(linked.read_text() if path else text), target


@BY_PAGE
def test_links_to_pages_have_titles_and_not_file_names_as_their_texts(page: Path) -> None:
    assert _FILE_AS_TEXT.findall(prose(page)) == []


def test_files_that_a_page_names_exist_somewhere() -> None:
    """Pages name a module from its package, such as `plans/status.py`."""
    known = {f"/{path}" for path in paths()}
    missing = [
        (page.relative_to(ROOT).as_posix(), name)
        for page in CURRENT
        for name in named_paths(prose(page))
        if name not in MADE_BY_MAKE | OF_USERS
        and not any(path.endswith(f"/{name}") for path in known)
    ]
    assert missing == []


def test_contributing_names_files_by_their_whole_path() -> None:
    page = ROOT / "CONTRIBUTING.md"
    names = named_paths(prose(page))
    assert names
    assert [name for name in names if name not in paths()] == []


@pytest.mark.parametrize("name", ["architecture.md", "runs.md", "security.md"])
def test_the_functions_that_decide_exist(name: str) -> None:
    """Private ones as well: the table names the function and not only its module."""
    page = (ROOT / "docs" / name).read_text()
    _, _, *rows = section(page, "Where it is decided").strip().splitlines()
    assert len(rows) > 5
    for row in rows:
        names = dotted_names(row)
        assert names, row
        assert [name for name in names if not exists(name)] == []


def exists(name: str) -> bool:
    """Return whether a dotted name leads to a module, or to an attribute of one."""
    try:
        resolve_name(name)
    except (ModuleNotFoundError, AttributeError):
        return False
    return True


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("kudo.admission", True),
        ("kudo.plans.execution.entries._roll_up", True),
        ("kudo_reconciler.objects.ownership.Ownership.claim", True),
        ("serving.connections.PortLimits.request_bytes", True),
        ("kudo.admission.rule", False),
        ("kudo.plans.execution.entries.roll_up", False),
        ("kudo_reconciler.objects.ownership.Ownership.claims", False),
        ("kudos.admission", False),
    ],
)
def test_a_dotted_name_is_a_module_or_an_attribute(name: str, found: bool) -> None:
    assert exists(name) is found


def test_dotted_names_are_told_from_other_words() -> None:
    text = "`kudo.objects.health`, `a.B._c`, `kudo`, `kudo/health.py`, `v1.30`, kudo.api.names"
    assert dotted_names(text) == ["kudo.objects.health", "a.B._c"]


def test_a_section_ends_at_the_next_heading_of_its_level() -> None:
    assert section("# A\n\n## B\none\n### C\ntwo\n\n## D\nthree\n", "B") == "one\n### C\ntwo\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see `kudo/health.py` and `cli/`", ["kudo/health.py", "cli/"]),
        ("`make lint`, `kudo.objects.health`, `v1/Pod`, `/mutate`, `--help`", []),
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
