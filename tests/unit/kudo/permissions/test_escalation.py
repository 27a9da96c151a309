"""Which rights let their holder get more."""

import pytest

from kudo.permissions.model import Rights, Rule
from kudo.permissions.rights import described, escalations

RBAC = "rbac.authorization.k8s.io"
ADMISSION = "admissionregistration.k8s.io"


def rule(verbs: str, group: str, resources: str, *names: str) -> Rule:
    return Rule(tuple(verbs.split(",")), (group,), tuple(resources.split(",")), names)


def could(found: Rule, *, cluster: bool) -> str:
    rights = Rights((), (found,), ()) if cluster else Rights((found,), (), ())
    return "; ".join(one.could for one in escalations(rights))


EVERYWHERE = [
    (rule("bind", RBAC, "clusterroles", "cluster-admin"), "rights of others, by bind"),
    (rule("escalate", RBAC, "roles"), "rights of others, by escalate"),
    (rule("impersonate", "", "users"), "rights of others, by impersonate"),
    (rule("impersonate:user-info", "authentication.k8s.io", "users"), "rights of others"),
    (rule("create,get,patch", RBAC, "rolebindings"), "write roles or bindings"),
    (rule("delete", RBAC, "clusterroles"), "write roles or bindings"),
    (rule("patch", ADMISSION, "mutatingwebhookconfigurations"), "change or see what others write"),
    (rule("create", ADMISSION, "validatingadmissionpolicies"), "change or see what others write"),
    (rule("patch", "apiextensions.k8s.io", "customresourcedefinitions"), "by CRDs"),
    (rule("update", "apiregistration.k8s.io", "apiservices"), "by API services"),
    (rule("create", "", "serviceaccounts/token"), "by tokens"),
    (rule("create", "", "nodes/proxy"), "all pods of a node"),
    (rule("update", "certificates.k8s.io", "certificatesigningrequests/approval"), "certificates"),
    (rule("*", "", "configmaps"), "nobody has listed"),
    (rule("get", "*", "configmaps"), "nobody has listed"),
    (rule("get", "", "pods/*"), "nobody has listed"),
    (Rule(("get",), urls=("/metrics/*",)), "nobody has listed"),
]
IN_ALL_NAMESPACES = [
    (rule("create", "", "pods/exec"), "commands in pods of all namespaces"),
    (rule("get", "", "pods/attach"), "commands in pods of all namespaces"),
    (rule("get", "", "secrets"), "Secrets of all namespaces"),
    (rule("create", "", "pods"), "any account of any namespace"),
    (rule("patch", "apps", "deployments"), "any account of any namespace"),
    (rule("create", "batch", "cronjobs"), "any account of any namespace"),
]
HARMLESS = [
    rule("get,list,watch", RBAC, "roles"),
    rule("get", ADMISSION, "mutatingwebhookconfigurations"),
    rule("get,list", "apiextensions.k8s.io", "customresourcedefinitions"),
    rule("create,get,patch", "", "configmaps,services,persistentvolumeclaims"),
    rule("get,list,watch", "apps", "deployments"),
    rule("create,delete,get,list,patch", "storage.k8s.io", "storageclasses"),
    Rule(("get",), urls=("/metrics",)),
]


@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize(("found", "text"), EVERYWHERE)
def test_it_counts_in_any_scope(found: Rule, text: str, *, cluster: bool) -> None:
    assert text in could(found, cluster=cluster)


def test_it_counts_outside_of_the_own_namespace(subtests: pytest.Subtests) -> None:
    for found, text in IN_ALL_NAMESPACES:
        with subtests.test(found=found, text=text):
            assert text in could(found, cluster=True)
            assert could(found, cluster=False) == ""


@pytest.mark.parametrize("cluster", [False, True])
@pytest.mark.parametrize("found", HARMLESS)
def test_other_rights_do_not_count(found: Rule, *, cluster: bool) -> None:
    assert could(found, cluster=cluster) == ""


def test_a_rule_is_described_in_a_line() -> None:
    one = Rule(("get", "patch"), ("", "apps"), ("pods", "deployments"), ("a",))
    text = "get, patch pods, deployments, pods.apps, deployments.apps named a in the namespace"
    assert described(one, cluster=False) == text
    assert described(Rule(("get",), urls=("/x",)), cluster=True) == "get /x in the whole cluster"
