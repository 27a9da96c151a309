"""Which failed runs can be retried, and what a run began with as the history keeps it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Instance, JsonObject, LastRun, OperatorVersion, PlanExecution
from kudo.plans.runs.last_run import configuration_now, edited_since, record_of
from kudo.plans.runs.retries import is_honoured, retry_problems
from tests.unit.kudo.builders import V1, failed, instance, version

EDITED = version(plans=("deploy",))
V2 = version("first-2")
START_OVER = "start over with kubectl kudo plan trigger --name deploy --instance i -n ns"


def with_steps(**plans: dict[str, list[str]]) -> OperatorVersion:
    """Return V1 with the phases of plans, which have steps by their names."""
    wire = V1.to_wire()
    wire["spec"]["plans"] = wire["spec"]["plans"] | {
        plan: {"phases": [{"name": p, "steps": [{"name": s} for s in phases[p]]} for p in phases]}
        for plan, phases in plans.items()
    }
    return OperatorVersion.from_wire(wire)


STEPS = with_steps(deploy={"one": ["a", "b"], "two": ["a"]})


def entry(plan: str, uid: str, status: str, **fields: str) -> JsonObject:
    return {plan: {"name": plan, "uid": uid, "status": status, **fields}}


def recorded(uid: str, plan: str = "deploy", **fields: object) -> JsonObject:
    return {"plan": plan, "uid": uid, "status": "FATAL_ERROR", **fields}


def asked(
    found: JsonObject,
    now: OperatorVersion = V1,
    *,
    plan: str = "deploy",
    retry_of: str = "A",
    step: str | None = None,
) -> tuple[str, str, str]:
    """Return reason, message and field of what forbids a retry; empty ones if nothing does."""
    run = PlanExecution(plan_name=plan, uid="B", retry_of=retry_of, from_step=step)
    problems = retry_problems(Instance.from_wire(found), now, run)
    assert len(problems) < 2
    return next(((p.reason, p.message, p.field) for p in problems), ("", "", ""))


def test_the_last_run_of_a_plan_can_be_retried_if_it_failed() -> None:
    assert asked(failed()) == ("", "", "")


def test_only_the_last_run_of_the_plan_that_ended_can_be_retried(subtests: pytest.Subtests) -> None:
    table: list[tuple[JsonObject, str, str]] = [
        (entry("deploy", "B", "FATAL_ERROR"), "A", "; that is run 'B'"),
        (entry("deploy", "B", "IN_PROGRESS"), "A", "run 'B' has not ended; wait until it has"),
        (entry("deploy", "A", "ERROR"), "A", "run 'A' has not ended; wait until it has"),
        (entry("update", "A", "FATAL_ERROR"), "A", "the plan has not run; leave retryOf out"),
        (entry("deploy", "", "NEVER_RUN"), "A", "the plan has not run; leave retryOf out"),
        ({}, "A", "the plan has not run; leave retryOf out"),
    ]
    for status, retry_of, words in table:
        with subtests.test(status=status, retry_of=retry_of, words=words):
            found = failed()
            found["status"]["planStatus"] = status
            reason, message, field = asked(found, retry_of=retry_of)
            assert (reason, field) == ("RetryNotLast", "spec.planExecution.retryOf")
            assert message.startswith("run 'A' is not the last run of plan 'deploy' that ended")
            assert words in message


def test_a_run_that_did_not_fail_cannot_be_retried() -> None:
    found = failed()
    found["status"]["planStatus"] = entry("deploy", "A", "COMPLETE")
    reason, message, _ = asked(found)
    assert reason == "RetryNotFailed"
    assert message == (
        f"run 'A' ended with COMPLETE, and only a failed run can be retried; {START_OVER}"
    )


def test_a_cleanup_cannot_be_retried() -> None:
    reason, message, field = asked(failed(plan="cleanup"), plan="cleanup")
    assert (reason, field) == ("CleanupNotManual", "spec.planExecution.retryOf")
    assert "a new uid without retryOf" in message


def test_what_the_failed_run_began_with_must_not_have_changed(subtests: pytest.Subtests) -> None:
    table: list[tuple[OperatorVersion, dict[str, str], str]] = [
        (EDITED, {}, "OperatorVersion ns/first-1 is not the one that it began with"),
        (V1, {"NOTE": "x"}, "it began with other values of parameters: NOTE"),
        (V1, {"SIZE": "-", "NOTE": "x"}, "it began with other values of parameters: NOTE, SIZE"),
    ]
    for now, parameters, words in table:
        with subtests.test(now=now, parameters=parameters, words=words):
            found = failed()
            found["spec"] = instance(parameters)["spec"]
            reason, message, field = asked(found, now)
            assert (reason, field) == ("RetryChanged", "spec.planExecution.retryOf")
            assert message == f"run 'A' cannot be retried: {words}; {START_OVER}"


def test_another_version_is_another_one_also_with_the_same_content() -> None:
    found = failed()
    found["spec"]["operatorVersion"] = {"name": "first-2"}
    reason, message, _ = asked(found, V2)
    assert reason == "RetryChanged"
    assert "OperatorVersion ns/first-2 is not the one" in message


def test_a_run_is_not_retried_if_what_it_began_with_is_not_on_record(
    subtests: pytest.Subtests,
) -> None:
    for lost in ["operatorVersionDigest", "uid"]:
        with subtests.test(lost=lost):
            found = failed()
            del found["status"]["lastRun"][lost]
            reason, message, _ = asked(found)
            assert reason == "RetryChanged"
            assert "on record" in message


def test_a_parameter_that_no_version_declares_may_have_changed() -> None:
    found = failed({"ZZ": "1"})
    found["spec"] = instance({"ZZ": "2"})["spec"]
    assert asked(found) == ("", "", "")


# After runs of other plans


def followed(**record: object) -> JsonObject:
    """Return an Instance whose deploy failed as A, and that ran another plan since."""
    first = failed()
    known = first["status"]["lastRun"]
    found = instance(ended={"custom": "C"}, last_run=known | {"plan": "custom", "uid": "C"})
    found["status"]["planStatus"] |= first["status"]["planStatus"]
    digest = LastRun.from_wire(known).configuration
    fields = {"configuration": digest, "operatorVersion": "ns/first-1"} | record
    found["status"]["history"] = [recorded("C", "custom"), recorded("A") | fields]
    return found


def test_after_another_plan_ran_the_history_tells_what_the_failed_run_began_with() -> None:
    assert asked(followed()) == ("", "", "")


def test_a_run_that_the_history_knows_differently_or_no_longer_is_not_retried(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[JsonObject, str]] = [
        ({"configuration": "other"}, "the OperatorVersion or parameters are not those that it"),
        ({"operatorVersion": "ns/first-0"}, "OperatorVersion ns/first-1 is not the one"),
        ({"configuration": None}, "what it began with is no longer on record"),
        ({"uid": "X"}, "what it began with is no longer on record"),
        ({"plan": "update"}, "what it began with is no longer on record"),
    ]
    for record, words in table:
        with subtests.test(record=record, words=words):
            reason, message, _ = asked(followed(**record))
            assert reason == "RetryChanged"
            assert words in message
            assert message.endswith(START_OVER)


# Where it begins


def test_a_retry_can_begin_at_any_step_of_the_plan() -> None:
    for step in ["one.a", "one.b", "two.a", "", None]:
        assert asked(failed(of=STEPS), STEPS, step=step) == ("", "", "")


def test_a_step_that_the_plan_does_not_have_is_refused_with_those_that_it_has(
    subtests: pytest.Subtests,
) -> None:
    for step in ["one", "a", "two.b", "one.a.", " one.a", "x" * 5000]:
        with subtests.test(step=step):
            reason, message, field = asked(failed(of=STEPS), STEPS, step=step)
            assert (reason, field) == ("RetryUnknownStep", "spec.planExecution.from")
            assert message.endswith("its steps are: one.a, one.b, two.a")
            assert len(message) < 400


def test_a_plan_without_steps_has_none_to_begin_at() -> None:
    assert asked(failed(), step="a.b")[1].endswith("its steps are: none")


def test_the_rules_are_judged_in_their_order() -> None:
    found = failed(plan="cleanup")
    found["spec"] = instance({"NOTE": "x"})["spec"]
    entries = found["status"]["planStatus"]
    reasons = [asked(found, plan="cleanup", retry_of="X", step="x")[0]]
    entries["cleanup"]["status"] = "COMPLETE"
    reasons.append(asked(found, plan="cleanup", step="x")[0])
    entries["cleanup"]["status"] = "FATAL_ERROR"
    reasons.append(asked(found, plan="cleanup", step="x")[0])
    found = failed()
    found["spec"] = instance({"NOTE": "x"})["spec"]
    reasons.append(asked(found, step="x")[0])
    assert reasons == ["RetryNotLast", "RetryNotFailed", "CleanupNotManual", "RetryChanged"]


def test_messages_are_bounded_and_show_no_value() -> None:
    found = failed({"TOKEN": "hunter1"})
    found["spec"] = instance({"TOKEN": "hunter2"})["spec"]
    for retry_of, plan in (("A", "deploy"), ("u" * 9999, "deploy"), ("u" * 9999, "p" * 9999)):
        _, message, _ = asked(found, plan=plan, retry_of=retry_of)
        assert message
        assert "hunter" not in message
        assert len(message) < 600


# Honoured


def test_a_retry_is_honoured_if_the_entry_of_its_plan_or_the_history_names_it(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[JsonObject, bool]] = [
        ({"planStatus": entry("deploy", "B", "IN_PROGRESS", retryOf="A")}, True),
        ({"planStatus": entry("deploy", "C", "COMPLETE", retried="A")}, True),
        ({"history": [recorded("B", cause={"retryOf": "A"})]}, True),
        ({"history": [recorded("C"), recorded("B", cause={"retryOf": "A"})]}, True),
        ({"planStatus": entry("deploy", "A", "FATAL_ERROR")}, False),
        ({"planStatus": entry("deploy", "C", "COMPLETE", retryOf="B", retried="B")}, False),
        ({"planStatus": entry("custom", "B", "COMPLETE", retryOf="A", retried="A")}, False),
        ({"history": [recorded("B", "custom", cause={"retryOf": "A"})]}, False),
        ({"history": [recorded("A", cause={"requestedBy": "ann"})]}, False),
        ({}, False),
    ]
    for status, honoured in table:
        with subtests.test(status=status, honoured=honoured):
            found = Instance.from_wire({**instance(), "status": status})
            run = PlanExecution(plan_name="deploy", retry_of="A")
            assert is_honoured(found, run) is honoured


def test_what_is_no_retry_is_never_an_honoured_one(subtests: pytest.Subtests) -> None:
    for retry_of in ["", None]:
        with subtests.test(retry_of=retry_of):
            found = Instance.from_wire(failed())
            assert not is_honoured(found, PlanExecution(plan_name="deploy", retry_of=retry_of))


# The configuration in the history


_values = st.dictionaries(
    st.sampled_from(["SIZE", "NOTE", "PORT", "ZZ"]), st.sampled_from(["1", "2", "", "-"])
)


@given(began=_values, now=_values, edited=st.booleans(), plan=st.sampled_from(["deploy", "custom"]))
def test_configurations_differ_if_and_only_if_the_run_would_find_an_edit(
    began: dict[str, str], now: dict[str, str], edited: bool, plan: str
) -> None:
    first = instance(began, runs=plan, uid="B")
    record = record_of(Instance.from_wire(first), V1)
    current = EDITED if edited else V1
    later = Instance.from_wire(instance(now, runs=plan, uid="B", last_run=record.to_wire()))
    same = record.configuration == configuration_now(later, current)
    assert same is (edited_since(later, current) is None)
