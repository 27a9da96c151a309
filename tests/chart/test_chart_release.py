"""A release from its installation to its end, by Helm on a real API server.

Nodes are simulated, so pods get ready without running anything: what is judged is what Helm and
the API server do with the objects.
"""

import http.client
import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from kudo_cluster.installation import Service
from tests.support.cluster.initialising import BUILT_IN, init
from tests.support.cluster.site import (
    CONFIGURATION,
    CONFIGURATION_KINDS,
    CRDS,
    KubectlError,
    Site,
    wait_until,
)
from tools.chart.helm import CHART, NAMESPACE, HelmError, Json, helm

_WAIT = ("--wait", "--timeout=120s")
_ARGUMENTS = "/spec/template/spec/containers/0/args"
_INSTANCE = """\
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata: {name: kept, namespace: default}
spec: {operatorVersion: {name: some-0.1.0}}
"""


def test_init_leaves_a_release_of_helm_alone(site: Site) -> None:
    site.helm("install", "--no-hooks")
    try:
        for flags in ((BUILT_IN,), ("--uninstall", "--yes")):
            done = init(site, *flags)
            assert "KUDO was installed by Helm, as release kudo" in done.stderr
        assert init(site, BUILT_IN, "--verify", "-n", "default").stderr == (
            "Error: KUDO was installed by Helm, as release kudo: `helm test kudo "
            "--namespace=kudo-system` checks it\n"
        )
    finally:
        site.helm("uninstall", "--no-hooks")


def test_leaving_the_crds_to_others_removes_none(site: Site) -> None:
    site.helm("install", *_WAIT)

    site.helm("upgrade", crds__install="false")

    assert {*CRDS} <= site.names("crds")


def test_a_release_becomes_available(site: Site) -> None:
    site.helm("install", *_WAIT)

    for name in ("kudo-webhook", "kudo-reconciler"):
        deployment = site.get("deployment", name, f"--namespace={NAMESPACE}")
        assert deployment["status"]["availableReplicas"] == 2
    assert {*CRDS} <= site.names("crds")


def test_nothing_is_asked_before_a_replica_is_there_to_answer(site: Site) -> None:
    site.helm("install", webhook__replicas=0)
    site.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crds", "--all")
    webhook = site.new_webhook()
    webhook.start()

    site.kubectl("create", "--dry-run=server", "--filename=-", text=_INSTANCE)
    assert not site.registered()
    site.kubectl("scale", "deployment/kudo-webhook", "--replicas=1", f"--namespace={NAMESPACE}")
    wait_until(site.registered, "the webhook to register")

    webhook.kill()
    wait_until(lambda: _refused(site), "the API server to ask a webhook that is not there")


def test_built_in_certificates_are_trusted_from_the_first_moment(site: Site) -> None:
    site.helm("install", *_WAIT)
    webhook = site.new_webhook(built_in=True)
    webhook.start()
    wait_until(site.registered, "the webhook to register")

    serving = site.get("secret", "kudo-webhook-certificate", f"--namespace={NAMESPACE}")
    authority = serving["data"]["ca.crt"]
    assert [
        registered["clientConfig"]["caBundle"]
        for configuration in _configurations(site)
        for registered in configuration["webhooks"]
    ] == [authority] * 3
    webhook.kill()


def test_without_an_authority_nothing_is_registered_and_the_reason_is_told(site: Site) -> None:
    site.helm("install", *_WAIT)
    webhook = site.new_webhook()
    webhook.command.append("--tls-poll=0.1")
    authority = site.cluster.directory / "serving" / "ca.crt"
    left_out = authority.rename(authority.with_name("later.crt"))
    webhook.launch()
    wait_until(lambda: f"{authority} is missing" in _not_ready(webhook), "the reason")

    assert not site.registered()
    site.kubectl("create", "--dry-run=server", "--filename=-", text=_INSTANCE)
    left_out.rename(authority)
    wait_until(site.registered, "the webhook to register")
    webhook.kill()


@pytest.mark.parametrize("change", ["upgrade", "rollback"])
def test_the_webhooks_stay_registered_while_the_release_changes(site: Site, change: str) -> None:
    site.helm("install", *_WAIT)
    with site.webhook():
        before = _configurations(site)

        site.helm("upgrade", *_WAIT, webhook__timeoutSeconds=7)
        if change == "rollback":
            site.helm("rollback", "1", *_WAIT)

        after = _configurations(site)
    assert [one["metadata"]["uid"] for one in after] == [one["metadata"]["uid"] for one in before]
    assert [one["webhooks"] for one in after] == [one["webhooks"] for one in before]


def test_a_pod_of_the_new_release_registers_its_own_webhooks(site: Site) -> None:
    site.helm("install", *_WAIT)
    with site.webhook():
        site.helm("upgrade", *_WAIT, webhook__timeoutSeconds=7)
    with site.webhook():
        wait_until(lambda: _timeouts(site) == {7}, "the new timeout")


def test_a_configuration_that_was_removed_is_filled_in_again_after_its_return(site: Site) -> None:
    site.helm("install", *_WAIT)
    with site.webhook() as webhook:
        site.kubectl("delete", *CONFIGURATION_KINDS[:1], CONFIGURATION)
        webhook.stop()
        webhook.start()
        site.helm("upgrade", *_WAIT)
        site.unpin()

        wait_until(site.registered, "the webhook to register")


def test_the_rights_of_plans_can_be_changed_by_an_upgrade(site: Site) -> None:
    site.helm("install", *_WAIT, tenancy__mode="compat")

    site.helm("upgrade", rbac__clusterAdmin="true")
    assert "kudo-reconciler-cluster-admin" in site.names("clusterrolebindings")

    site.helm("upgrade", rbac__clusterAdmin="false")
    assert "kudo-reconciler-cluster-admin" not in site.names("clusterrolebindings")
    assert "kudo-reconciler-workloads" in site.names("clusterrolebindings")


@pytest.mark.parametrize("mode", ["compat", "strict"])
def test_an_upgrade_keeps_the_tenancy_of_the_release(site: Site, mode: str) -> None:
    site.helm("install", *_WAIT, tenancy__mode=mode)

    said = site.helm("upgrade", *_WAIT, "--reset-values")

    assert f"Tenancy is {mode}: the release was installed so before." in said
    assert _tenancy(site) == mode


def test_a_release_that_is_older_than_tenancy_stays_compat_until_it_is_said(site: Site) -> None:
    site.helm("install", *_WAIT, tenancy__mode="compat")
    where = ("deployment", "kudo-reconciler", f"--namespace={NAMESPACE}")
    older = [{"op": "replace", "path": _ARGUMENTS, "value": ["--workers=16"]}]
    site.kubectl("patch", *where, "--type=json", f"--patch={json.dumps(older)}")

    said = site.helm("upgrade", *_WAIT, "--reset-values", "--force-conflicts")
    assert "Tenancy is compat: the installed release is older than tenancy." in said
    assert _tenancy(site) == "compat"

    site.helm("upgrade", *_WAIT, tenancy__mode="strict")
    assert _tenancy(site) == "strict"
    assert "kudo-reconciler-workloads" not in site.names("clusterrolebindings")


def test_strict_asks_for_the_rights_of_plans_elsewhere(site: Site) -> None:
    site.helm("install", *_WAIT)

    with pytest.raises(
        HelmError, match=r"rbac\.clusterAdmin: In strict mode plans have the rights"
    ):
        site.helm("upgrade", rbac__clusterAdmin="true")


def test_an_upgrade_brings_new_crds(site: Site, tmp_path: Path) -> None:
    older = _with_older_crd(tmp_path)
    kubeconfig = site.cluster.kubeconfig("admin")
    helm("install", "kudo", str(older), f"--namespace={NAMESPACE}", *_WAIT, kubeconfig=kubeconfig)
    assert _columns(site) == ["Age"]

    site.helm("upgrade", *_WAIT)

    assert _columns(site) == _generated_columns()


def test_uninstalling_keeps_the_crds_and_the_instances_and_locks_nothing(site: Site) -> None:
    site.helm("install", *_WAIT)
    site.kubectl("create", "--filename=-", text=_INSTANCE)
    with site.webhook() as webhook:
        webhook.kill()
        wait_until(lambda: _refused(site), "the API server to ask a webhook that is not there")

        site.helm("uninstall", "--wait")

    assert site.names("instances.kudo.dev", "--namespace=default") == {"kept"}
    assert not {name for kind in CONFIGURATION_KINDS for name in site.names(kind)}
    labelled = "--selector=app.kubernetes.io/name=kudo"
    kinds = "deployments,services,serviceaccounts,roles,rolebindings,networkpolicies,pods"
    assert not site.names(kinds, f"--namespace={NAMESPACE}", labelled)
    assert not site.names("clusterroles,clusterrolebindings", labelled)
    site.kubectl(
        "patch", "instances.kudo.dev", "kept", "--type=merge",
        '--patch={"spec":{"parameters":{"a":"b"}}}',
    )  # fmt: skip


def test_uninstalling_takes_the_configurations_away_before_who_answers_for_them(
    site: Site,
) -> None:
    site.helm("install", *_WAIT)

    said = site.helm("uninstall", "--wait", "--debug")

    order = re.findall(r"starting delete resource.* kind=(\w+)", said)
    assert sorted(order[:2]) == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]
    assert "Deployment" in order[2:]


def test_what_was_kept_is_taken_up_by_the_next_installation(site: Site) -> None:
    site.helm("install", *_WAIT)
    site.helm("uninstall", "--wait")

    site.helm("install", *_WAIT)

    assert {*CRDS} <= site.names("crds")


def test_two_installations_cannot_be(site: Site) -> None:
    site.helm("install", *_WAIT)

    with pytest.raises(HelmError, match="cannot be imported into the current release"):
        helm(
            "install", "again", str(CHART), "--namespace=default",
            kubeconfig=site.cluster.kubeconfig("admin"),
        )  # fmt: skip


def _configurations(site: Site) -> list[Json]:
    return [site.get(kind, CONFIGURATION) for kind in CONFIGURATION_KINDS]


def _timeouts(site: Site) -> set[int]:
    return {
        webhook["timeoutSeconds"]
        for configuration in _configurations(site)
        for webhook in configuration["webhooks"]
    }


def _refused(site: Site) -> bool:
    try:
        site.kubectl("create", "--dry-run=server", "--filename=-", text=_INSTANCE)
    except KubectlError as error:
        return "failed calling webhook" in str(error)
    return False


def _not_ready(service: Service) -> str:
    """Return why a service is not ready to be asked for its certificate; empty if unknown."""
    connection = http.client.HTTPConnection("127.0.0.1", service.probe_port, timeout=10)
    try:
        connection.request("GET", "/readyz")
        failing = json.loads(connection.getresponse().read())["failing"]
    except ConnectionError:
        return ""
    finally:
        connection.close()
    return str(failing.get("certificate", ""))


def _with_older_crd(folder: Path) -> Path:
    """Return a copy of the chart in whose CRD of Instances most columns are missing."""
    copy = folder / "kudo"
    shutil.copytree(CHART, copy)
    path = copy / "files" / "crds" / "instances.yaml"
    crd = yaml.safe_load(path.read_text(encoding="utf-8"))
    version = crd["spec"]["versions"][0]
    version["additionalPrinterColumns"] = [
        column for column in version["additionalPrinterColumns"] if column["name"] == "Age"
    ]
    path.write_text(yaml.safe_dump(crd), encoding="utf-8")
    return copy


def _columns(site: Site) -> list[str]:
    version = site.get("crd", "instances.kudo.dev")["spec"]["versions"][0]
    return [column["name"] for column in version["additionalPrinterColumns"]]


def _generated_columns() -> list[str]:
    text = (CHART / "files" / "crds" / "instances.yaml").read_text(encoding="utf-8")
    version = yaml.safe_load(text)["spec"]["versions"][0]
    return [column["name"] for column in version["additionalPrinterColumns"]]


def _tenancy(site: Site) -> str:
    """Return the mode that the reconciler is started with."""
    found = site.get("deployment", "kudo-reconciler", f"--namespace={NAMESPACE}")
    arguments = found["spec"]["template"]["spec"]["containers"][0]["args"]
    [mode] = [text for text in arguments if text.startswith("--tenancy=")]
    return str(mode.removeprefix("--tenancy="))
