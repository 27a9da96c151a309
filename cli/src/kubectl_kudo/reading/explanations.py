"""Explains what steps wait for: the last event of each object, and where a child Instance is.

The objects are those that the message of a step names, in the words of `kudo.objects.health` and
of Job tasks. A status has no other record of them. Of what has failed, the end of the log is read.
"""

import re
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from kubectl_kudo.reading.events import time_of
from kubectl_kudo.reading.log_ends import LogReader
from kubectl_kudo.reading.outcome import progress
from kubectl_kudo.reading.plan_view import Explanation, Explanations, is_pending, shown_plan
from kubectl_kudo.reading.runs import (
    COMPLETE,
    FATAL_ERROR,
    NEVER_RUN,
    PENDING,
    active,
    entries,
    status_of,
)
from kubectl_kudo.session.blocks import printable
from kubectl_kudo.session.output import JsonObject
from kubectl_kudo.session.session import Session
from kubeio.errors import KubeError, NotFound
from kubeio.resource import EVENTS, PODS

_NAME = r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?"
_KINDS = {
    "deployment": "Deployment",
    "statefulset": "StatefulSet",
    "daemonset": "DaemonSet",
    "replicaset": "ReplicaSet",
    "job": "Job",
    "pod": "Pod",
    "persistentvolumeclaim": "PersistentVolumeClaim",
    "service": "Service",
    "instance": "Instance",
}
_QUOTED = rf'\b(?P<quoted>deployment|statefulset|daemonset|replicaset|job) "(?P<of>{_NAME})"'
_PLAIN = (
    r"\b(?P<plain>pod|persistentvolumeclaim|service|instance) "
    rf"(?P<within>{_NAME})/(?P<called>{_NAME})"
)
_OTHER = (
    rf"\b(?P<kind>[A-Z][A-Za-z0-9]*) (?P<in>{_NAME})/(?P<name>{_NAME})"
    r"(?= is not healthy| has failed terminally| is being deleted)"
)
_OF_TASK = rf"\bjob (?P<job>{_NAME})(?= failed: )"
_NAMED = re.compile(f"{_QUOTED}|{_PLAIN}|{_OTHER}|{_OF_TASK}")
_SEARCHED = 4096
"""Characters of a message that are searched; the reconciler writes no longer ones."""


@dataclass(frozen=True, slots=True)
class WaitedObject:
    """Kind, namespace and name of an object; the namespace is empty for that of the Instance."""

    kind: str
    namespace: str
    name: str


def waited_objects(message: str) -> list[WaitedObject]:
    """Return the namespaced objects that a message names, pods first, each once."""
    objects: list[WaitedObject] = []
    for match in _NAMED.finditer(message[:_SEARCHED]):
        if match["quoted"]:
            objects.append(WaitedObject(_KINDS[match["quoted"]], "", match["of"]))
        elif match["plain"]:
            objects.append(WaitedObject(_KINDS[match["plain"]], match["within"], match["called"]))
        elif match["job"]:
            objects.append(WaitedObject("Job", "", match["job"]))
        else:
            objects.append(WaitedObject(match["kind"], match["in"], match["name"]))
    # Events of a pod say more than those of the workload that made it.
    return sorted(dict.fromkeys(objects), key=lambda obj: obj.kind != "Pod")


_STEPS = 5
_OBJECTS = 3
"""Steps, and objects of each, that are explained: each object takes one request."""
_GENERATIONS = 3
"""Instances, each the child of the one before, whose objects are explained."""
_LONGEST = 400
"""Characters of an event that are shown."""
_Part = tuple[bool, Explanation]
"""Whether it is about a child Instance, and what is known."""
_SETTLED = {NEVER_RUN, PENDING, COMPLETE}
_NO_MORE = "Error: "
"""Beginning of events of a kubelet that repeat a reason which another event explains."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A step that has not succeeded yet, by its dotted name; its message, and whether it failed."""

    phase: str
    step: str
    path: str
    message: str
    failed: bool = False


def waiting_steps(instance: JsonObject, plan: str) -> list[Waiting]:
    """Return the steps of a run that have a message and are not COMPLETE, a few at most."""
    entry = entries(instance).get(plan) or {}
    if is_pending(instance, plan):
        return []
    return [
        Waiting(
            str(phase.get("name")),
            str(step.get("name")),
            path,
            str(step["message"]),
            failed=status_of(step) == FATAL_ERROR,
        )
        for phase in entry.get("phases") or []
        for step in phase.get("steps") or []
        if step.get("message") and status_of(step) not in _SETTLED
        for path in [f"{plan}.{phase.get('name')}.{step.get('name')}"]
    ][:_STEPS]


async def explanations(
    session: Session,
    steps: Sequence[Waiting],
    *,
    children: bool = True,
    logs: LogReader | None = None,
) -> Explanations:
    """Return what is known of the objects that steps wait for, by the dotted name of the step.

    Empty for what may not be read: it is an addition to the message of the step.

    Args:
        session: The connection.
        steps: The steps.
        children: Whether to tell the step that a child Instance is at.
        logs: Reads the ends of the logs of steps that failed; None if they are not to be told.
    """
    result: dict[str, Sequence[Explanation]] = {}
    for step in steps:
        parts = [part async for part in _of_step(session, step, logs)]
        lines = [line for is_child, line in parts if children or not is_child]
        if lines:
            result[step.path] = [line for line in lines if not line.minor] or lines
    return result


async def _of_step(
    session: Session, step: Waiting, logs: LogReader | None, depth: int = 1
) -> AsyncIterator[_Part]:
    for obj in waited_objects(step.message)[:_OBJECTS]:
        try:
            if obj.kind == "Instance":
                parts = _of_child(session, obj, logs, depth)
            else:
                parts = _of_object(session, obj)
            async for part in parts:
                yield part
        except KubeError:
            pass
        end = await _end_of_log(session, obj, logs) if logs is not None and step.failed else None
        if end is not None:
            yield False, end


async def _end_of_log(session: Session, obj: WaitedObject, logs: LogReader) -> Explanation | None:
    """Return the end of the log of an object that has failed; None if it has none."""
    namespace = obj.namespace or session.namespace
    if obj.kind == "Job":
        return await logs.of_job(namespace, obj.name)
    return await logs.of_pod_named(namespace, obj.name) if obj.kind == "Pod" else None


async def _of_child(
    session: Session, obj: WaitedObject, logs: LogReader | None, depth: int
) -> AsyncIterator[_Part]:
    child = await session.instance(obj.name)
    plan = None if child is None else shown_plan(child)
    if child is None or plan is None:
        return
    # Of a run that has failed, the message of the parent has the text.
    if active(child) is not None:
        at = progress(plan, entries(child).get(plan) or {})
        yield True, Explanation(f"Instance {obj.name}: {at}")
    for step in waiting_steps(child, plan)[:1] if depth < _GENERATIONS else ():
        async for part in _of_step(session, step, logs, depth + 1):
            yield part


async def _of_object(session: Session, obj: WaitedObject) -> AsyncIterator[_Part]:
    namespace = obj.namespace or session.namespace
    event = await _last_event(session, obj.kind, namespace, obj.name)
    if event is not None:
        yield False, described(event, time.time())
    if obj.kind != "Pod" or (event and "persistentvolumeclaim" not in _message(event).lower()):
        return
    # The scheduler's event of a pod without a volume does not say why: the claim's event does.
    try:
        pod = await session.client.get(PODS, obj.name, namespace=namespace)
    except NotFound:
        return
    volumes = (pod.get("spec") or {}).get("volumes") or []
    claims = [(volume.get("persistentVolumeClaim") or {}).get("claimName") for volume in volumes]
    for name in list(filter(None, claims))[:_OBJECTS]:
        event = await _last_event(session, "PersistentVolumeClaim", namespace, str(name))
        if event is not None:
            yield False, described(event, time.time())
            return


async def _last_event(session: Session, kind: str, namespace: str, name: str) -> JsonObject | None:
    selector = f"involvedObject.kind={kind},involvedObject.name={name}"
    listing = await session.client.list(EVENTS, namespace=namespace, field_selector=selector)
    return telling(listing.items)


def telling(events: Sequence[JsonObject]) -> JsonObject | None:
    """Return the event that tells most: the last Warning, else the last one; None of none."""
    warnings = [event for event in events if event.get("type") == "Warning"]
    explaining = [event for event in warnings if not _message(event).startswith(_NO_MORE)]
    return max(explaining or warnings or events, key=time_of, default=None)


def described(event: JsonObject, now: float) -> Explanation:
    """Return an event in one line: its object, reason and message."""
    about = event.get("involvedObject") or {}
    text = f"{event.get('reason')}: {_message(event)}"
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]} …"
    kind = f"{event.get('type') or 'Normal'} event of {about.get('kind')} {about.get('name')}"
    minor = event.get("type") != "Warning"
    return Explanation(f"{kind}: {text}", _age(time_of(event), now), minor)


def _message(event: JsonObject) -> str:
    return printable(str(event.get("message") or ""))


def _age(moment: str, now: float) -> str:
    """Return how long ago a time of the API was, in its largest unit; empty if it is unknown."""
    try:
        seconds = max(0, int(now - datetime.fromisoformat(moment).timestamp()))
    except ValueError:
        return ""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
