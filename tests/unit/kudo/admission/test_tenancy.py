"""Which account an Instance acts as, and which OperatorVersions it may name."""

import pytest

from kudo.admission.tenancy import (
    LONGEST_GRANT,
    Tenancy,
    account_of,
    is_granted,
    is_reserved,
    kept_annotations,
)
from kudo.api import Instance, JsonObject
from kudo.api.names import ANNOTATION_ALLOW_FROM

STRICT, COMPAT = Tenancy.STRICT, Tenancy.COMPAT
RUNNING = {"lastRun": {"uid": "u", "serviceAccountName": "begun"}}


def instance(account: str = "", run: str = "", status: JsonObject | None = None) -> Instance:
    spec: JsonObject = {"serviceAccountName": account} if account else {}
    if run:
        spec["planExecution"] = {"planName": "deploy", "uid": run}
    metadata = {"name": "i", "namespace": "ns", "uid": "1"}
    return Instance.from_wire(
        {
            "apiVersion": "kudo.dev/v1beta1",
            "kind": "Instance",
            "metadata": metadata,
            "spec": spec,
            "status": status or {},
        }
    )


def test_an_instance_acts_as() -> None:
    table: list[tuple[Instance, Tenancy, str | None, str | None]] = [
        (instance(), COMPAT, None, None),
        (instance(), COMPAT, "team", None),
        (instance("own"), COMPAT, None, "own"),
        (instance(), STRICT, None, "default"),
        (instance(), STRICT, "", "default"),
        (instance(), STRICT, "team", "team"),
        (instance("own"), STRICT, "team", "own"),
        # A run keeps its own.
        (instance("own", "u", RUNNING), STRICT, "team", "begun"),
        (instance("", "u", RUNNING), COMPAT, None, "begun"),
        # Not so the next one.
        (instance("own", "other", RUNNING), STRICT, "team", "own"),
        (instance("own", "", RUNNING), STRICT, "team", "own"),
        # A run that began with the rights of the reconciler goes on with those of an account.
        (instance("", "u", {"lastRun": {"uid": "u"}}), STRICT, "team", "team"),
    ]
    for found, mode, default, account in table:
        assert account_of(found, mode, default) == account


def test_accounts_of_the_system_are_reserved() -> None:
    table = [
        ("kube-system", True),
        ("kube-public", True),
        ("kube-", True),
        ("kudo-system", True),
        ("kubernetes", False),
        ("default", False),
        ("streams", False),
    ]
    for namespace, reserved in table:
        assert is_reserved(namespace, "kudo-system") is reserved


def test_a_grant_names_namespaces(subtests: pytest.Subtests) -> None:
    table: list[tuple[str | None, str, bool]] = [
        (None, "platform", True),
        (None, "a", False),
        ("", "a", False),
        ("a", "a", True),
        ("a,b", "b", True),
        (" a , b ", "b", True),
        ("*", "anything", True),
        ("a,*", "b", True),
        ("team-*", "team-a", False),
        ("aa", "a", False),
        (",", "", False),
    ]
    for annotation, namespace, granted in table:
        with subtests.test(annotation=annotation, namespace=namespace, granted=granted):
            annotations = None if annotation is None else {"kudo.dev/allow-from": annotation}
            assert is_granted(annotations, "platform", namespace) is granted


def test_a_grant_of_any_length_counts_within_its_bound() -> None:
    names = [f"team-{number:05}" for number in range(30_000)]
    annotations = {ANNOTATION_ALLOW_FROM: ",".join(names)}
    whole = (LONGEST_GRANT + 1) // len("team-00000,")
    for number in (0, 1, whole // 2, *range(whole - 5, whole)):
        assert is_granted(annotations, "own", names[number])
    assert not any(is_granted(annotations, "own", name) for name in names[whole : whole + 5])
    assert not is_granted(annotations, "own", names[-1])


def test_a_name_that_the_bound_cuts_off_grants_nothing_to_another_one(
    subtests: pytest.Subtests,
) -> None:
    for cut in range(12):
        with subtests.test(cut=cut):
            text = "x" * (LONGEST_GRANT - cut) + ",team-abcde,other"
            known = "x" * (LONGEST_GRANT - cut)
            for name in ("t", "te", "team-", "team-a", "team-abcd", "other"):
                assert not is_granted({ANNOTATION_ALLOW_FROM: text}, "own", name)
            assert is_granted({ANNOTATION_ALLOW_FROM: text}, "own", known)
            assert is_granted({ANNOTATION_ALLOW_FROM: text}, "own", "team-abcde") is (cut >= 11)


def test_caches_keep_the_grant_alone_as_far_as_it_counts() -> None:
    grant = {ANNOTATION_ALLOW_FROM: "a, b"}
    assert kept_annotations({"annotations": {**grant, "other": "x"}}) == grant
    long = {ANNOTATION_ALLOW_FROM: "team," * 50_000}
    assert len(kept_annotations({"annotations": long})[ANNOTATION_ALLOW_FROM]) <= LONGEST_GRANT
    odd: list[JsonObject] = [{}, {"annotations": None}, {"annotations": []}]
    for metadata in (*odd, {"annotations": {"other": "x"}}):
        assert kept_annotations(metadata) == {}
    assert kept_annotations({"annotations": {ANNOTATION_ALLOW_FROM: 7}}) == {}
