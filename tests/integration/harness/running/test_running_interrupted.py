"""Interrupted and killed runs: what they made is deleted."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubectl_kudo.commands.test.host import HOST
from kubeio.resource import CONFIG_MAPS
from kudo_harness.host import HarnessError
from kudo_harness.running.cleanup import clean_run, is_clean
from kudo_harness.running.record import NAME, is_running, process_started, read_record
from tests.integration.harness.running.suites import HEAD, Runs, config_map, step

ROOT = Path(__file__).resolve().parents[4]
_SECONDS = 120
_READY = "the command runs as"
_STUBBORN = f"trap '' TERM; echo {_READY} $$; while true; do sleep 1; done"


@dataclass
class Program:
    """A run in a process of its own, and what it has printed."""

    process: subprocess.Popen[str]
    folder: Path
    printed: str = ""

    def until(self, text: str) -> str:
        """Read on to a line that contains a text, and return it."""
        assert self.process.stdout is not None
        # Its end ends the output, and with it the wait for a line that never comes.
        limit = threading.Timer(_SECONDS, self.process.kill)
        limit.start()
        try:
            for line in self.process.stdout:
                self.printed += line
                if text in line:
                    return line
        finally:
            limit.cancel()
        raise AssertionError(f"no {text!r} within {_SECONDS} s in:\n{self.printed}")

    def interrupt(self, number: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(number)

    def end(self) -> str:
        """Wait for the end, and return everything that was printed."""
        try:
            rest, _ = self.process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired as late:
            shown = self.printed + (late.stdout or b"").decode(errors="replace")
            reason = f"it still runs after {_SECONDS} s; it printed:\n{shown}"
            raise AssertionError(reason) from None
        self.printed += rest
        return self.printed

    @property
    def namespace(self) -> str:
        found = re.search(r"namespace (run-\w+) created", self.printed)
        assert found, self.printed
        return found[1]


@pytest.fixture
def program(runs: Runs) -> Iterator[Program]:
    """Yield a run whose first step has applied objects and whose second waits for ever."""
    runs.write(
        {
            "kudo-test.yaml": HEAD,
            "tests/one/00-install.yaml": config_map("a") + "---\n" + config_map("apart", "default"),
            "tests/one/01-wait.yaml": step(commands=[{"script": _STUBBORN, "timeout": -1}]),
            "state/.keep": "",
        }
    )
    command = [
        *(sys.executable, "-m", "tests.integration.harness.running.program"),
        *(str(runs.folder), str(runs.kubeconfig), str(runs.programs)),
    ]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    program = Program(process, runs.folder / "state")
    try:
        program.until(f"| {_READY} ")
        yield program
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        if _READY in program.printed and _lives(script := _process_in(program.printed)):
            os.kill(script, signal.SIGKILL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_stops_the_commands_and_deletes_what_the_run_made(
    runs: Runs, program: Program, number: signal.Signals
) -> None:
    command = _process_in(program.printed)
    program.interrupt(number)
    printed = await asyncio.to_thread(program.end)
    assert "interrupted=True one=False" in printed
    assert not _lives(command)
    assert await runs.is_deleted(program.namespace)
    assert not await runs.exists(CONFIG_MAPS, "apart", "default")
    assert is_clean(program.folder)
    assert program.process.returncode == 0


async def test_a_second_signal_leaves_everything_and_says_how_to_delete_it(
    runs: Runs, program: Program
) -> None:
    command = _process_in(program.printed)
    program.interrupt()
    # The command ignores SIGTERM, and the log says that it was sent.
    await asyncio.to_thread(program.until, "interrupted:")
    program.interrupt()
    printed = await asyncio.to_thread(program.end)
    assert not _lives(command)
    kubeconfig = runs.kubeconfig
    assert f"kubectl --kubeconfig {kubeconfig} delete namespaces/{program.namespace}" in printed
    apart = "delete configmaps/apart --namespace default"
    assert f"kubectl --kubeconfig {kubeconfig} {apart}" in printed
    assert "configmaps/a --namespace" not in printed
    assert not await runs.is_deleted(program.namespace)
    said: list[str] = []
    assert await _clean(program, said)
    assert not await runs.exists(CONFIG_MAPS, "apart", "default")
    assert await runs.is_deleted(program.namespace)


async def test_what_a_killed_run_has_left_is_deleted_from_its_record(
    runs: Runs, program: Program
) -> None:
    command = _process_in(program.printed)
    program.interrupt(signal.SIGKILL)
    await asyncio.to_thread(program.end)
    assert _lives(command)
    said: list[str] = []
    assert await _clean(program, said)
    assert await runs.is_deleted(program.namespace)
    assert not await runs.exists(CONFIG_MAPS, "apart", "default")
    assert not _lives(command)
    assert is_clean(program.folder)
    with pytest.raises(HarnessError, match="nothing is left"):
        await _clean(program, said)


async def test_a_run_whose_log_nobody_reads_any_more_cleans_up(
    runs: Runs, program: Program
) -> None:
    assert program.process.stdout is not None
    program.process.stdout.close()
    program.interrupt()
    await asyncio.to_thread(program.process.wait)
    assert await runs.is_deleted(program.namespace)
    assert not await runs.exists(CONFIG_MAPS, "apart", "default")
    assert is_clean(program.folder)


async def test_a_run_that_has_not_ended_is_not_cleaned(program: Program) -> None:
    with pytest.raises(HarnessError, match=f"still runs as process {program.process.pid}"):
        await _clean(program, [])


async def test_an_object_that_somebody_else_has_created_since_stays(
    runs: Runs, program: Program
) -> None:
    program.interrupt(signal.SIGKILL)
    await asyncio.to_thread(program.end)
    await runs.client.delete(CONFIG_MAPS, "apart", namespace="default")
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "apart"}}
    await runs.client.create(CONFIG_MAPS, other, namespace="default")
    assert await _clean(program, [])
    assert await runs.exists(CONFIG_MAPS, "apart", "default")
    await runs.client.delete(CONFIG_MAPS, "apart", namespace="default")


async def test_an_object_that_may_not_have_been_created_is_told_and_stays(
    runs: Runs, program: Program
) -> None:
    program.interrupt(signal.SIGKILL)
    await asyncio.to_thread(program.end)
    # As if it had been killed right before the answer to its request.
    path = program.folder / NAME
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(one for one in lines if '"name": "apart", "uid"' not in one))
    said: list[str] = []
    assert not await _clean(program, said)
    assert await runs.exists(CONFIG_MAPS, "apart", "default")
    assert any("stays: the run ended before it was known" in one for one in said), said
    assert [one.name for one in read_record(program.folder).record.objects_of(None)] == ["apart"]
    await runs.client.delete(CONFIG_MAPS, "apart", namespace="default")
    assert await _clean(program, said)


async def _clean(program: Program, said: list[str]) -> bool:
    return await clean_run(program.folder, HOST.user_agent, said.append, wait_until_gone=False)


def _process_in(printed: str) -> int:
    found = re.search(rf"\| {_READY} (\d+)", printed)
    assert found, printed
    return int(found[1])


def _lives(process: int) -> bool:
    if not is_running(process, process_started(process)):
        return False
    state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"
