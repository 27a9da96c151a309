"""What holds for everything that the chart renders, whatever the values."""

from typing import Any

import pytest
import yaml

from kudo_reconciler.settings import Settings as ReconcilerSettings
from kudo_webhook.settings import Settings as WebhookSettings
from tests.chart.objects import named, of_set, pod_and_container, pods, webhooks
from tests.chart.value_sets import VALUE_SETS
from tools.chart.helm import CHART, NAMESPACE, Json, render

ROOT = CHART.parents[1]
EVERY_SET = pytest.mark.parametrize("name", VALUE_SETS)


@EVERY_SET
def test_every_pod_is_hardened(name: str) -> None:
    for where, pod in pods(of_set(name)):
        assert pod["securityContext"] == {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        }, where
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, where
            assert container["resources"]["requests"], where
            assert container["resources"]["limits"]["memory"], where


@EVERY_SET
def test_every_object_says_whose_it_is(name: str) -> None:
    for obj in of_set(name):
        labels = obj["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == "kudo"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert labels["helm.sh/chart"].startswith("kudo-")


def test_common_labels_stand_on_every_object_and_pod() -> None:
    objects = render({"commonLabels": {"team": "platform"}, "takeOver": True})

    labelled = [obj["metadata"] for obj in objects]
    labelled += [
        obj["spec"]["template"]["metadata"] for obj in objects if obj["kind"] == "Deployment"
    ]
    assert {metadata["labels"].get("team") for metadata in labelled} == {"platform"}


def test_images_have_no_host_unless_a_registry_is_given() -> None:
    assert _images({}) == {"kudo-webhook:0.1.0", "kudo-reconciler:0.1.0", "kudo-cli:0.1.0"}
    assert _images({"image": {"registry": "r.example.com:5000/kudo/", "tag": "7"}}) == {
        "r.example.com:5000/kudo/kudo-webhook:7",
        "r.example.com:5000/kudo/kudo-reconciler:7",
        "r.example.com:5000/kudo/kudo-cli:7",
    }


def test_a_digest_wins_over_the_tag() -> None:
    digest = "sha256:" + "ab" * 32

    images = _images({"image": {"tag": "7"}, "webhook": {"image": {"digest": digest}}})

    assert f"kudo-webhook@{digest}" in images


@EVERY_SET
def test_the_webhook_takes_the_options_that_it_is_given(name: str) -> None:
    deployment = named(of_set(name), "Deployment", "kudo-webhook")
    pod, container = pod_and_container(deployment)
    configuration = named(of_set(name), "ValidatingWebhookConfiguration", "kudo-instance-admission")
    timeout = webhooks(of_set(name))["validating"][0]["timeoutSeconds"]

    settings = WebhookSettings.read(container["args"], {})

    assert settings.request_deadline < timeout
    needed = settings.drain_seconds + settings.request_deadline
    assert pod["terminationGracePeriodSeconds"] > needed
    assert _ports(container) == {"admission": settings.port, "probes": settings.probe_port}
    assert settings.service_name == "kudo-webhook"
    assert settings.webhook_configuration == configuration["metadata"]["name"]
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    authorities = {settings.tls_ca, settings.client_ca}
    files = {settings.register, *authorities, *(settings.tls_files or ())} - {None}
    assert {str(file.parent) for file in files if file} == mounts


@EVERY_SET
def test_the_reconciler_takes_the_options_that_it_is_given(name: str) -> None:
    deployment = named(of_set(name), "Deployment", "kudo-reconciler")
    pod, container = pod_and_container(deployment)

    settings = ReconcilerSettings.read(container["args"], {})

    assert settings.lease_name == "kudo-reconciler"
    assert settings.workers == VALUE_SETS[name].get("reconciler", {}).get("workers", 16)
    assert settings.pipe_waiter_image.endswith("busybox")
    assert pod["terminationGracePeriodSeconds"] > settings.grace
    assert _ports(container) == {"probes": settings.probe_port}


@EVERY_SET
def test_services_budgets_and_policies_select_the_pods_of_their_component(name: str) -> None:
    objects = of_set(name)
    for component in ("webhook", "reconciler"):
        deployment = named(objects, "Deployment", f"kudo-{component}")
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        selectors = [deployment["spec"]["selector"]["matchLabels"]]
        selectors += [
            _selector(obj)
            for obj in objects
            if obj["metadata"]["name"] == f"kudo-{component}"
            and obj["kind"] in {"Service", "PodDisruptionBudget", "NetworkPolicy"}
        ]
        for selector in selectors:
            assert selector["app.kubernetes.io/component"] == component
            assert selector.items() <= labels.items()


@EVERY_SET
def test_every_named_port_of_a_service_exists(name: str) -> None:
    objects = of_set(name)
    for component in ("webhook", "reconciler"):
        _, container = pod_and_container(named(objects, "Deployment", f"kudo-{component}"))
        service = named(objects, "Service", f"kudo-{component}")
        targets = {port["targetPort"] for port in service["spec"]["ports"]}
        assert targets <= set(_ports(container))


def test_one_replica_has_no_budget_that_would_hold_up_a_drain() -> None:
    kinds = {
        obj["kind"] for obj in render({"webhook": {"replicas": 1}, "reconciler": {"replicas": 1}})
    }

    assert "PodDisruptionBudget" not in kinds


def local_webhooks() -> dict[str, Json]:
    """Return the webhooks that local clusters register, by their names."""
    folder = ROOT / "tools" / "cluster" / "src" / "kudo_cluster"
    user = f"system:serviceaccount:{NAMESPACE}:kudo-reconciler"
    texts = [
        (folder / name).read_text(encoding="utf-8").replace("${RECONCILER}", user)
        for name in ("webhooks.yaml", "webhooks-strict.yaml")
    ]
    found = [hook for text in texts for one in yaml.safe_load_all(text) for hook in one["webhooks"]]
    return {hook["name"]: hook for hook in found}


def test_what_is_registered_is_what_the_local_cluster_registers() -> None:
    local, registered = local_webhooks(), webhooks(of_set("default"))
    for ours in (*registered["mutating"], *registered["validating"]):
        theirs = local[ours["name"]]
        service = ours.pop("clientConfig")["service"]
        path = theirs.pop("clientConfig")["url"].removeprefix("${URL}")

        assert ours == theirs
        assert service == {
            "name": "kudo-webhook",
            "namespace": NAMESPACE,
            "path": path,
            "port": 443,
        }


@EVERY_SET
def test_the_key_for_digests_is_for_the_reconciler_alone(name: str) -> None:
    secret = "digests" if name == "everything-set" else "kudo-digest-key"
    mounted = {}
    for component in ("webhook", "reconciler"):
        pod, container = pod_and_container(named(of_set(name), "Deployment", f"kudo-{component}"))
        volumes = {volume["name"]: volume.get("secret") for volume in pod.get("volumes", [])}
        mounted[component] = volumes
        if component == "reconciler":
            [mount] = container["volumeMounts"]
            assert f"--digest-key-file={mount['mountPath']}/key" in container["args"]
            assert volumes[mount["name"]] == {"secretName": secret, "optional": True}
    assert "digest-key" not in mounted["webhook"]


@EVERY_SET
def test_what_asks_no_cluster_renders_no_key(name: str) -> None:
    # Each render would have another one.
    assert not [obj for obj in of_set(name) if obj["kind"] == "Secret"]


@EVERY_SET
def test_configurations_are_empty_until_somebody_answers(name: str) -> None:
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert "webhooks" not in named(of_set(name), kind, "kudo-instance-admission")


def test_the_ca_bundle_is_left_to_its_keeper_unless_the_certificate_is_provided() -> None:
    def bundles(name: str) -> list[str]:
        registered = webhooks(of_set(name))
        return [
            webhook["clientConfig"].get("caBundle", "")
            for webhook in registered["mutating"] + registered["validating"]
        ]

    # Instances mutating and validating; strict, the default, validates OperatorVersions as well.
    assert bundles("default") == bundles("cert-manager") == ["", "", ""]
    assert bundles("compat") == ["", ""]
    assert all(bundles("provided"))


@pytest.mark.parametrize(
    "tls",
    [
        {"mode": "certManager", "certManager": {"issuerRef": {"name": "ours"}}},
        {"mode": "provided", "provided": {"secretName": "ours"}},
    ],
)
def test_with_public_roots_nobody_writes_a_ca_bundle(tls: dict[str, Any]) -> None:
    objects = render({"tls": {**tls, "publicRoots": True}})

    _, container = pod_and_container(named(objects, "Deployment", "kudo-webhook"))
    assert WebhookSettings.read(container["args"], {}).public_roots
    for kind, hooks in webhooks(objects).items():
        configuration = f"{kind.capitalize()}WebhookConfiguration"
        found = named(objects, configuration, "kudo-instance-admission")["metadata"]
        assert "annotations" not in found
        assert all("caBundle" not in hook["clientConfig"] for hook in hooks)


def test_other_webhooks_replace_the_pods_that_register_them() -> None:
    def mark(values: dict[str, Any]) -> str:
        deployment = named(render(values), "Deployment", "kudo-webhook")
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["kudo.dev/webhooks"])

    assert mark({}) == mark({"reconciler": {"workers": 3}})
    assert mark({}) != mark({"webhook": {"failurePolicy": "Ignore"}})


def test_only_cert_manager_is_asked_to_inject_an_authority() -> None:
    def annotations(name: str) -> list[Json]:
        objects = (obj for obj in of_set(name) if obj["kind"].endswith("WebhookConfiguration"))
        return [obj["metadata"].get("annotations", {}) for obj in objects]

    asked = {"cert-manager.io/inject-ca-from": f"{NAMESPACE}/kudo-webhook"}
    assert annotations("cert-manager") == [asked, asked]
    assert annotations("default") == annotations("provided") == [{}, {}]


def test_egress_is_limited_to_dns_and_the_api_server_where_wanted() -> None:
    objects = render({"networkPolicy": {"egress": {"enabled": True, "apiServerPorts": [16443]}}})
    policy = named(objects, "NetworkPolicy", "kudo-reconciler")["spec"]
    ports = {port["port"] for rule in policy["egress"] for port in rule["ports"]}

    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert ports == {53, 16443}


@pytest.mark.parametrize(
    ("monitoring", "peers", "admitted"),
    [
        ({}, [], [None]),
        ({"scrapeAnnotations": False}, [], []),
        ({"scrapeAnnotations": False, "serviceMonitor": {"enabled": True}}, [], [None]),
        ({"scrapeAnnotations": False}, [{"podSelector": {}}], [[{"podSelector": {}}]]),
        ({}, [{"podSelector": {}}], [[{"podSelector": {}}]]),
    ],
    ids=["annotations", "nobody", "ServiceMonitor", "peers alone", "peers"],
)
def test_the_port_of_probes_is_open_only_to_who_reads_metrics(
    monitoring: Json, peers: list[Json], admitted: list[Any]
) -> None:
    # The kubelet of the node needs no rule.
    objects = render({"monitoring": monitoring, "networkPolicy": {"metricsFrom": peers}})
    for name, port in (("kudo-reconciler", 8080), ("kudo-webhook", 8081)):
        spec = named(objects, "NetworkPolicy", name)["spec"]
        rules = [rule for rule in spec["ingress"] if rule["ports"][0]["port"] == port]
        assert spec["policyTypes"] == ["Ingress"]
        assert [rule.get("from") for rule in rules] == admitted


def test_values_documented_as_commands_are_in_the_scripts() -> None:
    script = (CHART / "files" / "hooks.py").read_text(encoding="utf-8")
    commands = {
        container["command"][-1]
        for _, pod in pods(of_set("take-over"))
        for container in pod["containers"]
        if "command" in container
    }

    assert commands == {"verify", "take-over"}
    assert all(f'"{command}"' in script for command in commands)


def _images(values: dict[str, Any]) -> set[str]:
    return {
        container["image"] for _, pod in pods(render(values)) for container in pod["containers"]
    }


def _ports(container: Json) -> dict[str, int]:
    return {port["name"]: port["containerPort"] for port in container["ports"]}


def _selector(obj: Json) -> dict[str, str]:
    spec = obj["spec"]
    found: dict[str, str] = (
        spec["selector"]
        if obj["kind"] == "Service"
        else spec.get("podSelector") or spec["selector"]
    )
    nested: Any = found.get("matchLabels")
    return nested or found
