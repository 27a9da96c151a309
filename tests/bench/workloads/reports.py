"""Figures of a comparison: rates, requests, CPU, latencies."""

from collections.abc import Sequence
from typing import Final

from tests.bench.figures import Figure
from tests.bench.floor.recording import Exchange, told
from tests.bench.measure.processes import API
from tests.bench.measure.requests import READS, Request, RequestCounts
from tests.bench.rounds import Values
from tests.bench.workloads.batch import Batch
from tests.bench.workloads.workload import (
    CLIENT,
    FLOOR,
    PLAIN,
    RECONCILER,
    Compared,
    Workload,
)

REFERENCE: Final = "a reference"
_RESOURCES: Final = (
    "instances",
    "operatorversions",
    "configmaps",
    "services",
    "deployments",
    "events",
)


def rates(batches: Sequence[Batch]) -> Values:
    return Values(tuple(batch.rate for batch in batches))


def cpu_each(batches: Sequence[Batch], process: str) -> Values:
    return Values(tuple(batch.cpu_each(process) for batch in batches))


def milliseconds(seconds: Values) -> str:
    return seconds.told(1, factor=1e3, unit="ms")


def latencies(batches: Sequence[Batch]) -> str:
    """Return the percentiles of the latencies for people, as medians of the rounds."""
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
    found = (
        f"{name} {Values(tuple(b.percentile(share) for b in batches)).median:.2f} s"
        for name, share in shares.items()
    )
    return ", ".join(found)


def rate_figure(workload: Workload, found: Compared, what: str, least: float | None) -> Figure:
    """Compare the rate with that of the protocol floor.

    Args:
        workload: What was measured.
        found: All rounds.
        what: What the Instances are asked for, for people.
        least: Share of the floor's rate to reach; None if there is no target.
    """
    ours, floor = rates(found.batches[RECONCILER]), rates(found.batches[FLOOR])
    share = ours.over(floor)
    number = len(found.batches[RECONCILER][0].latencies)
    return Figure(
        f"{workload.name}: {number} {what}, rate over the floor's",
        REFERENCE if least is None else f">= {least}",
        f"{share.told()}; {ours.told(1, unit='/s')} over {floor.told(1, unit='/s')}",
        least is None or share.median >= least,
        values={"share": share.values, "rate": ours.values, "floor rate": floor.values},
    )


def plain_rate_figure(workload: Workload, found: Compared) -> Figure:
    plain = rates(found.batches[PLAIN])
    share = plain.over(rates(found.batches[FLOOR]))
    return Figure(
        f"{workload.name}: the floor's client on plain aiohttp, rate over the floor's",
        REFERENCE,
        f"{share.told()}; {plain.told(1, unit='/s')}",
        ok=True,
        values={"rate": plain.values},
    )


def recorded(exchanges: Sequence[Exchange]) -> tuple[int, int, int, int]:
    """Return how many reads, writes, events and others there are.

    Others are dry runs, and writes that were refused.
    """
    reads = sum(one.reads for one in exchanges)
    events = sum(one.writes and one.resource == "events" for one in exchanges)
    writes = sum(one.writes for one in exchanges) - events
    return reads, writes, events, len(exchanges) - reads - writes - events


def recorded_figure(
    workload: Workload, found: Compared, most: tuple[int, int, int] | None
) -> Figure:
    """Tell the requests of the recorded run in order; `most` are reads, writes and events."""
    exchanges = found.recording.exchanges
    reads, writes, events, others = recorded(exchanges)
    good = most is None or (
        reads <= most[0] and writes <= most[1] and events <= most[2] and not others
    )
    return Figure(
        f"{workload.name}: requests of a recorded run, after the request for it",
        REFERENCE if most is None else "<= {} read, {} writes, {} events".format(*most),
        f"{reads} reads, {writes} writes, {events} events, {others} others: "
        + ", ".join(told(exchanges)),
        good,
        values={"requests": list(told(exchanges))},
    )


def own_requests(workload: Workload, batch: Batch) -> RequestCounts:
    """Return the requests of a batch without those of the bench."""
    number = len(batch.latencies)
    # Beside the requests there was a list to watch from.
    sent = {Request("LIST", "instances"): 1, workload.sent: number}
    return batch.requests.of(_RESOURCES).without(sent)


def counted_figure(workload: Workload, found: Compared, most: tuple[int, int] | None) -> Figure:
    """Tell the requests for an Instance by the API server's counts; `most` are all, and reads."""
    ours = found.batches[RECONCILER]
    number = len(ours[0].latencies)
    counts = [own_requests(workload, batch) for batch in ours]
    each = Values(tuple(sum(one.counts.values()) / number for one in counts))
    reads = Values(tuple(one.total(READS) / number for one in counts))
    return Figure(
        f"{workload.name}: requests for an Instance, as the API server counts them",
        REFERENCE if most is None else "<= {}, of them reads {}".format(*most),
        f"{each.told()}, of them reads {reads.told()}: {', '.join(counts[-1].each(number))}",
        most is None or (each.median <= most[0] and reads.median <= most[1]),
        values={"requests": each.values, "reads": reads.values},
    )


def cpu_figure(
    workload: Workload, found: Compared, most: float | None, reference: str = PLAIN
) -> Figure:
    """Compare the CPU of the reconciler with that of a client of the floor."""
    mine = cpu_each(found.batches[RECONCILER], RECONCILER)
    least = cpu_each(found.batches[reference], CLIENT)
    ratio = mine.over(least)
    floor = milliseconds(cpu_each(found.batches[FLOOR], CLIENT))
    return Figure(
        f"{workload.name}: CPU of the reconciler over that of the floor's client on {reference}",
        REFERENCE if most is None else f"<= {most}",
        f"{ratio.told()}; {milliseconds(mine)} over {milliseconds(least)} for an Instance"
        + ("" if reference == FLOOR else f"; on {FLOOR} {floor}"),
        most is None or ratio.median <= most,
        values={"ratio": ratio.values, "reconciler": mine.values, reference: least.values},
    )


def latency_figure(workload: Workload, found: Compared) -> Figure:
    return Figure(
        f"{workload.name}: from the request for an Instance until it is done, all sent at once",
        REFERENCE,
        f"{latencies(found.batches[RECONCILER])}; floor {latencies(found.batches[FLOOR])}",
        ok=True,
    )


def others_figure(workload: Workload, found: Compared) -> Figure:
    """Tell what the API server and the webhook take for an Instance."""
    api = cpu_each(found.batches[RECONCILER], API)
    floor = cpu_each(found.batches[FLOOR], API)
    webhook = cpu_each(found.batches[RECONCILER], "webhook")
    return Figure(
        f"{workload.name}: CPU of the other processes for an Instance",
        REFERENCE,
        f"{API} {milliseconds(api)}, beside the floor {milliseconds(floor)}; "
        f"webhook {milliseconds(webhook)}",
        ok=True,
        values={"api": api.values, "api beside the floor": floor.values, "webhook": webhook.values},
    )
