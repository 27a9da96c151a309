"""What faults do to requests and watches in memory, as `tests.faults.injection.proxy` does.

What was sent belongs to no process any more: it arrives although its sender is paused or dead.
"""

import asyncio
import contextvars
import random
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from kubeio.errors import ConnectionLost
from kudo_reconciler.common.keys import INSTANCES
from tests.faults.injection.faults import (
    ANSWERS,
    DELAYS,
    DELETIONS,
    LATENESS,
    WATCH,
    Fault,
    Rule,
    Rules,
)
from tests.faults.injection.paths import target_of
from tests.faults.injection.roles import write_of
from tests.faults.injection.strikes import Strikes
from tests.support.apiserver import status
from tests.support.apiserver.network.faults import Fate
from tests.support.apiserver.network.transport import MemoryTransport
from tests.support.apiserver.reads.watching import Watch
from tests.support.apiserver.server import ApiServer, Request, Response
from tests.support.apiserver.status import StatusError

_ON_THE_WIRE: Final = 0.001
"""Seconds that a request, an answer or an event takes."""
_REORDERING: Final = (_ON_THE_WIRE, 0.02, 0.5, 5.0)
"""Seconds, one of which each event takes."""
EVERY_ANSWER: Final = "every answer"
"""What a rule names that is about every request."""
_FOR_EVER: Final = 1e6
_GONE: Final = orjson.dumps({"type": "ERROR", "object": status.expired("too old").body()}) + b"\n"
_REFUSED: Final[Mapping[Fault, StatusError]] = {
    Fault.CONFLICT: status.conflict(status.Names(), "the object has been modified"),
    Fault.THROTTLED: status.too_many_requests(1),
    Fault.ERROR: status.internal_error("etcdserver: request timed out"),
}

ListKey = tuple[str, str, tuple[tuple[str, str], ...]]
"""A reconciler, a path and a query."""


def apart(work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
    """Start a task that belongs to no process, whoever starts it."""
    return asyncio.get_running_loop().create_task(work, context=contextvars.Context())


@dataclass
class Wire:
    """What the connections of all reconcilers share.

    Attributes:
        namespace: Of the one life that is led.
        rules: What is to go wrong.
        strikes: What is done to processes.
        rng: Source of the delays that reorder events.
        delete: Has the user delete the Instance whose plan runs.
    """

    namespace: str
    rules: Rules
    strikes: Strikes
    rng: random.Random
    delete: Callable[[], None]
    lists: dict[ListKey, Response] = field(default_factory=dict)
    stale: set[ListKey] = field(default_factory=set)
    _tasks: "list[asyncio.Task[None]]" = field(default_factory=list)

    @property
    def late(self) -> Rule | None:
        """Return the rule that delays events or answers as long as it is in force."""
        rule = self.rules.armed(self.namespace)
        return rule if rule is not None and rule.fault in (*LATENESS, *DELETIONS) else None

    def make_stale(self, reconciler: str, resource: str = "") -> None:
        """Have a reconciler's next lists answered as the last ones were; of one kind, or of all."""
        for key in self.lists:
            target = target_of(key[1])
            if key[0] == reconciler and resource in ("", target.resource if target else ""):
                self.stale.add(key)

    def delete_after(self, arrive: Callable[[], None]) -> None:
        """Have a request arrive, and the Instance deleted right after."""

        def both() -> None:
            arrive()
            self.delete()

        loop = asyncio.get_running_loop()
        loop.call_later(_ON_THE_WIRE, both, context=contextvars.Context())

    def hold(self, over: asyncio.Event, arrive: Callable[[], None]) -> None:
        """Have a request arrive when something is over."""

        async def wait() -> None:
            await over.wait()
            arrive()

        self._tasks.append(apart(wait()))


@dataclass
class StruckNetwork:
    """The way of one reconciler's requests; see `Network` of `apiserver.network.faults`."""

    reconciler: str
    wire: Wire

    def fate(self, request: Request) -> Fate:
        write = write_of(request.method, request.path, request.content_type, request.body)
        if write is None:
            return self._unharmed()
        self.wire.strikes.wrote(self.reconciler, write)
        rule = self.wire.rules.strike(write.namespace, write.label)
        return self._unharmed() if rule is None else self._struck(rule)

    def event_delay(self, plural: str) -> float:
        late = self.wire.late
        if late is None:
            return _ON_THE_WIRE
        if late.fault in DELETIONS:
            return DELETIONS[late.fault] if plural == INSTANCES.plural else _ON_THE_WIRE
        about = late.label.removeprefix(WATCH).partition(".")[0]
        if late.fault is Fault.REORDERED:
            delay = self.wire.rng.choice(_REORDERING)
        elif late.fault in DELAYS and about == plural:
            delay = DELAYS[late.fault]
        else:
            return _ON_THE_WIRE
        # Counted here: the stage may end before an event comes.
        late.struck += 1
        return delay

    def watch_lasts(self, plural: str) -> float | None:
        del plural
        return None

    def _unharmed(self) -> Fate:
        late, after = self.wire.late, _ON_THE_WIRE
        if late is not None and late.label == EVERY_ANSWER:
            late.struck += 1
            after = ANSWERS[late.fault]
        return Fate(before=_ON_THE_WIRE, after=after)

    def _struck(self, rule: Rule) -> Fate:
        strikes, wire = self.wire.strikes, self.wire
        match rule.fault:
            case Fault.CONFLICT | Fault.THROTTLED | Fault.ERROR:
                return Fate(_ON_THE_WIRE, _ON_THE_WIRE, refused=_REFUSED[rule.fault])
            case Fault.RESET_BEFORE:
                return Fate(_ON_THE_WIRE, lost="request")
            case Fault.RESET_AFTER:
                return Fate(_ON_THE_WIRE, _ON_THE_WIRE, lost="answer")
            case Fault.HANG:
                return Fate(_FOR_EVER, lost="request")
            case Fault.LATE:
                return Fate(held=lambda arrive: strikes.keep(rule.namespace, _sending(arrive)))
            case Fault.KILL_BEFORE:
                strikes.kill(self.reconciler)
                return Fate(_FOR_EVER, lost="request")
            case Fault.KILL_AFTER | Fault.STALE_START:
                strikes.kill(self.reconciler)
                if rule.fault is Fault.STALE_START:
                    wire.make_stale(self.reconciler)
                return Fate(after=_FOR_EVER)
            case Fault.PAUSED_BEFORE | Fault.PAUSED_LATE:
                over = strikes.pause(self.reconciler, rule)
                return Fate(after=_ON_THE_WIRE, held=lambda arrive: wire.hold(over, arrive))
            case Fault.PAUSED_AFTER:
                strikes.pause(self.reconciler, rule)
                return Fate(_ON_THE_WIRE, _ON_THE_WIRE)
            case fault if fault in DELETIONS:
                return Fate(after=_ON_THE_WIRE, held=wire.delete_after)
            case fault if fault in ANSWERS:
                return Fate(_ON_THE_WIRE, ANSWERS[fault])
        raise AssertionError(f"no fault of a write: {rule.fault}")


def _sending(arrive: Callable[[], None]) -> Callable[[], Coroutine[Any, Any, None]]:
    async def send() -> None:
        arrive()

    return send


class StruckTransport(MemoryTransport):
    """Carries the requests of one process of a reconciler; strikes at its lists and watches."""

    def __init__(
        self, server: ApiServer, network: StruckNetwork, *, user: str, timeout: float
    ) -> None:
        super().__init__(server, user=user, timeout=timeout, network=network)
        self._wire, self._reconciler = network.wire, network.reconciler

    async def _exchange(self, request: Request) -> Response:
        response = await super()._exchange(request)
        target = target_of(request.path)
        is_list = request.method == "GET" and "watch" not in request.query
        if not is_list or target is None or target.name or target.namespace:
            return response
        key = (self._reconciler, request.path, tuple(sorted(request.query.items())))
        if key in self._wire.stale:
            self._wire.stale.discard(key)
            return self._wire.lists[key]
        self._wire.lists[key] = response
        return response

    async def _lines(
        self, watch: Watch, subject: str, idle_timeout: float
    ) -> AsyncGenerator[bytes, None]:
        group, plural = watch.name
        resource = f"{plural}.{group}" if group else plural
        async with aclosing(super()._lines(watch, subject, idle_timeout)) as lines:
            async for line in lines:
                rule = self._rule(resource, line)
                fault = rule.fault if rule is not None else None
                if fault is Fault.DROPPED:
                    continue
                if fault is Fault.SILENT:
                    await asyncio.sleep(idle_timeout)
                    raise ConnectionLost(f"{subject}: no answer in time", timeout=True)
                if fault in (Fault.GONE, Fault.STALE):
                    if fault is Fault.STALE:
                        self._wire.make_stale(self._reconciler, resource)
                    yield _GONE
                    return
                yield line
                if fault is Fault.DUPLICATED:
                    yield line

    def _rule(self, resource: str, line: bytes) -> Rule | None:
        event = orjson.loads(line)
        namespace = event["object"].get("metadata", {}).get("namespace", "")
        return self._wire.rules.strike(namespace, f"{WATCH}{resource}")
