"""What the tests of `kubectl kudo init` share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import KUBECONFIG, Cli, Ran
from tests.unit.cli.init.init_api import InitApi


@pytest.fixture
def server() -> Iterator[InitApi]:
    """Return an API server where KUDO is not installed."""
    with InitApi().running() as server:
        yield server


@pytest.fixture
def init(run: Cli, server: InitApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Return a function that runs `kubectl kudo init` against that server."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.format(url=server.url))
    monkeypatch.setenv("KUBECONFIG", str(path))

    def init(*flags: str) -> Ran:
        return run("init", *flags)

    return init
