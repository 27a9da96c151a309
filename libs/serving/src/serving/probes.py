"""Probes and metrics over plain HTTP: /healthz, /readyz, /metrics.

/healthz answers as long as the event loop runs; a restart helps only where it does not. /readyz
says whether to send requests. Invariant: while `draining`, /readyz answers 503, so that load
balancers stop sending before the listener closes. /metrics may ask for a token. It
is a plain ASGI app: the reconciler has no web framework.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

import orjson
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from serving.token_gate import Busy, TokenGate, Verdict

Check = Callable[[], bool | str]
"""Returns True, or why not."""
Json = Any
Scope = MutableMapping[str, Json]
Receive = Callable[[], Awaitable[MutableMapping[str, Json]]]
Send = Callable[[MutableMapping[str, Json]], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

_JSON = "application/json"
_TEXT = "text/plain"
_Headers = tuple[tuple[bytes, bytes], ...]
_RETRY: _Headers = ((b"retry-after", b"1"),)
_REFUSALS: Mapping[Verdict, tuple[int, bytes, _Headers]] = {
    "unauthenticated": (401, b"unauthorized\n", ((b"www-authenticate", b"Bearer"),)),
    "forbidden": (403, b"forbidden\n", ()),
}


class Probes:
    """Named checks of one process. Checks are quick, never block and never raise.

    Attributes:
        draining: Set when the process is about to stop; readiness fails from then on.
    """

    def __init__(self) -> None:
        self.draining = False
        self._ready: dict[str, Check] = {}

    def add(self, name: str, check: Check) -> None:
        """Make readiness depend on a check.

        Raises:
            ValueError: there is a check of that name.
        """
        if name in self._ready:
            raise ValueError(f"there is a check {name!r} already")
        self._ready[name] = check

    def not_ready(self) -> dict[str, str]:
        """Return why no requests should come, by check; empty if they may."""
        draining = {"draining": "the process is stopping"} if self.draining else {}
        answers = ((name, check()) for name, check in self._ready.items())
        failing = {name: answer or "not yet" for name, answer in answers if answer is not True}
        return draining | failing


def asgi_app(probes: Probes, registry: CollectorRegistry, gate: TokenGate | None = None) -> AsgiApp:
    """Return the ASGI app that answers for the probes and the metrics of the registry.

    Args:
        probes: The checks.
        registry: The metrics.
        gate: Decides who may read the metrics; without it everybody may.
    """

    async def app(scope: Scope, _receive: Receive, send: Send) -> None:
        match scope["method"], scope["path"]:
            case "GET", "/healthz":
                await _answer_checks(send, {})
            case "GET", "/readyz":
                await _answer_checks(send, probes.not_ready())
            case "GET", "/metrics":
                if gate is None or await _admitted(send, scope, gate):
                    accept = dict(scope["headers"]).get(b"accept", b"").decode("latin-1")
                    encode, content_type = choose_encoder(accept)
                    # Thousands of series take tens of milliseconds: too long for a loop that
                    # answers requests.
                    body = await asyncio.to_thread(encode, registry)
                    await answer(send, 200, body, content_type)
            case _:
                await answer(send, 404, b"not found\n", _TEXT)

    return app


async def _answer_checks(send: Send, failing: dict[str, str]) -> None:
    body = orjson.dumps({"ok": not failing, "failing": failing})
    await answer(send, 503 if failing else 200, body, _JSON)


async def _admitted(send: Send, scope: Scope, gate: TokenGate) -> bool:
    """Whether the client may read the metrics; if not, it is answered."""
    headers = [value for name, value in scope["headers"] if name == b"authorization"]
    try:
        # Of two headers nobody can tell which one counts.
        verdict = await gate.decide(headers[0] if len(headers) == 1 else None)
    except Busy:
        await answer(send, 503, b"the token cannot be reviewed now\n", _TEXT, _RETRY)
        return False
    if verdict == "allowed":
        return True
    status, body, more = _REFUSALS[verdict]
    await answer(send, status, body, _TEXT, more)
    return False


async def answer(
    send: Send, status: int, body: bytes, content_type: str, more: _Headers = ()
) -> None:
    """Send a whole response."""
    headers = [
        *more,
        (b"content-type", content_type.encode("latin-1")),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
