"""OperatorVersions of other namespaces: who may use them, and what a denial must not tell."""

from collections.abc import Iterable
from typing import Any, Literal

import pytest

from kudo.admission import AdmissionRequest, Decision, Review, mutate, validate
from kudo.admission.tenancy import Tenancy, needs_grant
from kudo.api import Instance, InstanceSpec, JsonObject, OperatorVersion
from kudo.api.names import ANNOTATION_ALLOW_FROM
from tests.unit.kudo.builders import instance, version

OWNER = "platform"
KEY = (OWNER, "first-1")
REFERENCE = {"name": "first-1", "namespace": OWNER}
REASON = "OperatorVersionNotGranted"


def published(grant: str | None = None, name: str = "first-1", **fields: Any) -> OperatorVersion:
    found = version(name, **fields)
    annotations = None if grant is None else {ANNOTATION_ALLOW_FROM: grant}
    metadata = found.metadata.model_copy(update={"namespace": OWNER, "annotations": annotations})
    return found.model_copy(update={"metadata": metadata})


def using(wire: JsonObject | None = None, **spec: Any) -> JsonObject:
    """Return an Instance of the published version."""
    found = wire or instance(ended={"deploy": "A"})
    return {**found, "spec": {**found["spec"], "operatorVersion": REFERENCE, **spec}}


def decided(
    new: JsonObject,
    old: JsonObject | None,
    *versions: OperatorVersion,
    route: str = "mutate",
    tenancy: Tenancy = Tenancy.STRICT,
    user: str = "",
) -> Decision:
    operation: Literal["CREATE", "UPDATE"] = "UPDATE" if old else "CREATE"
    review = Review.of(AdmissionRequest(operation, "ns", "i", new, old, user))
    known = {(v.metadata.namespace, v.metadata.name): v for v in versions}
    if route == "validate":
        return validate(review, known, tenancy=tenancy)
    return mutate(review, known, fresh_uid=lambda: "fresh", tenancy=tenancy)


def only(decisions: Iterable[Decision]) -> Decision:
    """Return the decision, which is the same each time."""
    first, *others = decisions
    assert all(other == first for other in others)
    return first


CHANGED = {"SIZE": "2", "PORT": "80", "CLASS": "fast", "TOKEN": "secret"}
RUN = {"planName": "custom"}
NEED_GRANT: dict[str, tuple[JsonObject, JsonObject | None]] = {
    "creation": (using(), None),
    "creation with a wrong value": (using(parameters={"COUNT": "x", "NOPE": "1"}), None),
    "reference": (using(), instance(ended={"deploy": "A"})),
    "parameters": (using(parameters=CHANGED), using()),
    "unknown parameters": (using(parameters={"NOPE": "1"}), using()),
    "removed parameters": (using(parameters={}), using()),
    "run": (using(planExecution=RUN), using()),
    "unknown plan": (using(planExecution={"planName": "nope"}), using()),
    "restart": (
        using(instance(runs="deploy"), planExecution={"planName": "deploy", "uid": "B"}),
        using(instance(runs="deploy")),
    ),
    "retry": (using(planExecution={"planName": "deploy", "retryOf": "A"}), using()),
    "parameters while deleting": (
        using(instance(deleting=True), parameters=CHANGED),
        using(instance(deleting=True)),
    ),
}
FOREIGN: dict[str, tuple[OperatorVersion, ...]] = {
    "missing": (),
    "no grant": (published(),),
    "empty grant": (published(""),),
    "grant of others": (published("other, ns2,n,nss"),),
    "without plans": (published(plans=(), parameters=()),),
    "of another operator": (published(operator="second"),),
}


def test_without_a_grant_the_denial_is_the_same_whatever_the_version_is(
    subtests: pytest.Subtests,
) -> None:
    for case in NEED_GRANT:
        for route in ["mutate", "validate"]:
            with subtests.test(route=route, case=case):
                new, old = NEED_GRANT[case]
                decision = only(
                    decided(new, old, *FOREIGN[name], version(), route=route) for name in FOREIGN
                )
                (problem,) = decision.problems
                assert problem.reason == REASON
                assert problem.field == "spec.operatorVersion"
                assert (
                    "OperatorVersion platform/first-1 does not exist or is not granted"
                    in problem.message
                )
                assert problem.message.endswith("annotation kudo.dev/allow-from: ns")
                assert not decision.warnings
                assert not decision.patch


def test_with_a_grant_it_is_used_like_one_of_the_own_namespace(subtests: pytest.Subtests) -> None:
    for case in ["creation", "reference", "parameters", "run"]:
        for grant in ["ns", "*", "other,ns", " other , ns ", "ns,", "other,*"]:
            with subtests.test(grant=grant, case=case):
                new, old = NEED_GRANT[case]
                decision = decided(new, old, published(grant), version())
                assert decision.allowed, decision.problems
                assert decision.plan is not None
                assert decision.warnings == ()


def test_with_a_grant_the_other_rules_say_what_they_always_say() -> None:
    decision = decided(using(parameters={"NOPE": "1"}), using(), published("ns"))
    assert {problem.reason for problem in decision.problems} == {
        "ParameterUnknown",
        "ParameterImmutable",
        "ParameterRequired",
        "SeveralPlansTriggered",
    }


NO_GRANT: dict[str, tuple[JsonObject, JsonObject]] = {
    "labels": ({**using(), "metadata": {**using()["metadata"], "labels": {"a": "b"}}}, using()),
    "suspend": (using(suspend=True), using()),
    "account": (using(serviceAccountName="team"), using()),
    "time limit": (using(planTimeout="5m"), using()),
    "cancel": (
        using(
            instance(runs="deploy"),
            planExecution={"planName": "deploy", "uid": "A", "status": "FATAL_ERROR"},
        ),
        using(instance(runs="deploy")),
    ),
    "end of a run": (
        using(planExecution={}),
        using(instance(runs="deploy", ended={"deploy": "A"})),
    ),
    "cleanup by hand": (
        using(instance(deleting=True), planExecution={"planName": "cleanup"}),
        using(instance(deleting=True)),
    ),
    "restart of cleanup": (
        using(
            instance(runs="cleanup", deleting=True),
            planExecution={"planName": "cleanup", "uid": "B"},
        ),
        using(instance(runs="cleanup", deleting=True)),
    ),
    "cancel of cleanup": (
        using(
            instance(runs="cleanup", deleting=True),
            planExecution={"planName": "cleanup", "uid": "A", "status": "FATAL_ERROR"},
        ),
        using(instance(runs="cleanup", deleting=True)),
    ),
}


def test_what_runs_no_plan_passes_without_a_grant_and_tells_nothing(
    subtests: pytest.Subtests,
) -> None:
    for case in NO_GRANT:
        with subtests.test(case=case):
            new, old = NO_GRANT[case]
            decision = only(decided(new, old, *FOREIGN[name]) for name in FOREIGN)
            assert decision.allowed, decision.problems
            assert decision.warnings == ()
            assert not [one for one in decision.patch if one["path"] == "/metadata/finalizers"]


def test_a_cancelled_run_is_recorded_without_a_grant() -> None:
    new, old = NO_GRANT["cancel"]
    (operation,) = decided(new, old, published(), user="somebody").patch
    assert operation["value"]["status"] == "FATAL_ERROR"
    assert operation["value"]["cancelledBy"] == "somebody"


def test_an_instance_moves_to_a_copy_in_its_own_namespace() -> None:
    """What the version says that is left is not looked at: it is not granted."""
    own = instance(ended={"deploy": "A"}, last_run=record())
    versions = [published(parameters=()), published(), published(operator="first")]
    decision = only(
        decided(own, {**using(), "status": own["status"]}, one, version()) for one in versions
    )
    assert decision.allowed, decision.problems
    assert decision.plan == "upgrade"


def record() -> JsonObject:
    return {
        "plan": "deploy",
        "uid": "A",
        "operator": "first",
        "operatorVersion": REFERENCE,
        "parameters": {},
    }


def test_compat_warns_where_strict_denies(subtests: pytest.Subtests) -> None:
    for case in ["creation", "reference", "parameters", "run"]:
        with subtests.test(case=case):
            new, old = NEED_GRANT[case]
            decision = decided(new, old, published(), version(), tenancy=Tenancy.COMPAT)
            assert decision.allowed
            (warning,) = decision.warnings
            assert "OperatorVersion platform/first-1 is of another namespace" in warning
            assert warning.endswith("kudo.dev/allow-from: ns")
            granted = decided(new, old, published("ns"), version(), tenancy=Tenancy.COMPAT)
            assert granted.warnings == ()
            assert granted.patch == decision.patch


def test_compat_does_not_warn_of_what_runs_no_plan(subtests: pytest.Subtests) -> None:
    for case in NO_GRANT:
        with subtests.test(case=case):
            new, old = NO_GRANT[case]
            decision = decided(new, old, published(), tenancy=Tenancy.COMPAT)
            assert decision.allowed, decision.problems
            assert decision.warnings == ()


def test_compat_answers_as_before_where_the_version_is_missing_or_denies() -> None:
    assert decided(using(), None, tenancy=Tenancy.COMPAT).reason == "OperatorVersionNotFound"
    wrong = decided(using(parameters={"NOPE": "1"}), using(), published(), tenancy=Tenancy.COMPAT)
    assert wrong.reason == "ParameterUnknown"
    assert wrong.warnings == ()


def test_the_own_namespace_needs_no_grant(subtests: pytest.Subtests) -> None:
    for namespace in ["", "ns"]:
        for tenancy in Tenancy:
            with subtests.test(tenancy=tenancy, namespace=namespace):
                new = using(operatorVersion={"name": "first-1", "namespace": namespace})
                decision = decided(new, None, version(), tenancy=tenancy)
                assert decision.allowed
                assert decision.warnings == ()


def test_names_that_are_none_are_denied_alike(subtests: pytest.Subtests) -> None:
    for name in ["../ns/first-1", "a/b", "x" * 5000, "", "é"]:
        with subtests.test(name=name):
            new = using(operatorVersion={"name": name, "namespace": OWNER})
            decision = decided(new, None)
            assert decision.reason == REASON
            assert len(decision.problems[0].message) < 1500


def test_a_change_of_a_field_that_nothing_is_said_about_needs_the_grant() -> None:
    class Wider(InstanceSpec):
        another: str | None = None

    old = Instance(spec=Wider(another="x"))
    assert needs_grant(old, Instance(spec=Wider(another="y")))
    assert not needs_grant(old, Instance(spec=Wider(another="x", suspend=True)))
