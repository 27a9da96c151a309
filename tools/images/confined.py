"""Runs a program in the root directory of an image as a restricted pod does, without a cluster.

The root is read-only, the user is 65532, there is no capability and no way to gain one. What a pod
has besides, such as limits and a network of its own, is left to tests on a node.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

USER = 65532
_STOP_SECONDS = 30
_PREPARE = """
root=$1 user=$2
shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
exec unshare --root="$root" --setgid="$user" --setuid="$user" -- "$@"
"""


def command(root: Path, program: Sequence[str]) -> list[str]:
    """Return what to run, as root, so that a program runs confined.

    Args:
        root: the unpacked image.
        program: its path inside, and its arguments.
    """
    outer = ["setpriv", "--clear-groups", "--no-new-privs", "--inh-caps=-all"]
    spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    return [*outer, *spaces, "sh", "-euc", _PREPARE, "confined", str(root), str(USER), *program]


def run(
    root: Path, program: Sequence[str], environ: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end.

    Args:
        root: the unpacked image.
        program: its path inside, and its arguments.
        environ: the environment of the image, and nothing else.
    """
    return subprocess.run(
        command(root, program), env=dict(environ), capture_output=True, text=True, timeout=120
    )


@contextlib.contextmanager
def running(
    root: Path, program: Sequence[str], environ: Mapping[str, str], log: Path
) -> Iterator[int]:
    """Start a service and yield its pid; at the end SIGTERM is sent, and must stop it.

    Args:
        root: the unpacked image.
        program: its path inside, and its arguments.
        environ: the environment of the image, and nothing else.
        log: receives its output.
    """
    with log.open("wb") as stream:
        outer = subprocess.Popen(
            command(root, program), env=dict(environ), stdout=stream, stderr=stream
        )
    service = _child(outer)
    try:
        yield service
    finally:
        # What came first ignores signals and waits for its child, which is the service.
        with contextlib.suppress(ProcessLookupError):
            os.kill(service, signal.SIGTERM)
        try:
            outer.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.kill(service, signal.SIGKILL)
            outer.wait()
            raise


def _child(process: subprocess.Popen[bytes]) -> int:
    """Return the pid of the one child of a process, as soon as there is one."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        if children := listed.read_text(encoding="ascii").split():
            return int(children[0])
        time.sleep(0.01)
    raise ProcessLookupError(f"{process.args!r} ended with exit code {process.returncode}")


def environment(image: Mapping[str, object]) -> dict[str, str]:
    """Return the environment that the configuration of an image sets."""
    config = image["config"]
    assert isinstance(config, dict)
    return dict(entry.split("=", 1) for entry in config["Env"])
