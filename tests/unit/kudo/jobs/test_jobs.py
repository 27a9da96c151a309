"""Jobs of worker processes, from the bytes of a request to those of an answer."""

from typing import Any

import orjson
import pytest

from goyaml import Limits
from kudo.api import JsonObject
from kudo.jobs import check, review
from kudo.parameters import values
from kudo.parameters.values import Fault
from tests.unit.webhook.harness import USER, instance, operator_version
from tests.unit.webhook.harness import review as review_of

FIRST = orjson.dumps(operator_version().to_wire())
KEY = ("ns", "first-1")


def asked(
    body: bytes, versions: review.Blobs | None = None, *, route: str = "mutate"
) -> review.Malformed | review.Needed | review.Reviewed:
    request = review.encode_request(review.Route(route, "fresh"), body, versions or {})
    return review.decode_answer(review.handle(request))


def reviewed(new: JsonObject, old: JsonObject | None = None, **options: Any) -> review.Reviewed:
    found = asked(orjson.dumps(review_of(new, old)), {KEY: FIRST}, **options)
    assert isinstance(found, review.Reviewed)
    return found


def test_values_come_back_with_their_faults_in_order() -> None:
    values = [
        ("array", "[1]", ""),
        ("map", "[1]", ""),
        ("array", "[" * 200, ""),
        ("map", "ä: ö", ""),
    ]
    faults = check.decode_answer(check.handle(check.encode_request(values)))
    assert faults[0] is None
    assert faults[1] == Fault()
    assert faults[2] is not None
    assert faults[2].limit == "depth"
    assert faults[3] is None


@pytest.fixture
def few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "DEFAULT_LIMITS", Limits(nodes=12_000))


@pytest.mark.usefixtures("few_nodes")
def test_a_fault_of_all_values_together_comes_back_as_such() -> None:
    values = [("array", "[" + f"{number}," * 7_000 + "]", "") for number in range(3)]
    first, second = check.decode_answer(check.handle(check.encode_request(values)))
    assert first is None
    assert second is not None
    assert (second.limit, second.together) == ("nodes", True)


def test_a_review_names_the_versions_that_it_needs() -> None:
    new = instance(operatorVersion={"name": "second-1", "namespace": "other"})
    found = asked(orjson.dumps(review_of(new, instance())))
    assert found == review.Needed((("other", "second-1"), KEY), namespace="ns")


def test_a_review_that_needs_no_version_is_answered_at_once() -> None:
    for request in (review_of(instance(), instance()), review_of(instance(), operation="DELETE")):
        found = asked(orjson.dumps(request))
        assert isinstance(found, review.Reviewed)
        assert found.answer.allowed


def test_versions_of_any_size_and_missing_ones_are_told_apart() -> None:
    new = instance(operatorVersion={"name": "second-1"})
    body = orjson.dumps(review_of(new, instance()))
    second = orjson.dumps(operator_version(plans={"upgrade": {}}).to_wire())
    for versions in (
        {KEY: FIRST, ("ns", "second-1"): second},
        {KEY: None, ("ns", "second-1"): second},
    ):
        found = asked(body, versions)
        assert isinstance(found, review.Reviewed)
        (operation,) = [one for one in orjson.loads(found.answer.patch) if "plan" in one["path"]]
        assert operation["value"] == {
            "planName": "upgrade",
            "uid": "fresh",
            "status": "NEVER_RUN",
            "requestedBy": USER,
        }
    found = asked(body, {KEY: FIRST, ("ns", "second-1"): None})
    assert isinstance(found, review.Reviewed)
    assert found.answer.reason == "OperatorVersionNotFound"


def test_each_route_has_its_rules() -> None:
    assert reviewed(instance()).answer.allowed
    assert reviewed(instance(), route="validate").answer.reason == "MutatingWebhookMissing"


def test_what_is_answered_holds_no_object() -> None:
    found = reviewed(instance({"REPLICAS": "x"}))
    assert (found.review.uid, found.review.name, found.review.object) == ("u-1", "i", {})
    assert (found.answer.code, found.answer.outcome) == (403, "denied")
    assert found.answer.problems[0].field == "spec.parameters[REPLICAS]"


@pytest.mark.usefixtures("few_nodes")
def test_a_value_beyond_all_limits_is_a_denial_of_its_own_code() -> None:
    version = operator_version(parameters=[{"name": "A", "value-type": "array"}])
    body = orjson.dumps(review_of(instance({"A": "[" + "0," * 12_000 + "]"})))
    found = asked(body, {KEY: orjson.dumps(version.to_wire())})
    assert isinstance(found, review.Reviewed)
    assert (found.answer.code, found.answer.outcome) == (413, "limited")
    assert found.answer.limit == "nodes"


def test_a_version_of_another_shape_is_no_fault_of_the_review(subtests: pytest.Subtests) -> None:
    for parameters in [7, [{"name": 7}] * 2000, [{"name" * 1000: {}}, 7]]:
        with subtests.test(parameters=parameters):
            body = orjson.dumps(review_of(instance()))
            version = {"metadata": {"name": "first-1"}, "spec": {"parameters": parameters}}
            found = asked(body, {KEY: orjson.dumps(version)})
            assert isinstance(found, review.Reviewed)
            assert (found.answer.code, found.answer.reason) == (500, "OperatorVersionUnreadable")
            assert len(found.answer.problems[0].message) < 500


def test_what_is_no_review_is_malformed(subtests: pytest.Subtests) -> None:
    table: list[bytes] = [
        b"",
        b"[]",
        b"[" * 100_000,
        b"\xff",
        b'{"kind": NaN}',
        orjson.dumps(review_of(instance())).replace(b'"u-1"', rb'"\ud800"'),
        b"1" * 5000,
    ]
    for body in table:
        with subtests.test(body=body):
            found = asked(body, {KEY: FIRST})
            assert isinstance(found, review.Malformed)
            assert len(found.text) < 200


def test_preparing_leaves_nothing_to_import() -> None:
    review.prepare()
    assert set(review.HANDLERS) == {"check", "review", "version"}
