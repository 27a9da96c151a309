"""Where the threads and asyncio tasks of this process are."""

import asyncio
import gc
import sys
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_RUNNERS = frozenset({"_pytest", "pluggy", "xdist", "execnet", "pytest_asyncio"})
"""Packages whose frames are left out: those of the test runner."""


def threads(main: FrameType | None) -> str:
    """Return the stack of each thread.

    Args:
        main: Where this thread, the main one, was interrupted to ask.
    """
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames = dict(sys._current_frames())
    if main is not None:
        frames[threading.get_ident()] = main
    return "".join(
        f"thread {names.get(ident, ident)}:\n{_stack(frame)}" for ident, frame in frames.items()
    )


def _stack(frame: FrameType) -> str:
    found = traceback.extract_stack(frame)
    kept = [one for one in found if _RUNNERS.isdisjoint(Path(one.filename).parts)]
    return "".join(traceback.format_list(kept))


def tasks() -> str:
    """Return the chain of awaits of each task that has not ended, of all event loops."""
    return "".join(
        f"task {task.get_name()}:\n" + "".join(f"  {line}\n" for line in _chain(task))
        for loop in event_loops()
        for task in sorted(asyncio.all_tasks(loop), key=lambda task: task.get_name())
    )


def event_loops() -> list[asyncio.AbstractEventLoop]:
    """Return all event loops that are not closed, of whatever thread."""
    found = [one for one in gc.get_objects() if isinstance(one, asyncio.AbstractEventLoop)]
    return [loop for loop in found if not loop.is_closed()]


def _chain(task: asyncio.Task[object]) -> Iterator[str]:
    waiting: object = task.get_coro()
    while waiting is not None:
        frame = _attribute(waiting, "frame")
        if isinstance(frame, FrameType):
            yield f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}"
        inner = _attribute(waiting, "await", "yieldfrom")
        if inner is None and not isinstance(frame, FrameType):
            futures = [one for one in gc.get_referents(waiting) if isinstance(one, asyncio.Future)]
            yield from (f"awaits {_named(future)}" for future in futures)
        waiting = inner


def _attribute(waiting: object, *names: str) -> object:
    """Return a field of a coroutine, a generator or an asynchronous generator."""
    fields = (f"{kind}_{name}" for name in names for kind in ("cr", "gi", "ag"))
    return next((getattr(waiting, one) for one in fields if hasattr(waiting, one)), None)


def _named(future: asyncio.Future[object]) -> str:
    return f"task {future.get_name()}" if isinstance(future, asyncio.Task) else "a future"
