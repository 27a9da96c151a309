"""The demo on the cluster of the current context: it works there, and nothing of it stays."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.progress import silent

ROOT = Path(__file__).resolve().parents[3]
_PACKAGE = ROOT / "tools/cluster/src/kudo_cluster"
_KINDS = "crds,namespaces,clusterroles,clusterrolebindings,validatingwebhookconfigurations"
_KINDS += ",mutatingwebhookconfigurations,validatingadmissionpolicies"
_KINDS += ",validatingadmissionpolicybindings"
_DEMO = [sys.executable, str(ROOT / "tools/demo/demo.py"), "--context", "current"]


def environment(cluster: Cluster, tmp_path: Path) -> dict[str, str]:
    path = os.pathsep.join([str(cluster.binary("kubectl").parent), os.environ["PATH"]])
    kubeconfig = str(cluster.kubeconfig("admin"))
    cache = str(tmp_path / "cache")
    return {**os.environ, "PATH": path, "KUBECONFIG": kubeconfig, "KUBECACHEDIR": cache}


def command(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        arguments, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        check=False,
    )  # fmt: skip


@pytest.fixture
def somebodys() -> Iterator[Cluster]:
    """Yield a cluster as somebody else has it: without KUDO's namespace and rights."""
    with Cluster.start(progress=silent) as started:
        kubectl = (str(started.binary("kubectl")), f"--kubeconfig={started.kubeconfig('admin')}")
        for rights in ("chart-rbac.yaml", "rbac.yaml"):
            subprocess.run([*kubectl, "delete", "-f", str(_PACKAGE / rights)], check=True)
        yield started


def test_where_kudo_is_installed_the_demo_does_nothing(
    installation: Installation, cluster: Cluster, tmp_path: Path
) -> None:
    there = environment(cluster, tmp_path)

    refused = command(there, *_DEMO)

    assert refused.returncode == 1
    assert "exists in this cluster already" in refused.stderr
    assert command(there, "kubectl", "get", "namespace", "kudo-demo").returncode == 1


@pytest.mark.campaign
def test_the_demo_leaves_a_cluster_as_it_was(somebodys: Cluster, tmp_path: Path) -> None:
    there = environment(somebodys, tmp_path)
    before = command(there, "kubectl", "get", _KINDS, "--output=name").stdout
    shown = command(there, *_DEMO)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "kubectl kudo upgrade" in shown.stdout
    assert "not removed" not in shown.stderr
    assert command(there, "kubectl", "get", _KINDS, "--output=name").stdout == before

    command(there, "kubectl", "create", "namespace", "kudo-demo")
    refused = command(there, *_DEMO)
    command(there, "kubectl", "delete", "namespace", "kudo-demo")
    assert refused.returncode == 1
    assert "namespace/kudo-demo exists in this cluster already" in refused.stderr
