"""Makes authorities and serving certificates, writes them as PEM, and reads them.

ECDSA P-256 keys; times are passed in, and derived from `Lifetimes`. Certificates have the key
usages and key identifiers that strict verifiers require. A key is written only as the PEM that was
asked for.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Self

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DURATION = re.compile(r"(?=.)(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
_SHORTEST_LEAF = timedelta(seconds=10)
_LONGEST = timedelta(days=36500)
_RESOLUTION = timedelta(seconds=1)


def duration(text: str) -> timedelta:
    """Convert a duration such as 90d, 12h, 30m, 45s or 1d12h.

    Raises:
        ValueError: it is none.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no duration; write 90d, 12h, 30m, 45s or 1d12h")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The configured lifetimes; other times are shares of them, also where tests use short ones.

    Attributes:
        authority: Life of an authority.
        leaf: Life of a serving certificate; never beyond the end of its authority.

    Raises:
        ValueError: the leaf expires too soon to be renewed in time, or the authority expires too
            soon for the leaf.
    """

    authority: timedelta
    leaf: timedelta

    def __post_init__(self) -> None:
        if self.leaf < _SHORTEST_LEAF:
            raise ValueError("a serving certificate must live for 10s at least")
        if self.authority < 2 * self.leaf:
            raise ValueError("the authority must live at least twice as long as what it signs")
        if self.authority > _LONGEST:
            raise ValueError("the authority must not live for more than 36500d")

    @property
    def backdating(self) -> timedelta:
        """How long before its creation a certificate is valid, for clocks that are behind."""
        return min(self.leaf / 10, timedelta(hours=1))

    @property
    def settling(self) -> timedelta:
        """How long an authority is in the caBundles before anything signed by it is stored."""
        return min(self.leaf / 12, timedelta(minutes=1))

    @property
    def polling(self) -> timedelta:
        """Between two attempts of a replica."""
        return min(self.leaf / 60, timedelta(seconds=10))

    @property
    def patience(self) -> timedelta:
        """How long an attempt may take; then it is cancelled."""
        return min(self.leaf / 6, timedelta(seconds=30))

    @property
    def overlap(self) -> timedelta:
        """How long a former authority stays trusted after its successor was created.

        An attempt that began before the successor was written may still sign with it: at most one
        attempt later, by clocks that differ by `backdating` at most.
        """
        return self.leaf + 2 * self.patience + self.backdating + _RESOLUTION


_COMMON_NAME = "kudo-webhook"


class Damaged(ValueError):
    """The stored pair cannot be used; the text says why and quotes nothing of it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key.

    Attributes:
        certificate: The certificate.
        key: Its key.
        issuer: The certificate of who signed it; of an authority itself.
    """

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False, compare=False)
    issuer: x509.Certificate

    @classmethod
    def read(cls, certificate: bytes, key: bytes, issuer: bytes) -> Self:
        """Read what `certificate_pem` and `key_pem` wrote.

        Raises:
            Damaged: a part is missing or unreadable, or they do not belong together.
        """
        pair = cls(_certificate(certificate), _key(key), _certificate(issuer))
        if pair.key.public_key() != pair.certificate.public_key():
            raise Damaged("the key does not belong to the certificate")
        if not issued_by(pair.certificate, pair.issuer):
            raise Damaged("the certificate is not signed by its issuer")
        return pair

    @property
    def certificate_pem(self) -> bytes:
        return pem(self.certificate)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    @property
    def names(self) -> frozenset[str]:
        """Return the DNS names that it is valid for."""
        try:
            extension = self.certificate.extensions.get_extension_for_class(
                x509.SubjectAlternativeName
            )
        except (x509.ExtensionNotFound, ValueError):
            # Of a pair that somebody else has stored: it is replaced for lack of our names.
            return frozenset()
        return frozenset(extension.value.get_values_for_type(x509.DNSName))

    @property
    def is_authority(self) -> bool:
        return self.certificate == self.issuer and may_sign(self.certificate)


def serving_names(service: str, namespace: str) -> frozenset[str]:
    """Return the DNS names under which a Service is called; API servers use the first."""
    host = f"{service}.{namespace}"
    return frozenset((f"{host}.svc", f"{host}.svc.cluster.local", host))


def new_authority(now: datetime, lifetimes: Lifetimes) -> Pair:
    """Make a self-signed authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    # Verifiers choose an authority by its subject first, so two in one bundle need two names.
    subject = _name(f"{_COMMON_NAME}-ca-{serial:x}"[:64])
    certificate = (
        _builder(subject, subject, key.public_key(), serial)
        .not_valid_before(now - lifetimes.backdating)
        .not_valid_after(now + lifetimes.authority)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(authority=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Pair(certificate, key, certificate)


def new_leaf(authority: Pair, names: Iterable[str], now: datetime, lifetimes: Lifetimes) -> Pair:
    """Make a serving certificate; it does not outlive the authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    end = min(now + lifetimes.leaf, issuer.not_valid_after_utc)
    certificate = (
        _builder(_name(_COMMON_NAME), issuer.subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - lifetimes.backdating)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()),
            critical=False,
        )
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name) for name in sorted(names)]),
            critical=False,
        )
        .sign(authority.key, hashes.SHA256())
    )
    return Pair(certificate, key, issuer)


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    """Whether the one signed the other; says nothing of their times."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def may_sign(certificate: x509.Certificate) -> bool:
    """Whether it says of itself that it is an authority."""
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (x509.ExtensionNotFound, ValueError):
        return False


def _certificate(text: bytes) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(text)
    except ValueError:
        # The error would quote what is stored, which may be a key in the wrong place.
        raise Damaged("a certificate is missing or unreadable") from None


def _key(text: bytes) -> ec.EllipticCurvePrivateKey:
    try:
        key = serialization.load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise Damaged("the key is missing, unreadable or encrypted") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise Damaged("the key is no ECDSA key")
    return key


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, serial: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(serial)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _key_usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not authority,
        key_cert_sign=authority,
        crl_sign=authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
