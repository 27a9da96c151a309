"""Certificates renewed under load: how many requests fail."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.bench import load

_RATE = 100
_SECONDS = 20.0


@dataclass(frozen=True)
class Renewal:
    """What came of it.

    Attributes:
        served: How many of the certificates that were written have been served.
        kept: The requests over connections that were kept.
        fresh: The requests that each opened a connection.
    """

    served: int
    kept: load.Result
    fresh: load.Result

    @property
    def failures(self) -> list[str]:
        return self.kept.failures + self.fresh.failures


async def renew_under_load(
    times: int, write: Callable[[], object], certificate: Path, *, port: int, ca: Path, bodies: Path
) -> Renewal:
    """Write certificates one after the other, each once the last one is served.

    Args:
        times: How many.
        write: Writes another certificate and its key.
        certificate: Where it writes the certificate to.
        port: The server, on the loopback interface.
        ca: The authority of every certificate.
        bodies: What the load sends.

    Raises:
        TimeoutError: a certificate was not served in time.
    """
    stop = asyncio.Event()
    many = _RATE * 3600
    async with asyncio.TaskGroup() as group:
        kept, fresh = (
            group.create_task(
                load.run(load.Job(port, str(ca), str(bodies), many, 8, _RATE, fresh), stop)
            )
            for fresh in (False, True)
        )
        for _ in range(times):
            await asyncio.to_thread(write)
            await _until_served(port, await asyncio.to_thread(_der, certificate))
        stop.set()
    return Renewal(times, kept.result(), fresh.result())


def _der(certificate: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert(certificate.read_text(encoding="ascii"))


async def _until_served(port: int, desired: bytes) -> None:
    async with asyncio.timeout(_SECONDS):
        while await _served(port) != desired:  # noqa: ASYNC110 - another process serves it
            await asyncio.sleep(0.01)


async def _served(port: int) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    try:
        found: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return found
    finally:
        writer.close()
        await writer.wait_closed()
