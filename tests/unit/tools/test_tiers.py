"""A tier consists of the tests that their folders and markers put there."""

import pytest

pytest_plugins = ["pytester"]

_TESTS = """
import pytest

def test_usual(): pass

@pytest.mark.smoke
def test_smoke(): pass

@pytest.mark.campaign
def test_campaign(): pass
"""
_MARKERS = "[pytest]\nmarkers =\n    smoke\n    campaign\n"


@pytest.mark.parametrize(
    ("tier", "units", "real"),
    [
        ("test", ["usual", "smoke"], ["smoke"]),
        ("integration", ["usual", "smoke"], ["usual", "smoke"]),
        ("campaigns", ["campaign"], ["campaign"]),
    ],
)
def test_a_tier_leaves_out_what_belongs_to_others(
    tier: str, units: list[str], real: list[str], pytester: pytest.Pytester
) -> None:
    pytester.makeini(_MARKERS)
    for folder in ("unit", "integration"):
        path = pytester.path / "tests" / folder / f"test_{folder}.py"
        path.parent.mkdir(parents=True)
        path.write_text(_TESTS, encoding="utf-8")
    options = ("-p", "tests.support.selection.tiers", "-p", "no:asyncio", "-p", "no:xdist")
    found = pytester.runpytest_inprocess(*options, "--tier", tier, "--collect-only", "-q", "tests")
    names: dict[str, list[str]] = {"unit": [], "integration": []}
    for line in found.outlines:
        where, _, name = line.partition("::test_")
        if name:
            names[where.split("/")[1]].append(name)
    assert names == {"unit": units, "integration": real}
