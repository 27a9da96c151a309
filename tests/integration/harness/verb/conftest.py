"""A folder with cases, and `kubectl kudo test` in it, on a real API server."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from kubeio.client import Client
from kubeio.errors import NotFound
from kubeio.resource import NAMESPACES
from tests.support.cluster.commands import Done, environment
from tests.support.cluster.waiting import DEADLINE
from tests.support.cluster.world import World

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"


@dataclass(frozen=True)
class Verb:
    """Runs `kubectl kudo test` as a program.

    Attributes:
        folder: The working directory.
        temporary: For its temporary files.
        admin: An admin's connection.
        environment: Of the program.
    """

    folder: Path
    temporary: Path
    admin: Client
    environment: dict[str, str]

    def case(self, name: str, **files: str) -> Path:
        """Write a case; `a_b` is the file `a-b.yaml`, after the number 00 unless it has one."""
        folder = self.folder / "e2e" / name
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            (folder / f"00-{file.replace('_', '-')}.yaml").write_text(text)
        return folder

    async def test(self, *arguments: str) -> Done:
        async with self.running("test", *arguments) as process:
            stdout, stderr = await process.communicate()
        return Done(process.returncode or 0, stdout.decode(), stderr.decode())

    @asynccontextmanager
    async def running(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            # Below `nohup`, which tests may run under, SIGHUP would be ignored, and the run go on.
            *("env", "--default-signal=HUP"),
            sys.executable,
            "-m",
            "kubectl_kudo",
            *arguments,
            cwd=self.folder,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()

    def left(self) -> list[str]:
        """Return the names of temporary files that are left."""
        return [path.name for path in self.temporary.iterdir()]

    async def is_deleted(self, namespace: str) -> bool:
        try:
            found = await self.admin.get(NAMESPACES, namespace)
        except NotFound:
            return True
        return bool(found["metadata"].get("deletionTimestamp"))


async def until(process: asyncio.subprocess.Process, text: str, *, err: bool = False) -> str:
    """Read lines until one has a text; return them."""
    stream = process.stderr if err else process.stdout
    assert stream is not None
    shown = ""
    try:
        async with asyncio.timeout(DEADLINE):
            while text not in shown.rpartition("\n")[0].rpartition("\n")[2]:
                line = (await stream.readline()).decode()
                assert line, f"{text!r} was not printed:\n{shown}"
                shown += line
    except TimeoutError:
        reason = f"waited {DEADLINE:.0f} s in vain for {text!r}, after:\n{shown}"
        raise AssertionError(reason) from None
    return shown


async def interrupt(process: asyncio.subprocess.Process, number: signal.Signals) -> Done:
    """Send a signal, and return how the program ends and what it still prints."""
    assert process.stdout is not None
    assert process.stderr is not None
    process.send_signal(number)
    printed = [bytearray(), bytearray()]

    async def read(stream: asyncio.StreamReader, into: bytearray) -> None:
        while part := await stream.read(1 << 16):
            into += part

    try:
        async with asyncio.timeout(DEADLINE):
            streams = (process.stdout, process.stderr)
            await asyncio.gather(*map(read, streams, printed))
            code = await process.wait()
    except TimeoutError:
        shown = b"\n".join(printed).decode(errors="replace")
        reason = f"{DEADLINE:.0f} s after {number.name} it still runs; it printed since:\n{shown}"
        raise AssertionError(reason) from None
    return Done(code, *(one.decode() for one in printed))


@pytest.fixture
def verb(world: World, admin: Client, tmp_path: Path) -> Verb:
    cluster = world.installation.cluster
    folder, temporary = tmp_path / "work", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    programs = cluster.binary("kubectl").parent
    settings = {
        "KUBECONFIG": str(cluster.kubeconfig("admin")),
        "HOME": str(tmp_path),
        "TMPDIR": str(temporary),
        "PATH": f"{programs}:{os.environ['PATH']}",
    }
    return Verb(folder, temporary, admin, {**environment(), **settings})
