"""The cluster that a suite runs on; a local one is a client of `kudo-cluster run`, with its logs.

A local cluster ends when the input of that program ends, and so when this process ends in whatever
way.
"""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import as_file
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, Self

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.resource import Resource
from kudo_harness.host import HarnessError, Host
from kudo_harness.planning.plan import Plan, Substitution

PROGRAM: Final = "kudo-cluster"
_NODES: Final = Resource("", "v1", "Node", "nodes", namespaced=False)
_ANSWER_BYTES: Final = 16 * 1024 * 1024
"""Of one answer: the ends of about ten logs."""
_STOP_SECONDS: Final = 60.0
_INTERRUPTED: Final = "the local cluster was interrupted and ends"


@dataclass(slots=True)
class RunningCluster:
    """A cluster that this process started, with KUDO's services as processes once asked for.

    All methods raise HarnessError, with the end of the log of what failed.

    Attributes:
        kubeconfig: Kubeconfig of its administrator.
        programs: Folders of kubectl, for the PATH of commands.
        directory: Its files, among them logs; it is deleted when the cluster ends.
    """

    kubeconfig: Path
    programs: tuple[Path, ...]
    directory: Path
    _crds: Traversable = field(repr=False)
    _process: "_Process" = field(repr=False)

    @classmethod
    async def start(cls, plan: Plan, crds: Traversable) -> Self:
        """Start a cluster and wait until it is ready; progress goes to stderr.

        Building its programs for the first time takes minutes.

        Args:
            plan: Its nodes, and whether KUDO is installed.
            crds: The CRDs of KUDO. In the single file of the plugin they are no file of their own.

        Raises:
            HarnessError: `kudo-cluster` is missing, or the cluster does not start.
        """
        command = [str(cluster_program(plan.asked)), "run", f"--nodes={len(plan.nodes)}"]
        with as_file(crds) as crds_file:
            # Later created ones would be known to the garbage collector after 30 seconds only.
            process = await _Process.start(
                *command, *([f"--crds={crds_file}"] if plan.installs_kudo else [])
            )
            try:
                answer = await process.answer()
            except BaseException:
                await process.stop()
                raise
        try:
            ready = answer["ready"]
            cluster = cls(
                kubeconfig=Path(ready["kubeconfigs"]["admin"]),
                programs=tuple(map(Path, ready["programs"])),
                directory=Path(ready["directory"]),
                _crds=crds,
                _process=process,
            )
            await cluster._label_nodes(plan)
        except BaseException:
            await process.stop()
            raise
        return cluster

    @property
    def log_folders(self) -> tuple[Path, ...]:
        """Folders of the logs: of Kubernetes' programs, and of KUDO's services once they run."""
        return self.directory / "logs", self.directory / "kudo"

    async def install_kudo(self) -> None:
        """Create the CRDs, start webhook and reconciler, and register the webhook.

        Does nothing if they run already.
        """
        with as_file(self._crds) as crds:
            await self._process.ask({"install": {"crds": str(crds)}})

    async def restart(self, service: str) -> None:
        """Kill `webhook` or `reconciler`, start it again, and wait until it is ready."""
        await self._process.ask({"restart": service})

    async def set_node_ready(self, name: str, *, ready: bool) -> None:
        """Make a simulated node Ready, or not, and wait until its pods are so as well."""
        await self._process.ask({"node": {"name": name, "ready": ready}})

    async def logs(self) -> dict[str, str]:
        """Return the end of each log, by the name of its program."""
        logs: dict[str, str] = (await self._process.ask({"logs": {}}))["logs"]
        return logs

    async def keep(self) -> str:
        """Let the cluster run on; return how it is ended. `stop` does nothing then."""
        kept = (await self._process.ask({"keep": {}}))["kept"]
        await self._process.leave()
        return f"kill {kept['pid']}"

    async def stop(self) -> None:
        """End everything that was started; it is no error if that has ended."""
        await self._process.stop()

    async def _label_nodes(self, plan: Plan) -> None:
        by_node = {f"node-{n}": node.labels for n, node in enumerate(plan.nodes, start=1)}
        if not any(by_node.values()):
            return
        async with Client(load_config(self.kubeconfig)) as client:
            for name, own in by_node.items():
                patch = {"metadata": {"labels": dict(own)}}
                await client.merge_patch(_NODES, name, patch)


@dataclass(slots=True)
class _Process:
    """`kudo-cluster run`, its input and its output.

    It is no subprocess of asyncio, which would kill it when the event loop is closed.
    """

    popen: subprocess.Popen[bytes]
    reader: asyncio.StreamReader
    transport: asyncio.BaseTransport
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    interrupted: bool = False

    @classmethod
    async def start(cls, *command: str) -> Self:
        popen = _started(command)
        reader = asyncio.StreamReader(limit=_ANSWER_BYTES)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), popen.stdout
        )
        return cls(popen, reader, transport)

    async def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its answer; one after the other.

        Raises:
            HarnessError: the answer is an error, or the program has ended.
        """
        async with self.asking:
            if self.interrupted:
                raise HarnessError(_INTERRUPTED)
            try:
                self._send(json.dumps(request).encode() + b"\n")
                return await self.answer()
            except asyncio.CancelledError:
                # Its answer would be taken for that of the next request.
                self.interrupted = True
                raise

    async def answer(self) -> dict[str, Any]:
        try:
            line = await self.reader.readline()
        except ValueError:
            raise HarnessError(
                f"an answer of kudo-cluster is longer than {_ANSWER_BYTES}"
            ) from None
        if not line:
            await asyncio.to_thread(self._end, _STOP_SECONDS)
            code = self.popen.returncode
            raise HarnessError(
                f"kudo-cluster has ended with exit code {code}; see its output above"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise HarnessError(answer["error"])
        return answer

    async def leave(self) -> None:
        """Close both pipes of a program that runs on."""
        self._close()
        # Popen would warn about a process that still runs.
        self.popen.returncode = 0

    async def stop(self) -> None:
        self.interrupted = True
        self._close()
        if self.popen.returncode is None:
            await asyncio.to_thread(self._end, _STOP_SECONDS)

    def _send(self, line: bytes) -> None:
        # A pipe holds more than a request has bytes, so this waits for nobody.
        assert self.popen.stdin is not None
        try:
            self.popen.stdin.write(line)
            self.popen.stdin.flush()
        except (BrokenPipeError, ValueError):
            return  # The answer says that it has ended.

    def _close(self) -> None:
        assert self.popen.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.popen.stdin.close()
        self.transport.close()

    def _end(self, seconds: float) -> None:
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            # Its supervisors end with it.
            os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait()


def _started(command: tuple[str, ...]) -> subprocess.Popen[bytes]:
    try:
        # A session of its own: Ctrl-C must not end the cluster before namespaces are deleted.
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        raise HarnessError(f"{command[0]} cannot be started: {error.strerror}") from error


def cluster_program(asked: Substitution | None, *, python: str = sys.executable) -> Path:
    """Return the path of `kudo-cluster`: on the PATH, or beside the running Python.

    Raises:
        HarnessError: it is in neither; with the line of the suite that needs it.
    """
    if path := shutil.which(PROGRAM):
        return Path(path)
    beside = Path(python).with_name(PROGRAM)
    if beside.is_file():
        return beside
    needed = f"{asked.place}: {asked.original} needs" if asked else "a local cluster needs"
    raise HarnessError(
        f"{needed} the program {PROGRAM}, which is neither on the PATH nor beside {python}: "
        "install it with the services from the repository of KUDO (make setup; see "
        "docs/local-cluster.md), or run the suite on another cluster with --kubeconfig"
    )


_POLL: Final = 0.5
_MOST: Final = 256 * 1024
"""Bytes of one log that are read at a time; a longer line is cut there."""


@asynccontextmanager
async def attached_logs(
    folders: Sequence[Path], show: Callable[[str], None]
) -> AsyncIterator[None]:
    """Show each line that logs gain during the block, and those that they have.

    Args:
        folders: Folders of `NAME.log`; they and the logs may come later.
        show: Is given `NAME | line`.
    """
    logs = _Logs(folders, show)
    following = asyncio.create_task(logs.follow(), name="logs of the local cluster")
    try:
        yield
    finally:
        following.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await following


@dataclass(slots=True)
class _Logs:
    folders: Sequence[Path]
    show: Callable[[str], None]
    offsets: dict[Path, int] = field(default_factory=dict)

    async def follow(self) -> None:
        """Show new lines until this is cancelled; then those that came last."""
        try:
            while True:
                if not self._show_new():
                    await asyncio.sleep(_POLL)
                # A log that grows faster than it is shown must not hold the loop.
                await asyncio.sleep(0)
        finally:
            self._show_new()

    def _show_new(self) -> bool:
        """Show the next lines of each log; return whether one may have more."""
        paths = sorted(path for folder in self.folders for path in folder.glob("*.log"))
        more = [self._show_next(path) for path in paths]
        return True in more

    def _show_next(self, path: Path) -> bool:
        offset = self.offsets.get(path, 0)
        try:
            with path.open("rb") as file:
                file.seek(offset)
                read = file.read(_MOST)
        except OSError:
            return False  # The cluster deletes its files when it ends.
        whole = read.rfind(b"\n") + 1
        if len(read) == _MOST:
            whole = whole or _MOST
        self.offsets[path] = offset + whole
        for line in read[:whole].decode(errors="replace").splitlines():
            self.show(f"{path.stem} | {line}")
        return len(read) == _MOST


@dataclass(frozen=True, slots=True)
class Target:
    """Where a suite runs.

    Attributes:
        client: The connection, as the user of the suite.
        kubeconfig: Absolute path of a kubeconfig whose current context is that connection; the
            commands of a suite get it.
        programs: Folders that come first in the PATH of commands: kubectl, `kubectl kudo`.
        local: The cluster, if the harness started it.
        faults: Whether steps may cause faults.
        host: The program that runs the suite.
    """

    client: Client
    kubeconfig: Path
    programs: tuple[Path, ...]
    local: RunningCluster | None
    faults: bool
    host: Host
