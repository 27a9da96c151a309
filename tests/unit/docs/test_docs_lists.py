"""Lists in the docs name everything that there is, and nothing else."""

import re
from collections import Counter

from tests.unit.docs.pages import ROOT, links, paths
from tests.unit.webhook.vectors.recorded import DENIALS

# Rules of linters and of other projects are written alike; none of them is one of these.
_CODE = re.compile(r"\b(?:C\d{1,2}b?|D\d{2})\b")
_ROW = re.compile(r"^\| ([CD]\d+b?) \|(.*)\|$", re.MULTILINE)
_TERM = re.compile(r"^\| ([^|]+) \|[^|]+\|[^|]+\| (`[^|]+`) \|$", re.MULTILINE)
_NAME = re.compile(r"`(\w+)`")
_WORD = re.compile(r"\w+")
_SOURCES = ("libs/", "services/", "cli/", "tests/", "docs/")


def listed() -> dict[str, str]:
    """Return the rows of docs/codes.md by their code."""
    return dict(_ROW.findall((ROOT / "docs" / "codes.md").read_text()))


def cited() -> set[str]:
    found: set[str] = set()
    for path in paths():
        if path.startswith(_SOURCES) and path.endswith((".py", ".md")) and path != "docs/codes.md":
            found |= set(_CODE.findall((ROOT / path).read_text()))
    return found


def test_every_code_that_is_cited_is_explained_and_the_other_way_round() -> None:
    assert cited() == set(listed())


def test_the_reason_of_a_denial_is_the_one_that_users_get() -> None:
    reasons = {code: reason for code, (reason, _) in DENIALS.items()}
    rows = {code: row for code, row in listed().items() if code.startswith("D")}
    assert rows.keys() == reasons.keys()
    assert [code for code, row in rows.items() if not row.endswith(f"`{reasons[code]}` ")] == []


def test_the_words_of_the_glossary_stand_in_the_code() -> None:
    rows = _TERM.findall((ROOT / "docs" / "glossary.md").read_text())
    assert len(rows) > 20
    words = set[str]()
    for path in paths():
        if path.endswith(".py") and not path.startswith("tests/unit/docs/"):
            words |= set(_WORD.findall((ROOT / path).read_text()))
    missing = [(term, set(_NAME.findall(names)) - words) for term, names in rows]
    assert [(term, gone) for term, gone in missing if gone] == []


def test_the_glossary_explains_each_term_once() -> None:
    rows = _TERM.findall((ROOT / "docs" / "glossary.md").read_text())
    terms = [term.strip() for row, _ in rows for term in re.split("[,;]", row)]
    assert [term for term, count in Counter(terms).items() if count > 1] == []


def test_the_index_of_design_notes_names_them_all() -> None:
    folder = ROOT / "docs" / "design"
    notes = {path.name for path in folder.glob("2*.md")}
    assert notes
    assert notes <= set(links((folder / "README.md").read_text()))
