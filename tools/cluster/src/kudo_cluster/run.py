"""Runs a cluster for another program, which speaks to it over stdin and stdout.

Both speak one JSON object a line. The first answer tells that the cluster is ready; then each
request gets one answer, in order:

    {"install": {"crds": PATH}}                   {"done": "install"}; nothing if KUDO runs already
    {"restart": "webhook"} or "reconciler"        {"done": "restart"}: killed, and ready again
    {"node": {"name": "node-1", "ready": false}}  {"done": "node"}: Ready or not, and so its pods
    {"logs": {}}                                  {"logs": {NAME: the end of its log}}
    {"keep": {}}                                  {"kept": {"pid": PID}}

What failed is answered with {"error": TEXT}. The end of the input, SIGTERM and SIGINT end
everything; files are deleted then. After `keep` only a signal does. A thread reads the input, so
that its end is seen while a cluster starts or a request is answered: the program that started this
one may have been killed.
"""

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from types import FrameType
from typing import Any

from kudo_cluster import state
from kudo_cluster.cluster import Cluster, Profile
from kudo_cluster.control_plane import identities
from kudo_cluster.errors import ClusterError
from kudo_cluster.installation import Installation, Service
from kudo_cluster.layout import Layout
from kudo_cluster.progress import Progress

LONGEST = 64 * 1024
"""Bytes of a request."""
_MOST_WAITING = 16
"""Requests that wait for their answer; more are not read."""

Request = dict[str, Any]


class BadRequest(Exception):
    """A line is no request; its text is the answer."""


def open_input(descriptor: int) -> FileIO:
    """Return a stream without buffer, which stays open.

    Python aborts at its end if a thread still reads from a stream with a buffer, such as stdin.
    """
    return FileIO(descriptor, "rb", closefd=False)


class Lines:
    """Requests from a stream; SIGTERM is sent to this process when the stream ends.

    Attributes:
        ending: Whether the end of the stream ends this process.
    """

    def __init__(self, stream: FileIO) -> None:
        self.ending = True
        self._stream = stream
        self._waiting: queue.Queue[bytes] = queue.Queue(_MOST_WAITING)
        threading.Thread(target=self._read, daemon=True).start()

    def next(self) -> Request:
        """Wait for the next request; raises BadRequest for a line that is none."""
        line = self._waiting.get()
        if len(line) > LONGEST:
            raise BadRequest(f"a request is longer than {LONGEST} bytes")
        try:
            request = json.loads(line)
        except ValueError as error:
            raise BadRequest(f"a request is one JSON object in a line: {error}") from None
        except RecursionError:
            raise BadRequest("a request is nested too deeply") from None
        if not isinstance(request, dict) or len(request) != 1:
            raise BadRequest("a request is a JSON object with one field, its name")
        return request

    def _read(self) -> None:
        while line := self._stream.readline(LONGEST + 1):
            if len(line) > LONGEST:
                self._skip(line)
            if line.strip():
                self._waiting.put(line)
        if self.ending:
            os.kill(os.getpid(), signal.SIGTERM)

    def _skip(self, line: bytes) -> None:
        """Read the rest of a line that is too long, without keeping it."""
        while line and not line.endswith(b"\n"):
            line = self._stream.readline(LONGEST)


LOG_BYTES = 64 * 1024
"""Bytes of the end of each log."""
_Answer = dict[str, Any]


@dataclass(slots=True)
class Session:
    """A cluster that ends with this process.

    Attributes:
        cluster: The cluster.
        progress: Receives a line for each step.
        installation: KUDO, once it is installed.
    """

    cluster: Cluster
    progress: Progress
    installation: Installation | None = field(default=None, init=False)

    def ready(self) -> _Answer:
        """Return what a client has to know about the cluster."""
        cluster = self.cluster
        return {
            "ready": {
                "server": cluster.server,
                "kubeconfigs": {role: str(cluster.kubeconfig(role)) for role in identities.ROLES},
                "programs": [str(cluster.binary("kubectl").parent)],
                "directory": str(cluster.directory),
            }
        }

    def answer(self, request: Request) -> _Answer:
        """Do what a request asks for.

        Raises:
            BadRequest: There is no such request, or its value is not as it has to be.
            ClusterError: It failed.
        """
        requests: dict[str, Callable[[Any], _Answer]] = {
            "install": self._install,
            "restart": self._restart,
            "node": self._node,
            "logs": self._logs,
        }
        [(name, value)] = request.items()
        if name not in requests:
            raise BadRequest(f"no request {name[:40]!r}; there are {', '.join(requests)}, keep")
        return requests[name](value)

    def stop(self) -> None:
        """End KUDO and the cluster."""
        with contextlib.ExitStack() as ending:
            ending.callback(self.cluster.stop)
            if self.installation is not None:
                ending.callback(self.installation.stop)

    def _install(self, value: object) -> _Answer:
        crds = _text(_mapping(value, "crds"), "crds")
        if not Path(crds).exists():
            raise BadRequest(f"no file of CRDs: {crds}")
        if self.installation is None:
            self.installation = Installation.start(
                self.cluster, crds=Path(crds), progress=self.progress
            )
        return {"done": "install"}

    def _restart(self, value: object) -> _Answer:
        service = self._service(value)
        service.kill()
        service.start()
        return {"done": "restart"}

    def _service(self, name: object) -> Service:
        if name not in ("webhook", "reconciler"):
            raise BadRequest("restart is webhook or reconciler")
        if self.installation is None:
            raise ClusterError(f"the {name} cannot be restarted: KUDO is not installed")
        return self.installation.webhook if name == "webhook" else self.installation.reconciler

    def _node(self, value: object) -> _Answer:
        fields = _mapping(value, "name", "ready")
        name, ready = _text(fields, "name"), fields["ready"]
        if not isinstance(ready, bool):
            raise BadRequest("ready is true or false")
        self.cluster.set_node_ready(name, ready=ready)
        return {"done": "node"}

    def _logs(self, value: object) -> _Answer:
        _mapping(value)
        return {"logs": {path.stem: _end_of(path) for path in self._log_files()}}

    def _log_files(self) -> list[Path]:
        folders = [self.cluster.directory / "logs"]
        if self.installation is not None:
            folders.append(self.installation.directory)
        return sorted(path for folder in folders for path in folder.glob("*.log"))


def _mapping(value: object, *names: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or set(value) != set(names):
        raise BadRequest(f"the value has the fields {', '.join(names) or '(none)'}")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields[name]
    if not isinstance(value, str) or not value:
        raise BadRequest(f"{name} is text")
    return value


def _end_of(log: Path) -> str:
    with log.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - LOG_BYTES))
        return file.read(LOG_BYTES).decode(errors="replace")


class _Ended(BaseException):
    """The input has ended, or a signal came."""


def run(
    directory: Path | None, profile: Profile, nodes: int, crds: Path | None, progress: Progress
) -> int:
    """Run a cluster until the input ends; return the exit code.

    Args:
        directory: Of its files; a temporary one by default.
        profile: Simulated nodes, or one real node.
        nodes: Number of simulated nodes.
        crds: File of CRDs to create before the controllers start.
        progress: Receives a line for each step; never stdout, which has the answers.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    with contextlib.suppress(_Ended):
        # Before the cluster starts, which may take minutes if its programs have to be built.
        lines = Lines(open_input(sys.stdin.fileno()))
        try:
            with _cluster(directory, profile, nodes, crds, progress) as session:
                _answer(session.ready())
                while True:
                    _answer(_answer_to(lines, session))
        except ClusterError as error:
            _ignore_signals()
            _answer({"error": str(error)})
            return 1
    return 0


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the handler's signature
    """Raise _Ended once."""
    _ignore_signals()
    raise _Ended


def _ignore_signals() -> None:
    """Keep the end itself from being interrupted."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def _cluster(
    directory: Path | None, profile: Profile, nodes: int, crds: Path | None, progress: Progress
) -> Iterator[Session]:
    try:
        cluster = Cluster.start(
            directory, name="run", profile=profile, crds=crds, progress=progress
        )
    except _Ended:
        if directory is not None:
            _remove_started(Layout(directory.absolute()))
        raise
    session = Session(cluster, progress)
    try:
        for number in range(2, nodes + 1):
            cluster.add_node(f"node-{number}")
        yield session
    finally:
        session.stop()
        cluster.remove()


def _remove_started(layout: Layout) -> None:
    """Delete the files of a start that was interrupted; not those of a cluster that runs there."""
    with layout.locked():
        started = state.read(layout.root)
        if started is None or not started.alive:
            layout.remove()


def _answer_to(lines: Lines, session: Session) -> dict[str, Any]:
    try:
        request = lines.next()
        if request == {"keep": {}}:
            lines.ending = False
            return {"kept": {"pid": os.getpid()}}
        return session.answer(request)
    except (BadRequest, ClusterError) as error:
        return {"error": str(error)}


def _answer(message: dict[str, Any]) -> None:
    """Write one line to stdout; raises _Ended if nobody reads it any more."""
    line = json.dumps(message).encode() + b"\n"
    try:
        while line:
            line = line[os.write(1, line) :]
    except BrokenPipeError:
        raise _Ended from None
