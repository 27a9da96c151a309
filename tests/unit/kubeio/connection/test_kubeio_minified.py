"""A kubeconfig of one context alone."""

import json
from pathlib import Path

import pytest

from kubeio.connection.auth import Identity
from kubeio.connection.config import load_config, minified_kubeconfig
from kubeio.errors import ConfigError

TWO = """\
current-context: one
clusters:
  - {name: c, cluster: {server: "https://c:6443", certificate-authority: pki/ca.crt}}
contexts:
  - {name: one, context: {cluster: c, user: u, namespace: kitchen}}
  - {name: two, context: {cluster: c, user: plugin}}
users:
  - {name: u, user: {token: secret, as-uid: "7"}}
  - {name: plugin, user: {exec: {command: bin/login, args: [a]}}}
  - {name: other, user: {token: other-secret}}
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "config").write_text(TWO)
    return tmp_path / "config"


def test_only_the_entries_of_the_context_are_kept(path: Path) -> None:
    found = minified_kubeconfig(path)
    assert found["current-context"] == "one"
    assert found["contexts"] == [
        {"name": "one", "context": {"cluster": "one", "user": "one", "namespace": "kitchen"}}
    ]
    assert found["users"] == [{"name": "one", "user": {"token": "secret", "as-uid": "7"}}]
    assert "other-secret" not in json.dumps(found)


def test_paths_are_absolute(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    found = minified_kubeconfig("config", context="two")
    cluster, user = found["clusters"][0]["cluster"], found["users"][0]["user"]
    assert cluster["certificate-authority"] == str(path.parent / "pki" / "ca.crt")
    assert user["exec"] == {"command": str(path.parent / "bin" / "login"), "args": ["a"]}


def test_impersonation_replaces_that_of_the_user(path: Path) -> None:
    found = minified_kubeconfig(path, identity=Identity("alice", ("cooks",)))
    assert found["users"][0]["user"] == {"token": "secret", "as": "alice", "as-groups": ["cooks"]}


def test_the_connection_is_the_same(path: Path, tmp_path: Path) -> None:
    plain = TWO.replace("https://c:6443", "http://c:8080")
    path.write_text(plain)
    alone = tmp_path / "alone"
    alone.write_text(json.dumps(minified_kubeconfig(path, identity=Identity("alice"))))
    before, after = load_config(path, context="one"), load_config(alone)
    assert (before.server, before.namespace) == (after.server, after.namespace)
    assert after.headers == (("Impersonate-User", "alice"),)


def test_without_any_configuration_the_error_is_the_same(path: Path) -> None:
    with pytest.raises(ConfigError, match="no kubeconfig"):
        minified_kubeconfig(environ={"HOME": str(path.parent)})
    with pytest.raises(ConfigError, match="context 'three' does not exist"):
        minified_kubeconfig(path, context="three")
