"""Says in words what looks wrong in what was collected. No requests are sent here."""

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from kubectl_kudo.core.kinds import DEFINED
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.diagnostics.families import Member
from kubectl_kudo.diagnostics.installation import Installation
from kubeio.kinds import (
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    LEASES,
    PERSISTENT_VOLUME_CLAIMS,
    SECRETS,
    STATEFUL_SETS,
)
from kudo.names import VERSION

LONG: Final = timedelta(minutes=10)
"""How long a plan may run, or a pod may wait, before it is worth a word."""
SOON: Final = timedelta(days=7)

_SERVICES: Final = ("kudo-webhook", "kudo-reconciler")
_STUCK: Final = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons of waiting containers that are normal for a while."""
_TEXT: Final = 400


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks wrong.

    Attributes:
        subject: The object, such as `pod tea-0`.
        text: What, in a sentence without its end.
        advice: What to do about it; empty if that depends.
        lines: The last lines of the log.
    """

    subject: str
    text: str
    advice: str = ""
    lines: tuple[str, ...] = ()


def of_instance(member: Member, now: datetime) -> Iterator[Finding]:
    """Yield what looks wrong with an Instance, its OperatorVersion and its plans."""
    if member.instance is None:
        return
    subject = f"instance {member.name}"
    instance = member.instance
    spec, status = instance.get("spec") or {}, instance.get("status") or {}
    if member.version is None:
        name = (spec.get("operatorVersion") or {}).get("name")
        yield Finding(
            subject,
            f"its OperatorVersion {name} was not found",
            "no plan can run: install that version of the operator again with `kubectl kudo "
            "install --skip-instance`",
        )
    elif member.operator is None:
        yield Finding(f"operatorversion {_name(member.version)}", "its Operator was not found")
    if instance["metadata"].get("deletionTimestamp"):
        held = ", ".join(instance["metadata"].get("finalizers") or []) or "none"
        yield Finding(subject, f"it is being deleted and still exists; finalizers: {held}")
    execution = spec.get("planExecution") or {}
    entries = (status.get("planStatus") or {}).values()
    uids = {entry.get("uid") for entry in entries}
    if execution.get("uid") and execution["uid"] not in uids:
        plan = execution.get("planName")
        yield Finding(
            subject,
            f"plan {plan} is scheduled and has not started",
            "does the reconciler run?",
        )
    for entry in entries:
        yield from _of_plan(subject, entry, now)
    for condition in status.get("conditions") or []:
        if condition.get("type") == "Stalled" and condition.get("status") == "True":
            yield Finding(subject, f"stalled{_because(condition)}")


def _of_plan(subject: str, entry: JsonObject, now: datetime) -> Iterator[Finding]:
    plan, state = entry.get("name"), entry.get("status")
    if state == "FATAL_ERROR":
        yield Finding(subject, f"plan {plan} is in FATAL_ERROR{_step(entry)}")
        return
    if state not in {"ERROR", "IN_PROGRESS", "PENDING"}:
        return
    since = _moment(entry.get("lastUpdatedTimestamp"))
    age = now - since if since else None
    if state == "ERROR" or (age and age > LONG):
        lasts = f" since {_shown(age)}" if age else ""
        advice = f"`kubectl kudo plan status --instance {subject.partition(' ')[2]}` follows it"
        yield Finding(subject, f"plan {plan} is {state}{lasts}{_step(entry)}", advice)


def _step(entry: JsonObject) -> str:
    """Return where a plan stands: the first step that is not complete, and its message."""
    for phase in entry.get("phases") or []:
        for step in phase.get("steps") or []:
            if step.get("status") in {"FATAL_ERROR", "ERROR", "IN_PROGRESS", "PENDING"}:
                return f", at step {phase.get('name')}.{step.get('name')}{_because(step)}"
    return _because(entry)


def of_objects(
    member: Member, last_lines: dict[str, tuple[str, ...]], now: datetime
) -> Iterator[Finding]:
    """Yield what looks wrong with the objects of an Instance.

    Args:
        member: The Instance.
        last_lines: The ends of logs: by pod, a slash and the container.
        now: The time.
    """
    for needing, reference in member.missing:
        yield Finding(
            f"pod {needing}",
            f"needs {reference.kind.kind} {reference.name}, which does not exist",
            "create it, or correct its name in the parameters",
        )
    for pod in member.pods:
        yield from of_pod(pod, last_lines, now)
    for obj in member.objects:
        yield from _of_object(obj)


def of_pod(
    pod: JsonObject, last_lines: dict[str, tuple[str, ...]], now: datetime
) -> Iterator[Finding]:
    """Yield what looks wrong with a pod and its containers."""
    name, status = _name(pod), pod.get("status") or {}
    subject = f"pod {name}"
    age = _age(pod, now)
    for condition in status.get("conditions") or []:
        unscheduled = condition.get("type") == "PodScheduled" and condition.get("status") == "False"
        if unscheduled:
            yield Finding(subject, _told(condition) or "is not scheduled")
    if status.get("phase") == "Failed":
        yield Finding(subject, f"has failed{_because(status)}")
    lists = ("initContainerStatuses", "containerStatuses")
    for container in (one for each in lists for one in status.get(each) or []):
        lines = last_lines.get(f"{name}/{container.get('name')}", ())
        yield from _of_container(subject, container, lines, old=age is None or age > LONG)


def _of_container(
    subject: str, status: JsonObject, lines: tuple[str, ...], *, old: bool
) -> Iterator[Finding]:
    name = f"container {status.get('name')}"
    state = status.get("state") or {}
    ended = (status.get("lastState") or {}).get("terminated") or {}
    waiting = state.get("waiting") or {}
    reason = waiting.get("reason")
    last = f"; it ended with {_end(ended)} the last time" if ended else ""
    if reason and (old or reason not in _STUCK):
        yield Finding(subject, f"{name} waits{_because(waiting)}{last}", lines=lines)
    elif (state.get("terminated") or {}).get("exitCode"):
        yield Finding(subject, f"{name} ended with {_end(state['terminated'])}", lines=lines)
    elif status.get("restartCount", 0) > 2:
        text = f"{name} was restarted {status['restartCount']} times{last}"
        yield Finding(subject, text, lines=lines)
    elif old and state.get("running") and not status.get("ready"):
        yield Finding(subject, f"{name} runs and is not ready: its readiness probe fails")


def _end(terminated: JsonObject) -> str:
    return f"{terminated.get('reason') or 'exit code'} ({terminated.get('exitCode')})"


def _of_object(obj: JsonObject) -> Iterator[Finding]:
    kind, status = obj["kind"], obj.get("status") or {}
    subject = f"{kind.lower()} {_name(obj)}"
    if kind in {DEPLOYMENTS.kind, STATEFUL_SETS.kind}:
        wanted = (obj.get("spec") or {}).get("replicas", 1)
        if status.get("readyReplicas", 0) < wanted:
            text = f"{status.get('readyReplicas', 0)} of {wanted} pods are ready"
            failure = _condition(status, "ReplicaFailure", "True")
            yield Finding(subject, text + _because(failure))
    elif kind == DAEMON_SETS.kind:
        wanted = status.get("desiredNumberScheduled", 0)
        if status.get("numberReady", 0) < wanted:
            yield Finding(subject, f"{status.get('numberReady', 0)} of {wanted} pods are ready")
    elif kind == PERSISTENT_VOLUME_CLAIMS.kind and status.get("phase") not in {None, "Bound"}:
        yield Finding(subject, f"it is {status['phase']} and not Bound")
    elif kind == "Job" and (failed := _condition(status, "Failed", "True")):
        yield Finding(subject, f"has failed{_because(failed)}")


def _condition(status: JsonObject, kind: str, value: str) -> JsonObject:
    """Return the condition of a type if it has this value, else an empty one."""
    for condition in status.get("conditions") or []:
        if condition.get("type") == kind and condition.get("status") == value:
            found: JsonObject = condition
            return found
    return {}


def of_events(members: Iterable[Member], most: int = 10) -> Iterator[Finding]:
    """Yield the last warnings, newest first, each text once."""
    warnings = [
        event for member in members for event in member.events if event.get("type") == "Warning"
    ]
    seen: set[tuple[str, str]] = set()
    for event in reversed(warnings):
        about = event.get("involvedObject") or {}
        subject = f"{str(about.get('kind')).lower()} {about.get('name')}"
        text = f"event {_told(event)}"
        if (subject, text) not in seen and len(seen) < most:
            seen.add((subject, text))
            yield Finding(subject, text)


def of_installation(
    found: Installation, expiries: Sequence[datetime], now: datetime
) -> Iterator[Finding]:
    """Yield what looks wrong with KUDO itself.

    Args:
        found: What was read of it.
        expiries: Until when the certificates of the webhook are valid.
        now: The time.
    """
    yield from _of_crds(found.crds)
    yield from _of_webhooks(found)
    if not found.namespace:
        return
    yield from _of_services(found, now)
    for moment in expiries:
        if moment < now + SOON:
            verb = "expired" if moment < now else "expires"
            yield Finding(
                "the webhook's certificate",
                f"{verb} on {moment:%Y-%m-%d %H:%M} UTC",
                "changes of Instances are refused without a valid one: see the log of the webhook",
            )


def _of_crds(crds: list[JsonObject]) -> Iterator[Finding]:
    served = {
        _name(crd): {one["name"] for one in crd["spec"].get("versions") or [] if one.get("served")}
        for crd in crds
    }
    for kind in DEFINED if crds else ():
        if kind.name not in served:
            yield Finding(f"CRD {kind.name}", "is not installed", "run `kubectl kudo init`")
        elif VERSION not in served[kind.name]:
            yield Finding(f"CRD {kind.name}", f"does not serve {VERSION}")
    for crd in crds:
        status = crd.get("status") or {}
        failed = _condition(status, "Established", "False")
        if failed:
            yield Finding(f"CRD {_name(crd)}", f"is not established{_because(failed)}")


def _of_webhooks(found: Installation) -> Iterator[Finding]:
    if found.namespace and not found.webhooks:
        yield Finding(
            "the webhook",
            "no webhook configuration was found: changes are checked by the reconciler alone",
        )
    for configuration in found.webhooks:
        subject = f"{configuration['kind']} {_name(configuration)}"
        hooks = configuration.get("webhooks") or []
        if not hooks:
            yield Finding(subject, "has no webhooks: the webhook service has not registered itself")
        if any(not (hook.get("clientConfig") or {}).get("caBundle") for hook in hooks):
            yield Finding(subject, "has no caBundle: the API server cannot call the webhook")
    slices = [
        one
        for one in found.of(ENDPOINT_SLICES)
        if (one["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == _SERVICES[0]
    ]
    ready = [
        endpoint
        for one in slices
        for endpoint in one.get("endpoints") or []
        if (endpoint.get("conditions") or {}).get("ready") is not False
    ]
    if slices and not ready:
        yield Finding(
            "service kudo-webhook",
            "has no ready endpoint",
            "every change of an Instance is refused until a pod of the webhook is ready",
        )


def _of_services(found: Installation, now: datetime) -> Iterator[Finding]:
    workloads = {_name(obj): obj for obj in (*found.of(DEPLOYMENTS), *found.of(STATEFUL_SETS))}
    original = [name for name in workloads if name not in _SERVICES]
    for name in _SERVICES if not original else ():
        if name not in workloads:
            yield Finding(f"deployment {name}", f"was not found in namespace {found.namespace}")
    for obj in workloads.values():
        yield from _of_object(obj)
    for lease in found.of(LEASES):
        spec = lease.get("spec") or {}
        renewed = _moment(spec.get("renewTime"))
        lasts = timedelta(seconds=spec.get("leaseDurationSeconds") or 0)
        if renewed and now - renewed > 4 * lasts:
            yield Finding(
                f"lease {_name(lease)}",
                f"was renewed {_shown(now - renewed)} ago: no reconciler leads, so no plan runs",
            )


def certificates(found: Installation) -> list[str]:
    """Return the PEM texts in which the certificates of the webhook are."""
    secrets = [
        (obj.get("data") or {}).get(key)
        for obj in found.of(SECRETS)
        for key in ("tls.crt", "ca.crt")
    ]
    bundles = [
        (hook.get("clientConfig") or {}).get("caBundle")
        for configuration in found.webhooks
        for hook in configuration.get("webhooks") or []
    ]
    return [pem for text in (*secrets, *bundles) if text and (pem := _decoded(str(text)))]


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode()
    except (binascii.Error, ValueError):
        return ""


def _because(obj: JsonObject) -> str:
    """Return reason and message of a status or condition behind a colon, as far as it has any."""
    told = _told(obj)
    return f": {told}" if told else ""


def _told(obj: JsonObject) -> str:
    """Return reason and message of a status, condition or event in one line."""
    text = " ".join(str(obj.get("message") or "").split())
    shown = text if len(text) <= _TEXT else f"{text[:_TEXT]}..."
    return ": ".join(filter(None, (str(obj.get("reason") or ""), shown)))


def _name(obj: JsonObject) -> str:
    return str(obj["metadata"]["name"])


def _age(obj: JsonObject, now: datetime) -> timedelta | None:
    created = _moment(obj["metadata"].get("creationTimestamp"))
    return now - created if created else None


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _shown(age: timedelta | None) -> str:
    """Return an age as kubectl shows it: `5d`, `3h`, `12m`, `40s`."""
    seconds = int(age.total_seconds()) if age else 0
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
