"""Events of an Instance. An event that cannot be written holds nothing up.

Each execution has one start and one end event. They are named by its uid, so that writing them
again after a crash changes nothing.

A namespace that is being deleted takes no events. The first one that it refuses tells; further ones
are not sent until one of an Instance that is not being deleted is taken, in a new namespace of that
name.
"""

import asyncio
import hashlib
import logging
import random
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

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
from kudo import names
from kudo.api import ExecutionStatus, Instance, JsonObject
from kudo.identity import InstanceIdentity, identity
from kudo_reconciler.clock import Clock, timestamp
from kudo_reconciler.metrics.metrics import Metrics
from kudo_reconciler.resources import EVENTS

log = logging.getLogger(__name__)

_SECONDS = 5.0
"""An event is not worth a longer wait."""
_PASSING = (ConnectionLost, TooManyRequests, ServerError, Conflict)
_MAX_NAME = 253
_MAX_MESSAGE = 1024
_MAX_NAMESPACES = 1000
_DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
Severity = Literal["Normal", "Warning"]


class DeletedNamespaces:
    """The namespaces that refused an event because they are being deleted or are gone.

    The oldest of a thousand is forgotten, which costs one refused event.
    """

    def __init__(self) -> None:
        self._names: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, namespace: str) -> bool:
        return namespace in self._names

    def add(self, namespace: str) -> None:
        self._names[namespace] = None
        if len(self._names) > _MAX_NAMESPACES:
            self._names.popitem(last=False)

    def discard(self, namespace: str) -> None:
        self._names.pop(namespace, None)


@dataclass(frozen=True, slots=True)
class EventRecorder:
    """Writes events beside the Instance that they speak of."""

    client: Client
    clock: Clock
    metrics: Metrics
    _deleted: DeletedNamespaces = field(default_factory=DeletedNamespaces)

    async def started(self, instance: Instance, plan: str, uid: str) -> None:
        await self._write_of(
            instance,
            event_name(instance.metadata.name, uid, "started"),
            "Normal",
            "PlanStarted",
            f"Execution of plan {plan} started",
        )

    async def finished(
        self, instance: Instance, plan: str, uid: str, status: ExecutionStatus
    ) -> None:
        severity: Severity = "Normal" if status is ExecutionStatus.COMPLETE else "Warning"
        await self._write_of(
            instance,
            event_name(instance.metadata.name, uid, "finished"),
            severity,
            "PlanFinished",
            f"Execution of plan {plan} finished with status {status}",
        )

    async def stopped(self, instance: Instance, plan: str, uid: str) -> None:
        """Write the end event of a run that the deletion of its Instance stopped."""
        await self.finished(instance, plan, uid, ExecutionStatus.FATAL_ERROR)

    async def superseded(self, instance: Instance, plan: str, uid: str) -> None:
        """Write the end event of a run in whose place another came."""
        await self._write_of(
            instance,
            event_name(instance.metadata.name, uid, "finished"),
            "Normal",
            "PlanSuperseded",
            f"Execution of plan {plan} was superseded by another one",
        )

    async def warning(self, instance: Instance, uid: str, reason: str, message: str) -> None:
        """Write what went wrong; once for each uid and reason."""
        name = event_name(instance.metadata.name, uid, reason.lower())
        await self._write_of(instance, name, "Warning", reason, message)

    async def note(
        self, subject: InstanceIdentity, uid: str, severity: Severity, reason: str, message: str
    ) -> None:
        """Write what is worth knowing of a run; once for each uid and message."""
        if subject.namespace in self._deleted:
            return
        digest = hashlib.sha256(message.encode()).hexdigest()[:8]
        name = event_name(subject.name, uid, f"{reason.lower()}.{digest}")
        await self._write(subject, name, severity, reason, message)

    async def _write_of(
        self, instance: Instance, name: str, severity: Severity, reason: str, message: str
    ) -> None:
        # An Instance that is not being deleted may be one of a new namespace of that name.
        if instance.metadata.deleting and instance.metadata.namespace in self._deleted:
            return
        await self._write(identity(instance), name, severity, reason, message)

    async def _write(
        self, subject: InstanceIdentity, name: str, severity: Severity, reason: str, message: str
    ) -> None:
        event = _event(subject, name, severity, reason, message, self.clock.now())
        try:
            async with asyncio.timeout(_SECONDS):
                await self._create(event)
            self._deleted.discard(subject.namespace)
        except (KubeError, TimeoutError) as error:
            if _namespace_deleted(error):
                self._deleted.add(subject.namespace)
                log.info("namespace takes no events", extra={"error": str(error)})
                return
            self.metrics.lost_events.inc()
            log.warning("event not written", extra={"event": reason, "error": str(error)})

    async def _create(self, event: JsonObject) -> None:
        """Create an event; what may pass is tried again, the name being fixed."""
        backoff = Backoff(base=0.1, cap=1.0, rng=random.Random())  # noqa: S311 - jitter
        while True:
            try:
                await self.client.create(EVENTS, event, namespace=event["metadata"]["namespace"])
            except AlreadyExists:
                return
            except _PASSING as error:
                await asyncio.sleep(backoff.next(getattr(error, "retry_after", None)))
            else:
                return


def _namespace_deleted(error: Exception) -> bool:
    """Whether an event was refused since its namespace is being deleted (403) or gone (404)."""
    return isinstance(error, NotFound) or (
        isinstance(error, Forbidden) and error.namespace_terminating
    )


def event_name(instance: str, uid: str, what: str) -> str:
    """Return a name that is the same for the same execution, and a valid object name."""
    name = f"{instance}.{uid}.{what}"
    if len(name) <= _MAX_NAME and _DNS_NAME.fullmatch(name):
        return name
    digest = hashlib.sha256(uid.encode()).hexdigest()[:16]
    return f"{instance[: _MAX_NAME - len(what) - 18].rstrip('.-')}.{digest}.{what}"


def _event(
    subject: InstanceIdentity,
    name: str,
    severity: Severity,
    reason: str,
    message: str,
    now: datetime,
) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": subject.namespace},
        "involvedObject": {
            "apiVersion": names.API_VERSION,
            "kind": "Instance",
            "namespace": subject.namespace,
            "name": subject.name,
            "uid": subject.uid,
        },
        "type": severity,
        "reason": reason,
        "message": _shortened(message),
        "source": {"component": names.EVENT_COMPONENT},
        "firstTimestamp": timestamp(now),
        "lastTimestamp": timestamp(now),
        "count": 1,
    }


def _shortened(message: str) -> str:
    data = message.encode()
    if len(data) <= _MAX_MESSAGE:
        return message
    return data[: _MAX_MESSAGE - 4].decode(errors="ignore") + " ..."
