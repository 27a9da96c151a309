"""Sentences are short on the pages that users read first."""

import re
from collections.abc import Iterator

import pytest

from tests.unit.docs.pages import ROOT, prose

PAGES = [
    "README.md",
    "docs/getting-started.md",
    "docs/howto.md",
    "docs/installing.md",
    "docs/plans.md",
    "docs/authoring.md",
]
MOST_WORDS = 25
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_ENDS = re.compile(r"(?<=[.!?:;])\s+")
# A blank line, and the beginning of a heading, an item of a list or a row of a table.
_BLOCKS = re.compile(r"\n\s*\n|\n(?=#|\s*[*-] |\s*\d+\. |\|)")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a page; a table has none, code and a link's target count as a word.

    A colon or a semicolon ends a sentence.
    """
    text = _CODE.sub("code", _LINK.sub(r"\1", text))
    for block in _BLOCKS.split(text):
        if not block.startswith("|"):
            yield from _ENDS.split(" ".join(block.split()))


@pytest.mark.parametrize("name", PAGES)
def test_sentences_have_at_most_25_words(name: str) -> None:
    long = [one for one in sentences(prose(ROOT / name)) if len(one.split()) > MOST_WORDS]
    assert long == []


def test_sentences_end_at_blocks_and_marks() -> None:
    text = "# A b\n\nOne `x y`, two. [T u](v.md) w\nz: q\n\n* i\n* j\n\n| a | b |\n"
    assert [*sentences(text)] == ["# A b", "One code, two.", "T u w z:", "q", "* i", "* j"]
