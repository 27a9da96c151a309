"""Connections that send nothing, 3,000 a second at each port: what others have meanwhile and after.

`tests.bench.tenants.connects` makes them, in a process of its own.
"""

import asyncio
import contextlib
import http
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from kudo_cluster.installation import Service
from serving.event_loop import Longest
from tests.bench import load
from tests.bench.figures import Figure
from tests.bench.memory import own_memory, pid
from tests.bench.tenants.tenants import Tenants

_RATE: Final = 3000
_SECONDS: Final = 10.0
_REVIEWS: Final = 80.0
_FRESH: Final = 20.0
"""Reviews a second, on connections that stay and on one that is new for each."""
_BESIDE: Final = 3.0
"""Seconds for which others are measured before and after a burst."""
_PROBES: Final = 0.2
"""Seconds between two probes of a service."""
_MOST_MEMORY: Final = 64 << 20
_MAX_CPU: Final = 0.050
_P99_DURING: Final = 0.5
_P99_AFTER: Final = 0.1


@dataclass
class Probed:
    """What /healthz of both services answered, and the most memory that they had meanwhile.

    Attributes:
        slowest: Seconds.
        failures: Probes without the answer 200 within 5 seconds, the limit in the chart.
        memory: Bytes of each service's main process, at most.
    """

    count: int = 0
    slowest: float = 0.0
    failures: int = 0
    memory: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Burst:
    """What was measured of the connections to one port.

    Attributes:
        name: The port, and what was sent.
        connects: Made in `seconds`.
        grown: Bytes by which the service of the port grew, at most and once they were gone.
        turn: The longest turn of that service's event loop.
        alone, kept, fresh, after: Others' reviews before the burst, during it on connections that
            stay and on new ones, and after it.
        probed: Of both services, during the burst and after it.
    """

    name: str
    connects: int
    seconds: float
    grown: tuple[int, int]
    turn: Longest
    alone: load.Result
    kept: load.Result
    fresh: load.Result
    after: load.Result
    probed: Probed


async def measure_silent(tenants: Tenants) -> list[Figure]:
    """Connect to each port of both services, one after the other."""
    webhook, reconciler = tenants.installation.webhook, tenants.installation.reconciler
    bursts = [
        await _measure(tenants, "admission port", webhook, tenants.port),
        await _measure(tenants, "admission port, one byte each", webhook, tenants.port, b"\x16"),
        await _measure(tenants, "webhook's probe port", webhook, webhook.probe_port),
        await _measure(tenants, "reconciler's probe port", reconciler, reconciler.probe_port),
    ]
    return list(_figures(bursts))


async def _measure(
    tenants: Tenants, name: str, service: Service, port: int, data: bytes = b""
) -> Burst:
    tenants.turns()
    alone = await tenants.loads.run(_job(tenants, _REVIEWS, _BESIDE))
    before = own_memory(pid(service))
    async with _probing(tenants) as probed:
        kept, fresh, made = await asyncio.gather(
            tenants.loads.run(_job(tenants, _REVIEWS, _SECONDS)),
            load.once(_job(tenants, _FRESH, _SECONDS, fresh=True)),
            _connect(port, data),
        )
        after = await tenants.loads.run(_job(tenants, _REVIEWS, _BESIDE))
    grown = probed.memory[service.name] - before, own_memory(pid(service)) - before
    webhook, reconciler = tenants.turns()
    turn = webhook if service is tenants.installation.webhook else reconciler
    reviews = alone, kept, fresh, after
    return Burst(name, int(made["connects"]), made["seconds"], grown, turn, *reviews, probed)


async def _connect(port: int, data: bytes) -> dict[str, float]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.bench.tenants.connects"),
        *(str(port), str(_RATE), str(_SECONDS), *([data.hex()] if data else [])),
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        printed, _ = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    found: dict[str, float] = json.loads(printed)
    return found


def _job(tenants: Tenants, rate: float, seconds: float, *, fresh: bool = False) -> load.Job:
    return load.Job(
        tenants.port,
        str(tenants.ca),
        str(tenants.bodies),
        int(rate * seconds),
        connections=8,
        rate=rate,
        fresh=fresh,
    )


@asynccontextmanager
async def _probing(tenants: Tenants) -> AsyncIterator[Probed]:
    """Ask both services for /healthz as the kubelet does, on a new connection each time."""
    probed = Probed()
    services = tenants.installation.webhook, tenants.installation.reconciler

    async def probe(service: Service) -> None:
        while True:
            began = time.monotonic()
            status, _ = await asyncio.to_thread(service.get, "/healthz")
            probed.count += 1
            probed.slowest = max(probed.slowest, time.monotonic() - began)
            probed.failures += status != http.HTTPStatus.OK
            memory = own_memory(pid(service))
            probed.memory[service.name] = max(memory, probed.memory.get(service.name, 0))
            await asyncio.sleep(_PROBES)

    tasks = [asyncio.create_task(probe(service), name=service.name) for service in services]
    try:
        yield probed
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _figures(bursts: list[Burst]) -> Iterator[Figure]:
    """Yield the figures of each port."""
    for one in bursts:
        name = f"hostile: {one.connects / one.seconds:,.0f} connects/s at the {one.name}"
        most, left = (grown / 2**20 for grown in one.grown)
        yield Figure(
            f"{name}: memory", f"<= {_MOST_MEMORY >> 20} MiB",
            f"{most:.0f} MiB at most, {left:.0f} MiB after", max(one.grown) <= _MOST_MEMORY,
        )  # fmt: skip
        yield Figure(
            f"{name}: longest turn of the service, CPU", f"<= {_MAX_CPU * 1e3:.0f} ms",
            f"{one.turn.cpu * 1e3:.0f} ms", one.turn.cpu <= _MAX_CPU,
        )  # fmt: skip
        during = load.Result(one.kept.latencies + one.fresh.latencies).percentile(0.99)
        after = one.after.percentile(0.99)
        failures = one.kept.failures + one.fresh.failures + one.after.failures
        yield Figure(
            f"{name}: p99 of others' reviews",
            f"<= {_P99_DURING * 1e3:.0f} ms, then <= {_P99_AFTER * 1e3:.0f} ms, 0 failed",
            f"{during * 1e3:.0f} ms ({one.kept.percentile(0.99) * 1e3:.0f} ms without new "
            f"connections), then {after * 1e3:.0f} ms; alone "
            f"{one.alone.percentile(0.99) * 1e3:.0f} ms; {len(failures)} failed"
            + "".join(f": {failure}" for failure in failures[:1]),
            during <= _P99_DURING and after <= _P99_AFTER and not failures,
        )
        yield Figure(
            f"{name}: /healthz of both services", "0 failed",
            f"{one.probed.failures} of {one.probed.count} failed, "
            f"at most {one.probed.slowest * 1e3:.0f} ms",
            not one.probed.failures,
        )  # fmt: skip
