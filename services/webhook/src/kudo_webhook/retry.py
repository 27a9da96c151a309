"""The loop that keeps objects of the API server in the desired state, until cancelled.

A failed attempt is followed by another one after a growing delay, and its reason is logged once
until it changes.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from kubeio.backoff import Backoff
from kubeio.errors import KubeError

log = logging.getLogger(__name__)

SOON_SECONDS = 1.0
"""Delay before an attempt that has something left to do."""
_SUSPICIOUS_LOSSES = 5


class LostRace(Exception):
    """Another replica has written meanwhile; start over with what it wrote."""


class RetryLoop:
    """Makes one attempt after another.

    Args:
        attempt: Makes one attempt, and returns the seconds until the next one. It may raise
            `LostRace`, `KubeError`, TimeoutError and the errors of `expected`; others end the loop.
        timeout: Seconds that an attempt may take.
        longest_delay: Seconds of the longest delay after a failure.
        complaint: What failed, for the log: the reason follows.
        expected: Errors of failed attempts besides those of the API server.
        describe: Returns the text of an error; empty if the error has none.
        on_failure: Told of each failed attempt; a lost race is none.
    """

    def __init__(
        self,
        attempt: Callable[[], Awaitable[float]],
        *,
        timeout: float,
        longest_delay: float,
        complaint: str,
        expected: tuple[type[Exception], ...] = (),
        describe: Callable[[Exception], str] = str,
        on_failure: Callable[[], None] = lambda: None,
    ) -> None:
        self._attempt = attempt
        self._timeout = timeout
        self._complaint = complaint
        self._failed: tuple[type[Exception], ...] = (KubeError, TimeoutError, *expected)
        self._describe = describe
        self._on_failure = on_failure
        self._races = Backoff(base=SOON_SECONDS / 4, cap=longest_delay)
        self._failures = Backoff(base=SOON_SECONDS, cap=longest_delay)
        self._logged = ""

    async def run(self) -> None:
        """Make attempts until cancelled."""
        while True:
            delay = await self.once()
            await asyncio.sleep(delay)

    async def once(self) -> float:
        """Make one attempt; returns the seconds until the next one."""
        try:
            async with asyncio.timeout(self._timeout):
                delay = await self._attempt()
        except LostRace as error:
            # Somebody else got on with the same work, so it is tried again sooner than after a
            # failure; only a writer that never stops is worth a line in the log.
            delay = self._races.next()
            if self._races.attempts >= _SUSPICIOUS_LOSSES:
                self._log(str(error))
            return delay
        except self._failed as error:
            self._on_failure()
            self._log(self._describe(error) or "the API server did not answer in time")
            return self._failures.next(error)
        self._races.reset()
        self._failures.reset()
        self._logged = ""
        return delay

    def _log(self, reason: str) -> None:
        if reason != self._logged:
            log.warning("%s: %s", self._complaint, reason)
        self._logged = reason
