"""docs/verification.md lists the codes of findings that there are."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from kudo.verification.finding import CODES
from tests.unit.docs.pages import ROOT

_ROW = re.compile(r"^\| `(\w+)` \| (.+) \|$", re.MULTILINE)
_CODE = re.compile(r"[A-Z][a-z]+(?:[A-Z]+[a-z]+)+")
_SOURCES = ROOT / "libs" / "kudo" / "src" / "kudo"


def test_the_page_has_the_codes_and_their_meanings() -> None:
    page = (ROOT / "docs" / "verification.md").read_text()
    assert dict(_ROW.findall(page)) == dict(CODES)
    assert list(CODES) == sorted(CODES)


def test_every_code_of_the_checks_is_explained() -> None:
    names = {"error", "warning", "make", "_error", "Problem"}
    files = [*(_SOURCES / "verification").glob("*.py"), *(_SOURCES / "packages").glob("*.py")]
    used = {code for path in files for code in _codes(path, names)}
    assert used - CODES.keys() == set()


def _codes(path: Path, functions: set[str]) -> Iterator[str]:
    """Yield the codes that calls of some functions have as first argument."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Call(ast.Name(function), [ast.Constant(str(code)), *_]):
                if function in functions and _CODE.fullmatch(code):
                    yield code
