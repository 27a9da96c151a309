"""Reads runs off Instances as the API server returns them, without parsing whole objects.

Who looks at ten thousand Instances at once, or at one for each event, cannot afford their models.
"""

from kudo.api import JsonObject


def has_begun(instance: JsonObject) -> bool:
    """Return whether the scheduled run of an Instance has a first status."""
    run = (instance.get("spec") or {}).get("planExecution") or {}
    entry = _entries(instance).get(run.get("planName") or "") or {}
    return bool(run.get("uid")) and entry.get("uid") == run["uid"]


def _entries(instance: JsonObject) -> JsonObject:
    found: JsonObject = (instance.get("status") or {}).get("planStatus") or {}
    return found
