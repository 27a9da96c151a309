"""Admission of new Instances."""

import pytest

from kudo.admission import AdmissionRequest, Review
from kudo.api.problems import InvalidInput
from tests.unit.kudo.builders import (
    V1,
    declared,
    instance,
    mutated,
    patched,
    review,
    trigger,
    version,
)


def test_a_new_instance_runs_deploy_under_a_fresh_uid() -> None:
    decision = mutated(instance(), None)
    assert decision.plan == "deploy"
    assert patched(instance(), decision)["spec"]["planExecution"] == trigger("deploy")


def test_a_submitted_plan_execution_of_a_backup_is_replaced() -> None:
    backup = instance(runs="custom", uid="old", status="COMPLETE")
    found = patched(backup, mutated(backup, None))
    assert found["spec"]["planExecution"] == trigger("deploy")


def test_a_submitted_status_is_not_looked_at_even_if_it_is_garbage() -> None:
    garbage = {**instance(), "status": {"planStatus": ["nonsense"]}}
    assert mutated(garbage, None).plan == "deploy"


def test_the_finalizer_is_added_when_the_operator_has_a_cleanup_plan() -> None:
    new = instance(finalizers=["someone.else"])
    found = patched(new, mutated(new, None))
    assert found["metadata"]["finalizers"] == ["someone.else", "kudo.dev.instance.cleanup"]


def test_the_finalizer_of_a_backup_is_removed_when_there_is_no_cleanup_plan() -> None:
    new = instance(finalizers=["someone.else", "kudo.dev.instance.cleanup"])
    found = patched(new, mutated(new, None, version(plans=("deploy",))))
    assert found["metadata"]["finalizers"] == ["someone.else"]


def test_defaults_of_immutable_parameters_are_written_down() -> None:
    new = instance({"CLASS": "-"})
    assert patched(new, mutated(new, None))["spec"]["parameters"]["CLASS"] == "fast"


def test_an_explicit_empty_value_of_an_immutable_parameter_is_kept() -> None:
    new = instance({"CLASS": ""})
    assert patched(new, mutated(new, None))["spec"]["parameters"]["CLASS"] == ""


def test_undeclared_parameters_are_admitted_with_a_warning_each() -> None:
    decision = mutated(instance({"B": "1", "A": "2"}), None)
    assert decision.allowed
    assert [text.split('"')[1] for text in decision.warnings] == ["A", "B"]


def test_values_that_do_not_fit_are_denied(subtests: pytest.Subtests) -> None:
    table: list[tuple[dict[str, str], str, str]] = [
        ({"TOKEN": "-"}, "ParameterRequired", "spec.parameters[TOKEN]"),
        ({"TOKEN": ""}, "ParameterRequired", "spec.parameters[TOKEN]"),
        ({"COUNT": "many"}, "ParameterInvalid", "spec.parameters[COUNT]"),
    ]
    for values, reason, field in table:
        with subtests.test(values=values, reason=reason, field=field):
            decision = mutated(instance(values), None)
            assert [(p.reason, p.field) for p in decision.problems] == [(reason, field)]


def test_every_wrong_value_is_named_in_one_answer() -> None:
    decision = mutated(instance({"TOKEN": "-", "COUNT": "many"}), None)
    assert [p.field for p in decision.problems] == [
        "spec.parameters[TOKEN]",
        "spec.parameters[COUNT]",
    ]


def test_a_default_that_does_not_fit_is_denied_where_it_would_be_written_down() -> None:
    broken = declared("CLASS", immutable=True, default="x", **{"value-type": "integer"})
    decision = mutated(instance({"CLASS": "-"}), None, version(parameters=broken))
    assert decision.reason == "ParameterInvalid"


def test_an_operator_without_a_deploy_plan_cannot_be_installed() -> None:
    assert mutated(instance(), None, version(plans=("update",))).reason == "DeployPlanMissing"


def test_a_missing_operator_version_is_named_in_the_denial() -> None:
    decision = mutated(instance(of="other-9"), None, V1)
    assert decision.reason == "OperatorVersionNotFound"
    assert "ns/other-9 does not exist" in decision.problems[0].message


def test_the_denial_of_a_generated_name_does_not_invent_one() -> None:
    new = instance({"TOKEN": "-"})
    new["metadata"]["name"] = ""
    assert "ns/(generated name)" in mutated(new, None).problems[0].message


def test_a_number_as_a_parameter_value_is_answered_with_what_to_do() -> None:
    new = instance()
    new["spec"]["parameters"]["SIZE"] = 3
    with pytest.raises(InvalidInput) as caught:
        review(new, None)
    problem = caught.value.problems[0]
    assert (problem.reason, problem.field) == ("InstanceUnreadable", "spec.parameters.SIZE")
    assert "put it in quotes" in problem.message


def test_an_object_of_another_shape_is_refused_and_not_crashed_on(
    subtests: pytest.Subtests,
) -> None:
    for value in ["text", ["list"], 7]:
        for field in ["metadata", "spec"]:
            with subtests.test(field=field, value=value), pytest.raises(InvalidInput):
                review({**instance(), field: value}, None)


def test_an_unreadable_object_without_a_name_yet_is_named_as_such() -> None:
    with pytest.raises(InvalidInput, match=r"ns/\(generated name\): spec"):
        Review.of(AdmissionRequest("CREATE", "ns", "", {**instance(), "spec": 7}))


def test_labels_and_annotations_are_read_for_rules_as_far_as_they_are_texts() -> None:
    new = instance()
    new["metadata"] |= {"labels": {"team": "web"}, "annotations": {"note": "x", "wrong": 7}}
    metadata = review(new, None).new.metadata
    assert (metadata.labels, metadata.annotations) == ({"team": "web"}, {"note": "x"})
    new["metadata"] |= {"labels": "wrong", "annotations": None}
    assert review(new, None).new.metadata.annotations == {}
