"""Runs the suite of a folder as a program, for tests that interrupt or kill it.

It prints the log as it comes, and at the end whether the run was interrupted and what passed.
"""

import asyncio
import os
import sys
from pathlib import Path

from kubectl_kudo.commands.test.host import HOST
from kubeio.client import Client
from kubeio.connection.config import load_config
from kudo_harness.running.log import RunOptions
from kudo_harness.running.waiting import Interruption, listening
from kudo_harness.target import Target
from tests.integration.harness.running.suites import run_folder


class _Printed(list[str]):
    def append(self, line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()


async def main(folder: Path, kubeconfig: Path, programs: Path) -> None:
    interruption = Interruption()
    environment = dict(os.environ)
    options = RunOptions(folder / "state", folder, environment, interruption, wait_until_gone=False)
    with listening(interruption):
        await _run(options, kubeconfig, programs)


async def _run(options: RunOptions, kubeconfig: Path, programs: Path) -> None:
    async with Client(load_config(kubeconfig)) as client:
        target = Target(client, kubeconfig, (programs,), None, False, HOST)
        ran = await run_folder(target, options, _Printed(), {})
    cases = [f"{case.name}={case.passed}" for _, case in ran.result.cases]
    sys.stdout.write(f"interrupted={ran.result.interrupted} {' '.join(cases)}\n")


if __name__ == "__main__":
    asyncio.run(main(*map(Path, sys.argv[1:])))
