"""Kubectl itself completes `kubectl kudo`, with the names that the cluster has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cluster.world import World

EXAMPLE = Path(__file__).parents[4] / "examples" / "first-operator"


@pytest.fixture
async def installed(world: World) -> World:
    done = await world.kudo("install", str(EXAMPLE), "--instance", "hello")
    assert done.code == 0, done.stderr
    return world


@pytest.fixture
async def on_path(world: World, tmp_path: Path) -> Path:
    """Return a folder with the plugin, and with what `completion kubectl` prints."""
    script = tmp_path / "kubectl_complete-kudo"
    script.write_text((await world.kudo("completion", "kubectl")).stdout)
    script.chmod(0o755)
    (tmp_path / "kubectl-kudo").symlink_to(Path(sys.executable).with_name("kubectl-kudo"))
    return tmp_path


async def test_kubectl_offers_commands_instances_plans_and_parameters(
    installed: World, on_path: Path
) -> None:
    def offered(*words: str) -> list[str]:
        cluster = installed.installation.cluster
        environment = {
            **os.environ,
            "PATH": f"{on_path}{os.pathsep}{os.environ['PATH']}",
            "KUBECONFIG": str(cluster.kubeconfig("user")),
        }
        command = [str(cluster.binary("kubectl")), "__complete", "kudo", *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, check=True, text=True, timeout=60
        )
        *lines, _ = done.stdout.splitlines()
        return [line.partition("\t")[0] for line in lines]

    here = ("-n", installed.namespace)
    assert offered("plan", "t") == ["trigger"]
    assert offered("plan", "status", *here, "--instance", "") == ["hello"]
    assert offered("plan", "trigger", *here, "--instance", "hello", "--name", "che") == ["check"]
    assert offered("update", *here, "--instance", "hello", "-p", "rep") == ["replicas="]
    # Others have namespaces in this cluster, more than one page of them.
    assert installed.namespace in offered("plan", "status", "-n", installed.namespace[:-2])
