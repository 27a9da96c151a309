"""Commands as a user starts them, with no kubeconfig but the one that they name."""

import asyncio
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_HOME = Path(__file__).parent / "kudo_home"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return self.stdout + self.stderr


async def run(command: Sequence[str], *, text: str | None = None) -> Done:
    done = await asyncio.to_thread(
        subprocess.run,
        command,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    return Done(done.returncode, done.stdout, done.stderr)


def environment() -> dict[str, str]:
    """Return our environment variables; none names a kubeconfig, and no repository is known."""
    return {**os.environ, "KUBECONFIG": os.devnull, "KUDO_HOME": str(_HOME)}
