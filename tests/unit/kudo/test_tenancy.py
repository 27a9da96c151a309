"""Which account an Instance acts as, and which OperatorVersions it may name."""

import pytest

from kudo.api import Instance, JsonObject
from kudo.tenancy import Tenancy, account_of, is_granted, is_reserved

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


@pytest.mark.parametrize(
    ("found", "mode", "default", "account"),
    [
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
    ],
)
def test_an_instance_acts_as(
    found: Instance, mode: Tenancy, default: str | None, account: str | None
) -> None:
    assert account_of(found, mode, default) == account


@pytest.mark.parametrize(
    ("namespace", "reserved"),
    [
        ("kube-system", True),
        ("kube-public", True),
        ("kube-", True),
        ("kudo-system", True),
        ("kubernetes", False),
        ("default", False),
        ("streams", False),
    ],
)
def test_accounts_of_the_system_are_reserved(namespace: str, reserved: bool) -> None:
    assert is_reserved(namespace, "kudo-system") is reserved


@pytest.mark.parametrize(
    ("annotation", "namespace", "granted"),
    [
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
    ],
)
def test_a_grant_names_namespaces(annotation: str | None, namespace: str, granted: bool) -> None:
    annotations = None if annotation is None else {"kudo.dev/allow-from": annotation}
    assert is_granted(annotations, "platform", namespace) is granted
