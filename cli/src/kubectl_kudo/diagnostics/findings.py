"""Says in words what looks wrong in what was collected. No requests are sent here."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from kubectl_kudo.diagnostics.families import Member, owners_of, subject_of
from kubectl_kudo.diagnostics.finding import (
    Finding,
    because,
    condition_of,
    moment_of,
    name_of,
    reason_and_message,
    shown,
)
from kubectl_kudo.reading.explanations import waited_objects
from kubectl_kudo.reading.instance_state import flags_of, held_up_by, is_suspended
from kubectl_kudo.reading.plan_view import shown_plan
from kubectl_kudo.reading.runs import entries, key_of, message_of
from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject
from kubeio.resource import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    PERSISTENT_VOLUME_CLAIMS,
    STATEFUL_SETS,
)
from kudo.api.names import ANNOTATION_PLAN_UID, LABEL_JOB_OF
from kudo.objects import finalizers
from kudo.objects.api_errors import unreached_webhook

LONG: Final = timedelta(minutes=10)
"""How long a plan may run, or a pod may wait, before it is worth a word."""

_UNREADY: Final = frozenset({"ResourceNotReady", "ResourcesUnknown"})
"""Reasons of Ready that no other finding repeats."""
_ERRORS: Final = frozenset({"FATAL_ERROR", "ERROR"})
_PROBE: Final = "its readiness probe fails"
_FAILED_CREATE: Final = "FailedCreate"
_KILLED: Final = "OOMKilled"
_CREATING: Final = frozenset({"StatefulSet", "DaemonSet", "Job", "PersistentVolumeClaim"})
"""Kinds whose status does not say why their pods, or a volume, cannot be created: events do."""
_HELD: Final = re.compile(
    r"\b(?P<kind>[A-Z][A-Za-z0-9]*) (?:(?P<namespace>[-a-z0-9]+)/)?(?P<name>[-.a-z0-9]+)"
    r" is (?:not deleted yet|being deleted), held by (?P<finalizers>.*)"
)
"""What a step says of an object that it waits for to be deleted."""
_FINALIZER: Final = re.compile(r"(\S+) \(")
_PARAMETER: Final = re.compile(r": Parameter[A-Z][A-Za-z]*\b")
"""Reasons that are about the value of a parameter."""
_REFUSED_VALUE: Final = re.compile(r"failed to create typed patch object| is invalid: ")
"""What the API server says of a value that an object cannot have."""
_STUCK: Final = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons of waiting containers that are normal for a while."""


def of_instance(member: Member, now: datetime) -> Iterator[Finding]:
    """Yield what looks wrong with an Instance, its OperatorVersion and its plans."""
    yield from of_version(member)
    yield from of_plans(member, now)
    yield from of_conditions(member)


def of_version(member: Member) -> Iterator[Finding]:
    """Yield what looks wrong with the OperatorVersion of an Instance."""
    if member.instance is None:
        return
    if member.version is None and member.version_known:
        name = ((member.instance.get("spec") or {}).get("operatorVersion") or {}).get("name")
        yield Finding(
            f"instance {member.name}",
            f"its OperatorVersion {name} was not found",
            "no plan can run: install that version of the operator again: "
            f"`kubectl kudo install PACKAGE --skip-instance{_flag_of(member)}`",
            stops=True,
        )
    elif member.version is not None and member.operator is None:
        yield Finding(f"operatorversion {name_of(member.version)}", "its Operator was not found")


def of_plans(
    member: Member, now: datetime, *, patience: timedelta = LONG, only: str | None = None
) -> Iterator[Finding]:
    """Yield what looks wrong with the plans of an Instance and with its deletion.

    Args:
        member: The Instance.
        now: The time.
        patience: How long a plan may run before it is worth a word.
        only: The plan to tell of, of which is known how and where it is; all if None.
    """
    if member.instance is None:
        return
    subject, instance = f"instance {member.name}", member.instance
    if instance["metadata"].get("deletionTimestamp"):
        held_by = finalizers.described(instance["metadata"].get("finalizers") or []) or "none"
        text = f"it is being deleted and still exists; finalizers: {held_by}"
        advice = _finalizer_advice(instance, INSTANCES.name)
        # Finalizers of KUDO go when its plan has ended; only those of others need somebody.
        yield Finding(subject, text, advice, stops=bool(advice))
    execution = (instance.get("spec") or {}).get("planExecution") or {}
    entries = ((instance.get("status") or {}).get("planStatus") or {}).values()
    uids = {entry.get("uid") for entry in entries}
    if execution.get("uid") and is_suspended(instance):
        yield Finding(
            subject,
            f"it is suspended, so plan {execution.get('planName')} does not go on",
            f"resume it: `kubectl kudo resume {flags_of(key_of(instance))}`",
            stops=True,
        )
    # The reconciler writes the uid of a run to its plan when it begins it.
    elif execution.get("uid") and execution["uid"] not in uids:
        plan = execution.get("planName")
        if missing := held_up_by(instance):
            yield Finding(subject, f"plan {plan} waits: {missing}", stops=True)
        else:
            yield Finding(
                subject,
                f"plan {plan} is scheduled and has not started",
                "does the reconciler run?",
            )
    for entry in entries:
        if only in {None, entry["name"]}:
            yield from _of_plan(member, entry, now, patience, alone=only is not None)


def of_conditions(member: Member) -> Iterator[Finding]:
    """Yield what the conditions of an Instance say is wrong with it."""
    for condition in ((member.instance or {}).get("status") or {}).get("conditions") or []:
        if condition.get("type") == "Stalled" and condition.get("status") == "True":
            yield Finding(
                f"instance {member.name}",
                f"stalled{because(condition)}",
                _advice_on(because(condition), member),
                # That a plan failed is told by the finding of its step, which has the cause.
                stops=condition.get("reason") != "PlanInFatalError",
            )
        elif condition.get("type") == "Ready" and condition.get("reason") in _UNREADY:
            yield Finding(f"instance {member.name}", f"not ready{because(condition)}")


def _finalizer_advice(obj: JsonObject, kind: str) -> str:
    """Return what to do about finalizers that are not those of KUDO; empty if there are none."""
    metadata = obj["metadata"]
    foreign = finalizers.foreign(metadata.get("finalizers") or [])
    if not foreign:
        return ""
    # Removing it would take the volume from a pod that writes to it.
    if finalizers.IN_USE in foreign:
        command = f"kubectl describe pvc {metadata['name']}{_flag(metadata)}"
        return f"delete the pods that use it: `{command}`"
    return (
        f"see whether the controller runs that has to remove {foreign[0]}, and who changed the "
        "object: "
        f"`kubectl get {kind} {metadata['name']}{_flag(metadata)} -o yaml --show-managed-fields`"
    )


def _of_plan(
    member: Member, entry: JsonObject, now: datetime, patience: timedelta, *, alone: bool
) -> Iterator[Finding]:
    """Yield what looks wrong with a plan; `alone`, of its step, where that has a message."""
    plan, state = entry.get("name"), entry.get("status")
    step, said = _step(entry)
    message = " ".join(message_of(said).split())
    instance = f"--instance {member.name}{_flag_of(member)}"
    since = moment_of(entry.get("lastUpdatedTimestamp"))
    age = now - since if since else None
    if state == "FATAL_ERROR":
        how = f"plan {plan} is in FATAL_ERROR"
        otherwise = f"when that is mended, go on with it: `kubectl kudo plan retry {instance}`"
    elif state == "ERROR" or (state in {"IN_PROGRESS", "PENDING"} and age and age > patience):
        how = f"plan {plan} is {state}" + (f" since {shown(age)}" if age else "")
        otherwise = f"follow it: `kubectl kudo plan status {instance}`"
    else:
        return
    subject = f"instance {member.name}"
    text = f"{how}{f', at step {step}' if step else ''}{because(said)}"
    if alone and step and message:
        subject, text = f"step {step}", message
    yield Finding(
        subject,
        text,
        _advice_on(message, member) or otherwise,
        stops=said.get("status") in _ERRORS and not waited_objects(message),
    )


def _advice_on(text: str, member: Member) -> str:
    """Return what to do about an answer of the API server within a text; empty if that depends."""
    flag = _flag_of(member)
    if "exceeded quota" in text:
        return f"raise the quota, or lower what is asked for: `kubectl describe quota{flag}`"
    # The words of RBAC; a policy or a quota says `is forbidden: ` and then something else.
    if "is forbidden: User " in text:
        return (
            "give the account the rights that it lacks: "
            f"`kubectl kudo rbac --instance {member.name}{flag} --check`"
        )
    if held_up := _HELD.search(text):
        metadata = {
            "name": held_up["name"],
            "namespace": held_up["namespace"],
            "finalizers": _FINALIZER.findall(held_up["finalizers"]),
        }
        return _finalizer_advice({"metadata": metadata}, held_up["kind"].lower())
    if webhook := unreached_webhook(text):
        where = f" -n {webhook.namespace}" if webhook.namespace else " -A"
        service = f" -l kubernetes.io/service-name={webhook.service}" if webhook.service else ""
        return f"see whether its pods are ready: `kubectl get endpointslices{where}{service}`"
    if "MutatingWebhookMissing" in text:
        return "restore the webhook: `kubectl kudo init --upgrade`"
    if _PARAMETER.match(text) or _REFUSED_VALUE.search(text):
        it = "it" if _PARAMETER.match(text) else "the value, or the template"
        return f"correct {it}: `kubectl kudo update --instance {member.name}{flag} -p NAME=VALUE`"
    return ""


def _flag_of(member: Member) -> str:
    return _flag(member.instance["metadata"]) if member.instance else ""


def _flag(metadata: JsonObject) -> str:
    return f" -n {metadata['namespace']}" if metadata.get("namespace") else ""


def _step(entry: JsonObject) -> tuple[str, JsonObject]:
    """Return the first step that is not complete, as `phase.step`; else the plan itself."""
    for phase in entry.get("phases") or []:
        for step in phase.get("steps") or []:
            if step.get("status") in {"FATAL_ERROR", "ERROR", "IN_PROGRESS", "PENDING"}:
                return f"{phase.get('name')}.{step.get('name')}", step
    return "", entry


def of_objects(
    member: Member,
    last_lines: dict[str, tuple[str, ...]],
    now: datetime,
    *,
    patience: timedelta = LONG,
) -> Iterator[Finding]:
    """Yield what looks wrong with the objects of an Instance.

    Args:
        member: The Instance.
        last_lines: The ends of logs: by pod, a slash and the container.
        now: The time.
        patience: How long a pod may take to be ready before it is worth a word.
    """
    for needing, reference in member.missing:
        yield Finding(
            f"pod {needing}",
            f"needs {reference.kind.kind} {reference.name}, which does not exist",
            "create it, or correct its name in the parameters",
        )
    run = _shown_run(member)
    jobs = [obj for obj in member.objects if obj["kind"] == JOBS.kind]
    former = [job for job in jobs if _is_former(job, run)]
    done = {
        str(job["metadata"].get("uid"))
        for job in jobs
        if job in former or condition_of(job.get("status") or {}, "Complete", "True")
    }
    # That a Job which has succeeded needed several pods is nothing wrong.
    pods = [pod for pod in member.pods if done.isdisjoint(owners_of(pod["metadata"]))]
    for pod in pods:
        for finding in of_pod(pod, last_lines, now, patience=patience):
            # The kubelet tells by an event alone what the probe was answered.
            event = _warning(member, pod) if _PROBE in finding.text else ""
            yield replace(finding, text=f"{finding.text}{event}")
    for obj in member.objects:
        held_up = held(obj["kind"], obj["metadata"])
        if held_up is not None:
            yield held_up
        for finding in of_object(obj) if obj not in former else ():
            has_reason = _FAILED_CREATE in finding.text or obj["kind"] not in _CREATING
            text = finding.text + ("" if has_reason else _warning(member, obj))
            yield replace(finding, text=text, advice=_advice_on(text, member))


def _shown_run(member: Member) -> str:
    """Return the uid of the run that matters; empty if no plan ever ran."""
    plan = shown_plan(member.instance) if member.instance is not None else None
    entry = entries(member.instance or {}).get(plan or "") or {}
    return str(entry.get("uid") or "")


def _is_former(job: JsonObject, run: str) -> bool:
    """Return whether a Job is what an earlier run of a Job task has left, as the last that failed.

    Args:
        job: The Job.
        run: The uid of the run that matters.
    """
    metadata = job["metadata"]
    of = (metadata.get("annotations") or {}).get(ANNOTATION_PLAN_UID)
    return LABEL_JOB_OF in (metadata.get("labels") or {}) and of != run


def _warning(member: Member, obj: JsonObject) -> str:
    """Return the last Warning event about an object behind a colon; empty if there is none."""
    about = obj["kind"], name_of(obj)
    for event in reversed(member.events):
        if event.get("type") == "Warning" and subject_of(event) == about:
            return because(event)
    return ""


def held(kind: str, metadata: JsonObject) -> Finding | None:
    """Return which finalizers keep an object that is being deleted; None if none do."""
    held_by = metadata.get("finalizers") or []
    if not (metadata.get("deletionTimestamp") and held_by):
        return None
    return Finding(
        f"{kind.lower()} {metadata['name']}",
        f"is being deleted and still exists; finalizers: {finalizers.described(held_by)}",
        _finalizer_advice({"metadata": metadata}, kind.lower()),
    )


def of_pod(
    pod: JsonObject,
    last_lines: dict[str, tuple[str, ...]],
    now: datetime,
    *,
    patience: timedelta = LONG,
) -> Iterator[Finding]:
    """Yield what looks wrong with a pod and its containers."""
    from kudo.objects.health import advice_on, problem_of  # the models cost a fifth of a second

    problem = problem_of(pod)
    for finding in _of_pod(pod, last_lines, now, patience):
        # Advice belongs to the container that has the problem; a pod may have others that are well.
        if problem is not None and f"{problem.container} " in f"{finding.text} ":
            yield replace(finding, advice=advice_on(pod, problem))
        else:
            yield finding


def _of_pod(
    pod: JsonObject, last_lines: dict[str, tuple[str, ...]], now: datetime, patience: timedelta
) -> Iterator[Finding]:
    name, status = name_of(pod), pod.get("status") or {}
    subject = f"pod {name}"
    created = moment_of(pod["metadata"].get("creationTimestamp"))
    age = now - created if created else None
    for condition in status.get("conditions") or []:
        unscheduled = condition.get("type") == "PodScheduled" and condition.get("status") == "False"
        if unscheduled:
            yield Finding(subject, reason_and_message(condition) or "is not scheduled")
    lists = ("initContainerStatuses", "containerStatuses")
    of_containers = [
        finding
        for each in lists
        for container in status.get(each) or []
        for finding in _of_container(
            subject,
            container,
            last_lines.get(f"{name}/{container.get('name')}", ()),
            old=age is None or age > patience,
        )
    ]
    # Without a reason of its own, such as an eviction, its containers say why.
    if status.get("phase") == "Failed" and (reason_and_message(status) or not of_containers):
        yield Finding(subject, f"has failed{because(status)}")
    yield from of_containers


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
        yield Finding(subject, f"{name} waits{because(waiting)}{last}", lines=lines)
    elif (state.get("terminated") or {}).get("exitCode"):
        yield Finding(subject, f"{name} ended with {_end(state['terminated'])}", lines=lines)
    # One or two restarts are usual while what a container needs is starting.
    elif status.get("restartCount", 0) > 2 or ended.get("reason") == _KILLED:
        times = "once" if status["restartCount"] == 1 else f"{status['restartCount']} times"
        advice = "raise its memory limit" if ended.get("reason") == _KILLED else ""
        yield Finding(subject, f"{name} was restarted {times}{last}", advice, lines=lines)
    elif old and state.get("running") and not status.get("ready"):
        yield Finding(subject, f"{name} runs and is not ready: {_PROBE}")


def _end(terminated: JsonObject) -> str:
    return f"{terminated.get('reason') or 'exit code'} ({terminated.get('exitCode')})"


def of_object(obj: JsonObject) -> Iterator[Finding]:
    kind, status = obj["kind"], obj.get("status") or {}
    subject = f"{kind.lower()} {name_of(obj)}"
    if kind in {DEPLOYMENTS.kind, STATEFUL_SETS.kind}:
        # The API server's default, where the field is missing.
        desired = (obj.get("spec") or {}).get("replicas", 1)
        if status.get("readyReplicas", 0) < desired:
            text = f"{status.get('readyReplicas', 0)} of {desired} pods are ready"
            failure = condition_of(status, "ReplicaFailure", "True")
            yield Finding(subject, text + because(failure))
    elif kind == DAEMON_SETS.kind:
        desired = status.get("desiredNumberScheduled", 0)
        if status.get("numberReady", 0) < desired:
            yield Finding(subject, f"{status.get('numberReady', 0)} of {desired} pods are ready")
    elif kind == PERSISTENT_VOLUME_CLAIMS.kind and status.get("phase") not in {None, "Bound"}:
        yield Finding(subject, f"it is {status['phase']} and not Bound")
    elif kind == JOBS.kind and (failed := condition_of(status, "Failed", "True")):
        yield Finding(subject, f"has failed{because(failed)}")


def of_events(members: Iterable[Member], most: int = 10) -> Iterator[Finding]:
    """Yield the last warnings, newest first, each text once."""
    warnings = [
        event for member in members for event in member.events if event.get("type") == "Warning"
    ]
    seen: set[tuple[str, str]] = set()
    # The same warning is repeated for each attempt, and would fill the list.
    for event in reversed(warnings):
        kind, name = subject_of(event)
        subject = f"{kind.lower()} {name}"
        text = f"event {reason_and_message(event)}"
        if (subject, text) not in seen and len(seen) < most:
            seen.add((subject, text))
            yield Finding(subject, text)
