"""Runs `kubectl kudo test` with whole suites."""

import asyncio
import os
import sys
from pathlib import Path

from kudo_cluster.installation import Host
from tests.support.cluster.commands import Done, environment


async def kudo_test(folder: Path, *arguments: str, on: Host | None = None) -> Done:
    """Run the command in a folder, with programs of this installation alone.

    Args:
        folder: The working directory.
        arguments: Of the command.
        on: A cluster that runs already; else the command starts one itself.
    """
    programs = path = str(Path(sys.executable).parent)
    if on is not None:
        arguments = (*arguments, f"--kubeconfig={on.kubeconfig('admin')}")
        path = f"{path}:{on.binary('kubectl').parent}"
    process = await asyncio.create_subprocess_exec(
        f"{programs}/kubectl-kudo",
        "test",
        *arguments,
        cwd=folder,
        env={**environment(), "PATH": f"{path}:{os.environ['PATH']}"},
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
