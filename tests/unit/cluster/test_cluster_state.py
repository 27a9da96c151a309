"""The state file: what is written is read again, and nonsense is reported."""

import dataclasses
import json
import os
from pathlib import Path

import pytest

from kudo_cluster import state
from kudo_cluster.errors import ClusterError
from kudo_cluster.processes.process import Process
from kudo_cluster.state import Running, State

_FILE = "cluster.json"


@pytest.fixture
def here() -> Process:
    return Process.of(os.getpid())


@pytest.fixture
def written(here: Process, tmp_path: Path) -> State:
    etcd = Running("etcd", port=2379, health="http://127.0.0.1:2379/health", process=here)
    cluster = State(
        name="demo",
        server="https://127.0.0.1:6443",
        supervisor=here,
        components=(etcd,),
        binaries={"kubectl": "/somewhere/kubectl"},
    )
    cluster.write(tmp_path)
    return cluster


def test_what_is_written_is_read_again(written: State, tmp_path: Path) -> None:
    assert state.read(tmp_path) == written


def test_a_real_node_is_written_and_read_again(
    written: State, here: Process, tmp_path: Path
) -> None:
    node = dataclasses.replace(written, sandbox=here)
    node.write(tmp_path)
    assert state.read(tmp_path) == node
    assert (written.profile, node.profile) == ("control-plane", "node")
    assert node.processes == (*written.processes, here)


def test_a_real_node_that_died_takes_the_cluster_along(written: State, here: Process) -> None:
    gone = dataclasses.replace(here, started=1)
    assert not dataclasses.replace(written, sandbox=gone).alive


def test_nothing_else_is_left_by_writing(written: State, tmp_path: Path) -> None:
    assert [path.name for path in tmp_path.iterdir()] == [_FILE]


def test_no_file_means_no_cluster(tmp_path: Path) -> None:
    assert state.read(tmp_path) is None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}', '{"version": 0}'])
def test_a_file_that_makes_no_sense_is_reported(tmp_path: Path, content: str) -> None:
    (tmp_path / _FILE).write_text(content)
    with pytest.raises(ClusterError, match=_FILE):
        state.read(tmp_path)


def test_an_unknown_field_is_reported(written: State, tmp_path: Path) -> None:
    document = json.loads((tmp_path / _FILE).read_text())
    document["supervisor"]["colour"] = "green"
    (tmp_path / _FILE).write_text(json.dumps(document))
    with pytest.raises(ClusterError, match="damaged"):
        state.read(tmp_path)


def test_a_cluster_is_alive_only_if_all_its_processes_are(written: State, here: Process) -> None:
    gone = dataclasses.replace(here, started=1)
    (etcd,) = written.components
    dead = dataclasses.replace(etcd, process=gone)
    assert written.alive
    assert not dataclasses.replace(written, components=(etcd, dead)).alive
    assert not dataclasses.replace(written, supervisor=gone).alive


def test_a_named_cluster_follows_the_xdg_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state.default_directory("demo") == tmp_path / "kudo" / "clusters" / "demo"
    monkeypatch.delenv("XDG_STATE_HOME")
    expected = Path.home() / ".local" / "state" / "kudo" / "clusters" / "demo"
    assert state.default_directory("demo") == expected
