"""`kubectl kudo init` beside others: KUDO 0.19, whose place it takes, and cert-manager."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import yaml

from kubeio.client import Client
from kubeio.connection.config import load_config
from tests.support.cert_manager import CERTIFICATES, SECRETS, cert_manager, install_crds
from tests.support.cluster.initialising import BUILT_IN, STEPS, init
from tests.support.cluster.site import CONFIGURATION, CONFIGURATION_KINDS, Site
from tools.chart.helm import NAMESPACE, Json

OLD = "kudo-manager-instance-admission-webhook-config"
_CHART_TESTS = Path(__file__).parents[3] / "chart"
_CERT_MANAGER_CRDS = ("certificates", "certificaterequests", "issuers", "clusterissuers")


# KUDO 0.19


@pytest.fixture
def old(site: Site) -> Iterator[Site]:
    """Yield a cluster as `init` of KUDO 0.19 leaves it; its webhook does not answer."""
    init(site, "--crd-only")
    objects = list(yaml.safe_load_all((_CHART_TESTS / "original.yaml").read_text()))
    site.apply(*objects)
    yield site
    site.kubectl("delete", "--ignore-not-found", "--filename=-", text=yaml.safe_dump_all(objects))


@pytest.mark.campaign
def test_the_old_manager_is_found_where_its_configuration_says(old: Site) -> None:
    old.kubectl("create", "namespace", "elsewhere")
    try:
        objects = (_CHART_TESTS / "original.yaml").read_text().replace(NAMESPACE, "elsewhere")
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


async def test_the_old_manager_goes_by_the_flag_once_the_new_webhook_is_asked(old: Site) -> None:
    refused = await asyncio.to_thread(init, old, BUILT_IN)
    assert refused.code == 255
    [line] = refused.stderr.splitlines()
    assert "KUDO 0.19 is installed in this cluster: StatefulSet kudo-system/kudo-con" in line
    assert f"MutatingWebhookConfiguration {OLD}" in line
    assert "run the same command with --take-over" in line
    assert "kudo-webhook" not in old.names("deployments", f"--namespace={NAMESPACE}")

    instance = {"apiVersion": "kudo.dev/v1beta1", "kind": "Operator"}
    old.apply({**instance, "metadata": {"name": "tea", "namespace": "default"}})
    # Its first half, so that the webhook can be started beside the cluster.
    await asyncio.to_thread(init, old, BUILT_IN, "--take-over", "--wait", "--wait-timeout=2")

    with old.webhook():
        done = await asyncio.to_thread(init, old, BUILT_IN, "--take-over")

    assert done.code == 0, done.output
    assert done.stdout.splitlines()[-6:] == [
        f"removed {name} of KUDO 0.19"
        for name in (
            f"mutatingwebhookconfiguration.admissionregistration.k8s.io/{OLD}",
            "statefulset.apps/kudo-controller-manager",
            "service/kudo-controller-manager-service",
            "secret/kudo-webhook-server-secret",
            "clusterrolebinding.rbac.authorization.k8s.io/kudo-manager-rolebinding",
            "serviceaccount/kudo-manager",
        )
    ]
    assert old.names("mutatingwebhookconfigurations") & {OLD, CONFIGURATION} == {CONFIGURATION}
    assert old.names("operators.kudo.dev", "--namespace=default") == {"tea"}
    again = await asyncio.to_thread(init, old, BUILT_IN, "--take-over")
    assert (again.code, again.stdout.splitlines()) == (0, STEPS), again.output


# cert-manager


@pytest.fixture
async def admin(site: Site) -> AsyncIterator[Client]:
    """Yield a client that may do everything, on a cluster that serves the kinds of cert-manager."""
    async with Client(load_config(site.cluster.kubeconfig("admin"))) as client:
        await install_crds(client)
        yield client
    names = [f"{name}.cert-manager.io" for name in _CERT_MANAGER_CRDS]
    await asyncio.to_thread(site.delete_crds, *names)


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


async def test_cert_manager_is_asked_for_the_certificate(site: Site, admin: Client) -> None:
    async with cert_manager(admin):
        done = await asyncio.to_thread(init, site)
        assert (done.code, done.stdout.splitlines()) == (0, STEPS), done.output
        async with asyncio.timeout(60):
            while not await issued(admin):  # noqa: ASYNC110 - the API server is what changes
                await asyncio.sleep(0.1)

    for kind in CONFIGURATION_KINDS:
        annotations = site.get(kind, CONFIGURATION)["metadata"]["annotations"]
        assert annotations["cert-manager.io/inject-ca-from"] == f"{NAMESPACE}/kudo-webhook"


async def issued(admin: Client) -> bool:
    secrets = await admin.list(SECRETS, namespace=NAMESPACE)
    return "kudo-webhook-tls" in {secret["metadata"]["name"] for secret in secrets.items}


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
