"""Who may do what: the roles that the chart renders."""

import pytest

from tests.chart.objects import named, of_set
from tests.chart.value_sets import VALUE_SETS
from tools.chart.helm import Json
from tools.chart.rbac import FOLDER, rights, texts

EVERY_SET = pytest.mark.parametrize("name", VALUE_SETS)


@EVERY_SET
def test_no_role_has_a_wildcard(name: str) -> None:
    for role in rights(VALUE_SETS[name]):
        if role["metadata"]["name"] == "kudo-impersonator":
            # It says as whom something may be done; what they may do is theirs.
            continue
        for rule in role.get("rules", []):
            assert not [field for field, values in rule.items() if "*" in values], role["metadata"]


@EVERY_SET
def test_only_who_asks_for_it_gets_cluster_admin(name: str) -> None:
    bound = {
        binding["roleRef"]["name"]
        for binding in of_set(name)
        if binding["kind"] == "ClusterRoleBinding"
    }

    assert ("cluster-admin" in bound) is (name == "cluster-admin")


def test_the_webhook_touches_secrets_only_with_built_in_certificates() -> None:
    def resources(name: str) -> set[str]:
        return {
            resource
            for role in rights(VALUE_SETS[name])
            if role["metadata"]["name"] == "kudo-webhook"
            for rule in role.get("rules", [])
            for resource in rule["resources"]
        }

    always = {
        "operatorversions",
        "endpointslices",
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
    }
    assert resources("default") == {"secrets"} | always
    assert resources("cert-manager") == resources("provided") == always


def test_more_rules_are_added_to_those_of_workloads() -> None:
    [added] = VALUE_SETS["everything-set"]["rbac"]["extraRules"]

    assert added in _rules(of_set("everything-set"))
    assert len(_rules(of_set("everything-set"))) == len(_rules(of_set("compat"))) + 1


def test_the_role_that_others_add_to_selects_none_of_the_charts_own() -> None:
    objects = of_set("compat")
    aggregated = named(objects, "ClusterRole", "kudo-reconciler-aggregated")
    [selector] = aggregated["aggregationRule"]["clusterRoleSelectors"]

    assert selector["matchLabels"] == {"rbac.kudo.dev/aggregate-to-reconciler": "true"}
    assert not [
        obj
        for obj in objects
        if selector["matchLabels"].items() <= obj["metadata"]["labels"].items()
    ]


def test_users_may_not_write_the_status() -> None:
    rules = [
        rule
        for name in ("kudo-view", "kudo-edit")
        for rule in named(of_set("default"), "ClusterRole", name)["rules"]
        if "instances/status" in rule["resources"]
    ]

    assert [rule["verbs"] for rule in rules] == [["get"]]


@EVERY_SET
def test_only_the_reconciler_may_write_inventories(name: str) -> None:
    found = {
        role["metadata"]["name"]: set(rule["verbs"])
        for role in of_set(name)
        if role["kind"] in {"ClusterRole", "Role"}
        for rule in role.get("rules", [])
        if "inventories" in rule.get("resources", [])
    }

    reads = {"get", "list", "watch"}
    users = {"kudo-view": reads} if "kudo-view" in _names_of_roles(name) else {}
    # What it may not do, no plan in compat mode can grant: the garbage collector deletes them.
    assert found == {"kudo-reconciler": {*reads, "create", "update"}, **users}


def test_the_rights_can_be_given_to_users() -> None:
    subjects = {
        (subject["kind"], subject["name"])
        for binding in rights()
        for subject in binding.get("subjects", [])
    }

    assert subjects == {("User", "kudo-webhook"), ("User", "kudo-reconciler")}


def test_local_clusters_give_the_services_these_rights() -> None:
    found = {name: (FOLDER / name).read_text(encoding="utf-8") for name in texts()}

    assert found == texts(), "`make manifests` writes them again"


def _names_of_roles(name: str) -> set[str]:
    return {obj["metadata"]["name"] for obj in of_set(name) if obj["kind"] == "ClusterRole"}


def _rules(objects: list[Json]) -> list[Json]:
    found: list[Json] = named(objects, "ClusterRole", "kudo-reconciler-workloads")["rules"]
    return found
