"""The parent's side of a worker process: starts it, sends jobs and reads answers by a socket.

The end of the process is reported by its pidfd and by nothing else: whether its answers were read
does not matter. Whatever a cancelled method leaves behind is given back without another `await`.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from worker_process.channel import ANSWER, REQUEST, Kind, read, reserve
from workers.errors import JobFailed, LimitExceeded, Limits, WorkerError

_START_SECONDS = 60.0
"""A start takes a fraction of a second, and longer where the lowest priority gets little CPU."""
_LOOK_SECONDS = 5.0
"""Between two looks at whether a process lives, in case its end was not reported; and how long the
kernel may take to end a killed one."""
_BUFFER = 256 * 1024
"""Bytes that are read ahead, so that a long answer takes few iterations of the event loop."""


class StartError(Exception):
    """A worker process could not be started; the text quotes no data of a tenant."""


class Killed(Exception):
    """The process was killed by something else than the pool, such as the kernel's OOM killer."""


class Worker:
    """A running worker process; it takes one job at a time. Made inside its event loop."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        descriptor: int,
        position: int,
        limits: Limits,
    ) -> None:
        self._process = process
        self._answers, self._requests = streams
        self._descriptor = descriptor
        self._position = position
        self._limits = limits
        self._last: str | None = None
        self._working = self._killed = False
        self._reaped = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(descriptor, self._reap)

    @classmethod
    async def start(cls, handlers: str, limits: Limits, path: Sequence[Path]) -> "Worker":
        """Start a process and wait until it is ready.

        Raises:
            StartError: it cannot be started, or says that it cannot work.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            # Before there is a process: a start that is cancelled here has nothing to end.
            streams = await asyncio.open_connection(sock=ours, limit=_BUFFER)
            try:
                launched = _launch(handlers, limits, path, theirs)
            except BaseException:
                streams[1].transport.abort()
                raise
        process, descriptor, position = launched
        worker = cls(process, streams, descriptor, position, limits)
        try:
            await worker._expect_ready()
        except BaseException:
            await worker.end()
            raise
        return worker

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu_seconds(self) -> float | None:
        """Return the CPU time of the process since its start; None once it has ended."""
        if not self._lives:
            return None
        try:
            # What clock_getcpuclockid returns, which Python does not have.
            return time.clock_gettime(~self.pid << 3 | 2)
        except OSError:
            return None

    @property
    def usable(self) -> bool:
        """Whether it can take a job now."""
        return self._lives and not self._working

    @property
    def _lives(self) -> bool:
        return not self._killed and self._process.returncode is None

    async def run(self, handler: str, payload: bytes, *, cpu: float, wall: float) -> bytes:
        """Run one job and return its answer; a cancelled job ends with its process.

        Raises:
            LimitExceeded: a limit was exceeded.
            JobFailed: the handler raised, or its process died of a fault.
            Killed: the process was killed from outside.
        """
        try:
            async with asyncio.timeout(wall):
                try:
                    kind, body = await self._exchange(handler, payload, cpu)
                except (EOFError, ConnectionError):
                    raise self._end_of(await self.wait(), handler, cpu) from None
        except TimeoutError:
            raise LimitExceeded("wall", wall, self._at()) from None
        finally:
            # Without its answer read to the end, the next job would get what is left of it.
            if self._working:
                self.kill()
                self._requests.transport.abort()
        return self._result(kind, body, handler)

    async def _exchange(self, handler: str, payload: bytes, cpu: float) -> tuple[int, bytes]:
        self._working = True
        name = handler.encode()
        self._requests.write(REQUEST.pack(cpu, len(name), len(payload)) + name)
        self._requests.write(payload)
        await self._requests.drain()
        kind, body = await self._receive()
        self._working = kind in (Kind.LAST, Kind.MEMORY)
        return kind, body

    async def _receive(self) -> tuple[int, bytes]:
        kind, size = ANSWER.unpack(await self._answers.readexactly(ANSWER.size))
        if size > self._limits.answer:
            # The process keeps to this bound itself. Here it bounds what the service reads.
            raise LimitExceeded("answer", self._limits.answer)
        return kind, await self._answers.readexactly(size)

    def _result(self, kind: int, body: bytes, handler: str) -> bytes:
        match kind:
            case Kind.DONE | Kind.LAST:
                return body
            case Kind.MEMORY:
                raise LimitExceeded("memory", self._limits.memory, self._at())
            case Kind.TOO_LARGE:
                raise LimitExceeded("answer", self._limits.answer)
            case _:
                raise JobFailed(f"job {handler!r} failed: {body[:100].decode(errors='replace')}")

    async def _expect_ready(self) -> None:
        try:
            async with asyncio.timeout(_START_SECONDS):
                try:
                    kind, body = await self._receive()
                except (EOFError, ConnectionError):
                    raise StartError(f"it ended with exit code {await self.wait()}") from None
        except TimeoutError:
            raise StartError(f"it was not ready within {_START_SECONDS:g} s") from None
        if kind != Kind.READY:
            raise StartError(body.decode(errors="replace"))

    def kill(self) -> None:
        """Kill the process, if it is still there."""
        self._killed = True
        # No other process can have its pid: nobody but this object reaps it.
        self._process.kill()

    async def wait(self) -> int | None:
        """Wait for the process to end and return its exit code; a negative one is a signal.

        Returns:
            None if it was killed and the kernel has not ended it within seconds. It is reaped
            whenever it ends.
        """
        while True:
            killed = self._killed
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._reaped.wait()
            self._reap()
            if killed or self._reaped.is_set():
                return self._process.returncode

    async def end(self) -> None:
        """Kill the process and wait until it has ended; only once."""
        self.kill()
        # The answer of a process that has ended may not have been read to its end: `run` closes.
        if not self._working:
            self._requests.transport.abort()
        # Whoever waits for the answer may notice the end later than the pool does.
        self._last = read(self._position)
        os.close(self._position)
        await self.wait()

    def _reap(self) -> None:
        if not self._reaped.is_set() and self._process.poll() is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._reaped.set()

    def _at(self) -> str:
        """Return the part of its job that the process reported last."""
        return read(self._position) if self._last is None else self._last

    def _end_of(self, code: int | None, handler: str, cpu: float) -> WorkerError | Killed:
        """Return the error for a process that ended during a job."""
        if code is None:
            return Killed()
        match -code:
            case signal.SIGXCPU:
                return LimitExceeded("cpu", cpu, self._at())
            case signal.SIGABRT | signal.SIGSEGV:
                # C++ ends a process so where it gets no memory (std::bad_alloc), and orjson follows
                # a null pointer. Told as a fault of ours, the same input would be tried for ever.
                return LimitExceeded("memory", self._limits.memory, self._at())
            case signal.SIGKILL | signal.SIGTERM:
                return Killed()
            case number if number > 0:
                return JobFailed(f"job {handler!r} failed: its process died of {_name(number)}")
            case _:
                return JobFailed(f"job {handler!r} failed: its process ended with exit code {code}")


def _launch(
    handlers: str, limits: Limits, path: Sequence[Path], channel: socket.socket
) -> "tuple[subprocess.Popen[bytes], int, int]":
    """Start a process; return it, its pidfd, and the descriptor of the memory of its position."""
    with contextlib.ExitStack() as opened:
        try:
            position = reserve()
        except OSError as error:
            raise StartError(f"Linux 3.17 or later is needed (memfd_create: {error})") from error
        opened.callback(os.close, position)
        process = _execute(handlers, limits, path, channel, position)
        try:
            descriptor = os.pidfd_open(process.pid)
        except OSError as error:
            process.kill()
            process.wait()
            raise StartError(f"Linux 5.3 or later is needed (pidfd_open: {error})") from error
        opened.pop_all()
    return process, descriptor, position


def _execute(
    handlers: str, limits: Limits, path: Sequence[Path], channel: socket.socket, position: int
) -> "subprocess.Popen[bytes]":
    options = (handlers, os.getpid(), limits.memory, limits.answer, *path)
    try:
        return subprocess.Popen(
            # Isolated: nothing of the environment, the user or the working directory counts.
            [sys.executable, "-I", "-m", "worker_process", *map(str, options)],
            stdin=channel.fileno(),
            stdout=channel.fileno(),
            stderr=position,
            close_fds=True,
            env={},
            cwd="/",
            # Ctrl-C of a terminal is for the service alone.
            start_new_session=True,
        )
    except OSError as error:
        raise StartError(f"{sys.executable} cannot be started: {error}") from error


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
