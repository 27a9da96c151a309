"""Denials stay small whatever was sent: 20 problems, 40 characters of a value, 20 of a list."""

from typing import Any

import pytest

from kudo.admission import AdmissionRequest, Decision, Review, mutate, validate
from kudo.admission.revalidation import revalidate_idle
from kudo.api import Instance, Json, JsonObject, OperatorVersion
from kudo.api.problems import InvalidInput, Problem, first_problems, listed, shown
from kudo.parameters.values import Checker, CheckResults

LONG = "v" * 100_000
MANY = range(5000)


def version(parameters: list[JsonObject], *, name: str = "first-1") -> OperatorVersion:
    return OperatorVersion.from_wire(
        {
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"plans": {"deploy": {}}, "parameters": parameters},
        }
    )


def wire(parameters: Any, **status: Any) -> JsonObject:
    return {
        "metadata": {"name": "i", "namespace": "ns"},
        "spec": {"operatorVersion": {"name": "first-1"}, "parameters": parameters},
        "status": status,
    }


def size(problems: tuple[Problem, ...]) -> int:
    return sum(len(problem.message) + len(problem.field) for problem in problems)


def decided(
    of: OperatorVersion, new: JsonObject, old: JsonObject | None = None, **options: Any
) -> Decision:
    operation: Any = "CREATE" if old is None else "UPDATE"
    review = Review.of(AdmissionRequest(operation, "ns", "i", new, old))
    return mutate(review, {("ns", "first-1"): of}, fresh_uid=lambda: "uid", **options)


def test_of_many_invalid_values_20_are_named_and_the_rest_is_counted() -> None:
    declared = version([{"name": f"P{n}", "value-type": "integer"} for n in MANY])
    values = {f"P{n}": LONG[:200] for n in MANY}
    for old in (None, wire({})):
        problems = decided(declared, wire(values), old).problems
        assert len(problems) == 21
        assert problems[-1].message == "and 4980 more problems like these"
        assert size(problems) < 8_000


def test_of_many_undeclared_parameters_20_are_named() -> None:
    declared = version([{"name": f"DECLARED-{n}"} for n in MANY])
    values = {LONG + str(n): "x" for n in range(100)}
    problems = decided(declared, wire(values), wire({})).problems
    assert [problem.reason for problem in problems] == ["ParameterUnknown"] * 21
    assert "DECLARED-19 and 4980 more" in problems[0].message
    assert size(problems) < 20_000
    warnings = decided(declared, wire(values)).warnings
    assert len(warnings) == 21
    assert warnings[-1] == "and 80 more undeclared parameters"
    assert sum(map(len, warnings)) < 5_000


def test_names_of_published_packages_are_shown_whole() -> None:
    name = "NATIVE_TRANSPORT_MAX_CONCURRENT_CONNECTIONS_PER_IP"
    declared = version([{"name": name, "value-type": "integer"}])
    (problem,) = decided(declared, wire({name: "x"})).problems
    assert f'"{name}"' in problem.message
    assert problem.field == f"spec.parameters[{name}]"


def test_an_immutable_value_is_shown_by_its_beginning() -> None:
    declared = version([{"name": "A", "immutable": True}])
    (problem,) = decided(declared, wire({"A": LONG}), wire({"A": LONG + "2"})).problems
    assert f"changed from '{LONG[:40]}…' to '{LONG[:40]}…'" in problem.message


def test_many_triggers_are_listed_up_to_20() -> None:
    parameters = [{"name": f"P{n}", "trigger": f"plan-{n}"} for n in range(100)]
    declared = version(parameters)
    problems = decided(declared, wire({f"P{n}": "x" for n in range(100)}), wire({})).problems
    assert len(problems) == 21
    plans: JsonObject = {f"plan-{n}": {} for n in range(100)} | {"deploy": {}}
    several = declared.model_copy(
        update={"spec": declared.spec.model_validate({"plans": plans, "parameters": parameters})}
    )
    (problem,) = decided(several, wire({f"P{n}": "x" for n in range(100)}), wire({})).problems
    assert problem.reason == "SeveralPlansTriggered"
    assert problem.message.count(" and 80 more") == 2


WRONG = [None, 7, ["x"], {"a": "b"}]


def test_of_many_fields_of_another_shape_20_are_named(subtests: pytest.Subtests) -> None:
    table: list[JsonObject] = [
        wire({f"P{n}": WRONG[n % 4] for n in MANY}),
        wire({}, planStatus={f"plan-{n}": {"status": 7, "uid": 8} for n in MANY}),
        wire({}, planStatus={f"plan-{n}": WRONG[n % 2] for n in MANY}),
        wire({}, planStatus={f"plan-{n}": {"retryOf": 7, "retried": ["x"]} for n in MANY}),
        wire({}, lastRun={"parameters": dict.fromkeys(map(str, MANY), 7)}),
        {**wire({}), "metadata": {"finalizers": [7] * 5000}},
    ]
    for old in table:
        with subtests.test(old=old):
            with pytest.raises(InvalidInput) as caught:
                Review.of(AdmissionRequest("UPDATE", "ns", "i", wire({"A": "b"}), old))
            problems = caught.value.problems
            assert len(problems) == 21
            assert {problem.reason for problem in problems} == {"InstanceUnreadable"}
            assert problems[-1].message.startswith("and ")
            assert size(problems) < 8_000


def test_of_a_long_history_of_another_shape_20_records_are_named(subtests: pytest.Subtests) -> None:
    table: list[Json] = [
        *WRONG[:3],
        {"plan": 7},
        {"uid": None},
        {"cause": "x"},
        {"cause": {"retryOf": 7}},
        {"configuration": {}},
        {"operatorVersion": 7},
    ]
    for record in table:
        with subtests.test(record=record):
            new = wire({})
            new["spec"]["planExecution"] = {"planName": "deploy", "retryOf": "A"}
            with pytest.raises(InvalidInput) as caught:
                Review.of(
                    AdmissionRequest("UPDATE", "ns", "i", new, wire({}, history=[record] * 5000))
                )
            assert len(caught.value.problems) == 21
            assert size(caught.value.problems) < 8_000


def test_a_history_that_is_no_list_is_named(subtests: pytest.Subtests) -> None:
    for history in [7, {"a": 1}, "x"]:
        with subtests.test(history=history):
            new = wire({})
            new["spec"]["planExecution"] = {"planName": "deploy", "retryOf": "A"}
            with pytest.raises(InvalidInput) as caught:
                Review.of(AdmissionRequest("UPDATE", "ns", "i", new, wire({}, history=history)))
            assert "status.history" in {problem.field for problem in caught.value.problems}


def test_the_number_of_unreadable_fields_is_right() -> None:
    new = wire({f"P{n}": n for n in MANY})
    new["metadata"]["finalizers"] = [7] * 30
    with pytest.raises(InvalidInput) as caught:
        Review.of(AdmissionRequest("CREATE", "ns", "i", new))
    assert caught.value.problems[-1].message == "and 5010 more problems like these"


def test_a_field_with_a_long_name_is_named_by_its_beginning() -> None:
    with pytest.raises(InvalidInput) as caught:
        Review.of(AdmissionRequest("CREATE", "ns", LONG, wire({LONG: 7})))
    (problem,) = caught.value.problems
    assert size((problem,)) < 1000


def test_readable_objects_beside_wrong_ones_are_read() -> None:
    stored = wire({"A": "1"}, planStatus={"deploy": {"uid": "u", "status": "COMPLETE", "x": 7}})
    review = Review.of(AdmissionRequest("UPDATE", "ns", "i", wire({"A": "2"}), stored))
    assert review.old is not None
    assert review.old.plan_status["deploy"].uid == "u"


def test_what_is_stored_is_refused_with_20_problems() -> None:
    declared = version([{"name": f"P{n}", "value-type": "integer"} for n in MANY])
    found = Instance.from_wire(wire({f"P{n}": "x" for n in MANY}))
    assert len(revalidate_idle(found, declared).problems) == 21


def test_values_of_a_decision_are_read_by_its_checker() -> None:
    declared = version([{"name": "A", "value-type": "array", "default": "[]"}] * 151)
    hostile = "[&a " + "x" * 1000 + ", *a" * 2000 + "]"
    check = Checker(CheckResults())
    assert decided(declared, wire({"A": hostile}), check=check).allowed
    assert check.pending == (("array", hostile, ""),)
    check.give_up("cpu", "it took too long")
    problems = decided(declared, wire({"A": hostile}), check=check).problems
    assert (problems[0].reason, problems[0].limit) == ("ParameterTooLarge", "cpu")
    assert check.reads == 1
    review = Review.of(AdmissionRequest("UPDATE", "ns", "i", wire({"A": hostile}), wire({})))
    versions = {("ns", "first-1"): declared}
    assert validate(review, versions, check=check).problems[0].limit == "cpu"
    found = Instance.from_wire(wire({"A": hostile}))
    assert revalidate_idle(found, declared, check).problems[0].limit == "cpu"


def test_first_problems_of_few_are_all() -> None:
    few = tuple(Problem("A", str(number)) for number in range(20))
    assert first_problems(iter(few)) == few
    assert first_problems([]) == ()
    assert first_problems(few, beside=1)[-1] == Problem("A", "and 1 more problems like these")


def test_texts_at_the_limit_are_shown_whole() -> None:
    assert shown("x" * 40) == "x" * 40
    assert shown("x" * 41) == "x" * 40 + "…"
    assert listed([str(number) for number in range(20)]).endswith("18, 19")
    assert listed([str(number) for number in range(21)]).endswith("18, 19 and 1 more")
