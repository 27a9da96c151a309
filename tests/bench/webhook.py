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
_RATE_SECONDS = 10
_RENEWALS = 50
_WARM_UP = 1000

_MAX_CPU_RATIO = 1.4
_MAX_P99_RATIO = 1.3
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
    with _started(world, bodies) as subjects:
        webhook = subjects["webhook"]
        for subject in subjects.values():
            await subject.send(_WARM_UP)
        before = await _reads(world)
        world.progress("measuring CPU per request")
        cpu = await paired(
            rounds, {name: subject.cpu_per_request for name, subject in subjects.items()}
        )
        world.progress(f"measuring latency at {_RATE} requests/s")
        p99 = await paired(rounds, {name: subject.p99 for name, subject in subjects.items()})
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
def _started(world: World, bodies: Path) -> Iterator[dict[str, Subject]]:
    """Run the webhook and both constant applications; yield each by its name."""
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
        "unparsed": [sys.executable, "-m", "tests.bench.constant", "--body=bytes"],
    }
    subjects: dict[str, Subject] = {}
    for name, command in commands.items():
        service, port = world.service(name, command)
        service.start()
        subjects[name] = Subject(service, port, world.ca, bodies)
    try:
        yield subjects
    finally:
        for subject in subjects.values():
            subject.service.stop()


async def _reads(world: World) -> int:
    """Return how many reads and lists of OperatorVersions the API server has answered."""
    text = await world.api_metrics()
    return sum(int(float(value)) for value in _READS.findall(text))


def _cpu(cpu: dict[str, Values], size: float) -> Figure:
    mine, constant, unparsed = cpu["webhook"], cpu["constant"], cpu["unparsed"]
    ratio = mine.over(constant)
    return Figure(
        f"webhook: server CPU per request ({size / 1000:.1f} KB body) over a constant FastAPI POST "
        "of the same body, ordinary routes on both sides",
        f"<= {_MAX_CPU_RATIO}",
        f"{_spread(ratio)}; {mine.median * 1e6:.0f} us over {constant.median * 1e6:.0f} us; "
        f"{_spread(mine.over(unparsed))} over {unparsed.median * 1e6:.0f} us of one that does not "
        "parse the body",
        ratio.median <= _MAX_CPU_RATIO,
    )


def _latency(p99: dict[str, Values]) -> Figure:
    mine, constant, unparsed = p99["webhook"], p99["constant"], p99["unparsed"]
    ratio = mine.over(constant)
    return Figure(
        f"webhook: p99 at {_RATE} requests/s, {_INSTANCES} Instances, {_VERSIONS} OperatorVersions,"
        " over that of the constant application",
        f"<= {_MAX_P99_RATIO}",
        f"{_spread(ratio)}; {mine.median * 1e3:.1f} ms over {constant.median * 1e3:.1f} ms; "
        f"{_spread(mine.over(unparsed))} over {unparsed.median * 1e3:.1f} ms of one that does not "
        "parse the body",
        ratio.median <= _MAX_P99_RATIO,
    )


def _spread(ratio: Values) -> str:
    """Return the median of ratios, with the smallest and the largest of a round."""
    return f"{ratio.median:.2f} ({ratio.minimum:.2f} to {max(ratio.values):.2f})"


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
