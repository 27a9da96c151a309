"""How AdmissionReviews are read and answered, without a server."""

import re
from typing import Any

import orjson
import pytest

from kudo.admission.envelope import MalformedReview, allow, deny, read_head, read_review
from kudo.api.problems import Problem
from tests.unit.webhook.harness import instance, review


def changed(**fields: Any) -> bytes:
    request = review(instance())
    request["request"].update(fields)
    return orjson.dumps(request)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "the body is not JSON"),
        (b"{", "the body is not JSON"),
        (b"\xff\xfe", "the body is not JSON"),
        (b"[" * 5000, "the body is not JSON"),
        (b"[]", "the body is missing or not an object"),
        (b"{}", "the body is not an AdmissionReview"),
        (
            b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2"}',
            "not an AdmissionReview",
        ),
        (b'{"kind":"AdmissionReview","apiVersion":["x"]}', "the body is not an AdmissionReview"),
        (b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}', "request is missing"),
        (changed(uid=""), "request.uid is missing"),
        (changed(uid=7), "request.uid is missing"),
        (changed(operation=None), "request.operation is missing"),
        (changed(operation="PATCH"), "request.operation is not one of"),
        (changed(resource=None), "request.resource is missing"),
        (changed(resource="instances"), "request.resource is missing"),
        (changed(namespace=""), "request.namespace is missing"),
        (changed(name=["i"]), "request.name is missing"),
        (changed(object=None), "request.object is missing"),
        (changed(object=[]), "request.object is missing"),
        (changed(operation="UPDATE"), "request.oldObject is missing"),
    ],
)
def test_a_body_that_is_no_review_says_what_is_wrong_with_it(body: bytes, text: str) -> None:
    with pytest.raises(MalformedReview, match=re.escape(text)):
        read_review(body)


def test_the_text_about_broken_json_does_not_repeat_the_body() -> None:
    with pytest.raises(MalformedReview) as caught:
        read_review(b'{"password": "hidden" oops')
    assert "hidden" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_what_a_decision_needs_is_read() -> None:
    found = read_review(orjson.dumps(review(instance(), instance(), dryRun=True)))
    assert (found.uid, found.operation, found.namespace, found.name) == ("u-1", "UPDATE", "ns", "i")
    assert found.object == found.old_object == instance()
    assert found.dry_run
    assert found.needs_review


def test_the_old_object_of_a_create_is_left_alone() -> None:
    assert read_review(changed(oldObject=["nonsense"])).old_object is None


def test_an_allowed_answer_without_patch_names_no_patch_type() -> None:
    found = read_review(changed())
    assert orjson.loads(allow(found))["response"] == {"uid": "u-1", "allowed": True}


def test_a_denial_is_a_status_that_the_api_server_passes_on() -> None:
    found = read_review(changed())
    problems = [Problem("First", "one", "spec.a"), Problem("Second", "two")]
    assert orjson.loads(deny(found, problems, 403)) == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {
            "uid": "u-1",
            "allowed": False,
            "status": {
                "status": "Failure",
                "code": 403,
                "reason": "First",
                "message": "one\ntwo",
                "details": {
                    "name": "i",
                    "group": "kudo.dev",
                    "kind": "Instance",
                    "causes": [
                        {"reason": "First", "message": "one", "field": "spec.a"},
                        {"reason": "Second", "message": "two", "field": ""},
                    ],
                },
            },
        },
    }


def as_api_server(**fields: Any) -> bytes:
    request = review(instance())
    request["request"].update(fields)
    return orjson.dumps(
        {
            "kind": request["kind"],
            "apiVersion": request["apiVersion"],
            "request": request["request"],
        }
    )


def test_the_head_of_a_review_is_what_an_answer_needs() -> None:
    body = as_api_server()
    found, whole = read_head(body), read_review(body)
    assert found is not None
    for field in ("api_version", "uid", "operation", "namespace", "kind"):
        assert getattr(found, field) == getattr(whole, field)
    old = read_head(body.replace(b"admission.k8s.io/v1", b"admission.k8s.io/v1beta1"))
    assert old is not None
    assert old.api_version == "admission.k8s.io/v1beta1"


def test_what_does_not_begin_as_api_servers_write_it_has_no_head() -> None:
    table: list[bytes] = [
        b"",
        b"{",
        b" " * 10_000,
        b" " * 5000 + as_api_server(),
        as_api_server(uid="x" * 99),
    ]
    for body in table:
        assert read_head(body) is None


def test_a_name_cannot_be_taken_for_a_namespace() -> None:
    body = as_api_server(name='i","namespace":"other","uid":"other')
    # The name comes before the namespace in what API servers write.
    fields = orjson.loads(body)["request"]
    first = {field: fields[field] for field in ("uid", "name", "namespace", "operation")}
    found = read_head(orjson.dumps({"kind": "AdmissionReview", "request": first}))
    assert found is not None
    assert (found.uid, found.namespace) == ("u-1", "ns")


def test_a_denial_repeats_no_long_name() -> None:
    long = read_review(as_api_server(name="n" * 100_000))
    answer = orjson.loads(deny(long, [Problem("R", "no")], 403))
    assert len(answer["response"]["status"]["details"]["name"]) < 300
