"""Why an object that waits for its pods is not healthy: the pod, the reason and what to do."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from kudo.api import JsonObject
from kudo.api.problems import abridged
from kudo.objects.health.pods import (
    PodProblem,
    advice_on,
    delay_of,
    problem_of,
    shows_message,
    termination_message,
)
from kudo.objects.health.pods import pod as health_of_pod
from kudo.objects.health.reading import (
    group_of,
    is_terminating,
    items,
    kind_of,
    mapping,
    metadata,
    name,
    spec,
    status,
    text,
    where,
)

_REVISION: Final = "controller-revision-hash"
_LONGEST: Final = 600
"""Characters of a cause: it is part of the message of a step, beside those of other objects."""
_MOST_PODS: Final = 100
"""Pods that are looked at: a reconcile holds the event loop meanwhile."""
_WITH_PODS: Final = frozenset(
    {
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("apps", "ReplicaSet"),
        ("batch", "Job"),
    }
)


@dataclass(frozen=True, slots=True)
class Cause:
    """Why an object is not healthy.

    Attributes:
        pod: uid of the pod that it is about; empty if it is about none.
        text: Names the pod, and says what to do.
    """

    pod: str
    text: str


def has_pods(obj: JsonObject) -> bool:
    """Return whether the health of an object depends on pods that its controller creates."""
    return (group_of(text(obj.get("apiVersion"))), kind_of(obj)) in _WITH_PODS


def unready_pods(
    obj: JsonObject, pods: Iterable[JsonObject], replica_sets: Iterable[JsonObject]
) -> list[JsonObject]:
    """Return pods that an object controls, also through ReplicaSets, and that are not ready.

    Sorted by name, and without pods that are being deleted. Of very many, the first are returned.
    """
    owners = {text(metadata(obj).get("uid"))}
    if kind_of(obj) == "Deployment":
        sets = (r for r in replica_sets if _controller(r) in owners)
        owners = {_uid(replica_set) for replica_set in sets}
    owners.discard("")
    unready = (
        pod
        for pod in pods
        if _controller(pod) in owners and not is_terminating(pod) and not health_of_pod(pod).healthy
    )
    return sorted(islice(unready, _MOST_PODS), key=name)


def telling_pods(obj: JsonObject, pods: Iterable[JsonObject]) -> list[JsonObject]:
    """Return pods that an object controls itself, and whose termination message is shown.

    Sorted by name, and without pods that are being deleted. Of very many, the first are returned.
    """
    owner = text(metadata(obj).get("uid"))
    telling = (
        pod
        for pod in pods
        if owner and _controller(pod) == owner and shows_message(pod) and not is_terminating(pod)
    )
    return sorted(islice(telling, _MOST_PODS), key=name)


def cause_of(obj: JsonObject, unready: Sequence[JsonObject], *, patient: bool) -> Cause | None:
    """Return why an unhealthy object is not healthy, or None if its pods do not tell.

    Args:
        obj: The object; a Pod is its own only pod.
        unready: Its pods that are not ready.
        patient: Whether it takes so long that also a pod counts that is only starting.
    """
    if kind_of(obj) == "Pod":
        problem = problem_of(obj)
        if problem is None:
            return None
        return Cause(_uid(obj), abridged(advice_on(obj, problem), _LONGEST))
    for pod in unready:
        problem = problem_of(pod)
        if problem is not None:
            said = termination_message(pod) if problem.ended else ""
            # What the template has shown may be long, and does not take the room of the advice.
            message = abridged("; ".join(_parts(obj, pod, problem, said)), _LONGEST + len(said))
            return Cause(_uid(pod), message)
    for pod in unready if patient else ():
        delay = delay_of(pod)
        if delay:
            return Cause(_uid(pod), abridged(f"pod {where(pod)}: {delay}", _LONGEST))
    return None


def _parts(obj: JsonObject, pod: JsonObject, problem: PodProblem, said: str) -> Iterator[str]:
    container = f"container {problem.container}" if problem.container else ""
    # Without its last words: they are as confidential as its log, and a status has more readers.
    # `said` is what the template has shown of them.
    what = (f"pod {where(pod)}", container, problem.reason, problem.detail)
    yield ": ".join(filter(None, what))
    if said:
        yield said
    yield advice_on(pod, problem)
    if kind_of(obj) == "StatefulSet":
        yield from _replacing(obj, pod)


def _replacing(stateful_set: JsonObject, pod: JsonObject) -> Iterator[str]:
    """Say that the StatefulSet controller replaces no broken pod by itself.

    With the policy OrderedReady, the default, it waits for each pod to be ready before it updates
    any, also for a pod that the new template would mend. With OnDelete it never deletes a pod.
    """
    strategy = text(mapping(spec(stateful_set).get("updateStrategy")).get("type"))
    if spec(stateful_set).get("podManagementPolicy") == "Parallel" and strategy != "OnDelete":
        return
    namespace = text(metadata(pod).get("namespace"))
    command = f"kubectl delete pod {name(pod)}" + (f" -n {namespace}" if namespace else "")
    revision = text(mapping(metadata(pod).get("labels")).get(_REVISION))
    update_revision = text(status(stateful_set).get("updateRevision"))
    if revision and update_revision and revision != update_revision:
        yield f"the pod is of an older revision and is not replaced by itself: {command}"
    else:
        yield f"a corrected StatefulSet replaces this pod only once it is deleted: {command}"


def _controller(obj: JsonObject) -> str:
    """Return the uid of the controller of an object; empty if it has none."""
    owners = items(metadata(obj).get("ownerReferences"))
    return next((text(owner.get("uid")) for owner in owners if owner.get("controller")), "")


def _uid(obj: JsonObject) -> str:
    return text(metadata(obj).get("uid"))
