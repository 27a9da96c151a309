"""The rights of strict mode: as whom the reconciler may act, where, and what it may do itself."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kudo_cluster import Cluster
from kudo_cluster.installation import Installation
from kudo_cluster.tenancy import allow_tenant, give_rights, may
from tests.support.cluster.kubectl import Kubectl, new_namespace
from tests.support.cluster.strict import strict

_WITHOUT_GATE = ("--feature-gates=ConstrainedImpersonation=false",)


@pytest.fixture(scope="module")
def installed(running_installation: Installation) -> Iterator[Installation]:
    with strict(running_installation) as found:
        yield found


@pytest.fixture(scope="module")
def without_gate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Yield a cluster without constrained impersonation, with the rights of strict mode."""
    with Cluster.start(name="gate", server_arguments=_WITHOUT_GATE) as cluster:
        give_rights(cluster, "strict", constrained=False)
        yield cluster


def _as_account(
    cluster: Cluster, cache: Path, namespace: str, *arguments: str, account: str = "default"
) -> subprocess.CompletedProcess[str]:
    """Run kubectl as the reconciler, which acts as an account."""
    kubectl = Kubectl(cluster, cache, namespace, role="reconciler")
    return kubectl.run(*arguments, f"--as=system:serviceaccount:{namespace}:{account}")


def _powerful(admin: Kubectl) -> None:
    """Give the default account all rights in its namespace."""
    who = f"--serviceaccount={admin.namespace}:default"
    admin("create", "rolebinding", "powerful", "--clusterrole=admin", who)


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        ("get", "secrets"),
        ("list", "secrets"),
        ("watch", "secrets"),
        ("get", "configmaps"),
        ("list", "configmaps"),
        ("create", "pods"),
        ("create", "pods/exec"),
        ("get", "endpoints"),
        ("create", "roles"),
        ("create", "rolebindings"),
        ("create", "instances.kudo.dev"),
        ("delete", "instances.kudo.dev"),
        ("impersonate", "serviceaccounts"),
        ("create", "serviceaccounts/token"),
    ],
)
def test_the_reconciler_itself_may_not(
    cluster: Cluster, installed: Installation, verb: str, kind: str
) -> None:
    assert not may(cluster, verb, kind, "default")


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        ("watch", "pods"),
        ("list", "deployments.apps"),
        ("watch", "serviceaccounts"),
        ("watch", "namespaces"),
        ("patch", "instances.kudo.dev"),
        ("update", "instances.kudo.dev/status"),
        ("create", "events"),
    ],
)
def test_the_reconciler_itself_may(
    cluster: Cluster, installed: Installation, verb: str, kind: str
) -> None:
    assert may(cluster, verb, kind)


def test_it_acts_as_accounts_of_bound_namespaces_and_there_alone(
    cluster: Cluster, installed: Installation, kubectl: Kubectl, tmp_path: Path
) -> None:
    _powerful(kubectl)
    refused = _as_account(cluster, tmp_path, kubectl.namespace, "create", "configmap", "made")
    assert "cannot impersonate" in refused.stderr

    installed.allow_tenant(kubectl.namespace)
    made = _as_account(cluster, tmp_path, kubectl.namespace, "create", "configmap", "made")
    assert made.returncode == 0, made.stderr
    kubectl("get", "configmap", "made")

    with new_namespace(cluster, tmp_path) as other:
        who = f"--serviceaccount={kubectl.namespace}:default"
        other("create", "rolebinding", "there-too", "--clusterrole=admin", who)
        there = f"--namespace={other.namespace}"
        refused = _as_account(
            cluster, tmp_path, kubectl.namespace, "create", "configmap", "made", there
        )
        assert refused.returncode != 0
        assert "made" not in other("get", "configmaps", "--output=name")


def test_it_learns_what_an_account_may_read(
    cluster: Cluster, installed: Installation, kubectl: Kubectl, tmp_path: Path
) -> None:
    _powerful(kubectl)
    installed.allow_tenant(kubectl.namespace)

    def answer(kind: str) -> str:
        asked = ("auth", "can-i", "get", kind)
        return _as_account(cluster, tmp_path, kubectl.namespace, *asked).stdout.strip()

    assert answer("configmaps") == "yes"
    assert answer("nodes") == "no"


@pytest.mark.campaign
def test_without_constrained_impersonation_a_binding_names_the_accounts_alone(
    without_gate: Cluster, tmp_path: Path
) -> None:
    with new_namespace(without_gate, tmp_path) as admin:
        _powerful(admin)
        refused = _as_account(without_gate, tmp_path, admin.namespace, "get", "secrets")
        assert "cannot impersonate" in refused.stderr

        allow_tenant(without_gate, admin.namespace)
        read = _as_account(without_gate, tmp_path, admin.namespace, "get", "secrets")
        assert read.returncode == 0, read.stderr
        asked = ("auth", "can-i", "get", "secrets")
        assert _as_account(without_gate, tmp_path, admin.namespace, *asked).returncode == 0
