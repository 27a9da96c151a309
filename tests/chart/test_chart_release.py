"""A release from its installation to its end, by Helm on a real API server.

Nodes are simulated, so pods get ready without running anything: what is judged is what Helm and
the API server do with the objects.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.chart.site import CONFIGURATION, CONFIGURATION_KINDS, CRDS, KubectlError, Site
from tools.chart.helm import CHART, NAMESPACE, HelmError, Json, helm

pytestmark = pytest.mark.cluster

_WAIT = ("--wait", "--timeout=120s")
_INSTANCE = """\
apiVersion: kudo.dev/v1beta1
kind: Instance
metadata: {name: kept, namespace: default}
spec: {operatorVersion: {name: some-0.1.0}}
"""


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


def test_changes_are_refused_until_the_webhook_answers(site: Site) -> None:
    site.helm("install", *_WAIT)

    with pytest.raises(KubectlError, match=r"failed calling webhook.*kudo\.dev"):
        site.kubectl("create", "--filename=-", text=_INSTANCE)


def test_an_upgrade_leaves_the_configurations_and_their_ca_bundles_in_place(site: Site) -> None:
    site.helm("install", *_WAIT)
    _keep_ca_bundles(site)
    before = _configurations(site)

    site.helm("upgrade", *_WAIT, webhook__timeoutSeconds=7, webhook__replicas=3)

    after = _configurations(site)
    assert [one["metadata"]["uid"] for one in after] == [one["metadata"]["uid"] for one in before]
    assert [_only_webhook(one)["clientConfig"] for one in after] == [
        _only_webhook(one)["clientConfig"] for one in before
    ]
    assert [_only_webhook(one)["timeoutSeconds"] for one in after] == [7, 7]


def test_a_rollback_leaves_the_configurations_in_place(site: Site) -> None:
    site.helm("install", *_WAIT)
    _keep_ca_bundles(site)
    before = _configurations(site)
    site.helm("upgrade", *_WAIT, webhook__timeoutSeconds=7)

    site.helm("rollback", "1", *_WAIT)

    after = _configurations(site)
    assert [one["metadata"]["uid"] for one in after] == [one["metadata"]["uid"] for one in before]
    assert [one["webhooks"] for one in after] == [one["webhooks"] for one in before]


def test_the_rights_of_plans_can_be_changed_by_an_upgrade(site: Site) -> None:
    site.helm("install", *_WAIT)

    site.helm("upgrade", rbac__clusterAdmin="true")
    assert "kudo-reconciler-cluster-admin" in site.names("clusterrolebindings")

    site.helm("upgrade", rbac__clusterAdmin="false")
    assert "kudo-reconciler-cluster-admin" not in site.names("clusterrolebindings")
    assert "kudo-reconciler-workloads" in site.names("clusterrolebindings")


def test_an_upgrade_brings_new_crds(site: Site, tmp_path: Path) -> None:
    older = _with_older_crd(tmp_path)
    kubeconfig = site.cluster.kubeconfig("admin")
    helm("install", "kudo", str(older), f"--namespace={NAMESPACE}", *_WAIT, kubeconfig=kubeconfig)
    assert _columns(site) == ["Age"]

    site.helm("upgrade", *_WAIT)

    assert _columns(site) == _generated_columns()


def test_uninstalling_keeps_the_crds_and_the_instances_and_locks_nothing(site: Site) -> None:
    site.helm("install", *_WAIT, webhook__failurePolicy="Ignore")
    site.kubectl("create", "--filename=-", text=_INSTANCE)
    site.helm("upgrade", *_WAIT)

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


def _keep_ca_bundles(site: Site) -> None:
    """Write the caBundles as the webhook does."""
    for kind in CONFIGURATION_KINDS:
        site.kubectl(
            "patch", kind, CONFIGURATION, "--type=json", "--field-manager=kudo-webhook",
            f"--patch={json.dumps([{'op': 'add', 'path': _BUNDLE, 'value': _pem(site)}])}",
        )  # fmt: skip


_BUNDLE = "/webhooks/0/clientConfig/caBundle"


def _pem(site: Site) -> str:
    config = yaml.safe_load(site.cluster.kubeconfig("admin").read_text())
    found: str = config["clusters"][0]["cluster"]["certificate-authority-data"]
    return found


def _configurations(site: Site) -> list[Json]:
    return [site.get(kind, CONFIGURATION) for kind in CONFIGURATION_KINDS]


def _only_webhook(configuration: Json) -> Json:
    [webhook] = configuration["webhooks"]
    found: Json = webhook
    return found


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
