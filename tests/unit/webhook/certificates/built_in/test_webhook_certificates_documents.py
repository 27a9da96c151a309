"""The folder certs/: what it says fits the webhook, and the manifests fit one another."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kudo_webhook.certificates.authority import serving_names
from kudo_webhook.settings import OPTIONS

ROOT = Path(__file__).resolve().parents[5]
README = (ROOT / "certs" / "README.md").read_text(encoding="utf-8")
MANIFEST = (ROOT / "certs" / "cert-manager.yaml").read_text(encoding="utf-8")
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all(MANIFEST))


def named(kind: str, name: str) -> dict[str, Any]:
    [found] = [one for one in OBJECTS if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


def test_everything_is_of_cert_manager_and_in_the_namespace_of_kudo() -> None:
    assert [one["kind"] for one in OBJECTS] == ["Issuer", "Certificate", "Issuer", "Certificate"]
    assert {one["apiVersion"] for one in OBJECTS} == {"cert-manager.io/v1"}
    assert {one["metadata"]["namespace"] for one in OBJECTS} == {"kudo-system"}


def test_each_certificate_comes_from_an_issuer_that_is_there() -> None:
    leaf, authority = named("Certificate", "kudo-webhook"), named("Certificate", "kudo-webhook-ca")
    assert named("Issuer", authority["spec"]["issuerRef"]["name"])["spec"] == {"selfSigned": {}}
    issuer = named("Issuer", leaf["spec"]["issuerRef"]["name"])
    assert issuer["spec"]["ca"]["secretName"] == authority["spec"]["secretName"]
    assert authority["spec"]["isCA"] is True
    assert authority["spec"]["privateKey"]["rotationPolicy"] == "Never"


def test_the_certificate_has_the_names_of_the_service_and_the_secret_that_is_mounted() -> None:
    leaf = named("Certificate", "kudo-webhook")["spec"]
    assert set(leaf["dnsNames"]) == serving_names("kudo-webhook", "kudo-system")
    assert f"`{leaf['secretName']}`" in README


@pytest.mark.parametrize("text", [README, MANIFEST])
def test_the_annotation_names_the_certificate(text: str) -> None:
    [name] = re.findall(r"cert-manager\.io/inject-ca-from: kudo-system/(\S+)", text)
    assert named("Certificate", name)["spec"]["secretName"] == "kudo-webhook-tls"


def test_the_options_that_are_named_exist() -> None:
    flags = {option.flag for option in OPTIONS}
    lines = [line for line in README.splitlines() if "kubectl " not in line]
    assert set(re.findall(r"--[a-z][a-z-]+", "\n".join(lines))) <= flags


def test_the_rights_that_are_named_are_those_that_the_tests_run_with() -> None:
    file = ROOT / "tools/cluster/src/kudo_cluster/chart-rbac.yaml"
    installed = {
        one["kind"]: one["rules"]
        for one in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if one["metadata"]["name"] == "kudo-webhook" and "rules" in one
    }
    blocks = re.findall(r"```yaml\n(kind: Role.*?)```", README, re.DOTALL)
    documents = list(yaml.safe_load_all(blocks[0]))
    assert [one["kind"] for one in documents] == ["Role", "ClusterRole"]
    for one in documents:
        assert all(rule in installed[one["kind"]] for rule in one["rules"])
