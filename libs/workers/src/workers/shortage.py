"""Notices that jobs wait and none gets a worker, whatever the cause."""

import asyncio
import logging
from collections.abc import Callable

log = logging.getLogger(__name__)


class Shortage:
    """The time in which no worker could be given to a job.

    Args:
        patience: Seconds until it is reported; a shorter one is usual.
        describe: Returns the state of the pool, for the report.

    Attributes:
        text: What is wrong; empty unless it lasts.
    """

    def __init__(self, patience: float, describe: Callable[[], str]) -> None:
        self.text = ""
        self._patience = patience
        self._describe = describe
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Record that a job waits for want of a worker; no effect if one does already."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._report)

    def over(self) -> None:
        """Record that a worker was given to a job, or could be."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.text:
            log.info("jobs get worker processes again")
            self.text = ""

    def _report(self) -> None:
        self.text = f"no job got a worker process for {self._patience:g} s: {self._describe()}"
        log.error("no worker process for jobs", extra={"why": self.text})
