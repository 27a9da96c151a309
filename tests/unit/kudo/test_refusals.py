"""Refusals of the API server: fatal is what stays refused."""

import pytest

from kudo.refusals import is_fatal


@pytest.mark.parametrize(
    ("status", "reason", "message", "causes"),
    [
        (400, "BadRequest", "bad", ()),
        (404, "NotFound", 'namespaces "x" not found', ()),
        (405, "MethodNotAllowed", "no", ()),
        (413, "RequestEntityTooLarge", "too large", ()),
        (415, "UnsupportedMediaType", "no", ()),
        (422, "Invalid", "spec.replicas: Invalid value", ("FieldValueInvalid",)),
        (409, "Conflict", "Apply failed", ("FieldManagerConflict", "FieldManagerConflict")),
        (403, "Forbidden", "namespace is being terminated", ("NamespaceTerminating",)),
        (500, "InternalError", "failed to create typed patch object (v1; ConfigMap): ...", ()),
        (403, "Forbidden", 'admission webhook "x" denied the request: no', ()),
        (400, "BadRequest", 'admission webhook "x" denied the request: no', ()),
        (500, "InternalError", 'admission webhook "x" denied the request: no', ()),
        (403, "ParameterImmutable", 'admission webhook "kudo" denied the request: no', ()),
    ],
)
def test_what_stays_refused_is_fatal(
    status: int, reason: str, message: str, causes: tuple[str, ...]
) -> None:
    assert is_fatal(status, reason, message, causes)


@pytest.mark.parametrize(
    ("status", "reason", "message", "causes"),
    [
        (401, "Unauthorized", "Unauthorized", ()),
        (403, "Forbidden", 'User "x" cannot patch resource', ()),
        (403, "Forbidden", "exceeded quota", ()),
        (409, "Conflict", "the object has been modified", ()),
        (409, "AlreadyExists", "already exists", ()),
        (429, "TooManyRequests", "slow down", ()),
        (500, "InternalError", "etcdserver: request timed out", ()),
        (500, "InternalError", 'failed calling webhook "x": connection refused', ()),
        (502, "BadGateway", "", ()),
        (503, "ServiceUnavailable", "failed to create typed patch object", ()),
        (504, "Timeout", "", ()),
        (403, "PlanRunning", 'admission webhook "kudo" denied the request: later', ()),
        (403, "Forbidden", 'admission webhook "kudo" denied the request', ("PlanRunning",)),
        (403, "MutatingWebhookMissing", 'admission webhook "kudo" denied the request', ()),
    ],
)
def test_what_may_pass_is_tried_again(
    status: int, reason: str, message: str, causes: tuple[str, ...]
) -> None:
    assert not is_fatal(status, reason, message, causes)
