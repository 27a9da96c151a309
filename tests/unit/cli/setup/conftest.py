"""What the tests of `kubectl kudo init` share."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_kudo.__main__ import main
from tests.unit.cli.conftest import KUBECONFIG, Cli, Ran
from tests.unit.cli.fake_api import LEFT_ALONE, FakeApi
from tests.unit.cli.setup.installations import BUILT_IN, JUDGED


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


@pytest.fixture(scope="package")
def left_by_init(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return as JSON what `init` leaves on an API server."""
    home = tmp_path_factory.mktemp("home")
    with FakeApi().running(kudo=False) as server, pytest.MonkeyPatch.context() as patch:
        (home / "kubeconfig").write_text(KUBECONFIG.format(url=server.url))
        patch.setenv("HOME", str(home))
        patch.setenv("KUBECONFIG", str(home / "kubeconfig"))
        assert main(["init", BUILT_IN]) == 0
        return json.dumps([*server.cluster.server.storage.everything()])


@pytest.fixture
def installed(server: FakeApi, left_by_init: str) -> FakeApi:
    """Return the server after `init`, which has written nothing to this one."""
    storage, workloads = server.cluster.server.storage, server.cluster.workloads

    def put() -> None:
        # They have their status; it would be written again while a test changes it.
        usual, workloads.outcome = workloads.outcome, lambda _: LEFT_ALONE
        for (group, plural), obj in json.loads(left_by_init):
            storage.put((group, plural), obj)
        workloads.outcome = usual

    server.do(put)
    return server
