"""Cancels a coroutine at each of its awaits, to see what it gives back."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Generator
from dataclasses import dataclass
from itertools import count
from typing import Any

_MOST = 500
"""Awaits of one coroutine; more are a loop that does not end."""


async def cancel_at_each_await(
    make: Callable[[], Coroutine[Any, Any, object]],
    check: Callable[[], Awaitable[object]],
) -> int:
    """Run a coroutine again and again, cancelled once at each await; return how many it has.

    At each await it is cancelled in two ways: while it waits, and in the iteration of the loop in
    which what it waits for has come. Only the awaits of its own task count, not those of tasks that
    it creates.

    Args:
        make: Returns the coroutine; what it raises after it was cancelled is of no interest.
        check: Called after each run; raises if something is missing.
    """
    awaits = 0
    for late in (False, True):
        for number in count():
            assert number < _MOST
            run = _Run(make(), number, late)
            task = asyncio.create_task(run.cancelled())
            await asyncio.wait([task])
            with contextlib.suppress(asyncio.CancelledError):
                error = task.exception()
                if error is not None and not run.reached:
                    raise error
            await check()
            if not run.reached:
                break
            awaits += 1
    return awaits


@dataclass
class _Run:
    """One run of a coroutine.

    Attributes:
        coroutine: What runs.
        number: Number of the await at which it is cancelled.
        late: Whether it is cancelled in the iteration in which what it waits for has come.
        reached: Whether there was an await of that number.
    """

    coroutine: Coroutine[Any, Any, object]
    number: int
    late: bool
    reached: bool = False

    async def cancelled(self) -> object:
        return await self

    def __await__(self) -> Generator[Any, Any, object]:
        steps = self.coroutine.__await__()
        error: BaseException | None = None
        for number in count():
            try:
                waiting = steps.send(None) if error is None else steps.throw(error)
            except StopIteration as end:
                return end.value
            if number == self.number:
                self._cancel(waiting)
            error = None
            try:
                yield waiting
            except BaseException as thrown:  # noqa: BLE001 - the coroutine gets it
                error = thrown
        raise AssertionError

    def _cancel(self, waiting: "asyncio.Future[object] | None") -> None:
        self.reached = True
        task = asyncio.current_task()
        assert task is not None
        if waiting is not None and self.late:
            # Called before the task itself is woken, since it was added first.
            waiting.add_done_callback(lambda _: task.cancel())
        else:
            asyncio.get_running_loop().call_soon(task.cancel)
