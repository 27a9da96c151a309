"""The current context of a kubeconfig: what is local, and when the demo asks. No API server."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kudo_cluster import current
from kudo_cluster.current import Context
from kudo_cluster.errors import ClusterError

ROOT = Path(__file__).resolve().parents[3]


def context(server: str) -> Context:
    document = {"clusters": [{"name": "c", "cluster": {"server": server}}]}
    return Context(Path("kubectl"), "c", document)


@pytest.mark.parametrize(
    ("server", "local"),
    [
        ("https://127.0.0.1:6443", True),
        ("https://127.8.8.8", True),
        ("https://localhost:6443", True),
        ("https://[::1]:6443", True),
        ("https://10.0.0.1:6443", False),
        ("https://localhost.example.com", False),
        ("https://127.0.0.1.example.com", False),
        ("https://kubernetes.example.com/k8s/127.0.0.1", False),
    ],
)
def test_a_loopback_address_is_local(server: str, local: bool) -> None:
    assert context(server).local is local


def test_without_kubectl_nothing_is_known(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="kubectl is not on the PATH"):
        current.read({"PATH": str(tmp_path)})


@pytest.fixture
def kubectl(tmp_path: Path) -> dict[str, str]:
    """Return the environment of a kubectl that knows one context and fails at whatever else."""
    document = {
        "clusters": [{"name": "far", "cluster": {"server": "https://kubernetes.example.com"}}],
        "contexts": [{"name": "far", "context": {"cluster": "far", "user": "me"}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "current-context": "far",
    }
    program = tmp_path / "kubectl"
    asked = tmp_path / "asked"
    view = f"[ \"$1 $2\" = 'config view' ] && echo '{json.dumps(document)}' && exit"
    program.write_text(f'#!/bin/sh\n{view}\necho "$@" >> {asked}; exit 1\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def test_a_cluster_elsewhere_is_not_touched_without_being_asked(
    kubectl: dict[str, str], tmp_path: Path
) -> None:
    demo = [sys.executable, str(ROOT / "tools/demo/demo.py"), "--current-context"]
    done = subprocess.run(
        demo, env=kubectl, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "https://kubernetes.example.com is not on this machine" in done.stderr
    assert "--yes" in done.stderr
    assert not (tmp_path / "asked").exists()
