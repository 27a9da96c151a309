"""Private keys and X.509 certificates as Sprig makes, writes and reads them.

Keys come from the library `cryptography`, which has its own source of random bytes.
"""

import base64
import binascii
import ipaddress
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gotemplate.golang.literals import quote

PrivateKey = (
    rsa.RSAPrivateKey | dsa.DSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
)
_KINDS: Final = (
    rsa.RSAPrivateKey,
    dsa.DSAPrivateKey,
    ec.EllipticCurvePrivateKey,
    ed25519.Ed25519PrivateKey,
)
_EXPONENT: Final = 65_537
_BEGIN: Final = re.compile(r"^-----BEGIN ([^\n]*?)-----[ \t]*\r?\n", re.MULTILINE)
# Texts come from templates, and each line that looks like a beginning costs a search.
_LONGEST: Final = 1 << 16
_SUFFIX: Final = " PRIVATE KEY"
_TYPED: Final = {
    "RSA": rsa.RSAPrivateKey,
    "EC": ec.EllipticCurvePrivateKey,
    "DSA": dsa.DSAPrivateKey,
}


class PrivateKeyError(ValueError):
    """The text is not a private key; the error's text is Sprig's."""


@dataclass(frozen=True, slots=True)
class Block:
    """A PEM block: its type and its bytes."""

    kind: str
    data: bytes


def find_block(text: str) -> Block | None:
    """Find the first PEM block in a text; None if there is none or the text is very long."""
    if len(text) > _LONGEST:
        return None
    for start in _BEGIN.finditer(text):
        end = text.find(f"\n-----END {start[1]}-----", start.end() - 1)
        if end >= 0 and (data := _decoded(text[start.end() : end])) is not None:
            return Block(start[1], data)
    return None


def _decoded(body: str) -> bytes | None:
    """Decode the lines of a block; headers, if there are some, end with an empty line."""
    # Base64 has no colon, so it is one of a header.
    if ":" in body:
        body = body.replace("\r\n", "\n").partition("\n\n")[2]
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except binascii.Error:
        return None


def generate_rsa(bits: int) -> rsa.RSAPrivateKey:
    """Generate an RSA key; 2048 bits take about 0.1 s, 4096 bits a second or several."""
    return rsa.generate_private_key(_EXPONENT, bits)


def generate_key(kind: str) -> PrivateKey | None:
    """Generate a key: "rsa" of 4096 bits (also for ""), "dsa", "ecdsa" or "ed25519"; else None."""
    match kind:
        case "" | "rsa":
            return generate_rsa(4096)
        case "dsa":
            return dsa.generate_private_key(2048)
        case "ecdsa":
            return ec.generate_private_key(ec.SECP256R1())
        case "ed25519":
            return ed25519.Ed25519PrivateKey.generate()
    return None


def write_key(key: PrivateKey) -> str:
    """Encode a key as PEM, in the traditional form of its algorithm if there is one."""
    old = not isinstance(key, ed25519.Ed25519PrivateKey)
    form = PrivateFormat.TraditionalOpenSSL if old else PrivateFormat.PKCS8
    return key.private_bytes(Encoding.PEM, form, NoEncryption()).decode()


def read_key(text: str) -> PrivateKey:
    """Read a key from PEM.

    Raises:
        PrivateKeyError: there is none, or one of an algorithm that Sprig does not know.
    """
    block = find_block(text)
    if block is None:
        raise PrivateKeyError("no PEM data in input")
    if block.kind == "PRIVATE KEY":
        return _load(block.data, "decoding PEM as PKCS#8", _KINDS)
    if not block.kind.endswith(_SUFFIX):
        raise PrivateKeyError(f"no private key data in PEM block of type {block.kind}")
    kind = block.kind.removesuffix(_SUFFIX)
    if kind not in _TYPED:
        raise PrivateKeyError(f"invalid private key type {block.kind}")
    return _load(block.data, f"parsing {kind} private key from PEM", (_TYPED[kind],))


def _load(data: bytes, doing: str, expected: tuple[type, ...]) -> PrivateKey:
    try:
        key = load_der_private_key(data, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise PrivateKeyError(f"{doing}: malformed key") from error
    if not isinstance(key, expected) or not isinstance(key, _KINDS):
        raise PrivateKeyError(f"{doing}: it is a key of another algorithm")
    return key


_MALFORMED: Final = "error parsing certificate: decodedCert.Bytes: x509: malformed certificate"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_USAGES: Final = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class CertificateError(ValueError):
    """A certificate cannot be created or read; the error's text is Sprig's."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a certificate, and how long it is valid.

    Attributes:
        name: the common name; none when it is "".
        addresses: IP addresses it is valid for.
        hosts: host names it is valid for.
        days: from now on.
        now: seconds since 1970.
        serial: the serial number.
    """

    name: str
    addresses: Sequence[Address]
    hosts: Sequence[str]
    days: int
    now: int
    serial: int


@dataclass(frozen=True, slots=True)
class Issuer:
    """A certificate that signs, and its key."""

    certificate: x509.Certificate
    key: PrivateKey


def read_certificate(text: str) -> x509.Certificate:
    """Read the first certificate of a text in PEM.

    Raises:
        CertificateError: the text has no certificate.
    """
    block = find_block(text)
    if block is None:
        raise CertificateError("unable to decode certificate")
    try:
        return x509.load_der_x509_certificate(block.data)
    except ValueError as error:
        raise CertificateError(_MALFORMED) from error


def sign(subject: Subject, key: PrivateKey, issuer: Issuer | None, *, authority: bool) -> str:
    """Sign a certificate; returns PEM.

    Args:
        subject: its subject.
        key: the key of the subject.
        issuer: who signs it; None when the subject does.
        authority: whether it may sign others.

    Raises:
        CertificateError: it cannot be made.
    """
    signing = issuer.key if issuer else key
    # Go makes such keys and cannot sign with them.
    if isinstance(signing, dsa.DSAPrivateKey):
        raise _failure("x509: certificate private key does not implement crypto.Signer")
    try:
        with warnings.catch_warnings():
            # Names of more than 64 characters, such as those of services, are against the
            # standard; Go writes them all the same.
            warnings.simplefilter("ignore", UserWarning)
            builder = _builder(subject, key, issuer, authority=authority)
        # Ed25519 hashes by itself.
        algorithm = None if isinstance(signing, ed25519.Ed25519PrivateKey) else hashes.SHA256()
        certificate = builder.sign(signing, algorithm)
    except (ValueError, TypeError, OverflowError) as error:
        raise _failure(str(error)) from error
    return certificate.public_bytes(Encoding.PEM).decode()


def _failure(reason: str) -> CertificateError:
    return CertificateError(f"error creating certificate: {reason}")


def _builder(
    subject: Subject, key: PrivateKey, issuer: Issuer | None, *, authority: bool
) -> x509.CertificateBuilder:
    name = _name(subject.name)
    start = _EPOCH + timedelta(seconds=subject.now)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.certificate.subject if issuer else name)
        .serial_number(subject.serial)
        .public_key(key.public_key())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=subject.days))
        .add_extension(_usage(authority=authority), critical=True)
        .add_extension(x509.ExtendedKeyUsage(_USAGES), critical=False)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
    )
    if authority:
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = builder.add_extension(identifier, critical=False)
    # As in Go, which leaves it out where subject and issuer are the same.
    if issuer and issuer.certificate.subject != name:
        builder = _with_authority(builder, issuer.certificate)
    if names := _names(subject):
        alternative = x509.SubjectAlternativeName(names)
        # RFC 5280: critical where the subject is empty, since nothing else names the owner.
        builder = builder.add_extension(alternative, critical=not subject.name)
    return builder


def _with_authority(
    builder: x509.CertificateBuilder, issuer: x509.Certificate
) -> x509.CertificateBuilder:
    """Add the issuer's key identifier, if its certificate has one."""
    try:
        extension = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:
        return builder
    identifier = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(extension.value)
    return builder.add_extension(identifier, critical=False)


def _name(text: str) -> x509.Name:
    if not text:
        return x509.Name([])
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text, _validate=False)])


def _names(subject: Subject) -> list[x509.GeneralName]:
    for host in subject.hosts:
        if not host.isascii():
            raise ValueError(f"x509: {quote(host)} cannot be encoded as an IA5String")
    hosts: list[x509.GeneralName] = [x509.DNSName(host) for host in subject.hosts]
    return hosts + [x509.IPAddress(address) for address in subject.addresses]


def _usage(*, authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=authority,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
