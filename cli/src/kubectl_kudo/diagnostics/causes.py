"""Puts the findings about an Instance and what belongs to it in order: the cause first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kubectl_kudo.diagnostics import findings
from kubectl_kudo.diagnostics.families import Member
from kubectl_kudo.diagnostics.finding import Finding
from kubectl_kudo.diagnostics.installation import LEASE, Installation
from kubectl_kudo.diagnostics.installation_findings import of_installation, until_when_valid
from kubectl_kudo.reading.explanations import waited_objects, waiting_steps
from kubectl_kudo.reading.instance_state import flags_of
from kubectl_kudo.reading.inventory import Condition, Live
from kubectl_kudo.reading.plan_view import is_pending, shown_plan
from kubectl_kudo.reading.runs import key_of
from kubectl_kudo.reading.summary_line import NO_LEADER, is_settled, summary_line
from kubectl_kudo.session.output import JsonObject
from kubeio.resource import JOBS, PODS

_AT_ONCE: Final = timedelta()
"""Whoever asks why wants to know of what has just begun as well."""
_MOST_EVENTS: Final = 3
_STEP: Final = "step "
_OWN: Final = ("instance ", _STEP)
"""How what is said of an Instance itself and of its plan begins."""


@dataclass(frozen=True, slots=True)
class Explained:
    """An Instance, and why it is as it is.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        summary: How it is, in one line.
        findings: What looks wrong, the cause first.
    """

    namespace: str
    name: str
    summary: str
    findings: tuple[Finding, ...]


def explained(
    family: Sequence[Member],
    recorded: Mapping[str, Sequence[Live]],
    installation: Installation,
    now: datetime,
) -> Explained:
    """Return why an Instance is as it is.

    Args:
        family: The Instance, which could be read, and all below it.
        recorded: Objects on record that are not among those of their Instance, by its name.
        installation: What was read of KUDO itself.
        now: The time.
    """
    instance = family[0].instance or {}
    of_kudo = list(of_installation(installation, until_when_valid(installation), now))
    of_kudo += [
        finding
        for pod in installation.of(PODS)
        for finding in findings.of_pod(pod, {}, now, patience=_AT_ONCE)
    ]
    of_family = list(_of_family(family, recorded, now))
    # What stops plans comes first; if that is KUDO itself, all that is wrong with it.
    kudo_first = any(finding.stops for finding in of_kudo)
    both = [*of_kudo, *of_family] if kudo_first else [*of_family, *of_kudo]
    ordered = sorted(both, key=lambda finding: not finding.stops)
    if not (ordered or is_settled(instance)):
        ordered = list(findings.of_events(family, most=_MOST_EVENTS))
    if any(finding.stops for finding in ordered):
        # That a plan has not begun, or is where it is, follows from it.
        ordered = [f for f in ordered if f.stops or not f.subject.startswith(_OWN)]
    version = next(findings.of_version(family[0]), None)
    hindrance = ""
    if version is not None and version.stops:
        hindrance = version.text
    elif any(finding.subject == f"lease {LEASE}" for finding in of_kudo):
        hindrance = NO_LEADER
    return Explained(
        namespace=str(instance["metadata"]["namespace"]),
        name=str(instance["metadata"]["name"]),
        summary=summary_line(
            instance,
            now,
            hindrance=hindrance,
            brief=bool(ordered) and ordered[0].subject.startswith(_STEP),
        ),
        findings=tuple(dict.fromkeys(ordered)),
    )


def _of_family(
    family: Sequence[Member], recorded: Mapping[str, Sequence[Live]], now: datetime
) -> Iterator[Finding]:
    # Children first: what a parent waits for is with them.
    for member in reversed(family):
        version = list(findings.of_version(member))
        yield from (finding for finding in version if finding.stops)
        objects = list(findings.of_objects(member, {}, now, patience=_AT_ONCE))
        on_record = recorded.get(member.name, ())
        unasked = [live for live in on_record if _is_missing_aside(live, member)]
        for live in on_record:
            if live not in unasked:
                objects += _of_recorded(live, member)
        aside = {f"pod {pod['metadata']['name']}" for pod in member.pods if _is_aside(pod)}
        # A pod that is only starting is no cause.
        yield from sorted(objects, key=lambda f: (f.subject in aside, not f.advice))
        plan = shown_plan(member.instance) if member.instance is not None else None
        if plan is None or is_pending(member.instance or {}, plan):
            plan = ""
        plans = list(findings.of_plans(member, now, patience=_AT_ONCE, only=plan))
        # What a plan waits for is told by its objects, and the summary has its step.
        yield from (finding for finding in plans if finding.stops or not objects)
        for condition in findings.of_conditions(member):
            if condition.stops or not (plans or objects):
                yield condition
        for live in unasked:
            yield from _of_recorded(live, member)
        # A missing Operator keeps no plan from running.
        yield from (finding for finding in version if not finding.stops)


def _is_missing_aside(live: Live, member: Member) -> bool:
    """Return whether an object does not exist that no step of the plan names."""
    if live.condition is not Condition.MISSING:
        return False
    place, instance = live.entry.place, member.instance or {}
    steps = waiting_steps(instance, shown_plan(instance) or "")
    named = [obj for step in steps for obj in waited_objects(step.message)]
    return all((obj.kind, obj.name) != (place.kind, place.name) for obj in named)


def _is_aside(pod: JsonObject) -> bool:
    """Return whether nothing waits for a pod: it is ready, or another one has taken its place."""
    status, metadata = pod.get("status") or {}, pod["metadata"]
    if status.get("phase") == "Failed":
        owners = metadata.get("ownerReferences") or []
        return all(owner.get("kind") != JOBS.kind for owner in owners)
    containers = status.get("containerStatuses") or []
    return bool(containers) and all(container.get("ready") for container in containers)


def _of_recorded(live: Live, member: Member) -> Iterator[Finding]:
    place = live.entry.place
    subject = f"{place.kind.lower()} {place.name}"
    # Jobs go by themselves: ttlSecondsAfterFinished.
    if live.condition is Condition.MISSING and place.kind != JOBS.kind and member.instance:
        plan = live.entry.plan
        again = f"`kubectl kudo plan trigger {flags_of(key_of(member.instance))} --name {plan}`"
        advice = f"run the plan again, which creates it: {again}" if plan else ""
        who = f"plan {plan}" if plan else "a plan"
        yield Finding(subject, f"does not exist; {who} has applied it", advice)
    held = findings.held(place.kind, live.metadata or {})
    if held is not None:
        yield held
    elif live.condition is Condition.FAILED:
        yield Finding(subject, f"has failed: {live.message}")
    elif live.condition is Condition.WAITING:
        yield Finding(subject, f"is not healthy: {live.message}")
