"""A context of a kubeconfig: what is local, and when the demo asks. No API server."""

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
    """Return the environment of a kubectl that knows two contexts and fails at whatever else."""
    document = {
        "clusters": [{"name": "far", "cluster": {"server": "https://kubernetes.example.com"}}],
        "contexts": [{"name": "far", "context": {"cluster": "far", "user": "me"}}],
        "users": [{"name": "me", "user": {"token": "t"}}],
        "current-context": "far",
    }
    program = tmp_path / "kubectl"
    asked = tmp_path / "asked"
    other = json.dumps(document).replace("far", "other").replace("kubernetes", "other")
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f"'config view '*--context=other) echo '{other}'; exit;;\n"
        f"'config view '*--context=*) echo 'no such context' >&2; exit 1;;\n"
        f"'config view '*) echo '{json.dumps(document)}'; exit;;\n"
        "esac\n"
        f'echo "$@" >> {asked}; exit 1\n'
    )
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("name", "server"),
    [("current", "https://kubernetes.example.com"), ("other", "https://other.example.com")],
)
def test_a_cluster_elsewhere_is_not_touched_without_being_asked(
    kubectl: dict[str, str], tmp_path: Path, name: str, server: str
) -> None:
    demo = [sys.executable, str(ROOT / "tools/demo/demo.py"), "--context", name]
    done = subprocess.run(
        demo, env=kubectl, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"{server} is not on this machine" in done.stderr
    assert "--yes" in done.stderr
    assert not (tmp_path / "asked").exists()


def test_a_context_that_does_not_exist_is_named(kubectl: dict[str, str]) -> None:
    with pytest.raises(ClusterError, match="cannot read context typo: no such context; see"):
        current.read(kubectl, "typo")
