"""An event loop whose time is simulated: it never sleeps, it moves its clock to the next timer.

Hours pass in the time that the work itself takes, and a run depends on nothing but what is run.
There are neither sockets nor threads: what is given to a thread runs in place.
"""

import asyncio
import itertools
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class NothingToDo(Exception):
    """Everything waits for something that no timer will bring about."""


class TooBusy(Exception):
    """Tasks go on and on while no time passes."""


class NumberedTask(asyncio.Task[Any]):
    """A task whose place in a set is the same in every run, as that of an address is not."""

    _numbers = itertools.count()

    @classmethod
    def begin(cls) -> None:
        """Number the tasks of another run."""
        cls._numbers = itertools.count()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._number = next(self._numbers)
        super().__init__(*args, **kwargs)

    def __hash__(self) -> int:
        return self._number


class _Selector:
    """Stands where the loop would wait for sockets."""

    def __init__(self, loop: "VirtualLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        self._loop.iterated(timeout)
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs coroutines in simulated seconds.

    Args:
        now: What the clock shows at first.

    Attributes:
        on_iteration: Called at each iteration; between two of them every task has got at most from
            one await to the next.
        limit: How many iterations there may be in which no time passes.
    """

    def __init__(self, now: float = 0.0) -> None:
        super().__init__()
        self._now = now
        self._selector = _Selector(self)
        # The clock stands still while callbacks run: no timer may be early.
        self._clock_resolution = 1e-9
        self.on_iteration: Callable[[], None] | None = None
        self.limit = 100_000
        NumberedTask.begin()
        self.set_task_factory(
            lambda loop, code, **options: NumberedTask(code, loop=loop, **options)
        )
        self._busy = 0

    def time(self) -> float:
        return self._now

    def iterated(self, timeout: float | None) -> None:
        """Let the time pass that nothing happens in."""
        if timeout is None:
            raise NothingToDo("no task is ready, and no timer is set")
        self._busy = 0 if timeout else self._busy + 1
        if self._busy > self.limit:
            raise TooBusy(f"{self.limit} iterations of the loop at {self._now} s")
        self._now += timeout
        if self.on_iteration is not None:
            self.on_iteration()

    # What BaseEventLoop leaves to loops with sockets

    def _process_events(self, events: list[Any]) -> None:
        del events

    def _write_to_self(self) -> None:
        """There is nobody to be woken: no other thread runs."""

    def run_in_executor(
        self, executor: object, func: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> asyncio.Future[T]:
        """Call a function in place, as if a thread were done with it at once."""
        del executor
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - whoever waits gets it, as from a thread
            done.set_exception(error)
        return done


def run_virtually(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in simulated time.

    Raises:
        NothingToDo: it waits for what will never come.
    """
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
