"""Waits for a condition, and says what it lacked when time is over."""

import time
from collections.abc import Callable

from tools.compose.errors import ComposeError

_POLL = 0.5


def until(what: str, problem: Callable[[], str | None], seconds: float) -> None:
    """Wait until `problem` returns None.

    Args:
        what: is waited for, such as `webhook is healthy`.
        problem: returns why it is not so yet; a ComposeError that it raises ends the wait.
        seconds: at most.

    Raises:
        ComposeError: time is over; the text has the last problem.
    """
    deadline = time.monotonic() + seconds
    while (lacking := problem()) is not None:
        if time.monotonic() > deadline:
            raise ComposeError(f"not within {seconds:.0f} s: {what}; the last state: {lacking}")
        time.sleep(_POLL)
