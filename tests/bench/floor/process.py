"""The process of the protocol floor, as the bench sees it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from tests.bench.floor.recording import Json, facts_before, facts_of


class FloorProcess:
    """A running `tests.bench.floor.client`; see `floor_process`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def work_on(self, instance: Json) -> None:
        """Have the writes for an Instance sent, as soon as a connection is free."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(facts_of(instance)).encode() + b"\n")

    async def ended(self) -> None:
        """Wait for the process to end, which it does early only if a write fails.

        Raises:
            RuntimeError: it has ended.
        """
        code = await self._process.wait()
        raise RuntimeError(f"the floor's client ended with code {code}; its traceback is above")


@asynccontextmanager
async def floor_process(
    transport: str, kubeconfig: Path, recording: Path, keys: Iterable[tuple[str, str]]
) -> AsyncIterator[FloorProcess]:
    """Start a client of the floor, and end it with the block.

    Args:
        transport: What it sends through.
        kubeconfig: As whom.
        recording: File with the run whose writes are sent.
        keys: The Instances to come.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.floor.client"),
        f"--transport={transport}",
        f"--kubeconfig={kubeconfig}",
        f"--recording={recording}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        # As the services: the kernel shares CPU time out among sessions.
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        known = [facts_before(*key) for key in keys]
        process.stdin.write(json.dumps(known).encode() + b"\n")
        if not await process.stdout.readline():
            raise RuntimeError("the floor's client did not start; its traceback is above")
        yield FloorProcess(process)
    finally:
        process.stdin.close()
        await process.wait()
