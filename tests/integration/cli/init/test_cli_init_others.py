"""`kubectl kudo init` beside others: what can go wrong with KUDO 0.19, and with cert-manager."""

import asyncio
import socket

import pytest
import yaml

from kubeio.client import Client
from tests.integration.cli.init.conftest import CHART_TESTS, OLD
from tests.support.cert_manager import CERTIFICATES
from tests.support.cluster.initialising import BUILT_IN, init
from tests.support.cluster.site import CONFIGURATION, CONFIGURATION_KINDS, Site
from tools.chart.helm import NAMESPACE, Json

# KUDO 0.19


@pytest.mark.campaign
def test_the_old_manager_is_found_where_its_configuration_says(old: Site) -> None:
    old.kubectl("create", "namespace", "elsewhere")
    try:
        objects = (CHART_TESTS / "original.yaml").read_text().replace(NAMESPACE, "elsewhere")
        old.apply(*yaml.safe_load_all(objects))
        assert "StatefulSet elsewhere/kudo-controller-manager" in init(old, BUILT_IN).stderr
    finally:
        old.kubectl("delete", "namespace", "elsewhere")


@pytest.mark.campaign
def test_a_take_over_that_is_not_ready_leaves_the_old_webhook(old: Site) -> None:
    done = init(old, BUILT_IN, "--take-over", "--wait", "--wait-timeout=2")

    assert done.code == 7
    assert "stopped KUDO 0.19" in done.stdout, done.output
    assert "watch timed out, readiness uncertain" in done.stderr
    assert {OLD, CONFIGURATION} <= old.names("mutatingwebhookconfigurations")
    manager = old.get("statefulset", "kudo-controller-manager", f"--namespace={NAMESPACE}")
    assert manager["spec"]["replicas"] == 0


# cert-manager


@pytest.mark.campaign
def test_without_cert_manager_it_says_what_can_be_done(site: Site) -> None:
    done = init(site)
    assert done.code == 255
    assert "failed to detect any valid cert-manager CRDs. Make sure cert-manager is" in done.stderr
    assert f"or use {BUILT_IN}" in done.stderr


@pytest.mark.campaign
def test_a_webhook_of_cert_manager_that_does_not_answer_is_named(site: Site, admin: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        site.apply(unanswered(silent.getsockname()[1]))
        try:
            done = init(site)
        finally:
            site.kubectl("delete", "validatingwebhookconfiguration", "cert-manager-webhook")

    assert done.code == 255
    refusal, advice = done.stderr.splitlines()
    assert refusal.startswith("Error: failed to apply issuer.cert-manager.io/kudo-webhook")
    assert 'failed calling webhook "webhook.cert-manager.io"' in refusal
    assert advice == "  check the pods of that webhook, then run the same command again"


def unanswered(port: int) -> Json:
    """Return the registration of a webhook of cert-manager's kinds on a port of this machine."""
    rule = {"apiGroups": ["cert-manager.io"], "apiVersions": ["v1"], "resources": ["*/*"]}
    hook = {
        "name": "webhook.cert-manager.io",
        "clientConfig": {"url": f"https://127.0.0.1:{port}/validate"},
        "rules": [{**rule, "operations": ["CREATE", "UPDATE"]}],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "timeoutSeconds": 1,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "cert-manager-webhook"},
        "webhooks": [hook],
    }


@pytest.mark.campaign
async def test_where_the_certificate_comes_from_can_be_changed(site: Site, admin: Client) -> None:
    await asyncio.to_thread(init, site)

    refused = await asyncio.to_thread(init, site, BUILT_IN)
    assert f"leave out {BUILT_IN}, or change that with --upgrade" in refused.stderr
    done = await asyncio.to_thread(init, site, BUILT_IN, "--upgrade")

    assert done.code == 0, done.output
    assert (await admin.list(CERTIFICATES, namespace=NAMESPACE)).items == []
    annotations = site.get(CONFIGURATION_KINDS[0], CONFIGURATION)["metadata"].get("annotations")
    assert not annotations
    pod: Json = site.get("deployment", "kudo-webhook", f"-n={NAMESPACE}")["spec"]["template"]
    assert not [one for one in pod["spec"].get("volumes", []) if "secret" in one]
