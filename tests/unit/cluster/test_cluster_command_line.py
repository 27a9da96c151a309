"""The command line, as far as it needs no cluster."""

import dataclasses
import os
from pathlib import Path

import pytest

from kudo_cluster import __main__ as command_line
from kudo_cluster.cluster import Cluster
from kudo_cluster.control_plane.components import (
    Ports,
    apiserver,
    controller_manager,
    kwok,
    scheduler,
    storage,
)
from kudo_cluster.control_plane.network import LoopbackNetwork
from kudo_cluster.errors import ClusterError
from kudo_cluster.layout import Layout
from kudo_cluster.processes.process import Process
from kudo_cluster.state import Running, State


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def _run(*arguments: str) -> int:
    return command_line.main(arguments)


def _pretend(directory: Path, process: Process) -> State:
    etcd = Running("etcd", port=1, health="http://127.0.0.1:1/health", process=process)
    cluster = State("demo", "https://127.0.0.1:1", process, (etcd,), {"kubectl": "/k"})
    directory.mkdir(parents=True, exist_ok=True)
    cluster.write(directory)
    return cluster


@pytest.mark.parametrize("command", ["", "up", "down", "status", "kubeconfig", "build"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        _run(*command.split(), "--help")
    assert end.value.code == 0
    assert "usage: kudo-cluster" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [[], ["sideways"], ["up", "--name", "../elsewhere"], ["up", "--profile", "moon"]]
)
def test_a_wrong_command_line_is_code_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        _run(*arguments)
    assert end.value.code == 2


def test_crds_that_are_no_file_are_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("run", "--crds", str(tmp_path / "none.yaml")) == 1
    assert f"no file of CRDs: {tmp_path}/none.yaml" in capsys.readouterr().err


def test_the_status_of_no_cluster_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("status") == 1
    assert "no cluster in " in capsys.readouterr().out


def test_stopping_no_cluster_is_no_failure(tmp_path: Path) -> None:
    assert _run("down") == 0
    assert not (tmp_path / "state").exists()


def test_a_process_that_answers_nothing_is_not_healthy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _pretend(tmp_path, Process.of(os.getpid()))
    assert _run("status", "--dir", str(tmp_path)) == 1
    line = capsys.readouterr().out.splitlines()[-1]
    assert line.split()[:3] == ["etcd", str(os.getpid()), "1"]
    assert "refused" in line


def test_a_dead_process_is_shown_as_dead(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _pretend(tmp_path, Process(pid=os.getpid(), started=1, boot=""))
    assert _run("status", "--dir", str(tmp_path)) == 1
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()[-2:]] == ["dead"] * 2


def test_stopping_never_signals_a_stranger_who_got_the_pid(tmp_path: Path) -> None:
    Layout(tmp_path).claim()
    _pretend(tmp_path, Process(pid=os.getpid(), started=1, boot=""))
    assert _run("down", "--dir", str(tmp_path)) == 0
    assert not tmp_path.exists()


def test_a_running_cluster_is_not_started_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _pretend(tmp_path, Process.of(os.getpid()))
    assert _run("up", "--dir", str(tmp_path)) == 0
    assert "runs already at https://127.0.0.1:1" in capsys.readouterr().out


def test_a_kubeconfig_of_no_cluster_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("kubeconfig", "--user", "webhook") == 1
    assert "kudo-cluster: no cluster runs in " in capsys.readouterr().err


def test_attaching_needs_a_cluster_that_runs(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="no cluster runs in"):
        Cluster.attach(tmp_path)
    _pretend(tmp_path, Process(pid=os.getpid(), started=1, boot=""))
    with pytest.raises(ClusterError, match="has died, or a process of it"):
        Cluster.attach(tmp_path)


def test_unknown_identities_and_programs_are_refused(tmp_path: Path) -> None:
    _pretend(tmp_path, Process.of(os.getpid()))
    cluster = Cluster.attach(tmp_path)
    assert cluster.binary("kubectl") == Path("/k")
    with pytest.raises(ClusterError, match="no program helm; choose one of kubectl"):
        cluster.binary("helm")
    with pytest.raises(ValueError, match="no identity 'root'"):
        cluster.kubeconfig("root")  # type: ignore[arg-type]


def test_every_component_listens_on_the_loopback_interface_only(tmp_path: Path) -> None:
    layout, ports = Layout(tmp_path), Ports.pick()
    described = [describe(layout, ports) for describe in (storage, controller_manager, scheduler)]
    described += [apiserver(layout, ports, LoopbackNetwork()), kwok(layout, ports)]
    for component in described:
        listening = [
            argument
            for argument in component.arguments
            if argument.startswith(("--listen", "--bind-address", "--server-address"))
        ]
        assert listening
        assert all("127.0.0.1" in argument for argument in listening)
        assert "0.0.0.0" not in " ".join(component.arguments)


def test_a_real_node_needs_root(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert _run("up", "--profile", "node", "--dir", str(tmp_path)) == 1
    assert "kudo-cluster: a real node needs root" in capsys.readouterr().err


def test_the_status_tells_a_real_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here = Process.of(os.getpid())
    found = dataclasses.replace(_pretend(tmp_path, here), sandbox=here)
    found.write(tmp_path)
    assert _run("status", "--dir", str(tmp_path)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("cluster demo (node) at ")
    assert lines[3].split() == ["sandbox", str(os.getpid()), "-", "running"]


def test_simulated_nodes_take_no_image(tmp_path: Path) -> None:
    _pretend(tmp_path, Process.of(os.getpid()))
    with pytest.raises(ClusterError, match="are simulated and run no images"):
        Cluster.attach(tmp_path).import_image(tmp_path / "image.tar")


def test_a_real_node_stays_alone(tmp_path: Path) -> None:
    here = Process.of(os.getpid())
    dataclasses.replace(_pretend(tmp_path, here), sandbox=here).write(tmp_path)
    with pytest.raises(ClusterError, match="has a real node: cannot add"):
        Cluster.attach(tmp_path).add_node("node-2")
