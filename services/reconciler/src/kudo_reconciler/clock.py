"""The clock, injected so that tests can control the time."""

import asyncio
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the time in UTC."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """Return RFC 3339 in whole seconds, as metav1.Time has it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def loop_seconds() -> float:
    """Return the seconds of the running event loop, which only grow; timers count in them."""
    return asyncio.get_running_loop().time()
