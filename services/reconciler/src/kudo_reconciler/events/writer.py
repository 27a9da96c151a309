"""Events of Instances: queued, and written by separate tasks, so that no reconcile waits for them.

Each execution has one start and one end event. Their names derive from its uid, so that writing
them again after a crash changes nothing: the next leader repeats those of the last ten minutes.
What cannot be written is retried for a while, and then dropped.

A namespace that is being deleted accepts no events. After the first rejection no further ones are
sent there, until one of an Instance that is not being deleted is accepted: in a new namespace of
that name.
"""

import asyncio
import hashlib
import logging
import random
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from kubeio.backoff import Backoff
from kubeio.client import Client
from kubeio.errors import (
    AlreadyExists,
    Conflict,
    ConnectionLost,
    Forbidden,
    KubeError,
    NotFound,
    ServerError,
    TooManyRequests,
)
from kubeio.names import MAX_SUBDOMAIN, is_subdomain
from kubeio.resource import EVENTS
from kudo.api import ExecutionStatus, Instance, JsonObject, names
from kudo.api.identity import InstanceIdentity, identity
from kudo.api.problems import abridged
from kudo.api.times import rfc3339
from kudo.plans.runs.history import EndedRun, ended_since
from kudo_reconciler.common.clock import Clock, loop_seconds
from kudo_reconciler.common.concurrency import USUAL, Fairness, paced
from kudo_reconciler.common.errors import described
from kudo_reconciler.common.keys import Key, key_of
from kudo_reconciler.events.queue import Event, EventQueue, EventsWritten, Severity, Waiting
from kudo_reconciler.metrics.metrics import Metrics
from serving.logs import log_context
from serving.namespaces import Tally

log = logging.getLogger(__name__)

_LONGEST_DELAY = 60.0
"""In seconds, whatever Retry-After requests: an event occupies its place in the queue meanwhile."""
_REPEATED = timedelta(minutes=10)
_REPEATED_AT_ONCE = 20
_BURST_SECONDS = 60.0
_RETRIED = (ConnectionLost, TooManyRequests, ServerError, Conflict, TimeoutError)
_MAX_MESSAGE = 1024
_REMEMBERED = 1000


class _Remembered:
    """A set of the last thousand values."""

    def __init__(self) -> None:
        self._items: OrderedDict[Hashable, None] = OrderedDict()

    def __contains__(self, item: Hashable) -> bool:
        return item in self._items

    def add(self, item: Hashable) -> None:
        self._items[item] = None
        if len(self._items) > _REMEMBERED:
            self._items.popitem(last=False)

    def discard(self, item: Hashable) -> None:
        self._items.pop(item, None)


@dataclass(frozen=True, slots=True)
class EventTimes:
    """Timeouts of events, in seconds.

    Attributes:
        call: Timeout of one request.
        retry: How long after it was queued an event is retried.
        retry_run: The same for start and end events of runs.
        drain: How long the end of a term waits for events; the next leader repeats those of runs.
        hold: How long the deletion of an Instance waits for the end event of its cleanup.
    """

    call: float = 5.0
    retry: float = 30.0
    retry_run: float = 300.0
    drain: float = 5.0
    hold: float = 5.0


_USUAL_TIMES = EventTimes()


@dataclass(frozen=True, slots=True)
class _Text:
    """Type, reason and message of an event of an execution; `what` is the suffix of its name."""

    uid: str
    what: str
    severity: Severity
    reason: str
    message: str


class EventRecorder:
    """Writes events in the namespace of their Instance; created for one term of leadership.

    Args:
        client: Sends them.
        clock: Returns the time at which they happened.
        metrics: Counts those that are dropped.
        wake: Called with the key of an Instance for which `unwritten` was True, once it may be
        called again.
        times: Timeouts of events.
        rng: Source of jitter.
        fairness: Limits of waiting events and writers.
        refused: Counts the events for which there was no room.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        metrics: Metrics,
        wake: Callable[[Key], None] = lambda _: None,
        times: EventTimes = _USUAL_TIMES,
        rng: random.Random | None = None,
        fairness: Fairness = USUAL,
        refused: Tally | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._metrics = metrics
        self._wake = wake
        self.times = times
        self._queue = EventQueue(fairness, refused)
        self._writers = fairness.event_writers.total
        self._closing = asyncio.Event()
        self._rng = rng or random.Random()  # noqa: S311 - jitter
        # Forgetting the oldest namespace costs one rejected event, forgetting a run one request.
        self._deleted = _Remembered()
        self._settled = _Remembered()
        self._held: set[Key] = set()
        self._lost_at = float("-inf")
        metrics.events_waiting.set_function(self._queue.__len__)

    # What is told

    def started(self, instance: Instance, plan: str, uid: str) -> None:
        self._queue_run(identity(instance), instance.metadata.deleting, _start_of(plan, uid))

    def finished(self, instance: Instance, plan: str, uid: str, status: ExecutionStatus) -> None:
        end = _end_of(EndedRun(plan, uid, status))
        self._queue_run(identity(instance), instance.metadata.deleting, end)

    def stopped(self, instance: Instance, plan: str, uid: str) -> None:
        """Queue the end event of a run that the deletion of its Instance stopped."""
        self._queue_replaced(instance, EndedRun(plan, uid, ExecutionStatus.FATAL_ERROR))

    def superseded(self, instance: Instance, plan: str, uid: str) -> None:
        """Queue the end event of a run that another one replaced."""
        run = EndedRun(plan, uid, ExecutionStatus.FATAL_ERROR, superseded=True)
        self._queue_replaced(instance, run)

    def warning(self, instance: Instance, uid: str, reason: str, message: str) -> None:
        """Queue a Warning event; once for each uid and reason."""
        text = _Text(uid, reason.lower(), "Warning", reason, message)
        self._put(identity(instance), text, probe=not instance.metadata.deleting)

    def note(
        self, subject: InstanceIdentity, uid: str, severity: Severity, reason: str, message: str
    ) -> None:
        """Queue a Normal event of a run; once for each uid and message."""
        digest = hashlib.sha256(message.encode()).hexdigest()[:8]
        text = _Text(uid, f"{reason.lower()}.{digest}", severity, reason, message)
        self._put(subject, text, probe=False)

    def waiting(self) -> Counter[str]:
        """Return how many events of each namespace wait or are being written."""
        return self._queue.waiting()

    async def repeat(self, instances: Sequence[JsonObject]) -> None:
        """Queue the start and end events of runs that ended recently: a crash may have lost them.

        Leaves room in the queue for new events: few are repeated at a time.
        """
        # There may be ten thousand Instances.
        recent = [instance async for instance in paced(instances) if self._ended_lately(instance)]
        for instance in recent:
            await self._queue.shorter_than(_REPEATED_AT_ONCE)
            self.repeat_of(instance)

    def repeat_of(self, instance: JsonObject) -> None:
        """Queue the start and end events of the runs of an Instance that ended recently."""
        metadata = instance["metadata"]
        for run in self._ended_lately(instance):
            subject = InstanceIdentity(metadata["namespace"], metadata["name"], metadata["uid"])
            deleting = bool(metadata.get("deletionTimestamp"))
            self._queue_both(subject, deleting, run)

    def _ended_lately(self, instance: JsonObject) -> list[EndedRun]:
        return ended_since(instance, rfc3339(self._clock.now() - _REPEATED))

    def unwritten(self, instance: Instance) -> bool:
        """Return whether a start or end event of an Instance is still to be written.

        Called before the record of a run is deleted with the Instance, or replaced by that of
        another run.

        True for at most `times.hold` seconds after such an event was queued. The Instance is
        enqueued when the last of them was written or dropped.
        """
        key = key_of(instance)
        since = self._queue.runs_unwritten(key)
        if not since or loop_seconds() - since[0] >= self.times.hold:
            return False
        self._held.add(key)
        return True

    def _queue_replaced(self, instance: Instance, run: EndedRun) -> None:
        # A crash may have lost its start event, and nobody resumes it any more. What this process
        # has written is not sent again.
        self._queue_both(identity(instance), instance.metadata.deleting, run)

    def _queue_both(self, subject: InstanceIdentity, deleting: bool, run: EndedRun) -> None:
        self._queue_run(subject, deleting, _start_of(run.plan, run.uid))
        self._queue_run(subject, deleting, _end_of(run))

    def _queue_run(self, subject: InstanceIdentity, deleting: bool, text: _Text) -> None:
        self._put(subject, text, probe=not deleting, of_run=True)

    def _put(
        self, subject: InstanceIdentity, text: _Text, *, probe: bool, of_run: bool = False
    ) -> None:
        # An Instance that is not being deleted may be one of a new namespace of that name.
        if not probe and subject.namespace in self._deleted:
            return
        name = event_name(subject.name, text.uid, text.what)
        # The API server would accept it, but callers of `unwritten` would wait for ever.
        if of_run and (subject.uid, name) in self._settled:
            return
        event = Event(
            subject=subject,
            name=name,
            severity=text.severity,
            reason=text.reason,
            message=_shortened(text.message),
            moment=self._clock.now(),
            of_run=of_run,
            probe=probe,
        )
        if not self._queue.put(event, Backoff(base=0.2, cap=30.0, rng=self._rng)):
            self._lose(event, "too many events are waiting to be written")

    # Writing

    async def run(self) -> None:
        """Write events until `close`, and then the remaining ones, for some seconds at most.

        Drops what remains then, or when cancelled.
        """
        try:
            async with asyncio.TaskGroup() as group:
                writers = [
                    group.create_task(self._work(), name=f"event writer {number}")
                    for number in range(self._writers)
                ]
                await self._closing.wait()
                await asyncio.wait(writers, timeout=self.times.drain)
                for writer in writers:
                    writer.cancel()
        finally:
            for event in self._queue.drop():
                self._lose(event, "the process stops, or another replica leads")

    def close(self) -> None:
        """Have `run` write what is queued and end."""
        self._queue.close()
        self._closing.set()

    async def _work(self) -> None:
        while True:
            try:
                waiting = await self._queue.get()
            except EventsWritten:
                return
            subject = waiting.event.subject
            with log_context(namespace=subject.namespace, instance=subject.name):
                await self._write(waiting)

    async def _write(self, waiting: Waiting) -> None:
        event, namespace = waiting.event, waiting.event.subject.namespace
        if namespace in self._deleted and not event.probe:
            self._settle(waiting)
            return
        try:
            async with asyncio.timeout(self.times.call):
                await self._client.create(EVENTS, _wire(event), namespace=namespace)
        except AlreadyExists:
            # A former leader has written it, or an attempt of ours whose answer was lost.
            self._deleted.discard(namespace)
        except _RETRIED as error:
            if self._put_off(waiting, error):
                return
        except KubeError as error:
            # 403 while the namespace is being deleted, 404 once it is gone.
            terminating = isinstance(error, Forbidden) and error.namespace_terminating
            if terminating or isinstance(error, NotFound):
                # An Instance that is not being deleted yet may have more than one rejected.
                if namespace not in self._deleted:
                    log.info("namespace accepts no events", extra={"error": str(error)})
                self._deleted.add(namespace)
            else:
                self._lose(event, str(error))
        except Exception as error:  # noqa: BLE001 - a bug costs one event, not the term
            log.error("event not written", extra=described(error))
            self._metrics.lost_events.inc()
        else:
            self._deleted.discard(namespace)
        self._settle(waiting)

    def _put_off(self, waiting: Waiting, error: Exception) -> bool:
        """Retry an event later; return False, and count it as dropped, if it is too old."""
        patience = self.times.retry_run if waiting.event.of_run else self.times.retry
        if loop_seconds() - waiting.since >= patience:
            self._lose(waiting.event, str(error) or "no response in time")
            return False
        delay = waiting.backoff.next(error)
        self._queue.put_off(waiting, min(delay, _LONGEST_DELAY))
        return True

    def _settle(self, waiting: Waiting) -> None:
        """Remove an event from the queue, and enqueue its Instance if that waited for it."""
        self._queue.done(waiting)
        event = waiting.event
        if not event.of_run:
            return
        self._settled.add((event.subject.uid, event.name))
        if event.key in self._held and not self._queue.runs_unwritten(event.key):
            self._held.discard(event.key)
            self._wake(event.key)

    def _lose(self, event: Event, why: str) -> None:
        """Count a dropped event; of many in a row only the first is logged."""
        self._metrics.lost_events.inc()
        now = loop_seconds()
        level = logging.WARNING if now - self._lost_at >= _BURST_SECONDS else logging.DEBUG
        self._lost_at = now
        fields = {"event": event.reason, "subject": str(event.subject), "error": why}
        log.log(level, "event not written", extra=fields)


def _start_of(plan: str, uid: str) -> _Text:
    text = f"Execution of plan {plan} started"
    return _Text(uid, "started", "Normal", "PlanStarted", text)


def _end_of(run: EndedRun) -> _Text:
    if run.superseded:
        text = f"Execution of plan {run.plan} was superseded by another one"
        return _Text(run.uid, "finished", "Normal", "PlanSuperseded", text)
    severity: Severity = "Normal" if run.status is ExecutionStatus.COMPLETE else "Warning"
    text = f"Execution of plan {run.plan} finished with status {run.status}"
    return _Text(run.uid, "finished", severity, "PlanFinished", text)


def event_name(instance: str, uid: str, what: str) -> str:
    """Return a name that is the same for the same execution, and a valid object name."""
    name = f"{instance}.{uid}.{what}"
    if is_subdomain(name):
        return name
    digest = hashlib.sha256(uid.encode()).hexdigest()[:16]
    return f"{instance[: MAX_SUBDOMAIN - len(what) - 18].rstrip('.-')}.{digest}.{what}"


def _wire(event: Event) -> JsonObject:
    subject, moment = event.subject, rfc3339(event.moment)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": event.name, "namespace": subject.namespace},
        "involvedObject": {
            "apiVersion": names.API_VERSION,
            "kind": "Instance",
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        },
        "type": event.severity,
        "reason": event.reason,
        "message": event.message,
        "source": {"component": names.EVENT_COMPONENT},
        "firstTimestamp": moment,
        "lastTimestamp": moment,
        "count": 1,
    }


def _shortened(message: str) -> str:
    """Shorten a message to the bytes that an event may have."""
    most = _MAX_MESSAGE
    while len((short := abridged(message, most)).encode()) > _MAX_MESSAGE:
        most -= len(short.encode()) - _MAX_MESSAGE
    return short
