"""Our programs, started by fork from a process that has imported them already.

Importing costs a service a second of CPU and `kubectl kudo` half of one; the tests start hundreds.
What is forked is a process of its own with its own arguments, environment, files and signals. That
the installed console scripts work is shown by the first start of every service, and by
tests/plugin, tests/images and the demo.

As a program (`python -m tests.support.prefork SOCKET`) this answers requests on a Unix socket, a
JSON line each, with a line that has the pid; to who still listens it says the exit code at the end:

    {"program": NAME, "arguments": [...], "environment": {...}, "files": [STDIN, STDOUT, STDERR]}
"""

import gc
import importlib
import json
import os
import pkgutil
import select
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kudo_cluster.processes.process import Process, Supervision
from kudo_cluster.processes.supervisor import die_with_parent

PROGRAMS = {
    "kudo-reconciler": "kudo_reconciler",
    "kudo-webhook": "kudo_webhook",
    "kubectl-kudo": "kubectl_kudo",
}
_SECONDS = 60.0
_POLL = 0.02
_OUTPUT = os.O_WRONLY | os.O_CREAT | os.O_APPEND

Main = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended, and what it wrote."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Prefork:
    """The client: asks the process that has imported everything."""

    path: Path

    @classmethod
    def of(cls, directory: Path) -> "Prefork":
        """Return the client of a process that was launched with this directory."""
        return cls(directory / "prefork")

    @classmethod
    def launch(cls, directory: Path, supervision: Supervision) -> "Prefork":
        """Start that process under a supervisor and wait until it answers."""
        client = cls.of(directory)
        command = [sys.executable, "-m", "tests.support.prefork", str(client.path)]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        log = directory / "prefork.log"
        process = supervision.start(command, log, environment)
        deadline = time.monotonic() + _SECONDS
        while not client.path.exists():
            assert process.alive, log.read_text(encoding="utf-8")
            assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
            time.sleep(_POLL)
        return client

    def start(self, command: list[str], log: Path, environment: dict[str, str]) -> Process:
        """Start a program and let it run; as `Supervision.start`."""
        files = (os.devnull, str(log), str(log))
        with self._ask(command, environment, files) as connection:
            pid = int(_receive(connection)["pid"])
        try:
            return Process.of(pid)
        except ProcessLookupError:
            return Process(pid=pid, started=-1, boot="")

    def run(
        self, command: Sequence[str], *, text: str | None, environment: Mapping[str, str]
    ) -> Ended:
        """Run a program to its end."""
        with tempfile.TemporaryDirectory() as folder:
            stdin, stdout, stderr = (Path(folder, name) for name in ("in", "out", "err"))
            for path, content in ((stdin, text or ""), (stdout, ""), (stderr, "")):
                path.write_text(content, encoding="utf-8")
            files = (str(stdin), str(stdout), str(stderr))
            with self._ask(command, environment, files) as connection:
                _receive(connection)
                code = int(_receive(connection)["code"])
            return Ended(code, stdout.read_text("utf-8"), stderr.read_text("utf-8"))

    def _ask(
        self, command: Sequence[str], environment: Mapping[str, str], files: tuple[str, str, str]
    ) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(str(self.path))
        request = {
            "program": Path(command[0]).name,
            "arguments": list(command[1:]),
            "environment": dict(environment),
            "files": files,
        }
        connection.send(json.dumps(request).encode())
        return connection


def _receive(connection: socket.socket) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(connection.recv(1 << 20))
    return found


def serve(listener: socket.socket, mains: Mapping[str, Main]) -> Main:
    """Answer requests for ever; in each forked process, return what it is to run."""
    prepare = die_with_parent(os.getpid())
    waiting: dict[int, tuple[int, socket.socket]] = {}
    while True:
        # A pidfd becomes readable when its process ends.
        ready, _, _ = select.select([listener.fileno(), *waiting], [], [])
        for handle in ready:
            if handle == listener.fileno():
                connection, _ = listener.accept()
                request = _receive(connection)
                pid = os.fork()
                if pid == 0:
                    prepare()
                    _become(request, [listener, connection, *(c for _, c in waiting.values())])
                    return mains[request["program"]]
                _send(connection, {"pid": pid})
                waiting[os.pidfd_open(pid)] = pid, connection
            else:
                pid, connection = waiting.pop(handle)
                os.close(handle)
                _, status = os.waitpid(pid, 0)
                _send(connection, {"code": os.waitstatus_to_exitcode(status)})
                connection.close()


def _become(request: dict[str, Any], inherited: Sequence[socket.socket]) -> None:
    """Make this process the program of a request: arguments, environment and files."""
    for one in inherited:
        one.close()
    os.environ.clear()
    os.environ.update(request["environment"])
    for number, path in enumerate(request["files"]):
        opened = os.open(path, _OUTPUT if number else os.O_RDONLY, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.argv = [request["program"], *request["arguments"]]


def _send(connection: socket.socket, message: dict[str, Any]) -> None:
    try:
        connection.send(json.dumps(message).encode())
    except BrokenPipeError:
        return  # who started a service does not wait for its end


def _imported(package: str) -> Main:
    """Import all of a package and return its entry point."""
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(module.name)
    main: Main = importlib.import_module(f"{package}.__main__").main
    return main


def main() -> object:
    """Import, listen, and become what is asked for."""
    path = Path(sys.argv[1])
    mains = {program: _imported(package) for program, package in PROGRAMS.items()}
    # What is shared stays so: a collector that looked at it would copy its pages in each process.
    gc.collect()
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        # Who sees the path may connect.
        listener.bind(f"{path}.new")
        listener.listen(64)
        path.with_name(f"{path.name}.new").rename(path)
        program = serve(listener, mains)
    return program()


if __name__ == "__main__":
    sys.exit(main())  # type: ignore[arg-type]
