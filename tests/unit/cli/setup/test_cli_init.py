"""`kubectl kudo init` against an API server: what is checked, written, awaited and removed."""

import base64
import json
from typing import Any

import pytest

from kubectl_kudo.setup.options import notice
from kubeio.client import Client
from kubeio.connection.config import ClusterConfig
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.setup.installations import (
    BUILT_IN,
    HOOK,
    OLD_CONFIGURATION,
    OLD_MANAGER,
    add,
    cert_manager,
    old_manager,
)

STEPS = [
    "✅ installed crds",
    "✅ installed namespace",
    "✅ installed service account",
    "✅ installed webhook",
    "✅ installed kudo controller",
]
IN_COMPAT = f"{notice('compat')}\n"
WAITED = ["⌛Waiting for KUDO controller to be ready in your cluster...", "✅ KUDO is ready!"]


# Installation


def test_the_key_for_digests_is_made_once_and_kept(init: Cli, installed: FakeApi) -> None:
    made = installed.objects["secrets", "kudo-digest-key"]["data"]["key"]
    assert len(base64.b64decode(made)) == 32

    init(BUILT_IN, "--upgrade")

    assert installed.objects["secrets", "kudo-digest-key"]["data"]["key"] == made
    assert "POST secrets" not in installed.changes


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_key_for_digests_that_may_not_be_made_is_told_and_the_installation_goes_on(
    init: Cli, server: FakeApi, method: str
) -> None:
    server.refusals[method, "secrets"] = (403, "secrets are made by the vault here")

    ran = init(BUILT_IN)

    assert ran.code == 0, ran.err
    text = "Warning: secret/kudo-digest-key was not made: secrets are made by the vault here\n"
    assert text in ran.err
    assert "records Secrets without a digest" in ran.err
    assert "kudo-reconciler" in server.names("deployments")


def test_a_key_for_digests_that_cannot_be_made_ends_the_installation(
    init: Cli, server: FakeApi
) -> None:
    server.refusals["POST", "secrets"] = (422, "no room")

    ran = init(BUILT_IN)

    text = "failed to create secret/kudo-digest-key: no room"
    assert (ran.code != 0, ran.err) == (True, f"Error: {text}\n")
    assert "kudo-reconciler" not in server.names("deployments")


def test_waiting_tells_what_keeps_the_pods_from_starting(init: Cli, server: FakeApi) -> None:
    server.unavailable.add("kudo-webhook")
    waiting = {"reason": "ImagePullBackOff", "message": "cannot pull"}
    labels = {"app.kubernetes.io/part-of": "kudo", "app.kubernetes.io/component": "webhook"}
    status = {"containerStatuses": [{"state": {"waiting": waiting}}]}
    add(server, "pods", "kudo-webhook-1", metadata={"labels": labels}, status=status)

    ran = init(BUILT_IN, "--wait", "--wait-timeout=1")

    assert ran.code == 7
    assert ran.err == (
        "Error: watch timed out, readiness uncertain: after 1s, deployment.apps/kudo-webhook: "
        "0 of 2 replicas are available\n"
        "  pod kudo-webhook-1: ImagePullBackOff cannot pull\n"
        "  Run the same command again to continue.\n"
    )


def test_waiting_ends_when_the_api_server_asks_the_webhook(init: Cli, server: FakeApi) -> None:
    ran = init(BUILT_IN, "--wait")
    assert (ran.code, ran.out.splitlines()) == (0, STEPS + WAITED)


@pytest.mark.parametrize(
    ("judgement", "text"),
    [
        (None, "the API server does not call the webhook: its configuration is missing or empty"),
        (
            (500, "InternalError", f'failed calling webhook "{HOOK}": unknown authority'),
            f'failed calling webhook "{HOOK}": unknown authority',
        ),
        ((403, "Forbidden", "you may not create instances"), "you may not create instances"),
    ],
)
def test_waiting_tells_why_the_webhook_is_not_asked(
    init: Cli, server: FakeApi, judgement: tuple[int, str, str] | None, text: str
) -> None:
    server.judgement = judgement
    ran = init(BUILT_IN, "--wait", "--wait-timeout=1")
    first, _, advice = ran.err.partition("\n")
    assert first == f"Error: watch timed out, readiness uncertain: after 1s, {text}"
    assert ("The webhook of KUDO does not answer." in advice) == ("failed calling" in text)


def test_with_output_the_manifests_are_printed_and_installed(init: Cli, server: FakeApi) -> None:
    ran = init(BUILT_IN, "-o", "json")
    printed = json.loads(ran.out)
    # The key for digests is no manifest.
    assert len(printed) == len(server.objects) - 1
    assert ran.err.splitlines() == [*STEPS, *IN_COMPAT.splitlines()]


def test_a_webhook_of_cert_manager_that_does_not_answer_is_told_with_its_object(
    init: Cli, server: FakeApi
) -> None:
    cert_manager(server)
    text = (
        'Internal error occurred: failed calling webhook "webhook.cert-manager.io": failed to call '
        'webhook: Post "https://cert-manager-webhook": context deadline exceeded'
    )
    server.refusals["PATCH", "certificates/kudo-webhook"] = (500, text)

    assert init().err == (
        f"Error: failed to apply certificate.cert-manager.io/kudo-webhook: {text}\n"
        "  check the pods of that webhook, then run the same command again\n"
    )


def test_an_object_whose_write_is_not_answered_is_named(init: Cli, server: FakeApi) -> None:
    server.silent.add("deployments/kudo-webhook")

    [line] = init(BUILT_IN, "--request-timeout=1").err.splitlines()

    assert line.startswith(
        "Error: failed to apply deployment.apps/kudo-webhook: no answer from the API server: "
    )


@pytest.mark.parametrize(("flags", "seconds"), [((), 75.0), (("--request-timeout=5",), 5.0)])
def test_a_request_may_take_longer_than_the_api_server_gives_it(
    init: Cli, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], seconds: float
) -> None:
    given: list[float] = []

    class Watched(Client):
        def __init__(self, config: ClusterConfig, *, timeout: float, **more: Any) -> None:
            given.append(timeout)
            super().__init__(config, timeout=timeout, **more)

    monkeypatch.setattr("kubectl_kudo.session.session.Client", Watched)

    assert init("--crd-only", *flags).code == 0
    assert given == [seconds]


# Upgrades


def test_where_the_certificate_comes_from_is_changed_by_an_upgrade_only(
    init: Cli, server: FakeApi
) -> None:
    cert_manager(server)
    init(BUILT_IN)

    assert init().err == (
        "Error: failed to verify installation requirements: the installed webhook issues "
        f"its certificate itself: add {BUILT_IN}, or change that with --upgrade\n"
    )
    assert init("--upgrade").code == 0
    assert server.names("certificates") == ["kudo-webhook", "kudo-webhook-ca"]
    assert init(BUILT_IN, "--upgrade").code == 0
    assert server.names("certificates") == server.names("issuers") == []


def test_what_the_api_server_refuses_is_told_with_the_object(init: Cli, server: FakeApi) -> None:
    path = "clusterroles/kudo-reconciler-workloads"
    server.refusals["PATCH", path] = (403, "attempting to grant secrets")
    ran = init(BUILT_IN)
    assert ran.err == (
        "Error: failed to apply clusterrole.rbac.authorization.k8s.io/kudo-reconciler-workloads: "
        "attempting to grant secrets\n"
    )


# KUDO 0.19


def test_the_old_manager_is_stopped_before_ours_works_and_removed_after(
    init: Cli, server: FakeApi
) -> None:
    old_manager(server)
    replicas: list[int] = []

    def note(write: str) -> None:
        if write == "PATCH deployments/kudo-reconciler":
            replicas.append(server.objects[OLD_MANAGER]["spec"]["replicas"])

    server.before_write = note

    ran = init(BUILT_IN, "--take-over")

    assert (ran.code, ran.err) == (0, IN_COMPAT)
    assert replicas == [0]
    assert ran.out.splitlines()[-4:] == [
        *WAITED,
        (
            "removed mutatingwebhookconfiguration.admissionregistration.k8s.io/"
            "kudo-manager-instance-admission-webhook-config of KUDO 0.19"
        ),
        "removed statefulset.apps/kudo-controller-manager of KUDO 0.19",
    ]
    assert OLD_MANAGER not in server.objects
    assert OLD_CONFIGURATION not in server.objects


def test_the_old_manager_goes_on_while_ours_cannot_start(init: Cli, server: FakeApi) -> None:
    old_manager(server)
    server.unavailable.add("kudo-webhook")

    ran = init(BUILT_IN, "--take-over", "--wait", "--wait-timeout=1")

    assert ran.code == 7
    assert server.objects[OLD_MANAGER]["spec"]["replicas"] == 1
    assert "kudo-reconciler" not in server.names("deployments")


def test_the_old_webhook_stays_while_ours_is_not_asked(init: Cli, server: FakeApi) -> None:
    old_manager(server)
    server.judgement = (500, "InternalError", "failed calling webhook")

    ran = init(BUILT_IN, "--take-over", "--wait", "--wait-timeout=1")

    assert ran.code == 7
    assert {OLD_MANAGER, OLD_CONFIGURATION} <= set(server.objects)


def test_without_an_old_manager_take_over_installs(init: Cli, server: FakeApi) -> None:
    assert init(BUILT_IN, "--take-over").out.splitlines() == STEPS


def test_what_a_former_version_needed_is_removed(init: Cli, server: FakeApi) -> None:
    labels = {
        "app.kubernetes.io/managed-by": "kubectl-kudo",
        "app.kubernetes.io/part-of": "kudo",
    }
    add(server, "clusterroles", "kudo-former", metadata={"labels": labels})
    add(server, "clusterroles", "kudo-of-others")

    ran = init(BUILT_IN)

    assert "removed clusterrole.rbac.authorization.k8s.io/kudo-former\n" in ran.out
    names = server.names("clusterroles")
    assert "kudo-of-others" in names
    assert "kudo-former" not in names
