"""What the tests of `kubectl kudo init` share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import KUBECONFIG, Cli, Ran
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.init.installations import JUDGED


@pytest.fixture
def server() -> Iterator[FakeApi]:
    """Return an API server where KUDO is not installed."""
    with FakeApi().running(kudo=False) as server:
        server.judgement = JUDGED
        yield server


@pytest.fixture
def init(run: Cli, server: FakeApi, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """Return a function that runs `kubectl kudo init` against that server."""
    path = tmp_path / "kubeconfig"
    path.write_text(KUBECONFIG.format(url=server.url))
    monkeypatch.setenv("KUBECONFIG", str(path))

    def init(*flags: str) -> Ran:
        return run("init", *flags)

    return init
