"""Runs a service; expected errors become one log line and an exit code."""

import asyncio
import contextlib
import logging
import resource
from collections.abc import Awaitable, Callable

from serving.garbage import keep_collections_short
from serving.signals import stop_on_signals
from serving.turns import TimedLoop

log = logging.getLogger(__name__)


def run_service(
    main: Callable[[asyncio.Event], Awaitable[None]], *expected: type[Exception]
) -> int:
    """Run a service until a signal ends it, on a measured event loop (`serving.turns`).

    Args:
        main: The service; it returns after the event that it is given is set.
        expected: Errors whose text is enough to tell what is wrong.

    Returns:
        The exit code: 0 stopped, 1 failed for a reason that is logged.
    """
    keep_collections_short()
    _open_more_files()
    with asyncio.Runner(loop_factory=TimedLoop) as runner:
        return runner.run(_run(main, expected))


async def _run(
    main: Callable[[asyncio.Event], Awaitable[None]], expected: tuple[type[Exception], ...]
) -> int:
    log.info("starting")
    failed = 0
    try:
        await main(stop_on_signals())
    except* expected as group:
        log.error("cannot start", extra={"error": _reasons(group)})
        failed = 1
    log.info("stopped")
    return failed


def _open_more_files() -> None:
    """Let this process open as many files as it may: often 1,024 are set, and far more allowed."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # macOS refuses "unlimited".
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _reasons(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_reasons(part) for part in error.exceptions)
    return str(error)
