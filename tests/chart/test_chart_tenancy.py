"""The modes of tenancy: what decides them, and which rights they have."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kudo_cluster.tenancy import IMPERSONATOR
from tests.chart.objects import named, of_set, webhooks
from tools.chart.helm import CHART, HelmError, Json, helm, render, template
from tools.chart.rbac import rights

_FORBIDDEN = {
    "secrets", "endpoints", "configmaps", "roles", "rolebindings", "pods/exec", "networkpolicies",
    "serviceaccounts/token",
}  # fmt: skip
_CONSTRAINED = {"tenancy": {"constrainedImpersonation": True}}
_LEGACY = {"tenancy": {"constrainedImpersonation": False}}


def _rules(values: dict[str, Any], *names: str) -> list[Json]:
    """Return the rules of the roles of the reconciler's account, or of those that are named."""
    wanted = names or ("kudo-reconciler", "kudo-reconciler-workloads")
    return [
        rule
        for role in rights(values)
        if role["kind"].endswith("Role") and role["metadata"]["name"] in wanted
        for rule in role["rules"]
    ]


def _mode(objects: list[Json]) -> set[str]:
    """Return the modes that both services are started with."""
    return {
        argument.removeprefix("--tenancy=")
        for name in ("kudo-webhook", "kudo-reconciler")
        for argument in named(objects, "Deployment", name)["spec"]["template"]["spec"][
            "containers"
        ][0]["args"]
        if argument.startswith("--tenancy=")
    }


@pytest.mark.parametrize(
    ("values", "mode"),
    [
        ({}, "strict"),
        ({"takeOver": True}, "compat"),
        ({"takeOver": True, "tenancy": {"mode": "strict"}}, "strict"),
        ({"tenancy": {"mode": "compat"}}, "compat"),
    ],
)
def test_both_services_have_the_mode(values: dict[str, Any], mode: str) -> None:
    assert _mode(render(values)) == {mode}


def test_in_strict_the_reconciler_has_no_right_on_what_plans_write() -> None:
    rules = _rules({})
    resources = {resource for rule in rules for resource in rule["resources"]}

    assert not resources & _FORBIDDEN
    written = {
        (resource, verb)
        for rule in rules
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb not in {"get", "list", "watch"}
    }
    assert written == {
        ("instances", "patch"),
        ("instances/status", "update"),
        *(("inventories", verb) for verb in ("create", "update")),
        ("events", "create"),
        ("leases", "create"),
        ("leases", "update"),
    }


def test_what_is_watched_is_what_may_be_watched() -> None:
    objects = of_set("tenants")
    [container] = named(objects, "Deployment", "kudo-reconciler")["spec"]["template"]["spec"][
        "containers"
    ]
    kinds = "pods,topics.kafka.example.com,jobs.batch"

    assert f"--watch={kinds}" in container["args"]
    role = named(objects, "ClusterRole", "kudo-reconciler")
    allowed = {
        ".".join(filter(None, (resource, group)))
        for rule in role["rules"]
        if rule["verbs"] == ["list", "watch"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    assert allowed == set(kinds.split(","))


def test_the_old_verb_is_never_beside_the_constrained_ones() -> None:
    for values in (_CONSTRAINED, _LEGACY):
        rules = _rules(values, IMPERSONATOR, f"{IMPERSONATOR}-cluster")
        verbs = {verb for rule in rules for verb in rule["verbs"]}

        assert ("impersonate" in verbs) == (values is _LEGACY)
        assert any(":" in verb for verb in verbs) == (values is _CONSTRAINED)


@pytest.mark.parametrize(("version", "constrained"), [("1.35.4", False), ("1.36.0-eks-1", True)])
def test_impersonation_is_constrained_from_kubernetes_1_36(version: str, constrained: bool) -> None:
    text = template(options=[f"--kube-version={version}"])

    assert ("impersonate:serviceaccount" in text) is constrained


def test_cluster_scoped_kinds_are_in_the_role_of_the_cluster() -> None:
    role = named(of_set("tenants"), "ClusterRole", f"{IMPERSONATOR}-cluster")

    assert [rule["resources"] for rule in role["rules"]] == [
        ["selfsubjectaccessreviews"],
        ["priorityclasses"],
    ]


def test_the_right_to_act_as_accounts_is_bound_where_it_is_asked_for() -> None:
    def bindings(name: str) -> set[tuple[str, str]]:
        return {
            (obj["kind"], obj["metadata"].get("namespace", ""))
            for obj in of_set(name)
            if obj.get("roleRef", {}).get("name") == IMPERSONATOR
        }

    assert bindings("default") == bindings("compat") == set()
    assert bindings("tenants") == {("RoleBinding", "streams"), ("RoleBinding", "search")}
    assert bindings("all-namespaces") == {("ClusterRoleBinding", "")}


def test_operator_versions_are_reviewed_in_strict_alone() -> None:
    def names(name: str) -> list[str]:
        return [webhook["name"] for webhook in webhooks(of_set(name))["validating"]]

    instances = "validate.instance-admission.kudo.dev"
    assert names("compat") == [instances]
    assert names("default") == [instances, "validate.operatorversion-admission.kudo.dev"]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"rbac": {"clusterAdmin": True}}, "rbac.clusterAdmin: In strict mode plans have the"),
        (
            {"rbac": {"extraRules": [{"apiGroups": [""], "resources": ["x"], "verbs": ["get"]}]}},
            "rbac.extraRules: In strict mode plans have the rights",
        ),
        ({"tenancy": {"mode": "loose"}}, "must be one of '', 'strict', 'compat'"),
        ({"tenancy": {"watchedKinds": ["pods", "secrets"]}}, "secrets are never watched"),
        ({"tenancy": {"watchedKinds": ["*"]}}, "at '/tenancy/watchedKinds/0'"),
        # The reconciler would not start.
        ({"tenancy": {"watchedKinds": []}}, "at '/tenancy/watchedKinds': minItems"),
        ({"tenancy": {"namespaces": ["kube-system"]}}, "plans act as nobody in kube-*"),
        ({"tenancy": {"namespaces": ["kudo-system"]}}, "and in the namespace of the release"),
        ({"reconciler": {"extraArgs": ["--tenancy=compat"]}}, "set tenancy.mode and tenancy.wat"),
        ({"webhook": {"extraArgs": ["--tenancy=compat"]}}, "webhook.extraArgs: --tenancy=compat"),
        # What --reuse-values makes of the values of a release that is older than tenancy.
        ({"tenancy": None}, "Use --reset-then-reuse-values"),
    ],
    ids=str,
)
def test_what_contradicts_the_mode_is_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(HelmError) as refused:
        template(values)

    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("strict", "--instance hello -n NAMESPACE --create-service-account --wait"),
        ("compat", "kubectl kudo install ./first-operator --instance hello --wait"),
    ],
)
def test_the_notes_name_a_command_that_works_in_the_mode(mode: str, says: str) -> None:
    options = ("--namespace=kudo-system", "--dry-run=client", f"--set=tenancy.mode={mode}")
    _, _, notes = helm("install", "kudo", str(CHART), *options).partition("NOTES:")
    assert says in notes
    for path, section in re.findall(r'\((docs/\S+), "(.*?)"\)', notes):
        assert f"## {section}\n" in (CHART.parents[1] / path).read_text(encoding="utf-8")


def test_the_chart_says_where_nothing_is_looked_up() -> None:
    values = Path(CHART, "values.yaml").read_text(encoding="utf-8")
    comment = re.search(r"tenancy:\n((?:  #.*\n)+)  mode:", values)

    assert comment
    assert "Argo CD" in comment.group(1)
    assert yaml.safe_load(values)["tenancy"]["mode"] == ""
