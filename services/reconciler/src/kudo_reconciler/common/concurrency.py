"""How the event loop and worker processes are shared: paced loops, locks, jobs, fair bounds.

A tenant may send some thousand items (`kudo.api.bounds`), and while a loop goes over them nobody
else is served. What is done at once takes about a millisecond, since each operation in progress may
do so much in one turn of the event loop: 16 of a namespace, 64 in all.
"""

import asyncio
from collections.abc import AsyncIterator, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar
from weakref import WeakValueDictionary

from serving.settings import Option, Share, share_options, take_share, within

AT_ONCE: Final = 100
"""Items that take about 10 µs each, such as entries of a record."""
FEW_AT_ONCE: Final = 10
"""Items that take up to 100 µs each, such as objects whose health is computed."""

T = TypeVar("T")


async def paced(items: Iterable[T], at_once: int = AT_ONCE) -> AsyncIterator[T]:
    """Yield items; the event loop may run other tasks after every `at_once` of them."""
    for number, item in enumerate(items, 1):
        yield item
        if number % at_once == 0:
            await asyncio.sleep(0)


_Key = TypeVar("_Key", bound=Hashable)


class KeyedLocks(Generic[_Key]):
    """One lock for each key that is held or waited for; other keys use no memory."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[_Key, asyncio.Lock] = WeakValueDictionary()

    def of(self, key: _Key) -> asyncio.Lock:
        """Return the lock of a key; it stays the same object while anybody holds or awaits it."""
        return self._locks.setdefault(key, asyncio.Lock())


class Jobs(Protocol):
    """Runs jobs; see `workers.Pool.call`."""

    async def call(
        self,
        handler: str,
        payload: bytes,
        *,
        tenant: str,
        cpu: float | None = None,
        wall: float | None = None,
    ) -> bytes:
        """Run a job; raises `WorkerError`."""


_OPERATIONS = Share(64, 16)
_LONG_OPERATIONS = Share(256, 64)
_RUN_EVENTS = Share(4000, 1000)
_OTHER_EVENTS = Share(1000, 250)
_EVENT_WRITERS = Share(4, 3)
_MANY: Final = 10_000
_EVENTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Fairness:
    """The limits of the reconciler, each with that of one namespace.

    Attributes:
        workers: Instances of one namespace reconciled at the same time; None for three quarters of
            the workers.
        operations: Operations that run at the same time.
        long_operations: The same for those that called `takes_long`, such as copying files: they
            mostly wait.
        run_events: Waiting start and end events of runs.
        other_events: Other waiting events; each may be a few KiB long.
        event_writers: Tasks that write events.
    """

    workers: int | None = None
    operations: Share = _OPERATIONS
    long_operations: Share = _LONG_OPERATIONS
    run_events: Share = _RUN_EVENTS
    other_events: Share = _OTHER_EVENTS
    event_writers: Share = _EVENT_WRITERS

    @classmethod
    def take(cls, values: dict[str, Any]) -> "Fairness":
        """Remove the values of `fairness_options` from those of all options, and return them.

        Raises:
            ValueError: they contradict each other, or the number of workers in `values`.
        """
        workers, own = values["workers"], values.pop("namespace_workers")
        if own is not None and own >= workers:
            raise ValueError(f"--namespace-workers ({own}) must be below --workers ({workers})")
        return cls(
            workers=own,
            operations=take_share(values, "operations"),
            long_operations=take_share(values, "long-operations"),
            run_events=take_share(values, "run-events"),
            other_events=take_share(values, "other-events"),
            event_writers=take_share(values, "event-writers"),
        )


USUAL: Final = Fairness()


def fairness_options(env_prefix: str) -> tuple[Option, ...]:
    """Return the options; `Fairness.take` reads their values."""
    return (
        Option(
            "--namespace-workers",
            env_prefix + "NAMESPACE_WORKERS",
            "Instances of one namespace reconciled at the same time; less than --workers, without "
            "it three quarters of them.",
            type=within(1, 999),
        ),
        *share_options(
            *(env_prefix, "operations", USUAL.operations),
            "Operations, such as applying the objects of a task, at the same time",
            _MANY,
        ),
        *share_options(
            *(env_prefix, "long-operations", USUAL.long_operations),
            "Operations that mostly wait, such as copying files of pods, at the same time",
            _MANY,
        ),
        *share_options(
            *(env_prefix, "run-events", USUAL.run_events),
            "Events of starts and ends of runs that wait to be written",
            _EVENTS,
        ),
        *share_options(
            *(env_prefix, "other-events", USUAL.other_events),
            "Other events that wait to be written",
            _EVENTS,
        ),
        *share_options(
            *(env_prefix, "event-writers", USUAL.event_writers),
            "Events written at the same time",
            64,
        ),
    )
