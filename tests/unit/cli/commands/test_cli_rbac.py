"""`rbac` against an API server: what it prints, and what --check finds."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import build
from tests.support.build import Json
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

RBAC = "rbac.authorization.k8s.io"
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}}
CLASS = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "x"}}
ALL = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
ADMIN = {
    "apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": {"name": "a"}, "rules": [ALL],
}  # fmt: skip


def stored(
    api: FakeApi, *objects: Json, account: str = "", namespace: str = "kitchen", **metadata: Any
) -> None:
    """Store an Instance `web`, and its OperatorVersion in namespace kitchen."""
    wire = build.operator_version(
        "op-1",
        templates={"a.yaml": build.template(*objects)},
        plans={"deploy": build.plan({"s": ["a"]})},
    )
    api.add("operatorversions", {**wire, "metadata": {"name": "op-1", **metadata}})
    instance = build.instance("web", "op-1")
    instance["metadata"]["namespace"] = namespace
    instance["spec"]["operatorVersion"]["namespace"] = "kitchen"
    if account:
        instance["spec"]["serviceAccountName"] = account
        api.add("serviceaccounts", {"metadata": {"name": account, "namespace": namespace}})
    api.add("instances", instance)


def documents(text: str) -> dict[str, Json]:
    """Return the documents by kind and name."""
    found = (one for one in yaml.safe_load_all(text) if one)
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in found}


def test_rbac_prints_account_role_and_binding_of_an_instance(kudo: Cli, api: FakeApi) -> None:
    stored(api, SERVICE, account="cook")
    ran = kudo("rbac", "--instance", "web")
    assert (ran.code, ran.err, api.writes()) == (0, "", [])
    found = documents(ran.out)
    assert list(found) == ["ServiceAccount/cook", "Role/kudo-web", "RoleBinding/kudo-web"]
    assert {"apiGroups": [""], "resources": ["services"], "verbs": ["create", "get", "patch"]} in (
        found["Role/kudo-web"]["rules"]
    )
    assert found["RoleBinding/kudo-web"]["roleRef"] == {
        "apiGroup": RBAC, "kind": "Role", "name": "kudo-web",
    }  # fmt: skip
    assert found["RoleBinding/kudo-web"]["subjects"] == [
        {"kind": "ServiceAccount", "name": "cook", "namespace": "kitchen"}
    ]
    assert "  # op: task a, template a.yaml\n  - apiGroups" in ran.out


def test_the_account_is_that_of_the_namespace_or_of_the_flag(kudo: Cli, api: FakeApi) -> None:
    stored(api, SERVICE)
    metadata = api.objects["namespaces", "kitchen"]["metadata"]
    metadata["annotations"] = {"kudo.dev/service-account": "team"}
    assert "ServiceAccount/team" in documents(kudo("rbac", "--instance", "web").out)
    ran = kudo("rbac", "--instance", "web", "--service-account", "other")
    assert "ServiceAccount/other" in documents(ran.out)


def test_who_may_not_read_the_namespace_is_told(kudo: Cli, api: FakeApi) -> None:
    stored(api, SERVICE)
    api.refusals["GET", "namespaces/kitchen"] = (403, "no")
    assert "You may not read namespace kitchen" in kudo("rbac", "--instance", "web").err


def test_rights_in_the_cluster_are_apart_and_wildcards_are_warned_about(
    kudo: Cli, api: FakeApi
) -> None:
    stored(api, CLASS, ADMIN, account="cook")
    ran = kudo("rbac", "--instance", "web")
    found = documents(ran.out)
    assert ALL in found["ClusterRole/kudo:kitchen:web"]["rules"]
    assert found["ClusterRoleBinding/kudo:kitchen:web"]["roleRef"]["kind"] == "ClusterRole"
    assert "# These rights hold in the whole cluster." in ran.out
    assert "Warning: op: task a, template a.yaml: ClusterRole a has a rule with *" in ran.err


def test_a_hostile_package_cannot_leave_its_comment(kudo: Cli, api: FakeApi) -> None:
    role = {**ADMIN, "metadata": {"name": "a\n---\nkind: Evil\nmetadata: {name: x}"}, "rules": []}
    kind = {**SERVICE, "kind": "Service\n---\nkind: Evil\nmetadata: {name: y}"}
    stored(api, {**role, "rules": [ALL]}, kind, account="cook")
    ran = kudo("rbac", "--instance", "web")
    assert {name.partition("/")[0] for name in documents(ran.out)} == {
        "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding",
    }  # fmt: skip


def test_rbac_of_a_package_takes_the_flags_of_install(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    argv = ["-p", "TEA=mint", "--service-account", "cook", "--instance-name", "tea"]
    ran = kudo("rbac", str(package), *argv)
    assert ran.code == 0
    assert list(documents(ran.out)) == [
        "ServiceAccount/cook",
        "Role/kudo-tea",
        "RoleBinding/kudo-tea",
    ]
    assert api.writes() == []
    missing = kudo("rbac", str(package))
    assert (missing.code, missing.out) == (4, "")
    assert "missing required parameters" in missing.err


def test_rbac_of_a_package_works_without_a_cluster(
    run: Cli, package: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    ran = run("rbac", str(package), "-p", "TEA=mint", "-n", "shop", "--service-account", "cook")
    assert "No cluster could be reached" in ran.err
    role = documents(ran.out)["Role/kudo-teapot-instance"]
    assert role["metadata"]["namespace"] == "shop"
    assert role["rules"][0]["resources"] == ["configmaps"]


def reconciler(api: FakeApi, namespace: str, account: str = "") -> None:
    labels = {"app.kubernetes.io/part-of": "kudo"}
    metadata = {"name": "kudo-reconciler", "namespace": namespace, "labels": labels}
    spec = {"template": {"spec": {"serviceAccountName": account}}} if account else {}
    api.add("deployments", {"metadata": metadata, "spec": spec})


def test_rbac_of_a_namespace_prints_the_binding_of_the_reconciler(kudo: Cli, api: FakeApi) -> None:
    reconciler(api, "default")
    ran = kudo("rbac", "-n", "kitchen")
    (found,) = documents(ran.out).values()
    assert found["metadata"] == {"name": "kudo-impersonator", "namespace": "kitchen"}
    assert found["roleRef"]["name"] == "kudo-impersonator"
    account = {"kind": "ServiceAccount", "name": "kudo-reconciler"}
    assert found["subjects"] == [{**account, "namespace": "default"}]
    ran = kudo("rbac", "-n", "kitchen", "--kudo-namespace", "other")
    assert documents(ran.out)["RoleBinding/kudo-impersonator"]["subjects"] == [
        {**account, "namespace": "other"}
    ]


def test_the_binding_names_the_account_that_the_reconciler_has(kudo: Cli, api: FakeApi) -> None:
    reconciler(api, "default", account="ours")
    for argv in ((), ("--kudo-namespace", "default")):
        (found,) = documents(kudo("rbac", "-n", "kitchen", *argv).out).values()
        assert found["subjects"] == [
            {"kind": "ServiceAccount", "name": "ours", "namespace": "default"}
        ]
    stored(api, SERVICE, account="cook")
    kudo("rbac", "--check")
    assert api.reviews[0][0] == "system:serviceaccount:default:ours"


def test_who_may_not_list_deployments_is_told_the_default(kudo: Cli, api: FakeApi) -> None:
    api.refusals["GET", "deployments"] = (403, "no")
    ran = kudo("rbac", "-n", "kitchen")
    assert "KUDO is taken to be in namespace kudo-system" in ran.err
    assert "namespace: kudo-system" in ran.out


@pytest.mark.parametrize("namespace", ["kube-system", "kube-x", "default"])
def test_rbac_refuses_reserved_namespaces(kudo: Cli, api: FakeApi, namespace: str) -> None:
    reconciler(api, "default")
    ran = kudo("rbac", "-n", namespace)
    assert (ran.code, ran.out) == (4, "")
    assert f"KUDO acts as no account of namespace {namespace}" in ran.err


@pytest.mark.parametrize(
    "argv",
    [
        (),
        ("a", "b"),
        ("a", "--instance", "web"),
        ("a", "--check"),
        ("--instance", "web", "-A"),
        ("--instance", "web", "-p", "a=b"),
        ("--check", "--instance-name", "web"),
        ("--check", "-A", "-n", "kitchen"),
        ("--instance", "web", "--service-account", "A/B"),
        ("--instance", "web", "-o", "wide"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(kudo: Cli, argv: tuple[str, ...]) -> None:
    assert kudo("rbac", *argv).code == 2


# --check


def test_check_is_content_with_an_account_that_may_do_all(kudo: Cli, api: FakeApi) -> None:
    stored(api, SERVICE, account="cook")
    ran = kudo("rbac", "--instance", "web", "--check")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.split() == [
        "NAMESPACE", "INSTANCE", "ACCOUNT", "LACKS", "kitchen", "web", "cook", "<none>",
    ]  # fmt: skip
    asked = {user for user, _ in api.reviews}
    assert asked == {
        "system:serviceaccount:kitchen:cook",
        "system:serviceaccount:kudo-system:kudo-reconciler",
    }
    assert api.writes() == []


def test_check_lists_what_is_lacking_and_ends_with_1(kudo: Cli, api: FakeApi) -> None:
    stored(api, SERVICE, CLASS, ADMIN)
    api.denied = {"services", "bind roles", "list priorityclasses", "serviceaccounts"}
    ran = kudo("rbac", "--check", "-A")
    assert ran.code == 1
    assert [line.split(maxsplit=3)[3] for line in ran.out.splitlines()[1:]] == [
        "service account default: it does not exist",
        "impersonation: KUDO may not act as this account (kubectl kudo rbac -n kitchen)",
        "create,get,patch services",
        "list priorityclasses.scheduling.k8s.io (cluster)",
    ]
    assert "1 of 1 instances lack something" in ran.err
    assert "Note on instance kitchen/web: op: task a" in ran.err


def test_one_kind_of_impersonation_is_enough(kudo: Cli, api: FakeApi) -> None:
    stored(api, SERVICE, account="cook")
    api.denied = {"impersonate serviceaccounts"}
    assert kudo("rbac", "--check").code == 0
    api.denied |= {"impersonate:serviceaccount serviceaccounts"}
    assert kudo("rbac", "--check").code == 1


@pytest.mark.parametrize(("allowed", "code"), [("", 1), ("other", 1), ("default", 0), ("*", 0)])
def test_check_finds_references_without_a_grant(
    kudo: Cli, api: FakeApi, allowed: str, code: int
) -> None:
    annotations = {"kudo.dev/allow-from": allowed}
    stored(api, SERVICE, account="cook", namespace="default", annotations=annotations)
    ran = kudo("rbac", "--check", "-n", "default")
    assert ran.code == code
    assert ("a grant: operatorversion kitchen/op-1" in ran.out) == bool(code)


def test_check_finds_a_missing_operatorversion_and_a_reserved_namespace(
    kudo: Cli, api: FakeApi
) -> None:
    stored(api, SERVICE, account="cook")
    api.remove("operatorversions", "op-1")
    ran = kudo("rbac", "--check", "--kudo-namespace", "kitchen")
    assert "its operatorversion: kitchen/op-1" in ran.out
    assert "kitchen is reserved" in ran.out


def test_check_of_others_goes_on_where_an_operatorversion_may_not_be_read(
    kudo: Cli, api: FakeApi
) -> None:
    stored(api, SERVICE, account="cook")
    api.add("instances", build.instance("zoo", "op-2"))
    api.refusals["GET", "operatorversions/op-1"] = (403, "not for you")
    ran = kudo("rbac", "--check")
    assert ran.code == 1
    assert "an operatorversion that you may read: not for you" in ran.out
    assert "its operatorversion: kitchen/op-2" in ran.out


def test_check_says_which_right_the_user_lacks(kudo: Cli, api: FakeApi) -> None:
    stored(api, SERVICE, account="cook")
    api.refusals["POST", "subjectaccessreviews"] = (403, "no")
    # Who is admin of the namespace asks there.
    assert kudo("rbac", "--check").code == 0
    api.refusals["POST", "localsubjectaccessreviews"] = (403, "no")
    ran = kudo("rbac", "--check")
    assert ran.code == 4
    assert "you lack the right to create localsubjectaccessreviews" in ran.err


def test_rights_in_the_cluster_cannot_be_asked_in_a_namespace(kudo: Cli, api: FakeApi) -> None:
    stored(api, CLASS, account="cook")
    api.refusals["POST", "subjectaccessreviews"] = (403, "no")
    ran = kudo("rbac", "--check")
    assert ran.code == 4
    assert "create subjectaccessreviews.authorization.k8s.io in the cluster" in ran.err


def test_check_of_many_tells_its_progress(kudo: Cli, api: FakeApi) -> None:
    stored(api, SERVICE, account="cook")
    for number in range(30):
        api.add("instances", build.instance(f"i{number}", "op-1"))
    assert "25 of 31 instances are checked" in kudo("rbac", "--check").err
