"""A cluster where `kubectl kudo init` of KUDO 0.19 was run: what it left, and how it goes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kudo_cluster.installation import Service
from tests.support.cluster.site import CONFIGURATION, Site
from tools.chart.helm import CHART, NAMESPACE, HelmError, Json

_WAIT = ("--wait", "--timeout=120s")
_ADOPT = ("--take-ownership", "--force-conflicts")
_OLD = "kudo-manager-instance-admission-webhook-config"
_ORIGINAL = Path(__file__).with_name("original.yaml")
_SCRIPT = CHART / "files" / "hooks.py"


@pytest.fixture
def old(site: Site) -> Iterator[Site]:
    """Yield a cluster as the original's `init` leaves it; its manager does not answer."""
    files = [f"--filename={path}" for path in (CHART / "files" / "crds").iterdir()]
    site.kubectl("create", *files)
    site.apply(*_objects())
    yield site
    site.kubectl(
        "delete", "--ignore-not-found", "--filename=-", text=yaml.safe_dump_all(_objects())
    )


def test_beside_the_old_manager_nothing_is_installed_and_the_command_to_use_is_named(
    old: Site,
) -> None:
    with pytest.raises(HelmError) as refused:
        old.helm("install")

    said = str(refused.value)
    assert f"StatefulSet {NAMESPACE}/kudo-controller-manager" in said
    assert f"MutatingWebhookConfiguration {_OLD}" in said
    assert "--set takeOver=true --take-ownership --force-conflicts" in said
    assert "kudo-webhook" not in old.names("deployments", f"--namespace={NAMESPACE}")


def test_the_old_manager_is_found_in_another_namespace_by_its_configuration(old: Site) -> None:
    old.kubectl("delete", "statefulset", "kudo-controller-manager", f"--namespace={NAMESPACE}")
    old.kubectl("create", "namespace", "elsewhere")
    try:
        old.apply(*(_in_namespace(obj, "elsewhere") for obj in _objects()))

        with pytest.raises(HelmError, match="StatefulSet elsewhere/kudo-controller-manager"):
            old.helm("install")
    finally:
        old.kubectl("delete", "namespace", "elsewhere")


def test_the_crds_of_the_original_are_adopted(old: Site) -> None:
    old.helm("install", *_WAIT, *_ADOPT, takeOver="true")

    labels = old.get("crd", "instances.kudo.dev")["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"] == "Helm"
    old.helm("upgrade", *_WAIT, takeOver="true")


def test_the_old_manager_goes_once_the_new_webhook_is_asked(
    old: Site, webhook: Service, tmp_path: Path
) -> None:
    assert _OLD in old.names("mutatingwebhookconfigurations")

    done = _hook(old, "take-over", tmp_path, "--seconds=30")

    assert done.returncode == 0, done.stdout + done.stderr
    assert _left(old) == set()
    assert CONFIGURATION in old.names("mutatingwebhookconfigurations")
    again = _hook(old, "take-over", tmp_path, "--seconds=30")
    assert (again.returncode, again.stdout.count("removed")) == (0, 0)


def test_the_old_manager_stays_while_the_new_webhook_does_not_answer(
    old: Site, webhook: Service, tmp_path: Path
) -> None:
    webhook.stop()

    done = _hook(old, "take-over", tmp_path, "--seconds=2")

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("not done: Internal error occurred: failed")
    assert _left(old) == {obj["metadata"]["name"] for obj in _objects()}


def test_verifying_says_which_service_is_not_there(
    old: Site, webhook: Service, tmp_path: Path
) -> None:
    old.kubectl("scale", "deployment/kudo-reconciler", "--replicas=3", f"--namespace={NAMESPACE}")
    old.kubectl("delete", "deployment/kudo-webhook", f"--namespace={NAMESPACE}")

    done = _hook(old, "verify", tmp_path, "--seconds=1")

    assert done.returncode == 1
    assert 'deployments.apps "kudo-webhook" not found' in done.stdout


def test_verifying_notices_that_no_webhook_is_asked(
    old: Site, webhook: Service, tmp_path: Path
) -> None:
    old.kubectl("delete", "mutatingwebhookconfigurations", CONFIGURATION, _OLD)
    old.kubectl("delete", "validatingwebhookconfigurations", CONFIGURATION)

    done = _hook(old, "verify", tmp_path, "--seconds=1")

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == (
        "not done: the API server does not call the webhook: its configuration is missing"
    )


@pytest.fixture
def webhook(old: Site) -> Iterator[Service]:
    """Yield the webhook of the release, beside the cluster since its pods run nothing."""
    # The account of the hook stays to be acted as: the Job itself runs nothing here, either.
    old.helm("install", *_WAIT, *_ADOPT, "--no-hooks", takeOver="true")
    old.apply(*_hook_rights(old))
    with old.webhook() as service:
        yield service


def _hook(
    site: Site, command: str, folder: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    """Run the script of the chart's hooks as its pod does."""
    account = site.account("kudo-take-over", folder)
    host, _, port = site.cluster.server.removeprefix("https://").partition(":")
    return subprocess.run(
        [sys.executable, str(_SCRIPT), command, f"--account={account}", *options],
        env={**os.environ, "KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port},
        capture_output=True,
        text=True,
        check=False,
    )


def _hook_rights(site: Site) -> list[Json]:
    manifests = yaml.safe_load_all(site.hooks())
    kinds = {"ServiceAccount", "ClusterRole", "ClusterRoleBinding"}
    return [
        obj
        for obj in manifests
        if obj and obj["kind"] in kinds and obj["metadata"]["name"] == "kudo-take-over"
    ]


def _left(site: Site) -> set[str]:
    objects = _objects()
    found = {
        name for obj in objects for name in site.names(obj["kind"], f"--namespace={NAMESPACE}")
    }
    return found & {obj["metadata"]["name"] for obj in objects}


def _objects() -> list[Json]:
    return list(yaml.safe_load_all(_ORIGINAL.read_text(encoding="utf-8")))


def _in_namespace(obj: Json, namespace: str) -> Json:
    moved: Json = yaml.safe_load(yaml.safe_dump(obj).replace(NAMESPACE, namespace))
    return moved
