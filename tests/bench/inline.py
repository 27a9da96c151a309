"""A small task rendered inline: what the limits cost, and the way to them.

The same Deployment and ConfigMap are rendered and read as YAML by the `Renderer` of the reconciler,
which looks whether the task is small and known and counts against the limits of an event loop, and
by the same engine alone, under limits that it is far from. CPU time of the thread; the best of many
paired batches.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Final

from kudo.jobs.render import Request, make
from kudo.parameters.template import RawParameter
from kudo.tasks.rendering import Engine, Variables
from kudo_reconciler.execution.rendering import Renderer
from tests.bench.figures import Figure
from tests.support import build

_BATCHES: Final = 20
_CALLS: Final = 50
_TARGET: Final = 0.05
_TEXT: Final = build.template(
    build.deployment("{{ .Name }}-web", replicas="{{int .Params.REPLICAS int}}"),
    build.config_map(
        "{{ .Name }}-settings", **{f"setting-{n}": f"{{{{ .Params.P{n} }}}}" for n in range(8)}
    ),
)


def bench(rounds: int) -> list[Figure]:
    """Measure in this process; no worker process is needed."""
    return [_figure(*asyncio.run(_measure(rounds)))]


async def _measure(rounds: int) -> tuple[float, float]:
    renderer, request = Renderer(_NoJobs()), _request()

    async def inline() -> None:
        await renderer.objects(request, "ours")

    async def alone() -> None:
        engine = Engine.full()
        make(request, engine, request.variables.read(engine.budget), resource="all.yaml")
        # The loop is given back after each template in both.
        await asyncio.sleep(0)

    fastest = [math.inf, math.inf]
    for _ in range(rounds * _BATCHES):
        fastest = [min(fastest[0], await _batch(inline)), min(fastest[1], await _batch(alone))]
    return fastest[0], fastest[1]


def _request() -> Request:
    fixed = {"Name": "web", "Namespace": "ours", "OperatorName": "bench", "PlanName": "deploy"}
    parameters = tuple(RawParameter(f"P{n}", "string", f"value of {n}") for n in range(20))
    variables = Variables(fixed, (*parameters, RawParameter("REPLICAS", "integer", "3")))
    return Request("objects", ("all.yaml",), {"all.yaml": _TEXT}, variables)


async def _batch(call: Callable[[], Awaitable[None]]) -> float:
    began = time.thread_time()
    for _ in range(_CALLS):
        await call()
    return (time.thread_time() - began) / _CALLS


class _NoJobs:
    async def call(
        self,
        handler: str,
        payload: bytes,
        *,
        tenant: str,
        cpu: float | None = None,
        wall: float | None = None,
    ) -> bytes:
        limits = f"within {cpu} s of CPU and {wall} s"
        raise AssertionError(f"{handler} of {len(payload)} bytes for {tenant} {limits}: not small")


def _figure(inline: float, alone: float) -> Figure:
    share = inline / alone - 1
    return Figure(
        f"template: overhead of limits and of the way to them, inline, {len(_TEXT)} characters",
        f"<= {_TARGET * 100:.0f} %",
        f"{share * 100:.1f} % ({inline * 1e6:.0f} us over {alone * 1e6:.0f} us)",
        share <= _TARGET,
    )
