"""The client of `kudo-cluster run`, with small programs in its place; no cluster is started."""

import asyncio
import os
import signal
import sys
import time
from importlib.resources import files
from pathlib import Path

import pytest

from kudo_harness.findings import Place
from kudo_harness.host import HarnessError
from kudo_harness.planning.plan import Plan, PlannedNode, Substitution, Where
from kudo_harness.target import RunningCluster, cluster_program

READY = """
import json, os, sys, time
def say(**message): print(json.dumps(message), flush=True)
say(ready={"server": "https://127.0.0.1:1", "kubeconfigs": {"admin": "/c/admin"},
           "programs": ["/c/bin"], "directory": "/c"})
"""
ASKED = Substitution(Place("kudo-test.yaml", 3), "startKIND", "a cluster")

CRDS = files("kubectl_kudo") / "manifests" / "crds.yaml"


def plan(*nodes: PlannedNode) -> Plan:
    return Plan(
        where=Where.OWN,
        asked=ASKED,
        nodes=nodes or (PlannedNode(),),
        substitutions=(),
        commands=(),
        warnings=(),
        steps={},
    )


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a `kudo-cluster` that comes first in the PATH; the test writes it."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    path = tmp_path / "kudo-cluster"
    path.touch(mode=0o755)
    return path


def write(program: Path, text: str) -> None:
    write_text(program, f"#!{sys.executable}\n{text}")


def write_text(program: Path, text: str) -> None:
    program.write_text(text)


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


async def test_a_cluster_is_started_with_the_planned_nodes(program: Path) -> None:
    write(
        program, f"{READY}\nsys.stdin.readline()\nsay(logs={{'arguments': ' '.join(sys.argv[1:])}})"
    )
    cluster = await RunningCluster.start(plan(PlannedNode(), PlannedNode()), CRDS)
    assert cluster.kubeconfig == Path("/c/admin")
    assert cluster.programs == (Path("/c/bin"),)
    assert await cluster.logs() == {"arguments": "run --nodes=2"}
    await cluster.stop()
    await cluster.stop()


async def test_kudo_is_installed_with_the_crds_of_this_plugin(program: Path) -> None:
    text = """
crds = json.loads(sys.stdin.readline())["install"]["crds"]
say(done="install") if "instances.kudo.dev" in open(crds).read() else say(error="no CRDs")
"""
    write(program, READY + text)
    cluster = await RunningCluster.start(plan(), CRDS)
    await cluster.install_kudo()
    await cluster.stop()


async def test_an_error_of_the_program_is_told(program: Path) -> None:
    write(program, f"{READY}\nsys.stdin.readline()\nsay(error='the webhook ended: no rights')")
    cluster = await RunningCluster.start(plan(), CRDS)
    with pytest.raises(HarnessError, match=r"^the webhook ended: no rights$"):
        await cluster.restart("webhook")
    await cluster.stop()


async def test_a_program_that_ends_at_the_start_is_told(program: Path) -> None:
    write(program, "raise SystemExit(3)")
    with pytest.raises(HarnessError, match="kudo-cluster has ended with exit code 3"):
        await RunningCluster.start(plan(), CRDS)


async def test_a_program_that_ends_later_is_told(program: Path) -> None:
    write(program, READY)
    cluster = await RunningCluster.start(plan(), CRDS)
    with pytest.raises(HarnessError, match="kudo-cluster has ended with exit code 0"):
        await cluster.install_kudo()
    await cluster.stop()


async def test_a_cluster_that_does_not_start_is_told(program: Path) -> None:
    write(program, f"{READY.replace('say(ready=', 'x = dict(ready=')}\nsay(error='no Go')")
    with pytest.raises(HarnessError, match=r"^no Go$"):
        await RunningCluster.start(plan(), CRDS)


async def test_a_program_that_cannot_be_executed_is_told(program: Path) -> None:
    write_text(program, "no program")
    with pytest.raises(HarnessError, match="kudo-cluster cannot be started: Exec format error"):
        await RunningCluster.start(plan(), CRDS)


async def test_after_an_interrupted_request_no_answer_is_taken_for_another(program: Path) -> None:
    text = """
sys.stdin.readline()
open(sys.argv[0] + ".asked", "w").close()
sys.stdin.read()
say(done="too late")
"""
    write(program, READY + text)
    cluster = await RunningCluster.start(plan(), CRDS)
    asking = asyncio.create_task(cluster.install_kudo())
    await asyncio.to_thread(wait_for, Path(f"{program}.asked"))
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    with pytest.raises(HarnessError, match="interrupted"):
        await cluster.restart("reconciler")
    await cluster.stop()


async def test_a_cluster_that_is_kept_outlives_this_process(program: Path) -> None:
    text = """
sys.stdin.readline()
say(kept={"pid": os.getpid()})
sys.stdin.read()
open(sys.argv[0] + ".ended", "w").close()
time.sleep(600)
"""
    write(program, READY + text)
    cluster = await RunningCluster.start(plan(), CRDS)
    advice = await cluster.keep()
    pid = int(advice.removeprefix("kill "))
    await asyncio.to_thread(wait_for, Path(f"{program}.ended"))
    await cluster.stop()
    os.kill(pid, signal.SIGKILL)
    _, status = await asyncio.to_thread(os.waitpid, pid, 0)
    assert status == signal.SIGKILL


def test_a_missing_program_is_told_with_the_line_that_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    python = str(tmp_path / "python")
    with pytest.raises(HarnessError) as caught:
        cluster_program(ASKED, python=python)
    assert str(caught.value) == (
        "kudo-test.yaml:3: startKIND needs the program kudo-cluster, which is neither on the PATH "
        f"nor beside {python}: install it with the services from the repository of KUDO (make "
        "setup; see docs/local-cluster.md), or run the suite on another cluster with --kubeconfig"
    )


def test_the_program_beside_python_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / "kudo-cluster").touch()
    found = cluster_program(None, python=str(tmp_path / "python"))
    assert found == tmp_path / "kudo-cluster"
