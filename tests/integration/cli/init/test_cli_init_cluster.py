"""`kubectl kudo init` on a real API server, where pods get ready without running anything.

The webhook of the installation therefore runs beside the cluster where a test needs its answers.
That the pods do their work is seen on a real node, in tests/e2e.
"""

import asyncio
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from kubectl_kudo.setup.options import notice
from kubeio.client import Client
from tests.integration.cli.init.conftest import OLD
from tests.support.cert_manager import SECRETS, cert_manager
from tests.support.cluster.initialising import BUILT_IN, STEPS, init
from tests.support.cluster.site import CONFIGURATION, CONFIGURATION_KINDS, CRDS, Site
from tools.chart.helm import NAMESPACE, Json


@pytest.mark.usefixtures("without_crds")
def test_everything_gets_there_and_the_second_time_nothing_changes(site: Site) -> None:
    # BTO-37: the webhook configuration was of a version that no API server serves any more.
    done = init(site, BUILT_IN)

    assert (done.code, done.stderr) == (0, f"{notice('compat')}\n"), done.output
    assert done.stdout.splitlines() == STEPS
    # The CRDs are served at once.
    site.kubectl("get", "instances.kudo.dev", "--all-namespaces")
    for name in ("kudo-webhook", "kudo-reconciler"):
        found = site.get("deployment", name, f"--namespace={NAMESPACE}")
        assert found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "kubectl-kudo"
    assert set(CRDS) <= site.names("crds")
    assert all(CONFIGURATION in site.names(kind) for kind in CONFIGURATION_KINDS)

    # BTO-38: the second time was an error.
    before = versions(site)
    again = init(site, BUILT_IN)

    assert (again.code, again.stdout.splitlines()) == (0, STEPS), again.output
    assert versions(site) == before


def test_an_upgrade_changes_what_is_installed_in_place(site: Site) -> None:
    init(site, BUILT_IN)
    before = site.get("mutatingwebhookconfiguration", CONFIGURATION)["metadata"]["uid"]

    refused = init(site, BUILT_IN, "--version=9.9.9")
    assert "Did you mean to use --upgrade" in refused.stderr
    done = init(site, BUILT_IN, "--version=9.9.9", "--upgrade")

    assert done.code == 0, done.output
    assert image(site, "kudo-reconciler") == "kudo-reconciler:9.9.9"
    assert site.get("mutatingwebhookconfiguration", CONFIGURATION)["metadata"]["uid"] == before


def test_it_is_ready_when_the_api_server_asks_the_webhook(site: Site) -> None:
    waiting = init(site, BUILT_IN, "--wait", "--wait-timeout=2")
    assert waiting.stderr == (
        "Error: watch timed out, readiness uncertain: after 2s, the API server does not call the "
        "webhook: its configuration is missing or empty\n"
    )

    with site.webhook():
        done = init(site, BUILT_IN, "--wait")
        verified = init(site, BUILT_IN, "--verify")

    assert done.stdout.splitlines()[-1] == "✅ KUDO is ready!", done.output
    assert verified.stdout == (
        "✅ KUDO is installed in namespace kudo-system as it should be, and works\n"
    ), verified.output


@pytest.mark.campaign
@pytest.mark.usefixtures("without_crds")
def test_verifying_names_what_is_missing_and_what_differs(site: Site) -> None:
    nothing = init(site, BUILT_IN, "--verify")
    assert "  CRD instances.kudo.dev is not installed\n" in nothing.stderr

    init(site, BUILT_IN)
    site.kubectl("scale", "deployment/kudo-reconciler", "--replicas=1", f"-n={NAMESPACE}")
    site.kubectl("delete", "clusterrole/kudo-view")
    assert init(site, BUILT_IN, "--verify").stderr == (
        "Error: KUDO installation is not valid:\n"
        "  clusterrole.rbac.authorization.k8s.io/kudo-view is not installed\n"
        "  deployment.apps/kudo-reconciler differs: spec.replicas is 1, not 2\n"
    )

    init(site, BUILT_IN)
    assert init(site, BUILT_IN, "--verify").stderr == (
        "Error: KUDO installation is not valid:\n"
        "  the API server does not call the webhook: its configuration is missing or empty\n"
    )


@pytest.mark.campaign
@pytest.mark.usefixtures("without_crds")
def test_the_crds_alone_are_served_at_once(site: Site) -> None:
    done = init(site, "--crd-only")
    assert (done.code, done.stdout) == (0, "✅ installed crds\n"), done.output
    site.kubectl("get", "instances.kudo.dev", "--all-namespaces")
    assert "kudo-webhook" not in site.names("deployments", f"--namespace={NAMESPACE}")


@pytest.mark.usefixtures("without_crds")
@pytest.mark.parametrize(
    "flags",
    [
        (BUILT_IN,),
        *(pytest.param(one, marks=pytest.mark.campaign) for one in ((), ("--crd-only",))),
    ],
)
def test_the_manifests_are_accepted_by_the_api_server(site: Site, flags: tuple[str, ...]) -> None:
    printed = init(site, "--dry-run", "-o", "yaml", *flags, user=Path("/nobody/is/asked"))
    assert printed.code == 0, printed.output
    # The kinds of cert-manager are tried with their CRDs, in the test of its certificates.
    objects = [obj for obj in yaml.safe_load_all(printed.stdout) if obj]
    known = [obj for obj in objects if not obj["apiVersion"].startswith("cert-manager.io")]

    said = site.apply(*known, options=("--dry-run=server",))

    assert said.count("serverside-applied (server dry run)") == len(known)
    assert "Warning" not in said


@pytest.mark.campaign
def test_what_was_printed_and_applied_by_kubectl_is_taken_on(site: Site) -> None:
    printed = init(site, "--dry-run", "-o", "yaml", BUILT_IN)
    site.kubectl("apply", "--filename=-", text=printed.stdout)

    done = init(site, BUILT_IN)

    assert (done.code, done.stdout.splitlines()) == (0, STEPS), done.output


# Removal


def test_removing_keeps_the_crds_and_their_objects(site: Site) -> None:
    init(site, BUILT_IN)
    operator = {"apiVersion": "kudo.dev/v1beta1", "kind": "Operator"}
    site.apply({**operator, "metadata": {"name": "tea", "namespace": "default"}})

    done = init(site, "--uninstall", "--yes")

    assert done.code == 0, done.output
    assert "deployment.apps/kudo-webhook deleted\n" in done.stdout
    assert site.names("operators.kudo.dev", "--namespace=default") == {"tea"}
    assert CONFIGURATION not in site.names("mutatingwebhookconfigurations")
    left = "deployments,services,configmaps,serviceaccounts,roles,rolebindings,secrets,leases"
    names = site.names(f"{left},clusterroles,clusterrolebindings", f"--namespace={NAMESPACE}")
    assert {name for name in names if name.startswith("kudo-")} == {"kudo-user"}
    again = init(site, "--uninstall", "--yes")
    assert (again.code, again.stdout) == (0, "KUDO is not installed in namespace kudo-system\n")
    site.kubectl("delete", "operators.kudo.dev/tea", "--namespace=default")


@pytest.mark.campaign
def test_the_crds_go_with_their_objects_if_that_is_said(site: Site) -> None:
    init(site, BUILT_IN)
    done = init(site, "--uninstall", "--yes", "--delete-crds")
    assert done.code == 0, done.output
    assert not set(CRDS) & site.names("crds")


# Others


def test_one_line_names_the_rights_that_are_missing(site: Site) -> None:
    done = init(site, BUILT_IN, user=site.cluster.kubeconfig("user"))
    assert done.code == 255
    [line] = done.stderr.splitlines()
    assert line.startswith(
        "Error: failed to verify installation requirements: you lack permission to create "
        "clusterrolebindings.rbac.authorization.k8s.io, to create clusterroles"
    )
    assert "to patch deployments.apps in namespace kudo-system" in line


@pytest.mark.campaign
def test_another_namespace_has_to_exist_and_there_is_one_kudo(site: Site) -> None:
    # BTO-41: the binding kept naming the account in the other namespace.
    assert "Namespace kitchen does not exist" in init(site, BUILT_IN, "-n", "kitchen").stderr
    site.kubectl("create", "namespace", "kitchen")
    try:
        assert init(site, BUILT_IN, "-n", "kitchen").code == 0
        elsewhere = init(site, BUILT_IN)
        assert "KUDO is installed in namespace kitchen" in elsewhere.stderr
        assert "--namespace=kitchen" in init(site, "--uninstall", "--yes").stderr
        removed = init(site, "--uninstall", "--yes", "-n", "kitchen")
        assert removed.code == 0, removed.output
    finally:
        site.kubectl("delete", "namespace", "kitchen")


# What the tests look at


def image(site: Site, name: str) -> str:
    found = site.get("deployment", name, f"--namespace={NAMESPACE}")
    return str(found["spec"]["template"]["spec"]["containers"][0]["image"])


def versions(site: Site) -> dict[str, str]:
    """Return the resourceVersion of everything that `init` applies."""
    printed = init(site, "--dry-run", "-o", "json", BUILT_IN).stdout
    desired: defaultdict[str, list[str]] = defaultdict(list)
    for one in yaml.safe_load(printed):
        metadata = one["metadata"]
        place = metadata.get("namespace", "default")
        desired[place].append(f"{one['kind'].lower()}/{metadata['name']}")
    return {
        f"{live['kind']}/{live['metadata']['name']}": spec_version(live)
        for place, names in desired.items()
        for live in site.get(*names, f"--namespace={place}")["items"]
    }


def spec_version(live: Json) -> str:
    """Return what changes with the object but not with its status."""
    metadata = live["metadata"]
    return str(metadata.get("generation") or metadata["resourceVersion"])


# Beside KUDO 0.19, and with cert-manager


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
