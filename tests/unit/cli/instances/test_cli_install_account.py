"""`install --service-account` and `--create-service-account`, and `update --service-account`."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli, running
from tests.unit.cli.fake_api import FakeApi

INSTALL = ("-p", "TEA=mint", "--instance", "tea")
CREATED = {("serviceaccounts", "tea"), ("roles", "kudo-tea"), ("rolebindings", "kudo-tea")}


def of_accounts(api: FakeApi) -> set[tuple[str, str]]:
    """Return the objects that have to do with rights."""
    return {
        key
        for key in api.objects
        if key[0] in {"serviceaccounts", "roles", "rolebindings", "clusterroles"}
    }


def test_an_instance_names_the_account_of_the_flag(kudo: Cli, api: FakeApi, package: Path) -> None:
    ran = kudo("install", str(package), *INSTALL, "--service-account", "cook")
    assert (ran.code, ran.err) == (0, "")
    assert api.objects["instances", "tea"]["spec"]["serviceAccountName"] == "cook"
    assert of_accounts(api) == set()


def test_the_account_is_created_before_the_instance(kudo: Cli, api: FakeApi, package: Path) -> None:
    ran = kudo("install", str(package), *INSTALL, "--create-service-account")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[2:] == [
        "serviceaccount kitchen/tea created",
        "role kitchen/kudo-tea created",
        "  may create, get, patch configmaps in the namespace",
        "  may update instances/finalizers.kudo.dev named tea in the namespace",
        "rolebinding kitchen/kudo-tea created",
        "instance kitchen/tea created",
    ]
    assert api.objects["instances", "tea"]["spec"]["serviceAccountName"] == "tea"
    assert of_accounts(api) == CREATED
    # All of it was tried before anything was created.
    first = next(i for i, (method, _, _) in enumerate(api.requests) if method == "POST")
    assert len(api.dry_runs) == 3
    assert all(method in {"GET", "PATCH"} for method, _, _ in api.requests[:first])


BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: tea}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: tea, namespace: kitchen}]
"""


def test_rights_to_get_more_are_given_to_who_agrees(
    kudo: Cli, run: Cli, api: FakeApi, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "templates" / "pot.yaml").write_text(BINDING)
    argv = ("install", str(package), *INSTALL, "--create-service-account")
    for line in (argv, (*argv, "--upgrade"), (*argv, "--dry-run=client")):
        ran = kudo(*line)
        assert (ran.code, ran.out, api.changes) == (4, "", [])
        bind = "  bind clusterroles.rbac.authorization.k8s.io named cluster-admin in the whole clus"
        assert bind in ran.err
        assert "could take the rights of others, by bind" in ran.err
        assert "--allow-escalation" in ran.err
    ran = kudo(*argv, "--allow-escalation")
    assert ran.code == 0
    bind = "  may bind clusterroles.rbac.authorization.k8s.io named cluster-admin in the whole clus"
    assert bind in ran.out
    assert "clusterroles" in api.plurals()
    monkeypatch.setenv("KUBECONFIG", "/none")
    offline = run(*argv, "--dry-run=client")
    assert (offline.code, "--allow-escalation" in offline.err) == (4, True)


def test_what_is_printed_for_others_to_apply_says_what_lets_the_account_get_more(
    kudo: Cli, package: Path
) -> None:
    (package / "templates" / "pot.yaml").write_text(BINDING)
    ran = kudo("rbac", str(package), "-p", "TEA=mint", "--instance-name", "tea")
    more = "lets the account get more: bind clusterroles.rbac.authorization.k8s.io named cluster-ad"
    assert ran.code == 0
    assert f"# Note: {more}" in ran.out
    assert more in ran.err


def test_another_name_and_an_account_that_exists(kudo: Cli, api: FakeApi, package: Path) -> None:
    labels = {"team": "kitchen"}
    api.add("serviceaccounts", {"metadata": {"name": "cook", "labels": labels}})
    argv = ("--service-account", "cook", "--create-service-account")
    ran = kudo("install", str(package), *INSTALL, *argv)
    assert "serviceaccount" not in ran.out
    assert api.objects["serviceaccounts", "cook"]["metadata"]["labels"] == labels
    subjects = api.objects["rolebindings", "kudo-tea"]["subjects"]
    assert subjects == [{"kind": "ServiceAccount", "name": "cook", "namespace": "kitchen"}]


def test_who_may_not_give_the_rights_creates_nothing(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    api.refusals["PATCH", "roles/kudo-tea"] = (403, "is attempting to grant RBAC permissions")
    ran = kudo("install", str(package), *INSTALL, "--create-service-account")
    assert (ran.code, ran.out) == (4, "")
    assert "you cannot give account tea its rights: role kitchen/kudo-tea: is attempting" in ran.err
    assert "--instance-name tea --service-account tea" in ran.err
    assert api.changes == []
    assert api.plurals() == set()


def test_what_was_created_is_deleted_if_the_instance_is_denied(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    api.judgement = (403, "Forbidden", 'admission webhook "i.kudo.dev" denied the request: no')
    ran = kudo("install", str(package), *INSTALL, "--create-service-account")
    assert ran.code == 4
    assert of_accounts(api) == set()
    assert api.names("instances") == []


def test_what_was_created_is_deleted_if_a_later_part_is_denied(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    tried: list[str] = []

    def deny_the_binding_once_it_was_tried(call: str) -> None:
        tried.append(call)
        if tried.count("PATCH roles/kudo-tea") == 2:
            api.refusals["PATCH", "rolebindings/kudo-tea"] = (403, "no")

    api.before_write = deny_the_binding_once_it_was_tried
    ran = kudo("install", str(package), *INSTALL, "--create-service-account")
    assert ran.code == 4
    assert "rolebinding kitchen/kudo-tea: no" in ran.err
    assert tried.count("PATCH roles/kudo-tea") == 2
    assert api.plurals() == set()


def test_repeating_it_with_upgrade_changes_nothing(kudo: Cli, api: FakeApi, package: Path) -> None:
    argv = ("install", str(package), *INSTALL, "--create-service-account", "--upgrade")
    assert kudo(*argv).code == 0
    before = json.dumps(api.objects["roles", "kudo-tea"]["rules"])
    ran = kudo(*argv)
    assert (ran.code, ran.err) == (0, "")
    assert "role kitchen/kudo-tea configured" in ran.out
    assert "instance kitchen/tea unchanged" in ran.out
    assert json.dumps(api.objects["roles", "kudo-tea"]["rules"]) == before


def test_a_refused_upgrade_leaves_the_rights_as_they_were(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    argv = ("install", str(package), *INSTALL, "--create-service-account", "--upgrade")
    assert kudo(*argv).code == 0
    api.changes.clear()
    operator = package / "operator.yaml"
    text = operator.read_text(encoding="utf-8")
    operator.write_text(text.replace("0.3.0", "0.2.0"), encoding="utf-8")
    ran = kudo(*argv)
    assert ran.code != 0
    assert "allow-downgrade" in ran.err
    assert api.changes == []


def test_a_role_gets_its_former_rules_back_if_the_upgrade_is_denied(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    argv = ("install", str(package), *INSTALL, "--create-service-account", "--upgrade")
    assert kudo(*argv).code == 0
    former = {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create"]}
    api.objects["roles", "kudo-tea"]["rules"].append(former)
    operator = package / "operator.yaml"
    text = operator.read_text(encoding="utf-8")
    operator.write_text(text.replace("0.3.0", "0.4.0"), encoding="utf-8")
    seen: list[bool] = []
    api.before_write = lambda _: seen.append(former in api.objects["roles", "kudo-tea"]["rules"])
    api.refusals["PATCH", "instances/tea"] = (403, "denied the request: no")
    assert kudo(*argv).code == 4
    assert False in seen
    assert former in api.objects["roles", "kudo-tea"]["rules"]


def test_an_upgrade_does_not_change_the_account(kudo: Cli, api: FakeApi, package: Path) -> None:
    argv = ("install", str(package), *INSTALL, "--upgrade")
    assert kudo(*argv).code == 0
    ran = kudo(*argv, "--service-account", "cook")
    assert ran.code != 0
    assert "kubectl kudo update --instance tea --service-account cook" in ran.err
    assert "serviceAccountName" not in api.objects["instances", "tea"]["spec"]


@pytest.mark.parametrize("mode", ["client", "server"])
def test_a_dry_run_shows_the_objects(kudo: Cli, api: FakeApi, package: Path, mode: str) -> None:
    argv = ("--create-service-account", f"--dry-run={mode}", "-o", "json")
    ran = kudo("install", str(package), *INSTALL, *argv)
    assert ran.code == 0
    kinds = [one["kind"] for one in json.loads(ran.out)]
    assert kinds == [
        "Operator", "OperatorVersion", "ServiceAccount", "Role", "RoleBinding", "Instance",
    ]  # fmt: skip
    assert api.plurals() == set()


def test_an_operator_in_the_cluster(kudo: Cli, api: FakeApi, package: Path) -> None:
    kudo("install", str(package), "--skip-instance")
    argv = ("--in-cluster", "--create-service-account")
    ran = kudo("install", "teapot", *INSTALL, *argv)
    assert (ran.code, of_accounts(api)) == (0, CREATED)
    assert api.objects["instances", "tea"]["spec"]["serviceAccountName"] == "tea"


@pytest.mark.parametrize(
    "argv",
    [
        ("--skip-instance", "--service-account", "cook"),
        ("--skip-instance", "--create-service-account"),
        ("--allow-escalation",),
        (*INSTALL, "--service-account", "A/../b"),
    ],
)
def test_wrong_flags_are_refused(
    kudo: Cli, api: FakeApi, package: Path, argv: tuple[str, ...]
) -> None:
    assert kudo("install", str(package), *argv).code == 2
    assert api.plurals() == set()


# Afterwards


def test_update_sets_the_account_alone(pot: FakeApi, kudo: Cli) -> None:
    ran = kudo("update", "--instance", "tea", "--service-account", "cook")
    assert (ran.code, ran.err) == (0, "")
    assert pot.requests[-1][2] == {"spec": {"serviceAccountName": "cook"}}


def test_update_sets_account_and_values(pot: FakeApi, kudo: Cli) -> None:
    assert kudo("update", "--instance", "tea", "--service-account", "c", "-p", "TEA=x").code == 0
    patch = {"spec": {"parameters": {"TEA": "x"}, "serviceAccountName": "c"}}
    assert pot.requests[-1][2] == patch
    assert kudo("update", "--instance", "tea", "--service-account", "A/B").code == 2


def test_the_views_show_an_account_only_where_it_is_set(installed: FakeApi, kudo: Cli) -> None:
    views = (
        ("get", "instances", "-o", "wide"),
        ("describe", "instance", "tea"),
        ("describe", "instance", "tea", "-o", "json"),
        ("plan", "status", "--instance", "tea"),
    )
    running(installed)
    for view in views:
        ran = kudo(*view)
        assert ran.code == 0, ran.err
        assert "account" not in ran.out.lower()
    installed.objects["instances", "tea"]["spec"]["serviceAccountName"] = "cook"
    shown = [kudo(*view).out for view in views]
    assert shown[0].split().count("ACCOUNT") == shown[0].split().count("cook") == 1
    assert "Account:            cook" in shown[1]
    assert json.loads(shown[2])["serviceAccountName"] == "cook"
    assert "Acts as service account cook" in shown[3]
    assert "ACCOUNT" not in kudo("get", "instances").out


def test_uninstall_names_the_rights_that_stay(kudo: Cli, api: FakeApi, package: Path) -> None:
    kudo("install", str(package), *INSTALL, "--create-service-account")
    ran = kudo("uninstall", "--instance", "tea")
    assert ran.code == 0
    assert "kubectl delete role,rolebinding kudo-tea -n kitchen" in ran.err
    assert of_accounts(api) == CREATED


def test_uninstall_names_the_rights_in_the_cluster(kudo: Cli, api: FakeApi, package: Path) -> None:
    kudo("install", str(package), *INSTALL, "--create-service-account")
    api.add("clusterrolebindings", {"metadata": {"name": "kudo:kitchen:tea"}})
    ran = kudo("uninstall", "--instance", "tea")
    assert "kubectl delete role,rolebinding kudo-tea -n kitchen; " in ran.err
    assert "kubectl delete clusterrole,clusterrolebinding kudo:kitchen:tea; " in ran.err


def test_uninstall_names_no_rights_that_do_not_exist(
    kudo: Cli, api: FakeApi, package: Path
) -> None:
    kudo("install", str(package), *INSTALL, "--service-account", "cook")
    assert kudo("uninstall", "--instance", "tea").err == ""
