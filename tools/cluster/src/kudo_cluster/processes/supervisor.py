"""Supervisor: the parent of a cluster's processes, which ends them all when its own parent ends.

It runs as a program (``python -I -S supervisor.py PARENT_PID [--remove DIRECTORY]``), imports only
the standard library, and has a single thread. For PR_SET_PDEATHSIG the kernel treats the thread
that forked as the parent, and code between fork and exec is safe only if no other thread can hold a
lock.

Requests are JSON lines on stdin, answers are JSON lines on stdout:

    {"start": {"command": [...], "log": PATH, "environment": {...}}}  ->  {"pid": 123}
                                                               or  {"error": "..."}
    {"detach": true}  ->  {"detached": true}     from then on only a signal ends it

It kills all processes, and deletes the directory of ``--remove``, when stdin ends, when its parent
has changed (a fork of the parent would keep the pipe open) and on SIGTERM or SIGINT. As subreaper
it becomes the parent of the processes that its children leave behind, and kills those, too. If the
supervisor itself is killed, the kernel kills its children.

With ``--become COMMAND ...`` it supervises nothing, but executes the command, which the kernel
kills when the parent ends.
"""

import argparse
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_PARENT_CHECK = 0.5


class Stop(BaseException):
    """Ends the loop; the children are killed then."""


def die_with_parent(parent: int) -> Callable[[], None]:
    """Return a preexec_fn that makes the kernel kill the child when the parent ends."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def prepare() -> None:
        # If the parent ended before prctl, the kernel sends no signal.
        if prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0 or os.getppid() != parent:
            os._exit(127)

    return prepare


def adopt_orphans() -> None:
    """Become the parent of orphaned descendants (subreaper)."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    """Return the pids of the children of this process, including adopted orphans."""
    children = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            stat = path.read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        # The command name is in parentheses and may contain some.
        if int(stat.rpartition(")")[2].split()[1]) == os.getpid():
            children.append(int(path.parent.name))
    return children


class Supervisor:
    """Starts programs on request and kills them all at the end."""

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self._detached = False
        self._children: list[subprocess.Popen[bytes]] = []
        self._prepare = die_with_parent(os.getpid())

    def serve(self) -> None:
        """Answer requests until the parent ends or closes the pipe; raises Stop then."""
        received = b""
        while True:
            # Detached, the pipe is closed: its end would be read again and again.
            readable, _, _ = select.select([] if self._detached else [0], [], [], _PARENT_CHECK)
            self._reap()
            # A fork of the parent may hold the pipe open, so its end alone is not enough.
            if not self._detached and os.getppid() != self._parent:
                raise Stop
            if readable:
                chunk = os.read(0, 65536)
                if not chunk:
                    raise Stop
                *lines, received = (received + chunk).split(b"\n")
                for line in lines:
                    answer(self._handle(json.loads(line)))

    def kill_all(self) -> None:
        """Kill all children and their descendants, and wait for their end."""
        for child in self._children:
            child.kill()
        for child in self._children:
            child.wait()
        # Again and again: what is killed may leave children of its own.
        while orphans := children():
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
            # Any of them: each frees a place in the list above.
            os.waitpid(-1, 0)

    def _handle(self, request: dict[str, Any]) -> dict[str, Any]:
        if "detach" in request:
            self._detached = True
            return {"detached": True}
        start = request["start"]
        try:
            with Path(start["log"]).open("ab") as log:
                child = subprocess.Popen(
                    start["command"],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=start["environment"],
                    preexec_fn=self._prepare,
                )
        except (OSError, subprocess.SubprocessError) as problem:
            return {"error": str(problem)}
        self._children.append(child)
        return {"pid": child.pid}

    def _reap(self) -> None:
        # Otherwise a component that has ended would stay a zombie, and keep its pid.
        for child in self._children:
            child.poll()


def answer(message: dict[str, Any]) -> None:
    """Write one line to stdout; raises Stop if the parent has closed the pipe."""
    try:
        os.write(1, json.dumps(message).encode() + b"\n")
    except BrokenPipeError as gone:
        raise Stop from gone


def become(command: list[str], parent: int) -> NoReturn:
    """Execute another program, which the kernel kills when the parent ends."""
    die_with_parent(parent)()
    os.execvp(command[0], command)


def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the handler's signature
    """Raise Stop on a signal."""
    raise Stop


def main() -> int:
    """Run the supervisor, or the command of ``--become``."""
    parser = argparse.ArgumentParser(description="Parent of a local cluster's processes.")
    parser.add_argument("parent", type=int)
    parser.add_argument("--remove", type=Path)
    parser.add_argument("--become", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if arguments.become:
        become(arguments.become, arguments.parent)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    adopt_orphans()
    supervisor = Supervisor(arguments.parent)
    try:
        supervisor.serve()
    except Stop:
        # A second signal must not interrupt the end, which would leave processes behind.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    finally:
        supervisor.kill_all()
        if arguments.remove is not None:
            # After the processes, which write into it.
            shutil.rmtree(arguments.remove, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
