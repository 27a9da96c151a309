"""Runs programs, reports why one failed, and checks that all are installed that builds need."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


class DeliveryError(Exception):
    """A step failed; the message, which is printed unchanged, says what happened and what to do."""


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
    # Both: builds report what failed on either of them.
    output = done.stdout + done.stderr
    if log is not None:
        log.write_text(output, encoding="utf-8")
    if done.returncode:
        shown = " ".join(map(str, command))
        end = "\n".join(output.strip().splitlines()[-_TAIL:])
        raise DeliveryError(f"{shown}\nfailed with exit code {done.returncode}:\n{end}")
    return done.stdout


PACKAGES = {
    "buildah": "buildah",
    "debootstrap": "debootstrap",
    "docker-compose": "docker-compose",
    "setpriv": "util-linux",
    "unshare": "util-linux",
}
"""The Debian package of each program."""


def check(*, user: int | None = None, find: Callable[[str], str | None] = shutil.which) -> None:
    """Raise DeliveryError, with what to do, unless images can be built here.

    Args:
        user: the uid that would build; by default that of this process.
        find: returns the path of a program, None if there is none.
    """
    # Before root is asked for: who installs programs needs it anyway.
    if missing := sorted({package for name, package in PACKAGES.items() if find(name) is None}):
        raise DeliveryError(
            "building images needs programs that are not installed. On Debian and Ubuntu: "
            f"apt-get install --yes --no-install-recommends {' '.join(missing)}"
        )
    if (os.geteuid() if user is None else user) != 0:
        raise DeliveryError(
            "building images here needs root: run `sudo make images`. Where Docker is at hand, "
            "nothing of this is needed: `docker build --target webhook .`"
        )
