"""Runs on a cluster that the harness starts and ends."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.integration.harness.running.suites import config_map, step

SUITE = """\
apiVersion: kuttl.dev/v1beta1
kind: TestSuite
startControlPlane: true
testDirs: [tests]
"""


async def test_an_interrupted_run_ends_its_cluster_and_leaves_nothing(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    case = tmp_path / "tests" / "one"
    for folder in (temporary, case):
        folder.mkdir(parents=True)
    (tmp_path / "kudo-test.yaml").write_text(SUITE)
    (case / "00-a.yaml").write_text(config_map("a") + "---\n" + config_map("b", "default"))
    waits = "kubectl cluster-info | head -1; echo it waits; sleep 1000"
    (case / "01-wait.yaml").write_text(step(commands=[{"script": waits, "timeout": -1}]))
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).with_name("kubectl-kudo"),
        *("test", "-v", "1"),
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary), "KUBECONFIG": os.devnull},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout is not None
    shown = ""
    while "| it waits" not in shown:
        line = (await process.stdout.readline()).decode()
        assert line, shown
        shown += line
    process.send_signal(signal.SIGINT)
    rest, _ = await process.communicate()
    shown += rest.decode()
    assert process.returncode == 130, shown
    assert "The run was interrupted." in shown
    # Nothing has to be deleted, so nothing is left.
    assert "are left" not in shown
    assert list(temporary.glob("kudo-test-*")) == []
    server = shown.partition("running at ")[2].split()[0].replace("\x1b[0m", "")
    assert server.startswith("https://"), shown
    host, _, port = server.removeprefix("https://").replace("\x1b[33m", "").rpartition(":")
    assert not await _listens(host, int(port))


async def _listens(host: str, port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(host, port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
