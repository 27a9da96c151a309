"""Causes the faults of a step, and undoes them.

A fault may wait for the state of an object. That object is watched, so that a state which lasts
only for milliseconds is seen. The asserts of the step are checked once all faults are over: they
state how the plan has to end, and hold before anything has noticed a fault.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ConnectionLost, Gone, UnknownKind
from kubeio.resource import Resource
from kudo_harness.faults.actions import delete_pods, refusing, restart_pods
from kudo_harness.host import HarnessError
from kudo_harness.matching import best_match
from kudo_harness.suite import (
    DeletePods,
    Document,
    Fault,
    FaultTime,
    ListMatching,
    NodeNotReady,
    RefuseWrites,
    RestartService,
)
from kudo_harness.target import Target

_PAUSE: Final = 1.0
"""Seconds until the kind or a lost connection is tried again."""
_WATCH_SECONDS: Final = 60


async def await_match(
    client: Client, namespace: str, when: Document, lists: ListMatching
) -> AsyncGenerator[str, None]:
    """Yield why an object does not match yet, each time it changes; end when it matches."""
    discovery = Discovery(client)
    kind = str(when.value["apiVersion"]), str(when.value["kind"])
    while True:
        try:
            resource = await discovery.resolve(*kind)
            watched = _watched(client, resource, namespace, when, lists)
            async with aclosing(watched):
                async for problem in watched:
                    if not problem:
                        return
                    yield problem
        except UnknownKind as error:
            # The step, or something that runs in the cluster, may create the CRD yet.
            yield str(error)
        except Gone:
            # The API server has dropped the resourceVersion: the object is listed again.
            continue
        except ConnectionLost as error:
            yield str(error)
        await asyncio.sleep(_PAUSE)


async def _watched(
    client: Client, resource: Resource, namespace: str, when: Document, lists: ListMatching
) -> AsyncGenerator[str, None]:
    """Yield how the object differs now and after each change; empty if it matches."""
    metadata: Any = when.value["metadata"]
    scope = (metadata.get("namespace") or namespace) if resource.namespaced else None
    named = f"metadata.name={metadata['name']}"
    listed = await client.list(resource, namespace=scope, field_selector=named)
    yield _difference(when, listed.items, lists)
    changes = client.watch(
        resource,
        namespace=scope,
        resource_version=listed.resource_version,
        field_selector=named,
        # Over a dead connection a watch tells nothing: it ends, and begins again with a list.
        timeout_seconds=_WATCH_SECONDS,
    )
    async with aclosing(changes):
        async for change in changes:
            if change.type in {"ADDED", "MODIFIED"}:
                yield _difference(when, [change.object], lists)


def _difference(when: Document, objects: list[dict[str, Any]], lists: ListMatching) -> str:
    match = best_match(when, objects, lists)
    if match.holds:
        return ""
    if match.candidate is None:
        metadata: Any = when.value["metadata"]
        return f"{when.value['kind']} {metadata['name']} of when does not exist"
    return f"when does not match: {match.differences[0]}"


Say = Callable[[str], None]
_POLL: Final = 0.1


@dataclass(slots=True)
class _FaultRun:
    """A fault that is being caused.

    Attributes:
        fault: The fault.
        looked: Whether the object of its `when` has been looked for.
        caused: Whether it has happened.
        waiting: What it waits for; empty if nothing is known.
        task: Ends when it is over and undone.
    """

    fault: Fault
    looked: asyncio.Event = field(default_factory=asyncio.Event)
    caused: asyncio.Event = field(default_factory=asyncio.Event)
    waiting: str = ""
    task: asyncio.Task[None] | None = None

    @property
    def pending(self) -> bool:
        """Whether it has neither happened nor failed."""
        return not (self.caused.is_set() or (self.task is not None and self.task.done()))


@dataclass(slots=True)
class StepFaults:
    """The faults of one step. As a context manager it undoes what is left at the end.

    Attributes:
        faults: The faults, in order.
        target: The cluster.
        namespace: That of the case.
        say: Receives a line when a fault is caused or over.
        lists: How lists are compared with the object of `when`.
    """

    faults: tuple[Fault, ...]
    target: Target
    namespace: str
    say: Say
    lists: ListMatching = ListMatching.POSITION
    _running: list[_FaultRun] = field(default_factory=list)

    async def before(self, seconds: float) -> None:
        """Cause the faults that come before the step, and look for the states of others.

        Args:
            seconds: How long each may take to happen.

        Raises:
            HarnessError: one cannot be caused; with its line.
        """
        for fault in self.faults:
            if fault.when is not None:
                # First of all: the state may pass quickly once the step has changed something.
                run = self._start(fault)
                # Time that is over here is over for the fault as well; its error says what it
                # waits for.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await run.looked.wait()
            elif fault.time is FaultTime.BEFORE:
                await self._caused([self._start(fault)], seconds)

    async def after(self, seconds: float) -> None:
        """Cause the faults that come after the objects are applied, and wait until all are over.

        Args:
            seconds: How long each may take to happen; how long it lasts is added.

        Raises:
            HarnessError: one cannot be caused or undone; with its line.
        """
        for fault in self.faults:
            if fault.when is None and fault.time is FaultTime.AFTER:
                await self._caused([self._start(fault)], seconds)
        await self._caused(self._running, seconds)
        for running in self._running:
            await self._ended(running)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        tasks = [running.task for running in self._running if running.task is not None]
        # Cancelled all before any is waited for: each undoes its fault, which takes seconds.
        for task in tasks:
            task.cancel()
        for running, ended in zip(
            self._running, await asyncio.gather(*tasks, return_exceptions=True), strict=True
        ):
            if isinstance(ended, Exception):
                self.say(f"fault: {self._told(running.fault, ended)}")

    def _start(self, fault: Fault) -> _FaultRun:
        running = _FaultRun(fault)
        running.task = asyncio.create_task(self._run(running))
        self._running.append(running)
        return running

    async def _run(self, running: _FaultRun) -> None:
        fault = running.fault
        if fault.when is not None:
            running.waiting = "no object matches when"
            try:
                async for problem in await_match(
                    self.target.client, self.namespace, fault.when, self.lists
                ):
                    running.waiting = problem
                    running.looked.set()
            finally:
                # Also if it cannot be looked for: whoever waits goes on, and gets the error.
                running.looked.set()
        async with self._causing(running) as done:
            self.say(f"fault: {done}")
            running.caused.set()
            await asyncio.sleep(fault.seconds)
        if fault.seconds:
            self.say(f"fault: over: {done}")

    @contextlib.asynccontextmanager
    async def _causing(self, running: _FaultRun) -> AsyncIterator[str]:
        """Cause a fault; undo it at the end. Yields what was done."""
        client, fault = self.target.client, running.fault
        match fault.action:
            case DeletePods(labels=labels, namespace=namespace):
                shown = ", ".join(f"{name}={value}" for name, value in labels.items())
                running.waiting = f"no pod has the labels {shown}, or one is not gone"
                count = await delete_pods(client, namespace or self.namespace, labels)
                yield f"{count} pod{'s' if count > 1 else ''} with {shown} deleted"
            case RestartService(service=service):
                if self.target.local is None:
                    await restart_pods(client, service)
                else:
                    await self.target.local.restart(service)
                yield f"{service} restarted"
            case NodeNotReady(name=name, seconds=seconds):
                nodes = self.target.local
                if nodes is None:
                    raise HarnessError("only simulated nodes can be unready")
                try:
                    await nodes.set_node_ready(name, ready=False)
                    yield f"node {name} not ready for {seconds} s"
                finally:
                    await nodes.set_node_ready(name, ready=True)
            case RefuseWrites(kind=kind, seconds=seconds) as refused:
                reason = f"refused by a fault of a test ({fault.place})"
                async with refusing(client, self.namespace, refused, reason):
                    yield f"writes of {kind} refused for {seconds} s"

    async def _caused(self, running: list[_FaultRun], seconds: float) -> None:
        """Wait until faults have happened, or one of them has failed."""
        try:
            async with asyncio.timeout(seconds):
                while any(fault.pending for fault in running):
                    for fault in _failed(running):
                        await self._ended(fault)
                    await asyncio.sleep(_POLL)
        except TimeoutError:
            late = next(fault for fault in running if fault.pending)
            why = f": {late.waiting}" if late.waiting else ""
            raise HarnessError(
                f"{late.fault.place}: the fault was not caused within {seconds:.0f} s{why}"
            ) from None
        for fault in _failed(running):
            await self._ended(fault)

    async def _ended(self, running: _FaultRun) -> None:
        """Wait until a fault is over and undone.

        Raises:
            HarnessError: that fails; with its line.
        """
        assert running.task is not None
        try:
            await running.task
        except Exception as error:
            raise HarnessError(self._told(running.fault, error)) from error

    def _told(self, fault: Fault, error: Exception) -> str:
        return f"{fault.place}: {self.target.host.describe(error) or repr(error)}"


def _failed(running: list[_FaultRun]) -> Iterator[_FaultRun]:
    for fault in running:
        task = fault.task
        if task is not None and task.done() and (task.cancelled() or task.exception()):
            yield fault
