"""A tier consists of the tests that their folders and markers put there."""

import pytest
from xdist.remote import Producer  # type: ignore[import-untyped]

pytest_plugins = ["pytester"]

_TESTS = """
import pytest

def test_usual(): pass

@pytest.mark.smoke
def test_smoke(): pass

@pytest.mark.campaign
def test_campaign(): pass
"""
_MARKERS = "[pytest]\nmarkers =\n    smoke\n    campaign\n    long\n"
_OPTIONS = ("-p", "tests.support.selection.tiers", "-p", "no:asyncio")


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
    options = (*_OPTIONS, "-p", "no:xdist", "--tier", tier, "--collect-only", "-q")
    found = pytester.runpytest_inprocess(*options, "tests")
    names: dict[str, list[str]] = {"unit": [], "integration": []}
    for line in found.outlines:
        where, _, name = line.partition("::test_")
        if name:
            names[where.split("/")[1]].append(name)
    assert names == {"unit": units, "integration": real}


def test_integration_begins_with_the_files_of_long_tests_then_of_many(
    pytester: pytest.Pytester,
) -> None:
    one = "def test_{0}(): pass\n"
    pytester.makeini(_MARKERS)
    pytester.makepyfile(
        test_a=one.format("one"),
        test_b=one.format("two") + one.format("three"),
        test_c=f"import pytest\n@pytest.mark.long\n{one.format('long')}",
    )
    options = (*_OPTIONS, "--tier=integration")
    found = pytester.runpytest_inprocess(*options, "-p", "no:xdist", "--collect-only", "-q")
    names = [line.rpartition("::test_")[2] for line in found.outlines if "::" in line]
    assert names == ["long", "two", "three", "one"]


@pytest.mark.parametrize(("tier", "reorders"), [("integration", False), ("campaigns", True)])
def test_xdist_keeps_the_order_of_integration(
    tier: str, reorders: bool, pytester: pytest.Pytester
) -> None:
    config = pytester.parseconfig(*_OPTIONS, f"--tier={tier}")
    config.hook.pytest_xdist_make_scheduler(config=config, log=Producer("test"))
    assert config.option.loadscopereorder is reorders
