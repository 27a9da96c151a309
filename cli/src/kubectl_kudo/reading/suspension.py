"""Tells whether an Instance is suspended, since when, and how to resume it."""

from collections.abc import Callable

from kubectl_kudo.reading.next_commands import flags_of
from kubectl_kudo.session.cells import local_time
from kubectl_kudo.session.output import JsonObject

MEANING = "what was sent is observed, nothing more is sent"


def is_deleting(instance: JsonObject) -> bool:
    return "deletionTimestamp" in instance["metadata"]


def is_suspended(instance: JsonObject) -> bool:
    """Return whether nothing may be sent for its runs; a deletion ends the pause."""
    return bool((instance.get("spec") or {}).get("suspend")) and not is_deleting(instance)


def suspension(instance: JsonObject, form: Callable[[str], str] = local_time) -> str:
    """Return since when an Instance is suspended and how to resume it; empty if it is not.

    Args:
        instance: The Instance.
        form: How the time is told.
    """
    if not is_suspended(instance):
        return ""
    metadata = instance["metadata"]
    flags = flags_of(f"{metadata['namespace']}/{metadata['name']}")
    moment = (instance.get("status") or {}).get("suspendedAt")
    # The reconciler writes the time when it first sees the pause.
    since = f" since {form(moment)}" if moment else "; the reconciler has not seen it yet"
    return f"suspended{since} (kubectl kudo resume {flags})"
