"""/debug/namespaces: which namespaces use most of a service, for those who operate it.

It names tenants, so it has a listener of its own on 127.0.0.1, and no label of a metric has what it
shows. A report is made when it is asked for, from what the service has in memory anyway. What is
counted since the start of the process is in a table of bounded size (`Tally`).
"""

import asyncio
import heapq
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qs

import orjson

from serving.connections import PROBES, Connections
from serving.probes import AsgiApp, Receive, Scope, Send, answer
from serving.server import serve
from serving.settings import Option, port

PATH: Final = "/debug/namespaces"
_TOP: Final = 20
_REMEMBERED: Final = 1000
_LOCAL: Final = "127.0.0.1"
_LONGEST_NAME: Final = 63
_NAME: Final = re.compile(r"[a-z0-9.-]{1,63}")


class Tally:
    """Sums by namespace, of the thousand namespaces that were counted last.

    A namespace that is forgotten starts at 0 when it is counted again. What was forgotten is still
    part of the total.

    Attributes:
        forgotten: The sum of all namespaces that were forgotten.
    """

    def __init__(self) -> None:
        self.forgotten = 0.0
        self._sums: OrderedDict[str, float] = OrderedDict()

    def add(self, namespace: str, amount: float = 1.0) -> None:
        """Add to the sum of a namespace."""
        # Reviews name namespaces that need not exist, nor be valid.
        namespace = namespace[:_LONGEST_NAME]
        self._sums[namespace] = self._sums.get(namespace, 0.0) + amount
        self._sums.move_to_end(namespace)
        if len(self._sums) > _REMEMBERED:
            self.forgotten += self._sums.popitem(last=False)[1]

    def sums(self) -> Mapping[str, float]:
        """Return the sums by namespace."""
        return self._sums


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that namespaces use.

    Attributes:
        name: For the report.
        read: Returns how much each namespace uses; quick.
        forgotten: Returns what namespaces have used that are known no more.
    """

    name: str
    read: Callable[[], Mapping[str, float]]
    forgotten: Callable[[], float] = lambda: 0.0

    @classmethod
    def of(cls, name: str, tally: Tally) -> "Measure":
        """Return the measure of a table."""
        return cls(name, tally.sums, lambda: tally.forgotten)


Measures = Callable[[], Iterable[Measure]]


def debug_option(env_prefix: str) -> Option:
    """Return the option for the port of /debug/namespaces."""
    return Option(
        "--debug-port",
        env_prefix + "DEBUG_PORT",
        f"Port of {PATH} on {_LOCAL}, which names the namespaces that use most; 0 for none.",
        default=0,
        type=port,
    )


async def serve_debug(
    measures: Measures,
    *,
    port: int,
    stop: asyncio.Event,
    on_started: Callable[[int], None] | None = None,
) -> None:
    """Serve /debug/namespaces on this machine alone until `stop` is set; not at all on port 0.

    Raises:
        ListenError: the port cannot be listened on.
    """
    if port:
        await serve(
            debug_app(measures),
            host=_LOCAL,
            port=port,
            stop=stop,
            grace=1.0,
            connections=Connections(PROBES),
            on_started=on_started,
        )


def debug_app(measures: Measures) -> AsgiApp:
    """Return the ASGI app of /debug/namespaces: JSON, and text with `?format=text`."""
    began = time.monotonic()

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        if (scope["method"], scope["path"]) != ("GET", PATH):
            await answer(send, 404, b"not found\n", "text/plain")
            return
        content = report(measures(), time.monotonic() - began)
        query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
        if query.get("format") == ["text"]:
            await answer(send, 200, as_text(content).encode(), "text/plain")
        else:
            await answer(send, 200, orjson.dumps(content), "application/json")

    return app


def report(measures: Iterable[Measure], uptime: float) -> dict[str, Any]:
    """Return the report: for each measure the total and the 20 namespaces with most.

    Args:
        measures: What is reported.
        uptime: Seconds since the start of the process.
    """
    return {
        "uptimeSeconds": round(uptime),
        "measures": [_measured(measure) for measure in measures],
    }


def _measured(measure: Measure) -> dict[str, Any]:
    values = {name: value for name, value in measure.read().items() if value}
    forgotten = measure.forgotten()
    top = heapq.nlargest(_TOP, values.items(), key=lambda item: item[1])
    return {
        "name": measure.name,
        "total": _rounded(sum(values.values()) + forgotten),
        "forgotten": _rounded(forgotten),
        "namespaces": len(values),
        "top": [{"namespace": _shown(name), "value": _rounded(value)} for name, value in top],
    }


def as_text(content: Mapping[str, Any]) -> str:
    """Return a report for people: a line for each measure, and one for each namespace of it."""
    lines = [f"since the start, {content['uptimeSeconds']} s ago"]
    for measure in content["measures"]:
        total, number = measure["total"], measure["namespaces"]
        lines.append(f"{measure['name']}: {total:.10g} in {number} namespaces")
        lines += (
            f"  {namespace['value']:<10.10g} {namespace['namespace']}"
            for namespace in measure["top"]
        )
    return "\n".join(lines) + "\n"


def _rounded(value: float) -> float:
    return round(value, 3)


def _shown(name: str) -> str:
    # A terminal must not get what a review had in place of a namespace.
    return name if _NAME.fullmatch(name) else ascii(name[:_LONGEST_NAME])
