"""The webhook: CPU per request, latency, reads of the API server, renewal of the certificate.

The real process under TLS with the caches of a real cluster, asked directly; the client is another
process. The API server itself says how many reads reached it.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kubeio.client import Client
from kubeio.connection.config import load_config
from kubeio.resource import Resource
from kudo_cluster.installation import Service
from tests.bench import load, reviews
from tests.bench.figures import Figure
from tests.bench.renewal import Renewal, renew_under_load
from tests.bench.rounds import Values, cpu_seconds, paired
from tests.bench.world import Call, World, each, program
from tests.support.cluster.resources import INSTANCES, NAMESPACES, VERSIONS

_INSTANCES = 1000
_VERSIONS = 100
_NAMESPACE = "bench"
_CPU_REQUESTS = 3000
_RATE = 200
_RATE_SECONDS = 6
_RENEWALS = 50
_WARM_UP = 1000

_MAX_RATIO = 1.7
_MAX_P99 = 0.010
_READS = re.compile(
    r'^apiserver_request_total\{[^}]*resource="operatorversions"[^}]*verb="(?:GET|LIST)"[^}]*\} '
    r"(\S+)$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Subject:
    """A server that is measured."""

    service: Service
    port: int
    ca: Path
    bodies: Path

    async def send(self, requests: int, rate: float = 0.0) -> load.Result:
        """Send requests from another process.

        Raises:
            RuntimeError: one failed.
        """
        job = load.Job(self.port, str(self.ca), str(self.bodies), requests, rate=rate)
        result = await load.once(job)
        if result.failures:
            raise RuntimeError(f"{self.service.name}: {result.failures[0]}")
        return result

    async def cpu_per_request(self) -> float:
        before = self._cpu()
        await self.send(_CPU_REQUESTS)
        return (self._cpu() - before) / _CPU_REQUESTS

    async def p99(self) -> float:
        return (await self.send(_RATE * _RATE_SECONDS, _RATE)).percentile(0.99)

    def _cpu(self) -> float:
        assert self.service.process is not None
        return cpu_seconds(self.service.process.pid)


async def bench(world: World, rounds: int) -> list[Figure]:
    """Measure the webhook on a cluster of its own."""
    await _fill(world)
    bodies = world.directory / "bodies"
    size = reviews.write(bodies, reviews.reviews(_NAMESPACE, _version_names()))
    with _started(world, bodies) as (webhook, constant):
        for subject in (webhook, constant):
            await subject.send(_WARM_UP)
        before = await _reads(world)
        world.progress("measuring CPU per request")
        cpu = await paired(
            rounds, {"webhook": webhook.cpu_per_request, "constant": constant.cpu_per_request}
        )
        world.progress(f"measuring latency at {_RATE} requests/s")
        p99 = await paired(rounds, {"webhook": webhook.p99, "constant": constant.p99})
        reads = await _reads(world) - before
        world.progress(f"renewing the certificate {_RENEWALS} times")
        renewal = await renew_under_load(
            _RENEWALS,
            world.new_certificate,
            world.certificate,
            port=webhook.port,
            ca=world.ca,
            bodies=bodies,
        )
    sent = rounds * (_CPU_REQUESTS + _RATE * _RATE_SECONDS)
    return [_cpu(cpu, size), _latency(p99), _api_reads(reads, sent), _renewals(renewal)]


async def _fill(world: World) -> None:
    world.progress(f"creating {_VERSIONS} OperatorVersions and {_INSTANCES} Instances")
    names = _version_names()
    async with Client(load_config(world.cluster.kubeconfig("admin"))) as client:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}}
        await client.create(NAMESPACES, namespace)
        await each(_creation(client, VERSIONS, reviews.operator_version(n)) for n in names)
        await each(
            _creation(client, INSTANCES, reviews.instance(f"i-{n}", names[n % _VERSIONS]))
            for n in range(_INSTANCES)
        )


def _creation(client: Client, resource: Resource, obj: reviews.Json) -> Call:
    return partial(client.create, resource, obj, namespace=_NAMESPACE)


def _version_names() -> list[str]:
    return [f"bench-{number}" for number in range(_VERSIONS)]


@contextmanager
def _started(world: World, bodies: Path) -> Iterator[tuple[Subject, Subject]]:
    kubeconfig = world.cluster.kubeconfig("webhook")
    commands = {
        "webhook": [
            str(program("kudo-webhook")),
            f"--kubeconfig={kubeconfig}",
            "--host=127.0.0.1",
            "--probe-host=127.0.0.1",
            "--tls-poll=0.05",
            "--drain-seconds=0",
        ],
        "constant": [sys.executable, "-m", "tests.bench.constant"],
    }
    subjects = []
    for name, command in commands.items():
        service, port = world.service(name, command)
        service.start()
        subjects.append(Subject(service, port, world.ca, bodies))
    webhook, constant = subjects
    try:
        yield webhook, constant
    finally:
        for subject in subjects:
            subject.service.stop()


async def _reads(world: World) -> int:
    """Return how many reads and lists of OperatorVersions the API server has answered."""
    text = await world.api_metrics()
    return sum(int(float(value)) for value in _READS.findall(text))


def _cpu(cpu: dict[str, Values], size: float) -> Figure:
    mine, constant = cpu["webhook"], cpu["constant"]
    ratio = mine.over(constant)
    return Figure(
        f"webhook: server CPU per request ({size / 1000:.1f} KB body) over a constant FastAPI POST",
        f"<= {_MAX_RATIO}",
        f"{ratio.median:.2f} (min {ratio.minimum:.2f}; {mine.minimum * 1e6:.0f} us over "
        f"{constant.minimum * 1e6:.0f} us)",
        ratio.median <= _MAX_RATIO,
    )


def _latency(p99: dict[str, Values]) -> Figure:
    mine, constant = p99["webhook"], p99["constant"]
    return Figure(
        f"webhook: p99 at {_RATE} requests/s, {_INSTANCES} Instances, {_VERSIONS} OperatorVersions",
        f"<= {_MAX_P99 * 1e3:.0f} ms",
        f"{mine.median * 1e3:.1f} ms (min {mine.minimum * 1e3:.1f} ms; constant "
        f"{constant.median * 1e3:.1f} ms)",
        mine.median <= _MAX_P99,
    )


def _api_reads(reads: int, sent: int) -> Figure:
    return Figure(
        "webhook: API reads per request in steady state",
        "0",
        f"{reads / sent:g} ({reads} for {sent} requests)",
        reads == 0,
    )


def _renewals(renewal: Renewal) -> Figure:
    failed, sent = len(renewal.failures), len(renewal.kept.latencies) + len(renewal.fresh.latencies)
    return Figure(
        f"webhook: failed requests while the certificate is swapped {_RENEWALS} times",
        "0",
        f"{failed} of {sent} ({renewal.served} certificates served)",
        failed == 0 and renewal.served == _RENEWALS,
    )
