"""Health of Jobs and Pods.

How they ended counts also while they are being deleted: a finished Job is often deleted by its
`ttlSecondsAfterFinished`, and no plan runs a Job twice.
"""

from collections.abc import Iterator
from dataclasses import replace

from kudo.api import JsonObject
from kudo.objects.health.pods import problem_of
from kudo.objects.health.reading import (
    condition,
    explained,
    is_false,
    is_terminating,
    is_true,
    items,
    mapping,
    name,
    own_message,
    status,
    text,
    where,
)
from kudo.objects.health.result import HEALTHY, Health, failed, terminating, waiting
from kudo.objects.health.termination import decides_on_message, termination_message


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
    return "; ".join(filter(None, (str(replace(problem, last_words="")), said)))


def _wait(container: JsonObject) -> str:
    state = mapping(mapping(container.get("state")).get("waiting"))
    return f"{text(container.get('name'))}: {explained(state)}" if state.get("reason") else ""
