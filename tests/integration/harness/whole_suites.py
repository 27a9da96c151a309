"""Runs `kubectl kudo test` with whole suites, on clusters that it starts itself."""

import asyncio
import os
import sys
from pathlib import Path

from tests.support.cluster.commands import Done, environment


async def kudo_test(folder: Path, *arguments: str) -> Done:
    """Run the command in a folder, with programs of this installation alone."""
    programs = Path(sys.executable).parent
    process = await asyncio.create_subprocess_exec(
        str(programs / "kubectl-kudo"),
        "test",
        *arguments,
        cwd=folder,
        env={**environment(), "PATH": f"{programs}:{os.environ['PATH']}"},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    stdout, stderr = await process.communicate()
    return Done(process.returncode or 0, stdout.decode(), stderr.decode())


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
