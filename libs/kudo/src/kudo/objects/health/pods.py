"""Health of Jobs and Pods, what is wrong with a pod, and the termination message that may be shown.

How they ended counts also while they are being deleted: a finished Job is often deleted by its
`ttlSecondsAfterFinished`, and no plan runs a Job twice.

The texts hold still while Kubernetes retries. They leave out numbers of restarts and times of
backoffs, and what the kubelet alternates between, such as ErrImagePull and ImagePullBackOff, gets
one name: each change of a text is a write of a status.

What a container leaves when it ends may be as confidential as its log, and a status has more
readers. So only the author of a template can say that its termination message is meant for them: by
the annotation `kudo.dev/show-termination-message: "true"` of the pods. Even then the end of a log
is not shown, which is what the policy FallbackToLogsOnError makes the message.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kudo.api import JsonObject, names
from kudo.api.problems import one_line
from kudo.objects.health.reading import (
    condition,
    count,
    explained,
    is_false,
    is_terminating,
    is_true,
    items,
    mapping,
    metadata,
    name,
    number,
    own_message,
    spec,
    status,
    text,
    where,
)
from kudo.objects.health.result import HEALTHY, Health, failed, terminating, waiting

_FILE: Final = "File"
_LONGEST: Final = 400
"""Characters that are shown: an event has 1024 bytes, also for the object and the advice."""


def decides_on_message(pod: JsonObject) -> bool:
    """Return whether a pod has the annotation, whatever its value is."""
    annotations = mapping(metadata(pod).get("annotations"))
    return names.ANNOTATION_SHOW_TERMINATION_MESSAGE in annotations


def shows_message(pod: JsonObject) -> bool:
    """Return whether the template of a pod has its termination message shown."""
    annotations = mapping(metadata(pod).get("annotations"))
    return annotations.get(names.ANNOTATION_SHOW_TERMINATION_MESSAGE) == "true"


def may_be_log(container: JsonObject) -> bool:
    """Return whether the message of a container of a spec may be the end of its log."""
    return text(container.get("terminationMessagePolicy")) not in {"", _FILE}


def termination_message(pod: JsonObject) -> str:
    """Return what the first container that failed and left a message says; empty if none may.

    It names the container. It is one line without control characters, of bounded length.
    """
    if not shows_message(pod):
        return ""
    parts = both(spec(pod), "initContainers", "containers")
    hidden = {text(container.get("name")) for container in parts if may_be_log(container)}
    for container in both(status(pod), "initContainerStatuses", "containerStatuses"):
        name, said = text(container.get("name")), _said(container)
        if said and name not in hidden:
            return f"container {name} says: {said}"
    return ""


def both(part: JsonObject, first: str, second: str) -> Iterator[JsonObject]:
    """Yield the items of two lists of a spec or status, such as those of all containers."""
    yield from items(part.get(first))
    yield from items(part.get(second))


def _said(container: JsonObject) -> str:
    """Return the message of a container that failed, or failed before it was started again."""
    for state in ("state", "lastState"):
        ended = mapping(mapping(container.get(state)).get("terminated"))
        if ended:
            # The last state wins: one that ended well since has nothing to say about a failure.
            if not number(ended.get("exitCode")):
                return ""
            return one_line(text(ended.get("message")), _LONGEST)
    return ""


_STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""Reasons to wait of a container that nothing is wrong with."""
_PULLING: Final = frozenset({"ErrImagePull", "ImagePullBackOff"})
_CRASHING: Final = "CrashLoopBackOff"
_KILLED: Final = "OOMKilled"
_RESTARTS: Final = 3
"""Restarts after which a container that runs again, in a pod that is not ready, still crashes."""

_ADVICE: Final = {
    "ImagePullBackOff": "check the name and tag of the image, and the pod's imagePullSecrets",
    "InvalidImageName": "correct the name of the image",
    "ErrImageNeverPull": "load the image on the node, or change the imagePullPolicy",
    "CreateContainerConfigError": "create the ConfigMap, Secret or key that it refers to",
    _KILLED: "raise its memory limit",
    "Unschedulable": "compare the pod's requests, nodeSelector, affinity and tolerations with the "
    "nodes: kubectl describe pod {pod}{ns}",
    "SchedulingGated": "remove spec.schedulingGates, or run the controller that does",
    "Evicted": "free the resource on the node, or lower what the pod uses",
}
_CLAIM_ADVICE: Final = "see why its claim has no volume: kubectl describe pvc{ns}"
_RESTRICTIONS: Final = {
    "runasnonroot": "use an image whose user is a number other than 0, or set "
    "spec.securityContext.runAsUser{of}; spec.securityContext.runAsNonRoot: false allows root",
    "read-only file system": "mount a volume where it writes, or set "
    "spec.containers[].securityContext.readOnlyRootFilesystem: false{of}",
    "operation not permitted": "if it needs a capability, name it in "
    "spec.containers[].securityContext.capabilities.add{of}",
}
"""Parts of messages, in small letters, and which field of a pod allows what they say is not."""
_LOG_ADVICE: Final = "see its log: kubectl logs {pod}{ns}{container}{previous}"
_OTHER_ADVICE: Final = "see its events: kubectl describe pod {pod}{ns}"


@dataclass(frozen=True, slots=True)
class PodProblem:
    """Why a pod is not ready although nothing is just starting.

    Attributes:
        container: Name of the container; empty if it is the pod as a whole.
        reason: One CamelCase word of Kubernetes.
        detail: More about it; may be empty.
        ended: Whether the container has ended, so that it left a log.
        last_words: What the container wrote before it ended, often the end of its log.
    """

    container: str
    reason: str
    detail: str = ""
    ended: bool = False
    last_words: str = ""

    def __str__(self) -> str:
        parts = (self.container, self.reason, self.last_words, self.detail)
        return ": ".join(filter(None, parts))


def problem_of(pod: JsonObject) -> PodProblem | None:
    """Return the first problem of a pod, or None if it has none that shows."""
    return next(_problems(pod), None)


def _problems(pod: JsonObject) -> Iterator[PodProblem]:
    containers = [
        *items(status(pod).get("initContainerStatuses")),
        *items(status(pod).get("containerStatuses")),
    ]
    # Nothing waits in a pod that has failed; conditions may still say what was before.
    if text(status(pod).get("phase")) == "Failed":
        if explained(status(pod)):
            message = text(status(pod).get("message"))
            yield PodProblem("", text(status(pod).get("reason")), message)
        for container in containers:
            ended = mapping(mapping(container.get("state")).get("terminated"))
            code = number(ended.get("exitCode"))
            if code:
                reason, message = text(ended.get("reason")) or "Error", text(ended.get("message"))
                detail = f"exit code {code}"
                yield PodProblem(_name(container), reason, detail, ended=True, last_words=message)
        return
    for container in containers:
        state = mapping(mapping(container.get("state")).get("waiting"))
        reason = text(state.get("reason"))
        # The kubelet alternates between both: one name, so that no status is written for it.
        if reason in _PULLING:
            image = text(container.get("image"))
            detail = f'image "{image}" cannot be pulled' if image else "its image cannot be pulled"
            yield PodProblem(_name(container), "ImagePullBackOff", detail)
        elif reason == _CRASHING:
            yield _crashing(container)
        elif reason not in _STARTING:
            yield PodProblem(_name(container), reason, text(state.get("message")))
    # After the containers: a pod that has some has a node.
    scheduled = condition(pod, "PodScheduled")
    if is_false(scheduled) and scheduled.get("reason"):
        yield PodProblem("", text(scheduled.get("reason")), text(scheduled.get("message")))
    for container in containers:
        # One that was restarted often runs at the moment, and may end again at any time.
        if count(container.get("restartCount")) >= _RESTARTS and not container.get("ready"):
            yield _crashing(container)


def _crashing(container: JsonObject) -> PodProblem:
    ended = mapping(mapping(container.get("lastState")).get("terminated"))
    code = number(ended.get("exitCode"))
    detail = "" if code is None else f"it ends with exit code {code}"
    # Memory is a cause; CrashLoopBackOff is only what the kubelet does about it.
    reason = _KILLED if ended.get("reason") == _KILLED else _CRASHING
    return PodProblem(_name(container), reason, detail, ended=True)


def _name(container: JsonObject) -> str:
    return text(container.get("name"))


def delay_of(pod: JsonObject) -> str:
    """Return what a pod without a problem is at, for one that takes long; empty if it is ready."""
    if text(status(pod).get("phase")) == "Running":
        ready = condition(pod, "Ready")
        if not is_false(ready):
            return ""
        said = text(ready.get("message")) or "not ready"
        return f"{said}; its readiness probe may fail: see its events and log"
    for container in both(status(pod), "initContainerStatuses", "containerStatuses"):
        state = mapping(mapping(container.get("state")).get("waiting"))
        if state.get("reason"):
            starting = f"{_name(container)}: {explained(state)}"
            return f"{starting} for long; a volume, a Secret or the network may be missing"
    return "it has no node yet" if not condition(pod, "PodScheduled") else ""


def restriction_advice(pod: JsonObject, message: str) -> str:
    """Return which field of a pod allows what a message says is not allowed; empty if none does.

    The pod of a Job task is restricted unless its `podTemplate` says otherwise.
    """
    said, labels = message.lower(), mapping(metadata(pod).get("labels"))
    of = " in the podTemplate of the task" if names.LABEL_JOB_OF in labels else ""
    forms = (form for part, form in _RESTRICTIONS.items() if part in said)
    return next(forms, "").format(of=of)


def advice_on(pod: JsonObject, problem: PodProblem) -> str:
    """Return what to do about a problem."""
    restricted = restriction_advice(pod, problem.detail)
    if restricted:
        return restricted
    # The scheduler names the claim, and the reason stands there and not at the pod.
    if problem.reason == "Unschedulable" and "persistentvolumeclaim" in problem.detail.lower():
        form = _CLAIM_ADVICE
    elif problem.reason in _ADVICE:
        form = _ADVICE[problem.reason]
    else:
        form = _LOG_ADVICE if problem.ended else _OTHER_ADVICE
    namespace = text(metadata(pod).get("namespace"))
    return form.format(
        pod=name(pod),
        ns=f" -n {namespace}" if namespace else "",
        container=f" -c {problem.container}" if problem.container else "",
        previous=" --previous" if problem.reason == _CRASHING else "",
    )


def job(obj: JsonObject) -> Health:
    """Return the health of a Job by its conditions Complete and Failed alone.

    The Job controller sets them by completions, parallelism, success and failure policies,
    backoffLimit and activeDeadlineSeconds, and only when the last pod has ended. FailureTarget
    says before that how it will end.
    """
    failure = condition(obj, "Failed")
    if is_true(failure):
        return failed(f'job "{name(obj)}" has failed terminally: {own_message(failure)}')
    if is_true(condition(obj, "Complete")):
        return HEALTHY
    if is_terminating(obj):
        return terminating(obj)
    # Not failed yet: the controller sets Failed once the last pod has ended.
    failing = condition(obj, "FailureTarget")
    if is_true(failing):
        return waiting(f'job "{name(obj)}" is about to fail: {own_message(failing)}')
    if is_true(condition(obj, "Suspended")):
        return waiting(f'job "{name(obj)}" is suspended: it runs once spec.suspend is false')
    return waiting(f'job "{name(obj)}" still running')


def pod(obj: JsonObject) -> Health:
    """Healthy if the Pod is ready, or has succeeded.

    The phase Failed is final whatever the restartPolicy: nothing runs in that pod again. Crashes,
    failed pulls and missing nodes are retried by Kubernetes, so they are waited for.
    """
    phase = text(status(obj).get("phase")) or "Unknown"
    # Before terminating: what has done its work is healthy also while it is deleted.
    if phase == "Succeeded":
        return HEALTHY
    if is_terminating(obj):
        return terminating(obj)
    if phase == "Running" and is_true(condition(obj, "Ready")):
        return HEALTHY
    detail = next(filter(None, _pod_details(obj, phase)), "")
    message = f"pod {where(obj)} is not running yet: {phase}{f' ({detail})' if detail else ''}"
    return failed(message) if phase == "Failed" else waiting(message)


def _pod_details(obj: JsonObject, phase: str) -> Iterator[str]:
    """Yield why a pod does not serve, the most telling first."""
    yield _problem(obj)
    if phase == "Failed":
        return
    yield from map(_wait, items(status(obj).get("initContainerStatuses")))
    yield from map(_wait, items(status(obj).get("containerStatuses")))
    ready = condition(obj, "Ready")
    yield explained(ready) if is_false(ready) else ""


def _problem(obj: JsonObject) -> str:
    """Return the problem of a pod with what its containers say; empty if it has none."""
    problem = problem_of(obj)
    if problem is None or not decides_on_message(obj):
        return str(problem or "")
    said = termination_message(obj) if problem.ended else ""
    # The annotation decides alone: without it, the last words may be the end of a log.
    return "; ".join(filter(None, (str(replace(problem, last_words="")), said)))


def _wait(container: JsonObject) -> str:
    state = mapping(mapping(container.get("state")).get("waiting"))
    return f"{text(container.get('name'))}: {explained(state)}" if state.get("reason") else ""
