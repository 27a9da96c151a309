"""What was measured beside hostile tenants, against the figures to reach."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from tests.bench.figures import Figure
from tests.bench.load import Result
from tests.faults.tenants import Beside, Row

_MAX_CPU: Final = 0.050
_MAX_RATIO: Final = 1.5
_MAX_P99: Final = 0.100


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each input, and what is wrong.

    Times of deploys are those of the fastest round, over the median of all alone: what else runs on
    the machine only ever makes them longer.
    """
    alone = median_alone(rows)
    head = "how it ends", "loop CPU (wall), ms: webhook", "reconciler", "deploys", "reviews p99, ms"
    yield f"{'input':56} " + " | ".join(head)
    for row in rows:
        said = "ok" if not row.problems else "FAILED"
        yield f"{row.sent!s:56} {row.sent.end} {said} | {' | '.join(_cells(row, alone))}"
    yield from (f"FAILED {row.sent}: {problem}" for row in rows for problem in row.problems)


def _cells(row: Row, alone: float) -> tuple[str, ...]:
    wall = [max(getattr(f, name).wall for f in row.found) for name in ("webhook", "reconciler")]
    fastest = min(one.deploys for one in row.beside)
    return (
        f"{_ms(webhook_cpu(row))} ({_ms(wall[0])})",
        f"{_ms(reconciler_cpu(row))} ({_ms(wall[1])})",
        f"{fastest:.2f} s, {fastest / alone:.2f} x",
        f"{_ms(_p99(row.beside))} (alone {_ms(_p99([row.alone]))})",
    )


def figures(rows: Sequence[Row]) -> list[Figure]:
    """Return the worst of each figure over all inputs."""
    alone = median_alone(rows)
    ratio, slowest = max((ratio_of(row, alone), str(row.sent)) for row in rows)
    p99, latest = max((_p99(row.beside), str(row.sent)) for row in rows)
    failed = sum(len(one.reviews.failures) for row in rows for one in row.beside)
    problems = sum(bool(row.problems) for row in rows)
    # How much the same differs without any input tells what the machine makes of it.
    most = max(row.alone.deploys for row in rows)
    latest_alone = max(_p99([row.alone]) for row in rows)
    return [
        *_loops(rows),
        Figure(
            f"hostile: deploys beside each of {len(rows)} inputs, over {alone:.2f} s alone",
            f"<= {_MAX_RATIO} x",
            f"{ratio:.2f} x ({slowest}); alone at most {most / alone:.2f} x",
            ratio <= _MAX_RATIO,
        ),
        Figure(
            f"hostile: p99 of others' reviews beside each of {len(rows)} inputs",
            f"<= {_MAX_P99 * 1e3:.0f} ms",
            f"{_ms(p99)} ms ({latest}); alone at most {_ms(latest_alone)} ms",
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
    return min(one.deploys for one in row.beside) / alone


def webhook_cpu(row: Row) -> float:
    return max(found.webhook.cpu for found in row.found)


def reconciler_cpu(row: Row) -> float:
    return max(found.reconciler.cpu for found in row.found)


def _p99(besides: Sequence[Beside]) -> float:
    latencies = [seconds for one in besides for seconds in one.reviews.latencies]
    return Result(latencies).percentile(0.99)


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}"
