"""Tiers: which tests a run consists of, that the smoke tests share one cluster, what begins first.

`tests/README.md` says what each tier is for. Without `--tier`, all tests named are run.
"""

from collections import Counter
from typing import Final

import pytest
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

TIERS: Final = ("test", "integration", "campaigns")
REAL: Final = "tests/integration/"
"""Tests on a real API server."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--tier", choices=TIERS, help="run only the tests of a tier")
    parser.addoption(
        "--world", choices=("memory", "real"), default="memory", help="where scenarios take place"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.getoption("tier")
    if tier is None:
        return
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (kept if belongs(item, tier) else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = long_first(kept) if tier == "integration" else kept


def is_real(config: pytest.Config) -> bool:
    """Return whether scenarios take place on a real API server."""
    return bool(config.getoption("world") == "real")


def belongs(item: pytest.Item, tier: str) -> bool:
    """Return whether a test belongs to a tier."""
    is_campaign = item.get_closest_marker("campaign") is not None
    if tier == "campaigns":
        return is_campaign
    if tier == "test" and item.nodeid.startswith(REAL):
        return not is_campaign and item.get_closest_marker("smoke") is not None
    return not is_campaign


def long_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return tests in the order of their files: those with a long test, then those with many.

    A file goes to one worker. The longest ones, begun last, would be waited for alone.
    """
    long = {item.path for item in items if item.get_closest_marker("long")}
    many = Counter(item.path for item in items)
    return sorted(items, key=lambda item: (item.path not in long, -many[item.path]))


class OneCluster(LoadScopeScheduling):  # type: ignore[misc]
    """Gives all tests on a real API server to one worker, and the others out by file."""

    def _split_scope(self, nodeid: str) -> str:
        return REAL if nodeid.startswith(REAL) else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> OneCluster | None:
    tier = config.getoption("tier")
    if tier == "integration":
        config.option.loadscopereorder = False  # the tests are in order
    return OneCluster(config, log) if tier == "test" else None
