"""Runs commands as processes, each in a process group of its own.

The group is what is stopped: a shell that is killed alone leaves its children running. Output goes
through a pipe of our own, since a child in the background may hold it open after the command has
ended, and waiting for its end would wait for the child.
"""

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from kudo_harness.commands import Process
from kudo_harness.running.record import MadeGroup, Record, is_running
from kudo_harness.running.waiting import until

LINE: Final = 4 * 1024
"""Bytes of a line that are shown."""
SHOWN: Final = 1024 * 1024
"""Bytes of one command that go into the log; the rest is only counted."""
KEPT: Final = 8 * 1024
"""Bytes of the end of the output that are kept for the message of a failure."""


@dataclass(slots=True)
class Output:
    """The output of one command. What it holds is bounded, however much is printed."""

    _line: bytearray = field(default_factory=bytearray)
    _left_out: int = 0
    _shown: int = 0
    _silent: bool = False
    _tail: deque[str] = field(default_factory=deque)
    _tail_size: int = 0

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the lines that a chunk completes and that are to be shown."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._add(line)
            yield from self._complete()
        self._add(rest)

    def end(self) -> Iterator[str]:
        """Yield what stands after the last line break."""
        if self._line:
            yield from self._complete()

    @property
    def tail(self) -> str:
        """The last lines."""
        return "\n".join(self._tail)

    def _add(self, part: bytes) -> None:
        free = LINE - len(self._line)
        self._line += part[:free]
        self._left_out += max(0, len(part) - free)

    def _complete(self) -> Iterator[str]:
        # A progress bar writes one line again and again: the last state is what is to be seen.
        line = bytes(self._line).decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]
        if self._left_out:
            line += f"… ({self._left_out} bytes left out)"
        size = len(self._line)
        self._line.clear()
        self._left_out = 0
        self._keep(line)
        self._shown += size + 1
        if self._shown <= SHOWN:
            yield line
        elif not self._silent:
            self._silent = True
            yield f"… more than {SHOWN} bytes: the rest of the output is left out"

    def _keep(self, line: str) -> None:
        self._tail.append(line)
        self._tail_size += len(line) + 1
        while self._tail_size > KEPT and len(self._tail) > 1:
            self._tail_size -= len(self._tail.popleft()) + 1


GRACE: Final = 5.0
"""Seconds between SIGTERM and SIGKILL."""
_CHUNK: Final = 64 * 1024
_REST: Final = 0.5
"""Seconds for output that is still in the pipe when the command has ended."""
_POLL: Final = 0.05

OnLine = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended.

    Attributes:
        fault: What is wrong with that, as the end of a sentence; empty if nothing is.
        tail: The last lines of its output.
    """

    fault: str
    tail: str


@dataclass(frozen=True, slots=True)
class Processes:
    """Starts processes, and stops what is left of them.

    Attributes:
        record: Where process groups are noted.
        grace: Seconds between SIGTERM and SIGKILL.
    """

    record: Record
    grace: float = GRACE

    async def run(self, process: Process, on_line: OnLine, *, scope: str) -> Ended:
        """Run a command to its end, or until its time is over.

        Cancelled, it stops the command: SIGTERM, and SIGKILL after `grace` seconds or when it is
        cancelled once more.

        Args:
            process: The command.
            on_line: Is given each line of the output as it comes.
            scope: What its process group belongs to, if it leaves processes behind.
        """
        output = Output()
        try:
            async with self._started(process, output, on_line, scope) as running:
                try:
                    async with asyncio.timeout(process.seconds):
                        code = await running.process.wait()
                except TimeoutError:
                    await self._end(running.process, running.group)
                    text = f"did not end within {process.seconds} s and was stopped"
                    return Ended(text, output.tail)
        except OSError as error:
            return Ended(_not_started(error), "")
        if code == 0 or process.ignore_failure:
            return Ended("", output.tail)
        return Ended(_how(code), output.tail)

    async def supervise(
        self,
        process: Process,
        on_line: OnLine,
        on_end: OnLine,
        started: asyncio.Future[str],
        *,
        scope: str,
    ) -> None:
        """Run a command in the background until this is cancelled.

        Args:
            process: The command.
            on_line: Is given each line of the output as it comes.
            on_end: Is told how it ended, if it ends by itself.
            started: Is given why it cannot be started; nothing once it has started.
            scope: As of `run`.
        """
        output = Output()
        try:
            async with self._started(process, output, on_line, scope) as running:
                started.set_result("")
                code = await running.process.wait()
        except OSError as error:
            started.set_result(_not_started(error))
            return
        on_end(_how(code))

    async def stop_all(self, scope: str | None) -> None:
        """Stop the process groups of a scope, or all."""
        async with asyncio.TaskGroup() as stopping:
            for group in self.record.groups_of(scope):
                stopping.create_task(self.stop(group))

    def kill_all(self) -> None:
        """Send SIGKILL to all process groups; who waits for one of them goes on."""
        for group in self.record.groups_of(None):
            _send(group, signal.SIGKILL)

    async def stop(self, group: MadeGroup) -> None:
        """Send SIGTERM to a group, and SIGKILL if anything of it runs `grace` seconds later."""
        _send(group, signal.SIGTERM)

        async def ended() -> bool:
            return not _lives(group)

        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.grace):
                    await until(ended, every=_POLL)
        finally:
            # Also if this is cancelled: who asks twice does not want to wait.
            _send(group, signal.SIGKILL)
            self.record.gone(group)

    @asynccontextmanager
    async def _started(
        self, process: Process, output: Output, on_line: OnLine, scope: str
    ) -> AsyncIterator["_Running"]:
        """Start a process and read its output, until the block and the output end."""
        ours, theirs = os.pipe()
        stream = asyncio.StreamReader(limit=_CHUNK)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(ours, "rb", buffering=0)
        )
        try:
            started = await asyncio.create_subprocess_exec(
                *process.argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=theirs,
                stderr=theirs,
                env=process.environment,
                cwd=process.folder,
                # Its number is that of a new process group, which is stopped as a whole.
                start_new_session=True,
            )
        except BaseException:
            transport.close()
            raise
        finally:
            # The output ends when nobody has the other end open, and so not this process.
            os.close(theirs)
        group = self.record.started(started.pid, scope=scope)
        async with asyncio.TaskGroup() as reading:
            task = reading.create_task(_read(stream, output, on_line))
            try:
                yield _Running(started, group)
            except BaseException:
                await self._end(started, group)
                raise
            finally:
                # Children that the command left may keep the pipe open for ever.
                await asyncio.wait([task], timeout=_REST)
                task.cancel()
                for line in output.end():
                    on_line(line)
                transport.close()
        if not _lives(group):
            self.record.gone(group)

    async def _end(self, started: asyncio.subprocess.Process, group: MadeGroup) -> None:
        if group.number in self.record.groups:
            await self.stop(group)
        await started.wait()


@dataclass(frozen=True, slots=True)
class _Running:
    process: asyncio.subprocess.Process
    group: MadeGroup


async def _read(stream: asyncio.StreamReader, output: Output, on_line: OnLine) -> None:
    while chunk := await stream.read(_CHUNK):
        for line in output.feed(chunk):
            on_line(line)


def _not_started(error: OSError) -> str:
    # The file is the program, or the folder where it is to run.
    parts = (error.strerror or str(error), str(error.filename or ""))
    return f"cannot be started: {': '.join(filter(None, parts))}"


def _how(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _send(group: MadeGroup, number: signal.Signals) -> None:
    # It may have ended; macOS says EPERM of a group of zombies.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group.group, number)


def _lives(group: MadeGroup) -> bool:
    """Return whether a process of the group runs."""
    try:
        # Signal 0 tests only. A number is not used again while a process of its group is there.
        os.killpg(group.group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def stop_left(group: MadeGroup) -> bool:
    """Kill a group that another process has left; return whether its leader is surely the same.

    Without its leader it cannot be told from a group of another program that got its number.
    """
    if not group.started or not is_running(group.group, group.started):
        return False
    _send(group, signal.SIGKILL)
    return True
