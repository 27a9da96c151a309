"""The outermost layer of a service: expected failures become one line and an exit code."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from serving.garbage import keep_collections_short
from serving.signals import stop_on_signals
from serving.turns import TimedLoop

log = logging.getLogger(__name__)


def run_service(
    main: Callable[[asyncio.Event], Awaitable[None]], *expected: type[Exception]
) -> int:
    """Run a service until a signal ends it, on a loop whose turns are measured.

    Args:
        main: The service; it ends when the event that it is given is set.
        expected: Failures that say themselves what is wrong.

    Returns:
        The exit code: 0 stopped, 1 failed for a reason that the log names.
    """
    keep_collections_short()
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


def _reasons(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_reasons(part) for part in error.exceptions)
    return str(error)
