"""The progress of a pipe pod, for the message of its step."""

from kudo.api import JsonObject
from kudo.objects.health import cause_of, health_of


def has_ended(pod: JsonObject) -> bool:
    """Return whether nothing runs in the pod any more, so that no file can be read from it."""
    return (pod.get("status") or {}).get("phase") in {"Failed", "Succeeded"}


def waits_for(pod: JsonObject) -> str:
    """Return why the files cannot be read yet; empty if they can.

    A pod that runs and is ready has all its files: the waiter starts when the init container has
    succeeded. One that fails is started again for ever, so its last end is told, without counts:
    each change of the text is a write of a status.
    """
    health = health_of(pod)
    if health.healthy:
        return ""
    cause = cause_of(pod, (), patient=False)
    advice = "" if cause is None else cause.text
    return "; ".join(filter(None, (health.message, _last_end(pod), advice)))


def _last_end(pod: JsonObject) -> str:
    for container in (pod.get("status") or {}).get("initContainerStatuses") or ():
        ended = _ended(container)
        code = ended.get("exitCode")
        if code:
            reason = ended.get("reason") or "Error"
            return f"init container {container.get('name')} ended with exit code {code} ({reason})"
    return ""


def _ended(container: JsonObject) -> JsonObject:
    """Return how the container ended the last time."""
    for field in ("state", "lastState"):
        ended: JsonObject | None = (container.get(field) or {}).get("terminated")
        if ended:
            return ended
    return {}
