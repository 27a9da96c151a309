"""The job that reviews OperatorVersions, from the body of a review to its answer."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kudo.admission.envelope import Answer
from kudo.admission.tenancy import LONGEST_GRANT
from kudo.api import Json, JsonObject
from kudo.api.names import ANNOTATION_ALLOW_FROM
from kudo.jobs import review, version
from tests.support.selection.properties import examples

PLANS = {"deploy": {"phases": [{"name": "p", "steps": [{"name": "s", "tasks": ["t"]}]}]}}


def spec(templates: JsonObject | None = None, **fields: Any) -> JsonObject:
    texts = {"a": "{{ .Name }}"} if templates is None else templates
    tasks = [{"name": "t", "kind": "Apply", "spec": {"resources": list(texts)}}]
    return {"plans": PLANS, "tasks": tasks, "templates": texts, **fields}


def body(new: Json, old: Json = None, **metadata: Any) -> bytes:
    request: JsonObject = {
        "uid": "u",
        "resource": {"group": "kudo.dev", "resource": "operatorversions"},
        "operation": "CREATE" if old is None else "UPDATE",
        "namespace": "ns",
        "name": "v",
        "object": {"metadata": metadata, "spec": new},
    }
    if old is not None:
        request["oldObject"] = {"metadata": {}, "spec": old}
    envelope = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}
    return orjson.dumps({**envelope, "request": request})


def answer(request: bytes) -> Answer:
    found = review.decode_answer(version.handle(request))
    assert isinstance(found, review.Reviewed)
    assert found.review.kind == "OperatorVersion"
    return found.answer


def test_a_version_that_runs_is_allowed_without_a_word() -> None:
    assert answer(body(spec())) == Answer()


def test_a_broken_one_is_denied_with_its_name_and_all_its_problems() -> None:
    found = answer(body(spec({"a": "{{", "b": "{{ nope }}"}, operator={"name": "-"})))
    assert found.code == 403
    assert found.reason == "InvalidOperatorVersion"
    assert [one.field for one in found.problems] == [
        "spec.operator.name",
        "spec.templates[a]",
        "spec.templates[b]",
    ]
    assert found.problems[0].message.startswith("failed to create OperatorVersion ns/v: ")


def test_another_shape_is_denied_with_its_field(subtests: pytest.Subtests) -> None:
    table: list[tuple[Json, str]] = [
        ("text", "spec"),
        ([], "spec"),
        (spec(tasks=[{"name": ["t"]}]), "spec.tasks.0.name"),
        (spec(templates={"a": 1}), "spec.templates.a"),
        (spec(plans={"deploy": {"phases": "p"}}), "spec.plans.deploy.phases"),
    ]
    for new, field in table:
        with subtests.test(new=new, field=field):
            found = answer(body(new))
            assert found.reason == "InvalidOperatorVersion"
            assert found.problems[0].field == field


def test_of_many_wrong_fields_the_first_are_told() -> None:
    found = answer(body(spec(tasks=[{"name": 1}] * 900)))
    assert len(found.problems) == 21
    assert found.problems[-1].message == "and 880 more problems like these"


def test_no_spec_is_a_version_without_plans() -> None:
    assert [one.field for one in answer(body(None)).problems] == ["spec.plans"]


def test_one_beyond_the_bounds_is_not_parsed() -> None:
    found = answer(body(spec(parameters=[{}] * 10_000)))
    assert (found.code, found.limit) == (413, "entries")
    assert "spec.parameters has 10000 entries" in found.problems[0].message


def test_its_spec_cannot_be_changed_not_even_while_it_is_being_deleted(
    subtests: pytest.Subtests,
) -> None:
    table: list[JsonObject] = [
        {},
        {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x"]},
    ]
    for metadata in table:
        with subtests.test(metadata=metadata):
            found = answer(body(spec(), spec({"a": "other"}), **metadata))
            assert found.reason == "OperatorVersionImmutable"
            assert found.problems[0].message.startswith(
                "failed to update OperatorVersion ns/v: its spec"
            )


def test_metadata_may_change_also_of_one_that_could_not_be_created() -> None:
    broken = spec({"a": "{{"})
    assert answer(body(broken, broken, finalizers=[], labels={"a": "b"})) == Answer()


def test_a_grant_that_counts_in_part_is_a_warning() -> None:
    for size, warned in ((LONGEST_GRANT, False), (LONGEST_GRANT + 1, True), (256 * 1024, True)):
        found = answer(body(spec(), annotations={ANNOTATION_ALLOW_FROM: "n" * size}))
        assert bool(found.warnings) is warned
        assert sum(map(len, found.warnings)) < 200


@pytest.mark.parametrize(
    "text",
    [
        "x" * 600_000,
        "{{if .a}}" * 10_000,
        "{{" + "(" * 90_000,
        "{{/*" * 20_000,
        "{{.a}}" * 20_000,
        "{{define `a`}}" * 6_000,
    ],
)
def test_templates_beyond_a_limit_are_denied_with_it(text: str) -> None:
    (problem,) = answer(body(spec({"t": text}))).problems
    assert problem.field == "spec.templates[t]"
    assert len(problem.message) < 500


def test_deep_nesting_is_a_malformed_review() -> None:
    deep = body("DEEP").replace(b'"DEEP"', b'{"a":' * 100_000 + b"1" + b"}" * 100_000)
    assert isinstance(review.decode_answer(version.handle(deep)), review.Malformed)


def test_a_review_of_something_else_is_allowed() -> None:
    other = body(spec({"a": "{{"})).replace(b'"operatorversions"', b'"operators"')
    found = review.decode_answer(version.handle(other))
    assert isinstance(found, review.Reviewed)
    assert found.answer.allowed


def test_preparing_loads_what_the_jobs_need() -> None:
    version.prepare()
    assert version.HANDLERS.keys() == review.HANDLERS.keys()
    assert version.HANDLERS[review.VERSION] is version.handle


def test_workers_of_compat_allow_every_version() -> None:
    for request in (body("text"), body(spec({"a": "{{"})), body(spec(), spec({"a": "b"}))):
        found = review.decode_answer(review.HANDLERS[review.VERSION](request))
        assert isinstance(found, review.Reviewed)
        assert found.answer == Answer()
    malformed = review.decode_answer(review.HANDLERS[review.VERSION](b"{"))
    assert isinstance(malformed, review.Malformed)


TEXTS = st.text(st.characters(codec="utf-8"), max_size=8)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
FIELDS = sorted([*spec(), "parameters", "operator", "upgradableFrom"])


@pytest.mark.hypothesis
@settings(max_examples=examples(50, deep=3_000))
@given(ANYTHING | st.dictionaries(st.sampled_from(FIELDS), ANYTHING), st.booleans())
def test_whatever_is_sent_is_answered(fields: Json, within: bool) -> None:
    new = {**spec(), **fields} if within and isinstance(fields, dict) else fields
    found = answer(body(new))
    assert found.allowed or found.reason == "InvalidOperatorVersion"
    assert all(len(problem.message) < 2000 for problem in found.problems)
