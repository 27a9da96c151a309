"""An authority for client certificates, as the API server presents them to webhooks."""

import datetime as dt
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class Authority:
    """Signs client certificates."""

    name: str
    key: ec.EllipticCurvePrivateKey
    pem: bytes

    @classmethod
    def make(cls, name: str) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(name, key, _sign(name, key.public_key(), name, key, authority=True))

    def client(self, directory: Path, *, days: int = 1) -> ssl.SSLContext:
        """Return the context of a client with a certificate of this authority.

        The client trusts any server.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        path = directory / f"client of {self.name}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path.write_bytes(_sign("apiserver", key.public_key(), self.name, self.key, days) + private)
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.load_cert_chain(path)
        return context


def _sign(
    subject: str,
    public: ec.EllipticCurvePublicKey,
    issuer: str,
    key: ec.EllipticCurvePrivateKey,
    days: int = 1,
    *,
    authority: bool = False,
) -> bytes:
    now = dt.datetime.now(dt.UTC)
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, one)]) for one in (subject, issuer)]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(names[0])
        .issuer_name(names[1])
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=9))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM)
