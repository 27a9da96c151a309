"""Values of parameters that stand in Secrets and ConfigMaps: what admission says of references."""

from typing import Any, Final

import pytest

from kudo.admission import AdmissionRequest, Decision, Review, mutate, validate
from kudo.admission.revalidation import revalidate_idle
from kudo.admission.tenancy import Tenancy
from kudo.api import Instance, JsonObject, OperatorVersion, Reference
from kudo.api.fingerprints import fingerprint, fingerprints
from kudo.api.problems import InvalidInput
from kudo.plans.runs.last_run import changed_parameters, record_of
from kudo.plans.runs.needs import not_in_force
from tests.unit.kudo.builders import PARAMETERS, instance, patched, review, trigger, version

STRICT, COMPAT = Tenancy.STRICT, Tenancy.COMPAT
CANARY: Final = "canary-7f3a"
PLAIN: Final = (
    "whoever may read the Instance sees values of secret parameters: PASSWORD; with tenancy strict "
    "they are denied; put them into a Secret (-p PASSWORD@secret=SECRET/KEY)"
)
PASSWORD: JsonObject = {
    "name": "PASSWORD",
    "secret": True,
    "required": True,
    "trigger": "custom",
    "minLength": 4,
}
V1 = version(parameters=(*PARAMETERS, PASSWORD))
PIN: JsonObject = {"name": "PIN", "secret": True, "immutable": True}
WITH_PIN = version(parameters=(*PARAMETERS, {**PASSWORD, "required": False}, PIN))


def secret(name: str = "PASSWORD", of: str = "db/password") -> JsonObject:
    return _source(name, "secretKeyRef", of)


def config_map(name: str = "NOTE", of: str = "notes/today") -> JsonObject:
    return _source(name, "configMapKeyRef", of)


def _source(name: str, kind: str, of: str) -> JsonObject:
    obj, _, key = of.partition("/")
    return {"name": name, kind: {"name": obj, "key": key}}


def having(*sources: JsonObject, **values: str) -> JsonObject:
    """Return an idle Instance with sources, and values beside those of all tests."""
    found = instance(values)
    return {**found, "spec": {**found["spec"], "parametersFrom": list(sources)}}


def decisions(
    new: JsonObject,
    old: JsonObject | None,
    *versions: OperatorVersion,
    tenancy: Tenancy = COMPAT,
) -> tuple[Decision, Decision]:
    """Return the decisions of both routes; the second one judges what the first one leaves."""
    by_key: Any = {("ns", v.metadata.name): v for v in versions or (V1,)}
    first = mutate(review(new, old), by_key, fresh_uid=lambda: "fresh", tenancy=tenancy)
    final = patched(new, first)
    return first, validate(review(final, old), by_key, tenancy=tenancy)


def in_force(stored: JsonObject, of: OperatorVersion = V1) -> Instance:
    """Return an idle Instance whose configuration a run has brought into force."""
    running = Instance.from_wire({**stored, "spec": {**stored["spec"], **_RUN}})
    last = record_of(running, of).to_wire() | {"status": "COMPLETE"}
    status = {"planStatus": {"deploy": {"uid": "A", "status": "COMPLETE"}}, "lastRun": last}
    return Instance.from_wire({**stored, "status": status})


_RUN: Final = {"planExecution": {"planName": "deploy", "uid": "A"}}
OLD = having(secret())

# What is denied

DENIED: list[tuple[str, JsonObject, JsonObject | None, Tenancy, str, str]] = [
    ("value and reference", having(secret(), PASSWORD="v"), OLD, COMPAT, "ParameterSetTwice", ""),
    ("at once", having(secret(), PASSWORD="v"), None, COMPAT, "ParameterSetTwice", "keep one"),
    ("two", having(secret(), secret(of="b/c")), None, COMPAT, "ParameterSetTwice", "keep one"),
    ("a Secret", having(secret(), secret("NOTE")), OLD, COMPAT, "ParameterSourceInvalid", "shown"),
    ("ConfigMap", having(config_map("PASSWORD")), OLD, COMPAT, "ParameterSourceInvalid", "secret"),
    (
        "none",
        having({"name": "PASSWORD"}),
        OLD,
        COMPAT,
        "ParameterSourceInvalid",
        "names none or both",
    ),
    (
        "both",
        having({**secret(), **config_map("PASSWORD")}),
        None,
        COMPAT,
        "ParameterSourceInvalid",
        "names none or both",
    ),
    ("name", having(secret(of="Db/k")), None, COMPAT, "ParameterSourceInvalid", "no name of a"),
    ("key", having(secret(of="db/a key")), None, COMPAT, "ParameterSourceInvalid", "no key of a"),
    ("no key", having(secret(of="db/")), None, COMPAT, "ParameterSourceInvalid", "no key of a"),
    ("undeclared", having(secret(), secret("XYZ")), OLD, COMPAT, "ParameterUnknown", "XYZ"),
    ("plain", having(PASSWORD=CANARY), None, STRICT, "SecretInPlainText", "@secret=SECRET/KEY"),
    ("plain later", having(PASSWORD=CANARY), OLD, STRICT, "SecretInPlainText", "PASSWORD"),
    ("removed", having(), OLD, COMPAT, "ParameterRequired", "PASSWORD"),
    ("nothing", having(), None, COMPAT, "ParameterRequired", "PASSWORD"),
    ("a bound", having(PASSWORD="xyz"), None, COMPAT, "ParameterInvalid", "is secret"),
]


@pytest.mark.parametrize(("new", "old", "tenancy", "reason", "text"), [d[1:] for d in DENIED])
def test_a_reference_is_denied_by_both_routes(
    new: JsonObject, old: JsonObject | None, tenancy: Tenancy, reason: str, text: str
) -> None:
    for decision in decisions(new, old, tenancy=tenancy):
        assert decision.reason == reason
        assert text in decision.problems[0].message
        assert CANARY not in repr(decision)


def test_the_same_violations_are_found_where_no_webhook_was(subtests: pytest.Subtests) -> None:
    before = in_force(OLD)
    for what, new, _, tenancy, reason, _ in DENIED:
        if what == "undeclared":
            continue  # as for values: no template uses it
        with subtests.test(what):
            status = before.to_wire()["status"]
            stored = Instance.from_wire({**new, "status": status})
            found = revalidate_idle(stored, V1, tenancy=tenancy)
            assert [problem.reason for problem in found.problems][:1] == [reason]
            assert CANARY not in repr(found)


# What is admitted, and what it runs


def test_a_reference_is_a_value_for_all_that_compares(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, JsonObject, JsonObject | None, str | None]] = [
        ("creation", OLD, None, "deploy"),
        ("another key", having(secret(of="db/other")), OLD, "custom"),
        ("another Secret", having(secret(of="new/password")), OLD, "custom"),
        ("a ConfigMap", having(secret(), config_map()), OLD, "update"),
        ("its removal", OLD, having(secret(), config_map()), "update"),
        ("a value instead", having(secret(), NOTE="n"), having(secret(), config_map()), "update"),
        ("the same, in another order", having(config_map(), secret()), None, "deploy"),
        ("nothing", OLD, OLD, None),
        ("the order", having(config_map(), secret()), having(secret(), config_map()), None),
    ]
    for what, new, old, plan in table:
        with subtests.test(what):
            first, second = decisions(new, old)
            assert (first.plan, first.allowed, second.allowed) == (plan, True, True)
            if plan:
                assert patched(new, first)["spec"]["planExecution"] == trigger(plan)


def test_a_reference_of_an_undeclared_parameter_is_warned_about_at_creation() -> None:
    first, second = decisions(having(secret(), secret("XYZ")), None)
    assert second.allowed
    assert first.warnings == ('parameter "XYZ" is not declared by first-1 and has no effect',)


def test_compat_mode_warns_of_a_plain_value_and_does_not_repeat_it() -> None:
    first, second = decisions(having(PASSWORD=CANARY), None)
    assert second.allowed
    assert first.warnings == (PLAIN,)
    unchanged, _ = decisions(having(PASSWORD=CANARY, SIZE="2"), having(PASSWORD=CANARY))
    assert unchanged.warnings == ()


def test_strict_mode_leaves_a_plain_value_that_is_stored_already() -> None:
    old, new = having(PASSWORD=CANARY), having(PASSWORD=CANARY, SIZE="2")
    first, second = decisions(new, old, tenancy=STRICT)
    assert first.allowed
    assert second.allowed


def test_an_immutable_reference_stays_and_is_named_without_its_value() -> None:
    old = having(secret("PIN"))
    for decision in decisions(having(secret("PIN", "db/other")), old, WITH_PIN):
        (problem,) = decision.problems
        assert problem.reason == "ParameterImmutable"
        assert "'PIN' is immutable but was changed; create a new Instance" in problem.message
    for decision in decisions(having(PIN=CANARY), having(PIN="old-canary"), WITH_PIN):
        assert decision.reason == "ParameterImmutable"
        assert "canary" not in repr(decision.problems)


def test_an_upgrade_drops_the_references_that_only_the_old_version_declares() -> None:
    new = having(secret(), secret("PIN"))
    new["spec"]["operatorVersion"] = {"name": "first-2"}
    after = version("first-2", parameters=(*PARAMETERS, {**PASSWORD, "required": False}))
    first, second = decisions(new, having(secret(), secret("PIN")), WITH_PIN, after)
    assert (first.plan, second.allowed) == ("upgrade", True)
    assert patched(new, first)["spec"]["parametersFrom"] == [secret()]


def test_a_parameter_that_becomes_secret_gets_a_reference_with_the_upgrade() -> None:
    before = version(parameters=(*PARAMETERS, {"name": "PASSWORD", "trigger": "custom"}))
    after = version("first-2", parameters=(*PARAMETERS, PASSWORD))
    old = having(PASSWORD=CANARY)
    for new, reason in [(having(PASSWORD=CANARY), "SecretInPlainText"), (having(secret()), "")]:
        new["spec"]["operatorVersion"] = {"name": "first-2"}
        decision, _ = decisions(new, old, before, after, tenancy=STRICT)
        # Another value of a parameter of both versions would run a plan of its own.
        assert decision.reason == (reason or "PlanBesideChange")


def test_a_reference_while_deleting_changes_nothing() -> None:
    old = instance(deleting=True)
    new = {**old, "spec": {**old["spec"], "parametersFrom": [secret()]}}
    for decision in decisions(new, old):
        assert decision.reason == "InstanceDeleting"


def test_a_source_that_cannot_be_read_is_named_and_not_repeated() -> None:
    for source in [{"secretKeyRef": {}}, {"name": "P", "secretKeyRef": CANARY}, CANARY]:
        request = AdmissionRequest("CREATE", "ns", "i", having(source), None)  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="parametersFrom") as caught:
            Review.of(request)
        assert CANARY not in str(caught.value)


# What is in force


def test_a_changed_reference_is_not_in_force() -> None:
    before = in_force(OLD)
    assert changed_parameters(before) == frozenset()
    status = before.to_wire()["status"]
    after = Instance.from_wire({**having(secret(of="db/other")), "status": status})
    assert changed_parameters(after) == {"PASSWORD"}
    found = not_in_force(after, V1)
    assert found is not None
    assert (found.parameters, found.plan) == (("PASSWORD",), "custom")


def test_no_value_has_the_fingerprint_of_a_reference() -> None:
    reference = Reference("Secret", "db", "password")
    texts = (str(reference), repr(reference), "Secret/db/password", "db/password")
    assert fingerprint(reference) not in {fingerprint(text) for text in texts}
    # Neither does another reference.
    others = [
        Reference("ConfigMap", "db", "password"),
        Reference("Secret", "d", "bpassword"),
        Reference("Secret", "dbp", "assword"),
    ]
    assert len({fingerprint(each) for each in (reference, *others)}) == 4


def test_nothing_changes_without_references() -> None:
    plain = Instance.from_wire(instance())
    assert plain.settings is plain.parameters
    assert fingerprints(plain.settings) == fingerprints(plain.parameters)
    assert "parametersFrom" not in plain.to_wire()["spec"]
