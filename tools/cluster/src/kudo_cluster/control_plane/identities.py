"""Who may use a short-lived cluster: its keys and certificates, and the kubeconfig files of users.

One CA signs the certificates of the API server and of clients, another one those of webhooks, so
that a CA that is trusted for webhooks is not trusted for clients. All keys are new; certificates
are valid for a week. They have key usages and key identifiers, which strict verifiers (Python 3.13)
require.

There are four identities, each with a client certificate: ``admin`` is in ``system:masters``, for
the setup only; ``user`` has the rights of rbac.yaml; ``webhook`` and ``reconciler`` have those of
chart-rbac.yaml, which are generated from the chart. Keys are inlined, so a kubeconfig can be
copied; its mode is 0600.
"""

import base64
import datetime as dt
import ipaddress
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=7)
_CLOCK_SKEW = dt.timedelta(minutes=5)
_RSA_BITS = 2048

_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
_PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, as PEM."""

    certificate: bytes
    key: bytes

    def write(self, directory: Path, name: str) -> tuple[Path, Path]:
        """Write NAME.crt and NAME.key and return their paths; only the owner may read the key."""
        directory.mkdir(parents=True, exist_ok=True)
        certificate, key = directory / f"{name}.crt", directory / f"{name}.key"
        certificate.write_bytes(self.certificate)
        write_private(key, self.key)
        return certificate, key


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate authority that signs leaves."""

    pair: Pair

    @classmethod
    def create(cls, name: str) -> "Authority":
        """Make a new self-signed authority."""
        # The API server checks the authority's signature with every request, and a signature of RSA
        # is checked in a third of the time.
        key = rsa.generate_private_key(public_exponent=65537, key_size=_RSA_BITS)
        subject = _name(name)
        certificate = (
            _builder(subject, subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(authority=True), critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(_pair(certificate, key))

    @classmethod
    def read(cls, directory: Path, name: str) -> "Authority":
        """Read the files that ``pair.write`` wrote."""
        certificate = (directory / f"{name}.crt").read_bytes()
        return cls(Pair(certificate, (directory / f"{name}.key").read_bytes()))

    def server(self, name: str, hosts: Iterable[str]) -> Pair:
        """Issue a server certificate for IP addresses and DNS names."""
        alternatives = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
        return self._sign(_name(name), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, user: str, *groups: str) -> Pair:
        """Issue a client certificate for a Kubernetes user (CN) and its groups (O)."""
        return self._sign(_name(user, *groups), ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _sign(
        self,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None,
    ) -> Pair:
        issuer = x509.load_pem_x509_certificate(self.pair.certificate)
        issuer_key = serialization.load_pem_private_key(self.pair.key, password=None)
        assert isinstance(issuer_key, rsa.RSAPrivateKey)
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, issuer.subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()),
                critical=False,
            )
        )
        if alternatives is not None:
            builder = builder.add_extension(alternatives, critical=False)
        return _pair(builder.sign(issuer_key, hashes.SHA256()), key)


def write_private(path: Path, content: bytes) -> None:
    """Write a file with mode 0600, which it has before it has content."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(content)


def signing_key() -> tuple[bytes, bytes]:
    """Return a new key pair for service account tokens: private and public key as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return _private_pem(key), public


def _builder(subject: x509.Name, issuer: x509.Name, key: _PublicKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common_name: str, *organizations: str) -> x509.Name:
    return x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in organizations),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pair(certificate: x509.Certificate, key: _Key) -> Pair:
    return Pair(certificate.public_bytes(serialization.Encoding.PEM), _private_pem(key))


def _private_pem(key: _Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


Role = Literal["admin", "user", "webhook", "reconciler"]
ROLES: tuple[Role, ...] = get_args(Role)


@dataclass(frozen=True, slots=True)
class Identity:
    """A Kubernetes user name and its groups."""

    user: str
    groups: tuple[str, ...] = ()


IDENTITIES: dict[Role, Identity] = {
    "admin": Identity("kudo-admin", ("system:masters",)),
    "user": Identity("kudo-user"),
    "webhook": Identity("kudo-webhook"),
    "reconciler": Identity("kudo-reconciler"),
}


def path_of(directory: Path, role: Role) -> Path:
    """Return the path of a role's kubeconfig in a cluster's directory."""
    return directory / "kubeconfigs" / f"{role}.kubeconfig"


def write_kubeconfigs(directory: Path, *, cluster: str, server: str, authority: Authority) -> None:
    """Issue a client certificate for each role and write its kubeconfig."""
    for role in ROLES:
        path = path_of(directory, role)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_kubeconfig(
            path, IDENTITIES[role], cluster=cluster, server=server, authority=authority
        )


def write_kubeconfig(
    path: Path, who: Identity, *, cluster: str, server: str, authority: Authority
) -> None:
    """Issue a client certificate for an identity and write its kubeconfig."""
    pair = authority.client(who.user, *who.groups)
    document = _document(cluster, server, authority.pair.certificate, who.user, pair)
    # JSON is YAML, which every reader of kubeconfigs accepts.
    write_private(path, json.dumps(document, indent=2).encode())


def _document(cluster: str, server: str, ca: bytes, user: str, pair: Pair) -> dict[str, object]:
    name = f"kudo-{cluster}"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": server, "certificate-authority-data": _base64(ca)},
            }
        ],
        "users": [
            {
                "name": user,
                "user": {
                    "client-certificate-data": _base64(pair.certificate),
                    "client-key-data": _base64(pair.key),
                },
            }
        ],
        "contexts": [
            {"name": name, "context": {"cluster": name, "user": user, "namespace": "default"}}
        ],
        "current-context": name,
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
