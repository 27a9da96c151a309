"""The suites of examples with asserts for real nodes, where containers run."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.support.cluster.commands import environment
from tests.support.cluster.world import World

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("case", ["pipe-page", "guestbook-upgrade", "guestbook-runbook"])
async def test_a_case_passes_where_containers_run(world: World, case: str) -> None:
    cluster = world.installation.cluster
    programs = f"{Path(sys.executable).parent}:{cluster.binary('kubectl').parent}"
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("kubectl-kudo")),
        "test",
        "examples/",
        f"--test=^{case}$",
        f"--kubeconfig={cluster.kubeconfig('admin')}",
        "--test-run-labels=nodes=real",
        "--timeout=2m",
        cwd=ROOT,
        env={**environment(), "PATH": f"{programs}:{os.environ['PATH']}"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()
    assert b"The case passed" in output
