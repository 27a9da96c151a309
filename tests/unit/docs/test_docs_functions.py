"""The tables of docs/gotemplate.md name every function that templates can call, and no other."""

import re

from gotemplate import Environment
from tests.unit.docs.pages import ROOT, section

PAGE = (ROOT / "docs" / "gotemplate.md").read_text()
_CODE = re.compile(r"`([^`]+)`")
_MACHINE = "the machine, only with policy"


def rows() -> list[tuple[str, str]]:
    """Return family and names of each row of the table of functions."""
    table = section(PAGE, "Functions").split("\n\n| Template |")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.split(" | ")] for line in lines[1:]]
    return [(row[0], row[1]) for row in cells]


def listed(names: str) -> set[str]:
    """Return the names of a row; `with must` stands for those that exist with it."""
    plain = {word for code in _CODE.findall(names) for word in code.split()} - {"must"}
    if "`must`" not in names:
        return plain
    every = Environment(policy="sprig").function_names
    variants = {f"must{name[0].upper()}{name[1:]}" for name in plain}
    return plain | (variants & every)


def builtins() -> set[str]:
    found = re.search(r"The builtins are `([^`]+)`", " ".join(PAGE.split()))
    assert found is not None
    return set(found[1].split())


def test_every_function_is_in_the_table() -> None:
    named = set[str]().union(*(listed(names) for _, names in rows()))
    every = Environment(policy="sprig").function_names
    assert sorted(every - named - builtins()) == []
    assert sorted(named - every) == []


def test_the_last_row_has_what_operators_do_not_get() -> None:
    machine = set[str]().union(*(listed(names) for family, names in rows() if _MACHINE in family))
    operators = Environment(policy="operator").function_names
    assert machine == Environment(policy="sprig").function_names - operators


def test_the_page_says_how_many_names_there_are() -> None:
    every = Environment(policy="sprig").function_names - builtins()
    own = {"toYaml", "fromYaml"}
    found = re.search(r"All (\d+) names of Sprig", PAGE)
    assert found is not None
    assert int(found[1]) == len((every | {"slice"}) - own)
