"""What was measured beside hostile tenants, against the figures to reach."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from tests.bench.figures import Figure
from tests.bench.load import Result
from tests.bench.tenants.cpu import GROUPS, Seconds, between, mean
from tests.bench.tenants.tenants import DEPLOYS, ROUNDS, Beside, Row

_MAX_CPU: Final = 0.050
_MAX_RATIO: Final = 1.5
_MAX_P99: Final = 0.100


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each input, and what is wrong."""
    alone = median_alone(rows)
    yield f"deploys and p99 of others' reviews alone: {alone:.2f} s, {_ms(_p99_alone(rows))} ms"
    head = "how it ends", "loop CPU (wall), ms: webhook", "reconciler", "deploys", "reviews p99, ms"
    yield f"{'input':56} " + " | ".join(head)
    for row in rows:
        said = "ok" if not row.problems else "FAILED"
        yield f"{row.sent!s:56} {row.sent.end} {said} | {' | '.join(_cells(row, alone))}"
    yield from (f"FAILED {row.sent}: {problem}" for row in rows for problem in row.problems)


def _cells(row: Row, alone: float) -> tuple[str, ...]:
    wall = [max(getattr(f, name).wall for f in row.found) for name in ("webhook", "reconciler")]
    times = [one.deploys for one in row.beside]
    return (
        f"{_ms(webhook_cpu(row))} ({_ms(wall[0])})",
        f"{_ms(reconciler_cpu(row))} ({_ms(wall[1])})",
        f"{ratio_of(row, alone):.2f} x ({min(times) / alone:.2f} to {max(times) / alone:.2f})",
        f"{_ms(_p99(row.beside))}",
    )


def profile(rows: Sequence[Row], chosen: Sequence[Row]) -> Iterator[str]:
    """Yield what each group of processes used while the Instances were deployed.

    Args:
        rows: All rows; what was measured alone is the mean over all of them.
        chosen: Those to show.
    """
    yield f"CPU seconds during {DEPLOYS} deploys, mean; alone, then what is added beside an input"
    yield f"{'':56} " + " | ".join(GROUPS)
    alone = mean([row.alone.cpu for row in rows])
    yield f"{'alone':56} " + _seconds(alone, "")
    for row in chosen:
        added = between(alone, mean([one.cpu for one in row.beside]))
        yield f"{row.sent!s:56} " + _seconds(added, "+")


def _seconds(found: Seconds, sign: str) -> str:
    return " | ".join(f"{found[group]:{sign}{len(group)}.2f}" for group in GROUPS)


def missed(rows: Sequence[Row]) -> list[Row]:
    """Return the rows that miss a figure."""
    alone = median_alone(rows)
    return [
        row
        for row in rows
        if ratio_of(row, alone) > _MAX_RATIO
        or _p99(row.beside) > _MAX_P99
        or max(webhook_cpu(row), reconciler_cpu(row)) > _MAX_CPU
    ]


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Return the worst of each figure over all inputs."""
    alone = median_alone(rows)
    ratio, slowest = max((ratio_of(row, alone), str(row.sent)) for row in rows)
    p99, latest = max((_p99(row.beside), str(row.sent)) for row in rows)
    failed = sum(len(one.reviews.failures) for row in rows for one in row.beside)
    problems = sum(bool(row.problems) for row in rows)
    # How much the same differs without any input tells what the machine makes of it.
    most = max(row.alone.deploys for row in rows)
    samples = min(sum(len(one.reviews.latencies) for one in row.beside) for row in rows)
    return [
        *_loops(rows),
        Figure(
            f"hostile: deploys beside each of {len(rows)} inputs, median of {ROUNDS}, "
            f"over {alone:.2f} s alone",
            f"<= {_MAX_RATIO} x",
            f"{ratio:.2f} x ({slowest}); alone at most {most / alone:.2f} x",
            ratio <= _MAX_RATIO,
        ),
        Figure(
            f"hostile: p99 of {samples} reviews of others beside each of {len(rows)} inputs",
            f"<= {_MAX_P99 * 1e3:.0f} ms",
            f"{_ms(p99)} ms ({latest}); alone {_ms(_p99_alone(rows))} ms",
            p99 <= _MAX_P99,
        ),
        Figure("hostile: failed reviews of others", "0", str(failed), failed == 0),
        Figure(
            "hostile: inputs that end otherwise, or with a restart or another leader",
            "0",
            str(problems),
            problems == 0,
        ),
    ]


def _loops(rows: Sequence[Row]) -> Iterator[Figure]:
    for name, measure in (("webhook", webhook_cpu), ("reconciler", reconciler_cpu)):
        worst, sent = max((measure(row), str(row.sent)) for row in rows)
        what = f"hostile: longest turn of the {name}'s event loop, CPU"
        target = f"<= {_MAX_CPU * 1e3:.0f} ms"
        yield Figure(what, target, f"{_ms(worst)} ms ({sent})", worst <= _MAX_CPU)


def median_alone(rows: Sequence[Row]) -> float:
    """Return the seconds of the deploys without any input."""
    return statistics.median(row.alone.deploys for row in rows)


def ratio_of(row: Row, alone: float) -> float:
    """Return how much longer the deploys took: the median, over that of all alone."""
    return statistics.median(one.deploys for one in row.beside) / alone


def webhook_cpu(row: Row) -> float:
    return max(found.webhook.cpu for found in row.found)


def reconciler_cpu(row: Row) -> float:
    return max(found.reconciler.cpu for found in row.found)


def _p99_alone(rows: Sequence[Row]) -> float:
    return _p99([row.alone for row in rows])


def _p99(besides: Sequence[Beside]) -> float:
    latencies = [seconds for one in besides for seconds in one.reviews.latencies]
    return Result(latencies).percentile(0.99)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}"
