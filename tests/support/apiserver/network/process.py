"""A process that can die: its tasks end wherever they are, and nothing more leaves it."""

import asyncio
import contextvars
from collections.abc import Coroutine, Generator
from typing import Any

from tests.support.apiserver.network.transport import MemoryTransport
from tests.support.loops.virtual_loop import NumberedTask

_process: contextvars.ContextVar["Process | None"] = contextvars.ContextVar("process", default=None)
_Code = Coroutine[Any, Any, Any] | Generator[Any, None, Any]


class Process:
    """The tasks of one process, and its connections to the API server.

    Tasks that a task starts belong to the same process.

    Attributes:
        paused: Whether a `PausableLoop` holds up its callbacks, as SIGSTOP does; see `pausing`.
    """

    def __init__(self, *transports: MemoryTransport) -> None:
        self.transports = transports
        # In the order of their start, so that a death goes the same way each time.
        self.tasks: dict[asyncio.Task[Any], None] = {}
        self.dead = False
        self.paused = False

    def start(self, main: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run a coroutine as this process."""
        loop = asyncio.get_running_loop()
        loop.set_task_factory(_made)
        context = contextvars.copy_context()
        context.run(_process.set, self)
        return loop.create_task(main, context=context)

    async def kill(self) -> None:
        """End every task at the await where it is; what was sent before still arrives.

        Code that cleans up runs to its next await, and its requests reach nobody: it is as if it
        had not run.
        """
        self.dead = True
        for transport in self.transports:
            transport.cut_off()
        while self.tasks:
            for task in tuple(self.tasks):
                task.cancel()
            await asyncio.sleep(0)


def process_of(context: contextvars.Context) -> Process | None:
    """Return the process that a task or callback with this context belongs to."""
    return context.get(_process)


def _made(loop: asyncio.AbstractEventLoop, code: _Code, **options: Any) -> asyncio.Task[Any]:
    task = NumberedTask(code, loop=loop, **options)
    context = options.get("context")
    process = _process.get() if context is None else process_of(context)
    if process is not None:
        process.tasks[task] = None
        task.add_done_callback(process.tasks.pop)
    return task
