"""Which error an HTTP answer becomes, and what it says."""

import email.utils
import math
import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio import errors
from kubeio.errors import error_from_response, error_from_status
from tests.unit.kubeio.fake_api import status_body


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, errors.BadRequest),
        (401, errors.Unauthorized),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (405, errors.MethodNotAllowed),
        (406, errors.ApiError),
        (409, errors.Conflict),
        (410, errors.Gone),
        (413, errors.TooLarge),
        (415, errors.UnsupportedMediaType),
        (418, errors.ApiError),
        (422, errors.Invalid),
        (429, errors.TooManyRequests),
        (500, errors.ServerError),
        (503, errors.ServerError),
        (504, errors.ServerTimeout),
        (302, errors.ApiError),
    ],
)
def test_each_status_becomes_its_class_with_or_without_a_status_object(
    status: int, expected: type[errors.ApiError]
) -> None:
    body = orjson.dumps(status_body(status, "Whatever"))
    assert type(error_from_response(status, body)) is expected
    assert type(error_from_response(status, b"")) is expected


def test_the_text_reads_like_the_server_said_it() -> None:
    body = status_body(404, "NotFound", 'instances.kudo.dev "x" not found')
    error = error_from_response(404, orjson.dumps(body))
    assert str(error) == 'instances.kudo.dev "x" not found (404 NotFound)'
    assert error.message == 'instances.kudo.dev "x" not found'


def test_a_taken_name_is_told_from_other_conflicts_by_its_reason() -> None:
    taken = error_from_response(409, orjson.dumps(status_body(409, "AlreadyExists")))
    changed = error_from_response(409, orjson.dumps(status_body(409, "Conflict")))
    assert isinstance(taken, errors.AlreadyExists)
    assert not isinstance(changed, errors.AlreadyExists)


def test_causes_are_parsed_and_odd_ones_left_out() -> None:
    details = {"causes": [{"field": "spec.x", "message": "bad", "reason": "FieldValueInvalid"}, 3]}
    error = error_from_response(422, orjson.dumps(status_body(422, "Invalid", details=details)))
    assert error.causes == (errors.Cause("spec.x", "bad", "FieldValueInvalid"),)


def test_a_field_conflict_names_managers_and_fields() -> None:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "helm" using apps/v1',
            "field": field,
        }
        for field in (".spec.replicas", ".spec.paused")
    ]
    causes.append(
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "kubectl \\"edit\\"" with subresource "status"',
            "field": ".data",
        }
    )
    body = status_body(409, "Conflict", details={"causes": causes})
    error = error_from_response(409, orjson.dumps(body))
    assert isinstance(error, errors.Conflict)
    assert error.field_managers == {
        "helm": (".spec.replicas", ".spec.paused"),
        'kubectl \\"edit\\"': (".data",),
    }


def test_other_conflicts_have_no_field_managers() -> None:
    error = error_from_response(409, orjson.dumps(status_body(409, "Conflict")))
    assert isinstance(error, errors.Conflict)
    assert error.field_managers == {}


def test_a_terminating_namespace_is_recognised() -> None:
    causes = [{"reason": "NamespaceTerminating", "message": "", "field": "metadata.namespace"}]
    body = status_body(403, "Forbidden", details={"causes": causes})
    error = error_from_response(403, orjson.dumps(body))
    plain = error_from_response(403, b"")
    assert isinstance(error, errors.Forbidden)
    assert error.namespace_terminating
    assert isinstance(plain, errors.Forbidden)
    assert not plain.namespace_terminating


def test_a_proxy_page_is_reduced_to_its_text() -> None:
    page = b"<html><style>p{}</style><h1>Bad\n gateway</h1><script>x<y</script>\xff</html>"
    error = error_from_response(502, page, subject="GET /api")
    assert isinstance(error, errors.ServerError)
    assert str(error) == "GET /api: Bad gateway \ufffd (502 BadGateway)"


def test_an_endless_page_is_cut_short() -> None:
    assert len(str(error_from_response(500, b"word " * 10_000))) < 600


def test_json_that_is_no_status_is_quoted_as_text() -> None:
    assert str(error_from_response(500, b'{"error": "x"}')) == '{"error": "x"} (500 InternalError)'


@pytest.mark.parametrize("body", [b"[]", b"null", b'{"kind":"Status","details":3,"code":"x"}'])
def test_odd_json_bodies_do_no_harm(body: bytes) -> None:
    error = error_from_response(503, body)
    assert error.status == 503
    assert error.details == {}


def test_retry_after_is_read_from_header_or_details() -> None:
    body = orjson.dumps(status_body(429, "TooManyRequests", details={"retryAfterSeconds": 7}))
    assert error_from_response(429, body).retry_after == 7.0
    assert error_from_response(429, body, retry_after="3").retry_after == 3.0
    assert error_from_response(429, b"", retry_after="1.5").retry_after == 1.5
    assert error_from_response(429, b"").retry_after is None
    assert error_from_response(429, b"", retry_after="soon").retry_after is None


def test_retry_after_may_be_a_date() -> None:
    header = email.utils.formatdate(time.time() + 60, usegmt=True)
    retry_after = error_from_response(503, b"", retry_after=header).retry_after
    assert retry_after is not None
    assert 50 < retry_after <= 60


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("60", 60.0),
        ("61", 60.0),
        ("86400", 60.0),
        ("-5", 0.0),
        ("inf", None),
        ("-inf", None),
        ("nan", None),
        ("1e400", None),
        ("9" * 8000, None),
        ("soon", None),
        ("", None),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 60.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        # This zone says that it is not known; Python gives such a moment without one.
        ("Wed, 21 Oct 2015 07:28:00 -0000", 0.0),
        ("Wed, 21 Oct 2015 07:28:00 +99999999999999999999", None),
    ],
)
def test_no_retry_after_asks_for_more_than_a_minute(header: str, seconds: float | None) -> None:
    assert error_from_response(429, b"", retry_after=header).retry_after == seconds
    body = orjson.dumps(status_body(429, "x", details={"retryAfterSeconds": header}))
    assert error_from_response(429, body).retry_after == seconds


@given(
    st.text(max_size=40)
    | st.floats().map(str)
    | st.from_regex(r"\A[A-Z][a-z]{2}, \d+ [A-Z][a-z]{2} \d+ \d+:\d+:\d+ (GMT|[+-]\d+)\Z")
    | st.builds("Wed, {} Oct {} {}:28:00 {}".format, *[st.integers(-9, 99999)] * 4)
)
def test_whatever_a_retry_after_says_it_is_none_or_at_most_a_minute(header: str) -> None:
    seconds = error_from_response(429, b"", retry_after=header).retry_after
    assert seconds is None or 0.0 <= seconds <= 60.0


@pytest.mark.parametrize("seconds", [86400.0, math.inf, math.nan, -1.0])
def test_no_error_carries_a_longer_wait_whoever_makes_it(seconds: float) -> None:
    waits = errors.TooManyRequests("", status=429, retry_after=seconds).retry_after
    assert waits is None or 0.0 <= waits <= 60.0


@pytest.mark.parametrize("seconds", [{}, [], True, None, {"a": "1"}])
def test_odd_details_ask_for_no_wait(seconds: object) -> None:
    body = orjson.dumps(status_body(429, "x", details={"retryAfterSeconds": seconds}))
    assert error_from_response(429, body).retry_after is None


def test_a_resource_version_that_is_too_large_is_told_by_its_cause() -> None:
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    body = status_body(504, "Timeout", "Too large resource version: 9", details={"causes": causes})
    assert error_from_status(body).version_too_large
    assert error_from_status(
        status_body(504, "Timeout", "Too large resource version: 9, current: 1")
    ).version_too_large
    assert not error_from_status(status_body(504, "Timeout", "slow")).version_too_large


def test_a_watch_error_event_takes_its_status_from_the_object() -> None:
    assert isinstance(error_from_status(status_body(410, "Expired")), errors.Gone)
    assert error_from_status({}).status == 500


def test_a_configuration_error_names_file_field_and_problem() -> None:
    error = errors.ConfigError("no such file", source="/k", field="users[a].user.tokenFile")
    assert str(error) == "/k: users[a].user.tokenFile: no such file"
    assert str(errors.ConfigError("nothing found")) == "nothing found"


def test_an_unknown_kind_names_what_was_asked_for() -> None:
    error = errors.UnknownKind("x.dev/v1", "Thing")
    assert (error.api_version, error.kind) == ("x.dev/v1", "Thing")
    assert str(error) == "the API server serves no kind 'Thing' in 'x.dev/v1'"
