"""Fixtures that all tests can ask for; nothing starts before a test asks."""

import gc
import resource
from collections.abc import Callable, Generator

import pytest
from hypothesis import settings

from tests.support.selection.properties import DEEP
from tests.support.signals import heed_ignored

pytest_plugins = [
    "kudo_cluster.pytest_plugin",
    "tests.support.hanging.plugin",
    "tests.support.selection.tiers",
]

# How long an example takes depends on the machine, and nothing here judges it.
settings.register_profile("usual", deadline=None, derandomize=True, database=None, max_examples=25)
settings.register_profile("deep", deadline=None, print_blob=True, max_examples=1000)
settings.load_profile("deep" if DEEP else "usual")

heed_ignored()

_UNITS, _SCENARIOS = "tests/unit/", "tests/scenarios/"
_NODE, _INSTALLED = "tests/e2e/", "tests/plugin/"
_FAST, _USUAL, _SLOW = (pytest.mark.timeout(n, func_only=True) for n in (60, 300, 1200))
"""How long a test may take without its fixtures before it counts as hanging."""

_FIGURE = "figure"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from what lives as long as the run: modules and items."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give each test the time limit of its folder; properties tried at length have none."""
    if not DEEP:
        item.add_marker(_limit(item))


def _limit(item: pytest.Item) -> pytest.MarkDecorator:
    if item.nodeid.startswith((_NODE, _INSTALLED)):
        return _SLOW
    in_memory = item.config.getoption("world") == "memory"
    fast = item.nodeid.startswith((_UNITS, _SCENARIOS) if in_memory else _UNITS)
    return _FAST if fast else _USUAL


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Return what prints a line at the end of the whole run: counts and measures to be noted."""
    return lambda line: record_property(_FIGURE, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the tests noted, wherever they ran, and the CPU time of the run."""
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    lines = [
        str(line)
        for report in reports
        if report.when == "call"
        for name, line in report.user_properties
        if name == _FIGURE
    ]
    if lines:
        terminalreporter.section("figures")
        for line in lines:
            terminalreporter.write_line(line)
    terminalreporter.section("CPU")
    terminalreporter.write_line(_spent())


def _spent() -> str:
    """Return the CPU time of this process and of all that it waited for.

    The workers have ended by now. They waited for their clusters and services, whose supervisors
    waited for each program; the kernel adds up what was waited for.
    """
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    user, system = sum(one.ru_utime for one in used), sum(one.ru_stime for one in used)
    return f"{user:.0f} s user, {system:.0f} s system, clusters and services included"
