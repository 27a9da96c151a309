"""What is wrong with a pod: the container, the reason, and what to do about it.

The texts hold still while Kubernetes retries. They leave out numbers of restarts and times of
backoffs, and what the kubelet alternates between, such as ErrImagePull and ImagePullBackOff, gets
one name: each change of a text is a write of a status.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kudo.api import JsonObject
from kudo.objects.health.reading import (
    condition,
    count,
    explained,
    is_false,
    items,
    mapping,
    metadata,
    name,
    number,
    status,
    text,
)

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
    if text(status(pod).get("phase")) == "Failed":
        if explained(status(pod)):
            said = text(status(pod).get("message"))
            yield PodProblem("", text(status(pod).get("reason")), said)
        yield from filter(None, map(_failed, containers))
        return
    yield from filter(None, map(_waiting, containers))
    scheduled = condition(pod, "PodScheduled")
    if is_false(scheduled) and scheduled.get("reason"):
        yield PodProblem("", text(scheduled.get("reason")), text(scheduled.get("message")))
    yield from filter(None, map(_restarted, containers))


def _failed(container: JsonObject) -> PodProblem | None:
    ended = mapping(mapping(container.get("state")).get("terminated"))
    code = number(ended.get("exitCode"))
    if not code:
        return None
    reason, said = text(ended.get("reason")) or "Error", text(ended.get("message"))
    return PodProblem(_name(container), reason, f"exit code {code}", ended=True, last_words=said)


def _waiting(container: JsonObject) -> PodProblem | None:
    waiting = mapping(mapping(container.get("state")).get("waiting"))
    reason = text(waiting.get("reason"))
    if reason in _STARTING:
        return None
    if reason in _PULLING:
        image = text(container.get("image"))
        said = f'image "{image}" cannot be pulled' if image else "its image cannot be pulled"
        return PodProblem(_name(container), "ImagePullBackOff", said)
    if reason == _CRASHING:
        return _crashing(container)
    return PodProblem(_name(container), reason, text(waiting.get("message")))


def _restarted(container: JsonObject) -> PodProblem | None:
    """Return the problem of a container that was restarted and may end again at any time."""
    crashes = count(container.get("restartCount")) >= _RESTARTS
    return _crashing(container) if crashes and not container.get("ready") else None


def _crashing(container: JsonObject) -> PodProblem:
    ended = mapping(mapping(container.get("lastState")).get("terminated"))
    code = number(ended.get("exitCode"))
    said = "" if code is None else f"it ends with exit code {code}"
    killed = ended.get("reason") == _KILLED
    return PodProblem(_name(container), _KILLED if killed else _CRASHING, said, ended=True)


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
    starting = next(filter(None, map(_starting, _all_containers(pod))), "")
    if starting:
        return f"{starting} for long; a volume, a Secret or the network may be missing"
    return "it has no node yet" if not condition(pod, "PodScheduled") else ""


def _starting(container: JsonObject) -> str:
    waiting = mapping(mapping(container.get("state")).get("waiting"))
    return f"{_name(container)}: {explained(waiting)}" if waiting.get("reason") else ""


def _all_containers(pod: JsonObject) -> Iterator[JsonObject]:
    yield from items(status(pod).get("initContainerStatuses"))
    yield from items(status(pod).get("containerStatuses"))


def advice_on(pod: JsonObject, problem: PodProblem) -> str:
    """Return what to do about a problem."""
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
