"""The examples in the help of `init` run as they are, each against a cluster of its own."""

import shlex

import pytest

from tests.support.examples import examples
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.setup.installations import cert_manager, old_manager

INSTALLED = ("init --upgrade", "init --uninstall")
"""Examples that change what is there."""


@pytest.mark.parametrize("line", examples("init"))
def test_an_example_of_init_runs(
    init: Cli, run: Cli, server: FakeApi, line: str, request: pytest.FixtureRequest
) -> None:
    cert_manager(server)
    if line.startswith(INSTALLED):
        request.getfixturevalue("installed")
    if line.startswith("init --verify"):
        assert init().code == 0
    if "--take-over" in line:
        old_manager(server)
    # Nobody is asked here, as on a terminal.
    words = [*shlex.split(line), *(["--yes"] if "--uninstall" in line else [])]
    ran = run(*words)
    assert (ran.code, bool(ran.out)) == (0, True), ran.err
