"""The progress of a pipe pod, for the message of its step."""

from kudo.api import JsonObject
from kudo.health import health_of


def has_ended(pod: JsonObject) -> bool:
    """Return whether nothing runs in the pod any more, so that no file can be read from it."""
    return (pod.get("status") or {}).get("phase") in {"Failed", "Succeeded"}


def waits_for(pod: JsonObject) -> str:
    """Return why the files cannot be read yet; empty if they can.

    A pod that runs and is ready has all its files: the waiter starts when the init container has
    succeeded. One that fails is started again for ever, so its last end is told.
    """
    health = health_of(pod)
    if health.healthy:
        return ""
    return "; ".join(filter(None, (health.message, _last_end(pod))))


def _last_end(pod: JsonObject) -> str:
    for container in (pod.get("status") or {}).get("initContainerStatuses") or ():
        ended = _ended(container)
        code = ended.get("exitCode")
        if code:
            reason = ended.get("reason") or "Error"
            restarts = container.get("restartCount", 0)
            return (
                f"init container {container.get('name')} ended with exit code {code} "
                f"({reason}), restarts: {restarts}"
            )
    return ""


def _ended(container: JsonObject) -> JsonObject:
    """Return how the container ended the last time."""
    for field in ("state", "lastState"):
        ended: JsonObject | None = (container.get(field) or {}).get("terminated")
        if ended:
            return ended
    return {}
