"""A Docker engine of our own, which leaves nothing behind.

It runs in namespaces of its own (`kudo_cluster.processes.sandbox`), so its ports, bridges and
firewall rules are not those of the machine. When the process that started it ends, for whatever
reason, the kernel ends the engine and every container. Files go with the directory.
"""

import contextlib
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kudo_cluster.layout import Layout
from kudo_cluster.node.real import sweep_cgroups
from kudo_cluster.processes.process import Process, Supervision
from kudo_cluster.processes.sandbox import PATH, Sandbox


class ComposeError(Exception):
    """Something is missing, or did not happen; the text says what, and what to do."""


_POLL = 0.5


def until(what: str, problem: Callable[[], str | None], seconds: float) -> None:
    """Wait until `problem` returns None.

    Args:
        what: is waited for, such as `webhook is healthy`.
        problem: returns why it is not so yet; a ComposeError that it raises ends the wait.
        seconds: at most.

    Raises:
        ComposeError: time is over; the text has the last problem.
    """
    deadline = time.monotonic() + seconds
    while (lacking := problem()) is not None:
        if time.monotonic() > deadline:
            raise ComposeError(f"not within {seconds:.0f} s: {what}; the last state: {lacking}")
        time.sleep(_POLL)


_START_SECONDS = 120
_TAIL = 25


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine.

    Attributes:
        layout: its directory.
        sandbox: its namespaces.
        process: the one that ends with it.
    """

    layout: Layout
    sandbox: Sandbox
    process: Process

    @property
    def address(self) -> str:
        """The address for DOCKER_HOST."""
        return f"unix://{self.layout.root}/docker.sock"

    @property
    def beside(self) -> tuple[str, ...]:
        """Command prefix that runs a command in the network of the engine, where ports are."""
        return ("nsenter", f"--target={self.sandbox.process.pid}", "--net", "--")

    def docker(self, *arguments: str, stdin: str | None = None) -> str:
        """Run the client and return what it prints; raises ComposeError if it fails."""
        return self._run(self._command(arguments), stdin)

    @contextlib.contextmanager
    def importing(self, name: str, changes: Sequence[str]) -> Iterator[IO[bytes]]:
        """Yield a stream that takes the root directory of a new image, as a tar file.

        Args:
            name: of the image.
            changes: instructions as in a Dockerfile, such as `ENV PATH=/bin`.
        """
        options = [f"--change={change}" for change in changes]
        command = self._command(["import", *options, "-", name])
        with tempfile.TemporaryFile() as said:
            client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said)
            assert client.stdin is not None
            try:
                with contextlib.suppress(BrokenPipeError), client.stdin:
                    yield client.stdin
            finally:
                code = client.wait()
            if code:
                said.seek(0)
                raise ComposeError(f"docker import {name} failed: {said.read().decode().strip()}")

    def inspect(self, container: str) -> dict[str, Any]:
        """Return the state of a container."""
        [details] = json.loads(self.docker("inspect", container))
        return dict(details["State"])

    def _command(self, arguments: Sequence[str]) -> list[str]:
        return ["docker", f"--host={self.address}", *arguments]

    def _run(self, command: Sequence[str], stdin: str | None) -> str:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True)
        if done.returncode:
            if not self.process.alive:
                raise ComposeError(f"dockerd has died; the end of its log:\n{self._log()}")
            shown = " ".join(["docker", *command[2:4]])
            raise ComposeError(f"{shown} failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def _log(self) -> str:
        text = self.layout.log("dockerd").read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-_TAIL:])

    def wait_until_ready(self) -> None:
        """Wait until the engine answers; raises ComposeError with the end of its log."""

        def problem() -> str | None:
            if not self.process.alive:
                raise ComposeError(f"dockerd did not start; the end of its log:\n{self._log()}")
            try:
                self.docker("version")
            except ComposeError as error:
                return f"{error}; the end of its log:\n{self._log()}"
            return None

        until("dockerd answers", problem, _START_SECONDS)


@contextlib.contextmanager
def running(directory: Path, checkout: Path) -> Iterator[Engine]:
    """Start an engine; at the end it is gone with all that it ran, and so is the directory.

    Args:
        directory: an empty one, for its files.
        checkout: a directory that containers mount parts of.
    """
    sweep_cgroups()
    layout = Layout(directory)
    layout.logs.mkdir()
    supervision = Supervision(layout.log("supervisor"), remove=directory)
    try:
        sandbox = Sandbox.start(layout, supervision, checkout)
        engine = Engine(layout, sandbox, _start(layout, sandbox, supervision))
        engine.wait_until_ready()
        yield engine
    finally:
        supervision.stop()
        sweep_cgroups()


def _start(layout: Layout, sandbox: Sandbox, supervision: Supervision) -> Process:
    settings = layout.node / "daemon.json"
    settings.write_text("{}", encoding="utf-8")  # not those of another engine of the machine
    command = [
        "dockerd",
        f"--config-file={settings}",
        f"--host=unix://{layout.root}/docker.sock",
        f"--data-root={layout.node / 'docker'}",
        # Below a directory that is hidden from the machine; paths of sockets must be short.
        "--exec-root=/run/docker",
        "--pidfile=/run/docker.pid",
    ]
    environment: Mapping[str, str] = {"PATH": PATH, "HOME": str(layout.root)}
    return supervision.start([*sandbox.nsenter, *command], layout.log("dockerd"), dict(environment))
