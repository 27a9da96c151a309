"""`monitoring.requireToken`: what asks for the token, what may review it, and who may read."""

import pytest

from tests.chart.objects import named, of_set, pod_and_container
from tools.chart.helm import Json, render

_NAMES = {"kudo-metrics-auth", "kudo-metrics-reader"}


def endpoint(objects: list[Json]) -> Json:
    endpoints: list[Json] = named(objects, "ServiceMonitor", "kudo")["spec"]["endpoints"]
    [found] = endpoints
    return found


def test_by_default_nobody_asks_for_a_token() -> None:
    objects = of_set("default")
    assert not _NAMES & {obj["metadata"]["name"] for obj in objects}
    assert "tokenreviews" not in str(objects)
    assert "bearerTokenFile" not in endpoint(of_set("monitoring"))


@pytest.mark.parametrize("component", ["webhook", "reconciler"])
def test_both_services_ask_for_it(component: str) -> None:
    deployment = named(of_set("metrics-token"), "Deployment", f"kudo-{component}")
    _, container = pod_and_container(deployment)
    assert "--metrics-auth=token" in container["args"]


def test_both_accounts_may_review_and_nothing_more() -> None:
    objects = of_set("metrics-token")
    rules = named(objects, "ClusterRole", "kudo-metrics-auth")["rules"]
    assert [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in rules] == [
        (["authentication.k8s.io"], ["tokenreviews"], ["create"]),
        (["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]),
    ]
    binding = named(objects, "ClusterRoleBinding", "kudo-metrics-auth")
    accounts = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "ServiceAccount"}
    assert {one["name"] for one in binding["subjects"]} == {"kudo-reconciler", "kudo-webhook"}
    assert {one["name"] for one in binding["subjects"]} <= accounts


def test_the_role_of_readers_is_bound_to_nobody() -> None:
    objects = of_set("metrics-token")
    [rule] = named(objects, "ClusterRole", "kudo-metrics-reader")["rules"]
    assert rule == {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
    bound = [obj["roleRef"]["name"] for obj in objects if obj["kind"] == "ClusterRoleBinding"]
    assert "kudo-metrics-reader" not in bound


def test_prometheus_sends_its_own_token_or_that_of_a_secret() -> None:
    file = "/var/run/secrets/kubernetes.io/serviceaccount/token"
    assert endpoint(of_set("metrics-token"))["bearerTokenFile"] == file
    monitor = {"enabled": True, "tokenSecret": {"name": "scraper"}}
    found = endpoint(render({"monitoring": {"requireToken": True, "serviceMonitor": monitor}}))
    assert found["authorization"] == {"credentials": {"name": "scraper", "key": "token"}}
    assert "bearerTokenFile" not in found
