"""Steps with a kubeconfig and a context of their own."""

import json
import uuid
from pathlib import Path

import pytest

from goyaml import load
from tests.integration.harness.running.suites import Runs, config_map, step


@pytest.fixture
def kubeconfig(runs: Runs, tmp_path: Path) -> Path:
    """Return a kubeconfig of the same cluster, whose current context is unusable."""
    content = load(runs.kubeconfig.read_text())
    assert isinstance(content, dict)
    context = content["contexts"][0]["context"]
    content["contexts"] = [
        {"name": "usable", "context": context},
        {"name": "broken", "context": {"cluster": "none", "user": "none"}},
    ]
    content["current-context"] = "broken"
    path = tmp_path / "tests" / "one" / "other.kubeconfig"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(content))
    return path


async def test_a_step_runs_on_the_cluster_of_its_kubeconfig_and_context(
    runs: Runs, kubeconfig: Path
) -> None:
    script = "kubectl config current-context; kubectl get configmaps -n $NAMESPACE -o name"
    ran = await runs.run(
        {
            "tests/one/00-there.yaml": step(
                kubeconfig=kubeconfig.name, context="usable", commands=[{"script": script}]
            )
            + "---\n"
            + config_map("a"),
            "tests/one/00-assert.yaml": config_map("a"),
        }
    )
    ran.passed()
    assert "| usable\n" in ran.log
    # Both are the same cluster, so the second one finds the namespace.
    assert "exists, and stays after the run" in ran.log
    assert await runs.is_deleted(ran.namespaces["one"])


async def test_a_kubeconfig_is_read_eagerly_unless_the_step_says_lazily(runs: Runs) -> None:
    write = f"cp {runs.kubeconfig} late.kubeconfig"
    lazy = step(kubeconfig="late.kubeconfig", kubeconfigLoading="Lazy")
    files = {
        "tests/one/00-write.yaml": step(commands=[{"script": write}]),
        "tests/one/01-late.yaml": lazy + "---\n" + config_map("a"),
        "tests/one/01-assert.yaml": config_map("a"),
    }
    (await runs.run(files)).passed()
    (runs.folder / "tests/one/late.kubeconfig").unlink()
    eager = lazy.replace("Lazy", "Eager")
    ran = await runs.run({**files, "tests/one/01-late.yaml": eager})
    assert "late.kubeconfig: no such file" in ran.why()
    assert {one.skipped for one in ran.steps()} == {"the case could not be prepared"}


async def test_an_unreachable_cluster_of_a_step_fails_the_step(runs: Runs) -> None:
    content = load(runs.kubeconfig.read_text())
    assert isinstance(content, dict)
    content["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    name = f"{uuid.uuid4().hex}.kubeconfig"
    ran = await runs.run(
        {
            f"tests/one/{name}": json.dumps(content),
            "tests/one/00-there.yaml": step(kubeconfig=name, kubeconfigLoading="Lazy"),
        }
    )
    assert "127.0.0.1:1" in ran.why()
