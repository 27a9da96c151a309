"""Runs programs, and reports why one failed."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.images.errors import DeliveryError

_TAIL = 25


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> str:
    """Run a program and return what it printed on standard output.

    Args:
        command: the program and its arguments.
        cwd: where it runs; by default here.
        environ: its whole environment; by default ours.
        log: a file that receives all of its output.

    Raises:
        DeliveryError: it failed or is not installed; the text holds the end of its output.
    """
    try:
        done = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True)
    except FileNotFoundError:
        raise DeliveryError(f"{command[0]} is not installed") from None
    output = done.stdout + done.stderr
    if log is not None:
        log.write_text(output, encoding="utf-8")
    if done.returncode:
        shown = " ".join(map(str, command))
        end = "\n".join(output.strip().splitlines()[-_TAIL:])
        raise DeliveryError(f"{shown}\nfailed with exit code {done.returncode}:\n{end}")
    return done.stdout
