"""The process of the protocol floor, as the bench sees it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.bench.floor.recording import Json, facts_of


class FloorProcess:
    """A running `tests.bench.floor.client`; see `floor_process`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def deploy(self, created: Json) -> None:
        """Have the writes of an Instance sent, as soon as a connection is free."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(facts_of(created)).encode() + b"\n")

    async def ended(self) -> None:
        """Wait for the process to end, which it does early only if a write fails.

        Raises:
            RuntimeError: it has ended.
        """
        code = await self._process.wait()
        raise RuntimeError(f"the floor's client ended with code {code}; its traceback is above")


@asynccontextmanager
async def floor_process(
    transport: str, kubeconfig: Path, recording: Path
) -> AsyncIterator[FloorProcess]:
    """Start a client of the floor, and end it with the block."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.floor.client"),
        f"--transport={transport}",
        f"--kubeconfig={kubeconfig}",
        f"--recording={recording}",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        await process.stdout.readline()
        yield FloorProcess(process)
    finally:
        process.stdin.close()
        await process.wait()
