"""Tells whether an Instance is suspended, since when, and how to resume it."""

from kubectl_kudo.core.cells import local_time
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.state.next_commands import flags_of

MEANING = "what was sent is observed, nothing more is sent"


def is_deleting(instance: JsonObject) -> bool:
    return "deletionTimestamp" in instance["metadata"]


def is_suspended(instance: JsonObject) -> bool:
    """Return whether nothing may be sent for its runs; a deletion ends the pause."""
    return bool((instance.get("spec") or {}).get("suspend")) and not is_deleting(instance)


def suspension(instance: JsonObject) -> str:
    """Return since when an Instance is suspended and how to resume it; empty if it is not."""
    if not is_suspended(instance):
        return ""
    metadata = instance["metadata"]
    flags = flags_of(f"{metadata['namespace']}/{metadata['name']}")
    return f"{_since(instance)} (kubectl kudo resume {flags})"


def _since(instance: JsonObject) -> str:
    moment = local_time((instance.get("status") or {}).get("suspendedAt"))
    # The reconciler writes the time when it first sees the pause.
    return (
        f"suspended since {moment}" if moment else "suspended; the reconciler has not seen it yet"
    )
