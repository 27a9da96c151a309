"""Requests that never end, at the admission port: what others have beside them, and the memory."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from kudo_webhook.routes import MUTATE_PATH
from serving.event_loop import Longest
from tests.bench.figures import Figure
from tests.bench.memory import resident
from tests.bench.tenants.tenants import Beside, Tenants

_MIB: Final = 2**20
_BODY: Final = 4 * _MIB
_HEAD: Final = f"POST {MUTATE_PATH} HTTP/1.1\r\nhost: x\r\ncontent-length: {_BODY}\r\n\r\n".encode()
_HALVES: Final = (_HEAD[:30], _HEAD + b"{") * 150
_BODIES: Final = (_HEAD + b"{" + b" " * (_BODY - 2),) * 40
_MOST_HELD: Final = 64 * _MIB
"""Twice the bytes of bodies that the port holds, for its other buffers."""
_MAX_CPU: Final = 0.050


@dataclass(frozen=True, slots=True)
class Held:
    """What was measured beside requests that never end.

    Attributes:
        name: What was sent.
        webhook: The longest turn of its event loop.
        beside: What others had.
        bytes: By which the webhook's processes grew.
    """

    name: str
    webhook: Longest
    beside: Beside
    bytes: int


async def measure_port(tenants: Tenants) -> list[Figure]:
    """Send both kinds of requests that never end, one after the other."""
    found = [
        await _measure(tenants, "300 half-open requests", _HALVES),
        await _measure(tenants, "40 bodies of 4 MiB without their last byte", _BODIES),
    ]
    return list(_figures(found))


async def _measure(tenants: Tenants, name: str, parts: Sequence[bytes]) -> Held:
    process = tenants.installation.webhook.process
    assert process is not None
    before = resident(process.pid).now
    tenants.turns()
    async with _sent(tenants, parts):
        beside = await tenants.others()
        grown = resident(process.pid).now - before
    webhook, _ = tenants.turns()
    return Held(name, webhook, beside, grown)


@asynccontextmanager
async def _sent(tenants: Tenants, parts: Sequence[bytes]) -> AsyncIterator[None]:
    """Send each on a connection of its own, which stays open on our side for the block."""
    context = ssl.create_default_context(cafile=str(tenants.ca))
    writers: list[asyncio.StreamWriter] = []
    try:
        for part in parts:
            _, writer = await asyncio.open_connection("127.0.0.1", tenants.port, ssl=context)
            writers.append(writer)
            writer.write(part)
        yield
    finally:
        for writer in writers:
            writer.transport.abort()


def _figures(found: Sequence[Held]) -> Iterator[Figure]:
    """Yield a figure for the memory and one for the loop of each, and the failures of others."""
    for one in found:
        p99 = one.beside.reviews.percentile(0.99)
        failed = len(one.beside.reviews.failures)
        yield Figure(
            f"hostile: {one.name}: memory", f"<= {_MOST_HELD // _MIB} MiB",
            f"{one.bytes / _MIB:.0f} MiB", one.bytes <= _MOST_HELD,
        )  # fmt: skip
        yield Figure(
            f"hostile: {one.name}: longest turn of the webhook, CPU", f"<= {_MAX_CPU * 1e3:.0f} ms",
            f"{one.webhook.cpu * 1e3:.0f} ms", one.webhook.cpu <= _MAX_CPU,
        )  # fmt: skip
        yield Figure(
            f"hostile: {one.name}: others' reviews", "p99 <= 100 ms, 0 failed",
            f"{p99 * 1e3:.0f} ms, {failed} failed", p99 <= 0.1 and not failed,
        )  # fmt: skip
