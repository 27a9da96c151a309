"""Starts a supervisor process, and programs through it; detaches or stops it.

The supervisor and all its children end when the pipe to it is closed, and so when this process
ends, for whatever reason.
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
        """Start a supervisor, which deletes the directory `remove` when it ends."""
        command = [sys.executable, "-I", "-S", str(_PROGRAM), str(os.getpid())]
        if remove is not None:
            command.append(f"--remove={remove}")
        with log.open("ab") as stderr:
            # Its own session: Ctrl-C in a terminal then reaches this process only, which stops it.
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
        """Start a program; raises ClusterError if it cannot be started.

        A program that ends at once is no error: the returned Process is not alive then.
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
        # The supervisor keeps running; without a returncode Popen would warn about it.
        self._popen.returncode = 0

    def stop(self) -> None:
        """End the supervisor and its children, and wait until all have ended."""
        self._close_pipes()
        try:
            self._popen.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            # The kernel kills its children then (PR_SET_PDEATHSIG).
            self.process.signal(signal.SIGKILL)
            self._popen.wait()
        if self._remove is not None:
            # Normally the supervisor has deleted it, unless it was killed.
            shutil.rmtree(self._remove, ignore_errors=True)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        try:
            # One request at a time: two threads could read each other's answers.
            with self._asking:
                self._popen.stdin.write(json.dumps(request).encode() + b"\n")
                self._popen.stdin.flush()
                line = self._popen.stdout.readline()
        except BrokenPipeError:
            line = b""
        if not line:
            output = self._log.read_text(encoding="utf-8", errors="replace").strip()
            raise ClusterError(f"the supervisor of the cluster has died: {output or 'no output'}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _close_pipes(self) -> None:
        for pipe in (self._popen.stdin, self._popen.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue
