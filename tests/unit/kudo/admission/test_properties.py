"""Properties of admission over random changes of random stored states."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from kudo.api import JsonObject
from kudo.parameters.settings import settings_of
from tests.unit.kudo.builders import (
    PARAMETERS,
    PLANS,
    VALUES,
    failed,
    instance,
    mutated,
    patched,
    validated,
    version,
    without,
)

_PIN: JsonObject = {"name": "PIN", "secret": True, "required": False, "trigger": "custom"}
VERSIONS = (
    version(parameters=(*PARAMETERS, _PIN)),
    version("first-2", parameters=(*without("PORT"), {**_PIN, "immutable": True})),
    version("first-3", plans=("deploy", "custom"), parameters=without("GHOST")),
)

_values: st.SearchStrategy[Mapping[str, str]] = st.fixed_dictionaries(
    {},
    optional={
        "SIZE": st.sampled_from(["1", "2", "-"]),
        "PORT": st.sampled_from(["80", "81", "-"]),
        "NOTE": st.sampled_from(["", "x"]),
        "CLASS": st.sampled_from(["fast", "slow", "-"]),
        "COUNT": st.sampled_from(["3", "4", "many"]),
        "PIN": st.just("1"),
        "ZZ": st.just("1"),
    },
)


def _key(name: str) -> JsonObject:
    return {"name": name, "key": "k"}


_sources: st.SearchStrategy[list[JsonObject]] = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"name": st.sampled_from(["PIN", "PIN", "NOTE"])},
            optional={"secretKeyRef": st.sampled_from([_key("a"), _key("b")])},
        ),
        st.fixed_dictionaries(
            {
                "name": st.sampled_from(["NOTE", "PORT", "CLASS", "ZZ"]),
                "configMapKeyRef": st.sampled_from([_key("a"), _key("b")]),
            }
        ),
    ),
    max_size=2,
)
_plan = st.sampled_from([None, *PLANS, "nosuch"])
_uid = st.sampled_from([None, "A", "B"])
_status = st.sampled_from([None, "NEVER_RUN", "IN_PROGRESS", "COMPLETE", "FATAL_ERROR"])
_version = st.sampled_from([v.metadata.name for v in VERSIONS])
_controls: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {},
    optional={
        "suspend": st.booleans(),
        "planTimeout": st.sampled_from(["1h", "0s"]),
        "historyLimit": st.just(0),
    },
)
_marks: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {},
    optional={
        "retryOf": st.sampled_from(["", "A", "C", "R"]),
        "from": st.sampled_from(["", "x.y"]),
        "requestedBy": st.sampled_from(["", "ann", "bob"]),
        "cancelledBy": st.sampled_from(["ann", "bob"]),
    },
)
_entry: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {"status": st.sampled_from(["COMPLETE", "FATAL_ERROR"])},
    optional={"retryOf": st.just("R"), "retried": st.sampled_from(["A", "R"])},
)
USER = "ann"


@st.composite
def changes(draw: st.DrawFn) -> tuple[JsonObject, JsonObject]:
    """Draw a submitted and a stored Instance."""
    deleting = draw(st.booleans())
    ended = draw(st.sampled_from([{}, {"deploy": "A"}, {"cleanup": "A"}, {"custom": "C"}]))
    old = instance(
        draw(_values),
        of=draw(_version),
        runs=draw(st.sampled_from([None, "deploy", "custom", "cleanup"])),
        ended=ended,
        deleting=deleting,
    )
    new = instance(
        draw(_values),
        of=draw(_version),
        runs=draw(_plan),
        uid=draw(_uid),
        status=draw(_status),
        deleting=deleting,
    )
    for found in (old, new):
        found["spec"] |= draw(_controls)
        if sources := draw(_sources):
            found["spec"]["parametersFrom"] = sources
        if "planExecution" in found["spec"]:
            found["spec"]["planExecution"] |= draw(_marks)
    _with_records(draw, old)
    return (new if draw(st.booleans()) else _keeping_the_run(new, old)), old


def _with_records(draw: st.DrawFn, old: JsonObject) -> None:
    """Give the runs that ended another end, and the stored Instance a record of one of them."""
    for plan, entry in old["status"]["planStatus"].items():
        if entry["status"] == "COMPLETE":
            entry |= draw(_entry)
            if draw(st.booleans()):
                old["status"]["lastRun"] = failed(
                    {**dict.fromkeys(VALUES, "-"), **old["spec"]["parameters"]},
                    plan=plan,
                    uid=entry["uid"],
                    of=next(v for v in VERSIONS if v.metadata.name == _of(old)),
                )["status"]["lastRun"]


def _of(found: JsonObject) -> str:
    return str(found["spec"]["operatorVersion"]["name"])


def _keeping_the_run(new: JsonObject, old: JsonObject) -> JsonObject:
    spec = {name: value for name, value in new["spec"].items() if name != "planExecution"}
    kept = {n: v for n, v in old["spec"].items() if n == "planExecution"}
    return {**new, "spec": spec | kept}


@given(changes())
def test_validation_accepts_whatever_mutation_admitted(
    change: tuple[JsonObject, JsonObject],
) -> None:
    new, old = change
    decision = mutated(new, old, *VERSIONS, user=USER)
    if decision.allowed:
        final = patched(new, decision)
        assert validated(final, old, *VERSIONS, user=USER).problems == ()


@given(changes())
def test_mutation_is_idempotent_up_to_the_uid(change: tuple[JsonObject, JsonObject]) -> None:
    new, old = change
    decision = mutated(new, old, *VERSIONS, uid="one", user=USER)
    if not decision.allowed:
        return
    once = patched(new, decision)
    again = mutated(once, old, *VERSIONS, uid="two", user=USER)
    assert again.problems == ()
    assert again.plan == decision.plan
    expected = patched(once, decision)
    if decision.plan:
        expected["spec"]["planExecution"] = {**expected["spec"]["planExecution"], "uid": "two"}
    assert patched(once, again) == expected


@given(changes())
def test_validation_admits_nothing_that_mutation_would_not_have(
    change: tuple[JsonObject, JsonObject],
) -> None:
    new, old = change
    if validated(new, old, *VERSIONS, user=USER).allowed:
        reason = mutated(new, old, *VERSIONS, user=USER).reason
        # A plan beside a change cannot be told from the trigger of that change any more.
        assert reason in {"", "PlanBesideChange"}


@given(changes())
def test_every_run_that_is_scheduled_names_the_user_and_a_run_in_progress_keeps_its_own(
    change: tuple[JsonObject, JsonObject],
) -> None:
    new, old = change
    decision = mutated(new, old, *VERSIONS, user=USER)
    if not decision.allowed or new["spec"] == old["spec"]:
        return
    run = patched(new, decision)["spec"].get("planExecution") or {}
    before = old["spec"].get("planExecution") or {}
    if not run.get("planName"):
        return
    if (run["planName"], run.get("uid")) != (before.get("planName"), before.get("uid")):
        assert run["requestedBy"] == USER
        assert "cancelledBy" not in run
    else:
        for field in ("requestedBy", "retryOf", "from"):
            assert run.get(field) == before.get(field)


@given(changes())
def test_no_admitted_change_touches_an_immutable_parameter_or_starts_cleanup(
    change: tuple[JsonObject, JsonObject],
) -> None:
    new, old = change
    decision = mutated(new, old, *VERSIONS, user=USER)
    if not decision.allowed:
        return
    final = patched(new, decision)
    # With a value and a reference, which only a missing webhook lets in, the reference counts.
    settings = [settings_of(found["spec"]).get("CLASS") for found in (old, final)]
    assert settings[0] == settings[1]
    if "deletionTimestamp" not in new["metadata"]:
        assert decision.plan != "cleanup"


@given(changes())
def test_every_denial_names_a_reason_a_message_and_a_field(
    change: tuple[JsonObject, JsonObject],
) -> None:
    new, old = change
    for problem in mutated(new, old, *VERSIONS, user=USER).problems:
        assert problem.reason.isalpha()
        assert problem.message
        assert problem.field.startswith("spec")
