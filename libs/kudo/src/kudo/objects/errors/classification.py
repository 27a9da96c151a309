"""Classifies errors of the API server: fatal for the plan, or retried.

An error is fatal if the write stays rejected until somebody changes the template, the object or the
cluster. An error that may go away by itself is never fatal: a transient fault must not end the plan
of a database. Some rejections are HTTP 500 and are recognized by the beginning of their message
alone: the rest quotes tenants and webhooks.
"""

import re
from collections.abc import Iterable
from typing import Final

_FATAL_STATUS: Final = frozenset({400, 405, 413, 415, 422})
_PASSING_DENIAL: Final = frozenset({408, 409, 429})
"""Status codes, besides 5xx, with which a webhook says that it could not decide."""
_PASSING_REASONS: Final = frozenset({"PlanRunning", "MutatingWebhookMissing"})
"""Reasons of denials by our webhook and our policies that go away by themselves."""

_DENIED_BY_WEBHOOK: Final = re.compile(r'admission webhook "[^"]*" denied the request')
_DENIED_BY_POLICY: Final = re.compile(r"\S+ \"[^\"]*\" is forbidden: ValidatingAdmissionPolicy '")
_PASSING_POLICY: Final = re.compile(
    r"\S+ \"[^\"]*\" is forbidden: ValidatingAdmissionPolicy 'kudo-instances' "
    r"with binding '[^']*' denied request: (PlanRunning|MutatingWebhookMissing):"
)
_NO_NAMESPACE: Final = re.compile(r'namespaces ".*" not found')
"""Any other 404 may mean that this API server does not serve a new kind yet."""
_FATAL_TEXT: Final = re.compile(
    r"failed to create typed patch object"
    r"|failed to convert new object \(.*\) to proper version: unable to convert unstructured "
    r"|etcdserver: request is too large"
    r"|rpc error: code = ResourceExhausted desc = trying to send message larger than max ",
    re.DOTALL,
)
"""Beginnings of HTTP 500: schema errors of server-side apply, and objects that etcd cannot hold."""


def is_fatal(status: int, reason: str, message: str, causes: Iterable[str]) -> bool:
    """Return whether a rejected write stays rejected when it is retried.

    Args:
        status: HTTP status of the answer.
        reason: `reason` of the answer.
        message: `message` of the answer.
        causes: `reason` of each of `details.causes`.
    """
    reasons = {reason, *causes}
    if _DENIED_BY_WEBHOOK.match(message):
        undecided = status in _PASSING_DENIAL or status >= 500
        return not undecided and not reasons & _PASSING_REASONS
    if status in _FATAL_STATUS:
        return True
    if status == 404:
        return _NO_NAMESPACE.match(message) is not None
    if status == 409:
        return "FieldManagerConflict" in reasons
    if status == 403:
        by_policy = _DENIED_BY_POLICY.match(message) and not _PASSING_POLICY.match(message)
        return "NamespaceTerminating" in reasons or bool(by_policy)
    return status == 500 and _FATAL_TEXT.match(message) is not None
