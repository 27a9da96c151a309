"""Servers of packages, and an environment without proxies, credentials and certificates."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.repositories.server import PackageServer, serving

_UNSET = (
    *("KUDO_HOME", "KUDO_REPO_TOKEN", "KUDO_REPO_USERNAME", "KUDO_REPO_PASSWORD", "NETRC"),
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE"),
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in _UNSET:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
def server() -> Iterator[PackageServer]:
    """Return a server that speaks HTTP."""
    with serving() as found:
        yield found


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageServer]:
    """Return a server that speaks HTTPS and is trusted."""
    folder = tmp_path / "certificates"
    folder.mkdir()
    with serving(folder) as found:
        monkeypatch.setenv("SSL_CERT_FILE", str(found.ca))
        yield found


@pytest.fixture
def run(run: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Return a function that runs a command line for a user without a list of repositories."""
    monkeypatch.delenv("KUDO_HOME")
    return run
