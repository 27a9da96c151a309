"""Which refusals of the API server end a plan, and which are worth another try.

Fatal is what stays refused until somebody changes the template, the object or the cluster.
Schema errors of server-side apply come as HTTP 500 and are told by their text.
"""

from collections.abc import Iterable

_FATAL_STATUS = frozenset({400, 404, 405, 413, 415, 422})
_SCHEMA_ERROR = "failed to create typed patch object"
_ADMISSION_DENIAL = "denied the request"
_PASSING_REASONS = frozenset({"PlanRunning", "MutatingWebhookMissing"})
"""Denials of our own webhook that end by themselves."""


def is_fatal(status: int, reason: str, message: str, causes: Iterable[str]) -> bool:
    """Return whether a refused write will stay refused.

    Args:
        status: HTTP status of the answer.
        reason: `reason` of the answer.
        message: `message` of the answer.
        causes: `reason` of each of `details.causes`.
    """
    reasons = {reason, *causes}
    if _ADMISSION_DENIAL in message:
        return not reasons & _PASSING_REASONS
    if status in _FATAL_STATUS:
        return True
    if status == 409:
        return "FieldManagerConflict" in reasons
    if status == 403:
        return "NamespaceTerminating" in reasons
    return status == 500 and _SCHEMA_ERROR in message
