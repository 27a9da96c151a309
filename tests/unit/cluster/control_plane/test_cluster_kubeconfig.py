"""Kubeconfig files: one identity each, complete in themselves, private."""

import base64
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from kudo_cluster.control_plane import identities
from kudo_cluster.control_plane.identities import ROLES, Authority, Role


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    identities.write_kubeconfigs(
        tmp_path,
        cluster="demo",
        server="https://127.0.0.1:12345",
        authority=Authority.create("a test"),
    )
    return tmp_path


def _read(directory: Path, role: Role) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(identities.path_of(directory, role).read_text())
    return document


def test_the_current_context_leads_to_the_server_and_the_user(directory: Path) -> None:
    document = _read(directory, "reconciler")
    (context,) = document["contexts"]
    (cluster,) = document["clusters"]
    (user,) = document["users"]
    assert document["current-context"] == context["name"] == "kudo-demo"
    assert context["context"]["cluster"] == cluster["name"]
    assert context["context"]["user"] == user["name"] == "kudo-reconciler"
    assert cluster["cluster"]["server"] == "https://127.0.0.1:12345"


@pytest.mark.parametrize("role", ROLES)
def test_each_identity_has_a_certificate_of_its_own_name(directory: Path, role: Role) -> None:
    (user,) = _read(directory, role)["users"]
    pem = base64.b64decode(user["user"]["client-certificate-data"])
    subject = x509.load_pem_x509_certificate(pem).subject.rfc4514_string()
    expected = "CN=kudo-admin,O=system:masters" if role == "admin" else f"CN=kudo-{role}"
    assert subject == expected


@pytest.mark.parametrize("role", ROLES)
def test_only_the_owner_may_read_a_kubeconfig(directory: Path, role: Role) -> None:
    assert stat.S_IMODE(identities.path_of(directory, role).stat().st_mode) == 0o600
