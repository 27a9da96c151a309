"""The parent's side of a worker process: starts it, sends jobs and reads answers by two pipes."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from pathlib import Path

from worker_process.frames import ANSWER, REQUEST, Kind
from worker_process.position import read, reserve
from workers.errors import JobFailed, LimitExceeded, WorkerError
from workers.limits import Limits

_START_SECONDS = 60.0
"""A start takes a fraction of a second, and longer where the lowest priority gets little CPU."""
_BUFFER = 256 * 1024
"""Bytes that are read ahead, so that a long answer takes few iterations of the event loop."""


class StartError(Exception):
    """A worker process could not be started; the text quotes no data of a tenant."""


class Killed(Exception):
    """The process was killed by something else than the pool, such as the kernel's OOM killer."""


class Worker:
    """A running worker process; it takes one job at a time.

    Attributes:
        tenant: Tenant of its job; after its end, of the job that ended it. None between jobs.
    """

    def __init__(self, process: Process, descriptor: int, position: int, limits: Limits) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        # asyncio's own kill polls the process first, which may take the exit code away from the
        # thread of asyncio that waits for it; and a pid may be another's by then.
        self._descriptor = descriptor
        self._position = position
        self._requests, self._answers = process.stdin, process.stdout
        self._limits = limits
        self._last: str | None = None
        self._working = self._ended = False
        self.tenant: str | None = None

    @classmethod
    async def start(cls, handlers: str, limits: Limits, path: Sequence[Path]) -> "Worker":
        """Start a process and wait until it is ready.

        Raises:
            StartError: it cannot be started, or says that it cannot work.
        """
        try:
            position = reserve()
        except OSError as error:
            raise StartError(f"Linux 3.17 or later is needed (memfd_create: {error})") from error
        try:
            process = await _execute(handlers, limits, path, position)
            descriptor = await _opened(process)
        except BaseException:
            os.close(position)
            raise
        worker = cls(process, descriptor, position, limits)
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
        if self._ended or self._process.returncode is not None:
            return None
        try:
            # What clock_getcpuclockid returns, which Python does not have.
            return time.clock_gettime(~self.pid << 3 | 2)
        except OSError:
            return None

    @property
    def usable(self) -> bool:
        """Whether it can take a job now."""
        return not self._working and not self._ended

    async def run(self, handler: str, payload: bytes, *, cpu: float, wall: float) -> bytes:
        """Run one job and return its answer; a cancelled job ends with its process.

        Raises:
            LimitExceeded: a limit was exceeded.
            JobFailed: the handler raised, or its process died of a fault.
            Killed: the process was killed from outside.
        """
        try:
            async with asyncio.timeout(wall):
                kind, body = await self._exchange(handler, payload, cpu)
        except TimeoutError:
            raise LimitExceeded("wall", wall, self._at()) from None
        except (EOFError, ConnectionError):
            raise self._end_of(await self.exit_code(), handler, cpu) from None
        finally:
            # Without its answer read to the end, the next job would get what is left of it.
            if self._working:
                self.kill()
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
                kind, body = await self._receive()
        except TimeoutError:
            raise StartError(f"it was not ready within {_START_SECONDS:g} s") from None
        except (EOFError, ConnectionError):
            raise StartError(f"it ended with exit code {await self.exit_code()}") from None
        if kind != Kind.READY:
            raise StartError(body.decode(errors="replace"))

    def kill(self) -> None:
        """Kill the process, if it is still there."""
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)

    async def exit_code(self) -> int:
        """Wait for the process to end and return its exit code; a negative one is a signal."""
        code = await self._process.wait()
        self._ended = True
        return code

    async def end(self) -> None:
        """Kill the process and wait until it has been reaped; only once."""
        self.kill()
        self._requests.close()
        try:
            await self.exit_code()
        finally:
            os.close(self._descriptor)
            # Whoever waits for the answer may notice the end later than the pool does.
            self._last = read(self._position)
            os.close(self._position)

    def _at(self) -> str:
        """Return the part of its job that the process reported last."""
        return read(self._position) if self._last is None else self._last

    def _end_of(self, code: int, handler: str, cpu: float) -> WorkerError | Killed:
        """Return the error for a process that ended during a job."""
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


async def _execute(handlers: str, limits: Limits, path: Sequence[Path], position: int) -> Process:
    options = (handlers, os.getpid(), limits.memory, limits.answer, *path)
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            # Isolated: nothing of the environment, the user or the working directory counts.
            "-I",
            "-m",
            "worker_process",
            *map(str, options),
            stdin=PIPE,
            stdout=PIPE,
            stderr=position,
            limit=_BUFFER,
            close_fds=True,
            env={},
            cwd="/",
            # Ctrl-C of a terminal is for the service alone.
            start_new_session=True,
        )
    except OSError as error:
        raise StartError(f"{sys.executable} cannot be started: {error}") from error


async def _opened(process: Process) -> int:
    """Return a pidfd of the process."""
    try:
        return os.pidfd_open(process.pid)
    except ProcessLookupError as error:
        raise StartError(f"it ended with exit code {await process.wait()}") from error
    except OSError as error:
        process.kill()
        await process.wait()
        raise StartError(f"Linux 5.3 or later is needed (pidfd_open: {error})") from error


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
