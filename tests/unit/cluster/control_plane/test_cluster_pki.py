"""Certificates: whom they name, what they may be used for, and that strict verifiers take them."""

import datetime as dt
import ipaddress
import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kudo_cluster.control_plane.components import server_hosts
from kudo_cluster.control_plane.identities import LIFETIME, Authority, Pair, signing_key
from kudo_cluster.control_plane.network import LoopbackNetwork, NodeNetwork


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.create("a test")


def _parse(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate)


def _usages(certificate: x509.Certificate) -> list[x509.ObjectIdentifier]:
    return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_a_server_certificate_names_addresses_as_addresses(authority: Authority) -> None:
    pair = authority.server("kube-apiserver", server_hosts(LoopbackNetwork()))
    names = _parse(pair).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.IPAddress) == [
        ipaddress.ip_address("127.0.0.1"),
        ipaddress.ip_address("::1"),
        ipaddress.ip_address("10.96.0.1"),
    ]
    assert "kubernetes.default.svc" in names.get_values_for_type(x509.DNSName)
    assert _usages(_parse(pair)) == [ExtendedKeyUsageOID.SERVER_AUTH]


def test_beside_a_real_node_the_server_is_called_on_the_cable_too() -> None:
    hosts = server_hosts(NodeNetwork(3))
    assert {"127.0.0.1", "10.245.3.1", "10.96.3.1"} < set(hosts)


def test_a_client_certificate_names_the_user_and_the_groups(authority: Authority) -> None:
    certificate = _parse(authority.client("kudo-admin", "system:masters", "others"))
    names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    groups = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert [name.value for name in names] == ["kudo-admin"]
    assert [group.value for group in groups] == ["system:masters", "others"]
    assert _usages(certificate) == [ExtendedKeyUsageOID.CLIENT_AUTH]


def test_a_leaf_cannot_sign(authority: Authority) -> None:
    extensions = _parse(authority.client("kudo-user")).extensions
    assert not extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_certificates_are_valid_now_and_not_for_long(authority: Authority) -> None:
    certificate = _parse(authority.client("kudo-user"))
    now = dt.datetime.now(dt.UTC)
    assert certificate.not_valid_before_utc < now < certificate.not_valid_after_utc
    assert certificate.not_valid_after_utc - now <= LIFETIME


def test_an_authority_survives_writing_and_reading(authority: Authority, tmp_path: Path) -> None:
    authority.pair.write(tmp_path, "ca")
    again = Authority.read(tmp_path, "ca")
    _parse(again.server("localhost", ["localhost"])).verify_directly_issued_by(
        _parse(authority.pair)
    )


def test_only_the_owner_may_read_a_key(authority: Authority, tmp_path: Path) -> None:
    _, key = authority.pair.write(tmp_path, "ca")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def test_an_older_key_that_others_may_read_is_replaced(
    authority: Authority, tmp_path: Path
) -> None:
    key = tmp_path / "ca.key"
    key.touch(mode=0o644)
    authority.pair.write(tmp_path, "ca")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_strict_verifier_accepts_a_handshake(
    authority: Authority, tmp_path: Path, host: str
) -> None:
    certificate, key = authority.server("here", ["127.0.0.1", "localhost"]).write(tmp_path, "tls")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    client = ssl.create_default_context(cadata=authority.pair.certificate.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()

    def serve() -> None:
        with server.wrap_socket(theirs, server_side=True) as connection:
            connection.sendall(connection.recv(100))

    thread = threading.Thread(target=serve)
    thread.start()
    with client.wrap_socket(ours, server_hostname=host) as connection:
        connection.sendall(b"hello")
        assert connection.recv(100) == b"hello"
    thread.join()


def test_the_signing_keys_belong_together() -> None:
    private, public = signing_key()
    assert private.startswith(b"-----BEGIN PRIVATE KEY-----")
    assert public.startswith(b"-----BEGIN PUBLIC KEY-----")
