"""What faults do to processes, and what waits for what: the side of a fault that is no HTTP."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

from aiohttp import web

from tests.faults.injection.faults import Fault, Rule
from tests.faults.injection.roles import Write

_STATUS = {
    Fault.CONFLICT: (409, "Conflict", "the object has been modified"),
    Fault.THROTTLED: (429, "TooManyRequests", "the server has received too many requests"),
    Fault.ERROR: (500, "InternalError", "etcdserver: request timed out"),
}


class Processes(Protocol):
    """The reconcilers, by name."""

    def kill(self, name: str) -> None:
        """Send SIGKILL; another process takes its place soon."""

    def pause(self, name: str) -> None:
        """Send SIGSTOP."""

    def resume(self, name: str) -> None:
        """Send SIGCONT."""


@dataclass
class _Pause:
    """A leader that was stopped at a write.

    Attributes:
        reconciler: Which.
        rule: Which rule did it.
        lease_acquired: Set when another reconciler holds the Lease.
        over: Set when the write, or its answer, may go on its way.
    """

    reconciler: str
    rule: Rule
    lease_acquired: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Strikes:
    """Strikes at processes, and lets go of what was held up.

    Attributes:
        killed: Counts the kills, to tell how many of them a plan met.
    """

    processes: Processes
    killed: int = 0
    _late: dict[str, Callable[[], Awaitable[object]]] = field(default_factory=dict)
    _pauses: dict[str, _Pause] = field(default_factory=dict)

    def kill(self, reconciler: str) -> None:
        self.killed += 1
        self.processes.kill(reconciler)

    async def client_gone(self) -> None:
        """Wait for ever: the handler of a request is cancelled when its client hangs up."""
        await asyncio.Event().wait()

    async def later(self, namespace: str, send: Callable[[], Awaitable[object]]) -> None:
        """Keep a write for `plan_ended`; its client gets no answer."""
        self.keep(namespace, send)
        await self.client_gone()

    def keep(self, namespace: str, send: Callable[[], Awaitable[object]]) -> None:
        """Keep a write for `plan_ended`."""
        self._late[namespace] = send

    def pause(self, reconciler: str, rule: Rule) -> asyncio.Event:
        """Stop a reconciler; return what is set when it goes on."""
        pause = self._pauses[rule.namespace] = _Pause(reconciler, rule)
        self.processes.pause(reconciler)
        return pause.over

    def wrote(self, reconciler: str, write: Write) -> None:
        """Take note of a write of any reconciler: who holds the Lease, who works where?"""
        if write.is_lease:
            self.took_over(reconciler)
            return
        for namespace, pause in list(self._pauses.items()):
            late = pause.rule.fault is Fault.PAUSED_LATE
            if pause.reconciler != reconciler and write.namespace == namespace and not late:
                self._resume(namespace)

    def took_over(self, reconciler: str) -> None:
        """Take note of who holds the Lease."""
        for pause in self._pauses.values():
            if pause.reconciler != reconciler:
                pause.lease_acquired.set()

    async def plan_ended(self, namespace: str, patience: float) -> bool:
        """Send what was held up until now, and let go of whom was paused.

        Returns:
            False if a leader was paused, and nobody took over within `patience` seconds.
        """
        pause, lease_acquired = self._pauses.get(namespace), True
        if pause is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(pause.lease_acquired.wait(), patience)
            lease_acquired = pause.lease_acquired.is_set()
            self._resume(namespace)
        send = self._late.pop(namespace, None)
        if send is not None:
            await send()
        return lease_acquired

    def _resume(self, namespace: str) -> None:
        pause = self._pauses.pop(namespace, None)
        if pause is not None:
            pause.over.set()
            self.processes.resume(pause.reconciler)


def refusal(fault: Fault) -> web.Response:
    """Return the answer of a server that refuses for now."""
    code, reason, message = _STATUS[fault]
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    headers = {"Retry-After": "1"} if fault is Fault.THROTTLED else {}
    return web.json_response(body, status=code, headers=headers)
