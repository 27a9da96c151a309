"""Workloads of extensions and the apps betas: what their versions defaulted is written out."""

from typing import Any

import pytest

from kudo.objects.removed_apis import modernized

Json = dict[str, Any]
LABELS = {"app": "web", "tier": "front"}
SELECTOR = {"matchLabels": LABELS}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": []}}
UNLIMITED = 2147483647


def upgraded(api_version: str, kind: str, spec: Any) -> Any:
    source = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    target = modernized(source)
    assert target is not None
    assert {**target, "spec": spec} == {**source, "apiVersion": "apps/v1"}
    return target["spec"]


DEFAULTS: list[tuple[str, str, Json]] = [
    (
        "extensions/v1beta1",
        "Deployment",
        {
            "strategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}},
            "revisionHistoryLimit": UNLIMITED,
            "progressDeadlineSeconds": UNLIMITED,
        },
    ),
    ("extensions/v1beta1", "DaemonSet", {"updateStrategy": {"type": "OnDelete"}}),
    ("extensions/v1beta1", "ReplicaSet", {}),
    ("apps/v1beta1", "Deployment", {"revisionHistoryLimit": 2}),
    ("apps/v1beta1", "StatefulSet", {"updateStrategy": {"type": "OnDelete"}}),
]


def test_the_selector_and_the_defaults_of_the_old_version_are_written_out(
    subtests: pytest.Subtests,
) -> None:
    for api_version, kind, defaults in DEFAULTS:
        with subtests.test(api_version=api_version, kind=kind, defaults=defaults):
            spec = {"template": TEMPLATE, "selector": None, "replicas": 2}
            expected = {"template": TEMPLATE, "replicas": 2, "selector": SELECTOR, **defaults}
            assert upgraded(api_version, kind, spec) == expected


def test_the_selector_does_not_follow_later_labels_of_the_pods() -> None:
    spec = upgraded("extensions/v1beta1", "ReplicaSet", {"template": TEMPLATE})
    spec["template"]["metadata"]["labels"]["later"] = "yes"
    assert spec["selector"] == SELECTOR


OWN: Json = {
    "template": TEMPLATE,
    "selector": {"matchLabels": {"app": "web"}},
    "revisionHistoryLimit": 5,
    "progressDeadlineSeconds": 60,
    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 2}},
    "updateStrategy": {"type": "RollingUpdate"},
}


def test_what_a_workload_says_itself_stays() -> None:
    for api_version, kind in [(a, k) for a, k, _ in DEFAULTS]:
        assert upgraded(api_version, kind, OWN) == OWN


def test_a_rolling_update_of_extensions_takes_one_pod_at_a_time(subtests: pytest.Subtests) -> None:
    table: list[tuple[Any, Any]] = [
        ({"type": "Recreate"}, {"type": "Recreate"}),
        (
            {"rollingUpdate": {"maxUnavailable": "50%"}},
            {"rollingUpdate": {"maxUnavailable": "50%", "maxSurge": 1}},
        ),
        ({"rollingUpdate": "slowly"}, {"rollingUpdate": "slowly"}),
        ("Recreate", "Recreate"),
    ]
    for strategy, expected in table:
        with subtests.test(strategy=strategy, expected=expected):
            spec = upgraded("extensions/v1beta1", "Deployment", {"strategy": strategy})
            assert spec["strategy"] == expected


def test_fields_that_went_are_dropped() -> None:
    table = [
        ("extensions/v1beta1", "Deployment", "rollbackTo"),
        ("apps/v1beta1", "Deployment", "rollbackTo"),
        ("extensions/v1beta1", "DaemonSet", "templateGeneration"),
    ]
    for api_version, kind, field in table:
        assert field not in upgraded(api_version, kind, {field: {"revision": 1}})


def test_a_selector_that_nothing_gives_is_left_to_the_api_server() -> None:
    table: list[Json] = [
        {"template": {"metadata": {"labels": {}}}},
        {"template": {"metadata": {"labels": "app=web"}}},
        {"template": {"metadata": []}},
        {"template": None},
        {},
    ]
    for spec in table:
        assert upgraded("extensions/v1beta1", "ReplicaSet", spec) == spec


@pytest.mark.parametrize(("api_version", "kind"), [(a, k) for a, k, _ in DEFAULTS])
@pytest.mark.parametrize("spec", [None, [], "x"])
def test_a_workload_without_a_readable_spec_changes_its_version_alone(
    api_version: str, kind: str, spec: Any
) -> None:
    assert upgraded(api_version, kind, spec) == spec


def test_apps_v1beta2_has_the_defaults_of_apps_v1() -> None:
    for kind in ("Deployment", "DaemonSet", "ReplicaSet", "StatefulSet"):
        assert upgraded("apps/v1beta2", kind, {"template": TEMPLATE}) == {"template": TEMPLATE}
