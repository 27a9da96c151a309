"""Ends a test that hangs, and tells where its threads, tasks and processes are.

pytest-timeout says when; this is what happens then. The worker goes on with the next test. If the
main thread is in code that no signal interrupts, the process ends after a while: pytest-xdist
names the test, and the stacks are on stderr.
"""

import asyncio
import faulthandler
import inspect
import signal
from types import FrameType
from typing import Final, Protocol

import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from tests.support.hanging.processes import processes
from tests.support.hanging.stacks import event_loops, tasks, threads

_AGAIN: Final = 5.0
"""Seconds after which a test is failed once more, if somebody caught that."""
_GRACE: Final = 30.0
"""Seconds after which the process ends, if its main thread does not react."""
_HUNG: Final = pytest.StashKey[str]()


class Settings(Protocol):
    """What pytest-timeout knows of a test."""

    timeout: float


def pytest_timeout_set_timer(item: pytest.Item, settings: Settings) -> bool:
    def fail(number: int, frame: FrameType | None) -> None:
        if _HUNG not in item.stash:
            item.stash[_HUNG] = report(item.nodeid, settings.timeout, frame)
        pytest.fail(item.stash[_HUNG], pytrace=False)

    signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, settings.timeout, _AGAIN)
    stderr = item.config.stash.get(fault_handler_stderr_fd_key, 2)
    faulthandler.dump_traceback_later(settings.timeout + _GRACE, exit=True, file=stderr)
    return True


def pytest_timeout_cancel_timer(item: pytest.Item) -> bool:
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.cancel_dump_traceback_later()
    if _HUNG in item.stash:
        _end_task(item)
    return True


def report(name: str, seconds: float, main: FrameType | None) -> str:
    """Return where everything is that a test may be waiting for."""
    parts = {"threads": threads(main), "tasks": tasks(), "processes": processes()}
    texts = [f"--- {title} ---\n{text}" for title, text in parts.items() if text]
    return "\n".join([f"{name} hangs: it was not over after {seconds:g} s", *texts])


def _end_task(item: pytest.Item) -> None:
    """Cancel the task of a test, which would go on in an event loop that several tests share."""
    if not isinstance(item, pytest.Function):
        return
    code = getattr(inspect.unwrap(item.obj), "__code__", None)
    for loop in event_loops():
        if loop.is_running():
            continue
        left = {one for one in asyncio.all_tasks(loop) if _code(one) is code}
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_AGAIN))


def _code(task: asyncio.Task[object]) -> object:
    return getattr(task.get_coro(), "cr_code", None)
