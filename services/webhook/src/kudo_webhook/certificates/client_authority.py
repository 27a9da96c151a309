"""The authority of client certificates, in a file that is polled, as in `files`."""

import asyncio
import logging
from pathlib import Path

from kudo_webhook.certificates.served import Served

log = logging.getLogger(__name__)


class ClientAuthority:
    """The authority of client certificates, in a PEM file that may change.

    Attributes:
        problem: Why clients cannot be verified yet; empty if they can.
    """

    def __init__(self, served: Served, path: Path) -> None:
        self._served, self._path = served, path
        self._seen: bytes | None = None
        self._told = ""
        self._loaded = False
        self.problem = "it has not been read yet"

    def refresh(self) -> None:
        """Trust what the file holds now; blocks for the reading.

        A file that cannot be used is logged once, and the authority that was read before stays.
        """
        try:
            found = self._path.read_bytes()
            if found == self._seen:
                return
            self._seen = found
            self._served.trust(found)
        except OSError as error:
            self._seen = None
            self._refused(f"{self._path}: {error.strerror or error}")
            return
        except ValueError as error:
            self._refused(f"{self._path} {error}")
            return
        self._loaded, self._told, self.problem = True, "", ""
        log.info("client CA loaded", extra={"path": str(self._path)})

    async def watch(self, interval: float) -> None:
        """Refresh for ever; changes are seen after `interval` seconds at most."""
        while True:
            await asyncio.to_thread(self.refresh)
            await asyncio.sleep(interval)

    def _refused(self, problem: str) -> None:
        if not self._loaded:
            self.problem = problem
        if problem != self._told:
            self._told = problem
            kept = "the one loaded before stays" if self._loaded else "no client is accepted"
            log.error("client CA refused, %s", kept, extra={"error": problem})
