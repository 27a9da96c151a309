"""Our end of the supervisor: ask it to start programs, let go of it, or end it.

Closing the pipe ends the supervisor and all its children; so does the death of this process,
however it comes about.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from kudo_cluster.errors import ClusterError
from kudo_cluster.processes.process import Process

_PROGRAM = Path(__file__).with_name("supervisor.py")
_STOP_TIMEOUT = 30.0


class Supervision:
    """A running supervisor."""

    def __init__(self, log: Path, *, remove: Path | None) -> None:
        """Start a supervisor; it deletes the directory `remove` when it ends."""
        command = [sys.executable, "-I", "-S", str(_PROGRAM), str(os.getpid())]
        if remove is not None:
            command.append(f"--remove={remove}")
        with log.open("ab") as stderr:
            # A session of its own: an interrupt at the terminal is for us, and we stop it in order.
            self._popen = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        self._log = log
        self._remove = remove
        self._asking = threading.Lock()
        self.process = Process.of(self._popen.pid)

    def start(self, command: list[str], log: Path, environment: dict[str, str]) -> Process:
        """Start a program; raises ClusterError if that is impossible.

        A program that ends at once is no error here: the Process returned is then not alive.
        """
        request = {"command": command, "log": str(log), "environment": environment}
        answer = self._ask({"start": request})
        if "error" in answer:
            raise ClusterError(f"cannot start {command[0]}: {answer['error']}")
        pid = int(answer["pid"])
        try:
            return Process.of(pid)
        except ProcessLookupError:
            return Process(pid=pid, started=-1, boot="")

    def detach(self) -> None:
        """Let the supervisor outlive this process."""
        self._ask({"detach": True})
        self._close_pipes()
        # The process goes on; tell Popen, which would otherwise warn about a forgotten child.
        self._popen.returncode = 0

    def stop(self) -> None:
        """End the supervisor and its children; returns when all are gone."""
        self._close_pipes()
        try:
            self._popen.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            # The kernel then kills its children.
            self.process.signal(signal.SIGKILL)
            self._popen.wait()
        if self._remove is not None:
            # It does so itself, unless it was killed.
            shutil.rmtree(self._remove, ignore_errors=True)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        try:
            # One question at a time: two threads would read each other's answers.
            with self._asking:
                self._popen.stdin.write(json.dumps(request).encode() + b"\n")
                self._popen.stdin.flush()
                line = self._popen.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            output = self._log.read_text(encoding="utf-8", errors="replace").strip()
            raise ClusterError(f"the cluster's supervisor died: {output or 'no output'}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _close_pipes(self) -> None:
        for pipe in (self._popen.stdin, self._popen.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue
