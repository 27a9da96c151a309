"""Fixtures that all tests can ask for; nothing starts before a test asks."""

from collections.abc import Callable

import pytest
from hypothesis import settings

pytest_plugins = ["kudo_cluster.pytest_plugin"]

# How long an example takes depends on the machine, and nothing here judges it.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

_FIGURE = "figure"


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Return what prints a line at the end of the whole run: counts and measures to be noted."""
    return lambda line: record_property(_FIGURE, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what the tests noted, wherever they ran."""
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
