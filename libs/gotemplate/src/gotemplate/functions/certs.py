"""Sprig's functions on private keys and certificates.

Every one of them is expensive. The library behind them is loaded when the first one is called, and
paid for before: loading it takes longer than an event loop may wait.
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gotemplate.errors import FunctionError
from gotemplate.functions.encoding import decode_base64
from gotemplate.golang.gofmt import plain_text
from gotemplate.golang.values import from_bytes
from gotemplate.rendering import Rendering
from gotemplate.types.signature import INT, LIST, STRING, Field, Function, Param

if TYPE_CHECKING:
    from gotemplate.types.certificates import Address, Issuer, PrivateKey, Subject

_SERIAL_BYTES: Final = 16
_RSA_BITS: Final = 2048
_NANOS: Final = 10**9


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its private key in PEM; templates read `.Cert` and `.Key`."""

    cert: str
    key: str

    def go_type(self) -> str:
        return "sprig.certificate"

    def go_text(self) -> str:
        return f"{{{self.cert} {self.key}}}"

    def go_json(self) -> object:
        return {"Cert": self.cert, "Key": self.key}

    def go_method(self, name: str) -> Function | None:
        text = {"Cert": self.cert, "Key": self.key}.get(name)
        return None if text is None else Field(name, lambda: text)


_CERTIFICATE: Final = Param("sprig.certificate", types=(Certificate,))
_Items = Sequence[object] | None


def gen_private_key(run: Rendering, kind: str) -> str:
    """Generate a private key: "rsa" (also for ""), "dsa", "ecdsa" or "ed25519"."""
    run.spend()
    from gotemplate.types import certificates

    key = certificates.generate_key(kind)
    return f"Unknown type {kind}" if key is None else certificates.write_key(key)


def gen_ca(run: Rendering, name: str, days: int) -> Certificate:
    """Create a certificate authority: a certificate that may sign others, and its key."""
    return _self_signed(_subject(run, name, None, None, days), _new_key(run), authority=True)


def gen_ca_with_key(run: Rendering, name: str, days: int, pem: str) -> Certificate:
    """Create a certificate authority for a given key."""
    key = _key(run, pem)
    return _self_signed(_subject(run, name, None, None, days), key, authority=True)


def gen_self_signed(
    run: Rendering, name: str, addresses: _Items, hosts: _Items, days: int
) -> Certificate:
    """Create a self-signed certificate for addresses and hosts, and its key."""
    subject = _subject(run, name, addresses, hosts, days)
    return _self_signed(subject, _new_key(run), authority=False)


def gen_self_signed_with_key(
    run: Rendering, name: str, addresses: _Items, hosts: _Items, days: int, pem: str
) -> Certificate:
    """Create a self-signed certificate for addresses and hosts, for a given key."""
    key = _key(run, pem)
    subject = _subject(run, name, addresses, hosts, days)
    return _self_signed(subject, key, authority=False)


def gen_signed(
    run: Rendering, name: str, addresses: _Items, hosts: _Items, days: int, authority: Certificate
) -> Certificate:
    """Create a certificate for addresses and hosts, signed by an authority, and its key."""
    issuer = _issuer(run, authority)
    subject = _subject(run, name, addresses, hosts, days)
    return _signed(subject, _new_key(run), issuer, authority=False)


def gen_signed_with_key(
    run: Rendering,
    name: str,
    addresses: _Items,
    hosts: _Items,
    days: int,
    authority: Certificate,
    pem: str,
) -> Certificate:
    """Create a certificate for addresses and hosts, signed by an authority, for a given key."""
    key = _key(run, pem)
    issuer = _issuer(run, authority)
    return _signed(_subject(run, name, addresses, hosts, days), key, issuer, authority=False)


def build_custom_cert(run: Rendering, cert: str, key: str) -> Certificate:
    """Return a certificate of a certificate and a key given in base64 of PEM.

    Raises:
        FunctionError: one of them is not valid PEM.
    """
    # Before the import: where expensive functions are forbidden, no library is loaded for them.
    run.spend()
    from gotemplate.types import certificates

    certificate = Certificate(_decoded(cert, "certificate"), _decoded(key, "private key"))
    try:
        certificates.read_certificate(certificate.cert)
    except certificates.CertificateError as error:
        raise FunctionError(str(error)) from error
    try:
        certificates.read_key(certificate.key)
    except certificates.PrivateKeyError as error:
        raise FunctionError(f"error parsing private key: {error}") from error
    return certificate


def _decoded(text: str, what: str) -> str:
    data = decode_base64(text)
    if data is None:
        raise FunctionError(f"unable to decode base64 {what}")
    return from_bytes(data)


def _new_key(run: Rendering) -> "PrivateKey":
    run.spend()
    from gotemplate.types import certificates

    return certificates.generate_rsa(_RSA_BITS)


def _key(run: Rendering, pem: str) -> "PrivateKey":
    run.spend()
    from gotemplate.types import certificates

    try:
        return certificates.read_key(pem)
    except certificates.PrivateKeyError as error:
        raise FunctionError(f"parsing private key: {error}") from error


def _issuer(run: Rendering, authority: Certificate) -> "Issuer":
    run.spend()
    from gotemplate.types import certificates

    try:
        certificate = certificates.read_certificate(authority.cert)
    except certificates.CertificateError as error:
        words = str(error).replace("decodedCert", "decodedSignerCert")
        raise FunctionError(words) from error
    try:
        return certificates.Issuer(certificate, certificates.read_key(authority.key))
    except certificates.PrivateKeyError as error:
        raise FunctionError(f"error parsing private key: {error}") from error


def _subject(run: Rendering, name: str, addresses: _Items, hosts: _Items, days: int) -> "Subject":
    run.need_library()
    from gotemplate.types.certificates import Subject

    parsed = [_address(run, item) for item in addresses or ()]
    names = [_host(run, item) for item in hosts or ()]
    serial = int.from_bytes(run.sources.random(_SERIAL_BYTES), "big")
    # A serial number has to be positive (RFC 5280).
    return Subject(name, parsed, names, days, run.sources.now() // _NANOS, serial or 1)


def _address(run: Rendering, item: object) -> "Address":
    if not isinstance(item, str):
        raise FunctionError(f"error parsing ip: {plain_text(run, item)} is not a string")
    try:
        address = ipaddress.ip_address(item)
    except ValueError:
        raise FunctionError(f"error parsing ip: {item}") from None
    # Go writes such an address into a certificate as the IPv4 address that it is.
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return address.ipv4_mapped
    return address


def _host(run: Rendering, item: object) -> str:
    if not isinstance(item, str):
        text = plain_text(run, item)
        raise FunctionError(f"error processing alternate dns name: {text} is not a string")
    return item


def _self_signed(subject: "Subject", key: "PrivateKey", *, authority: bool) -> Certificate:
    return _signed(subject, key, None, authority=authority)


def _signed(
    subject: "Subject", key: "PrivateKey", issuer: "Issuer | None", *, authority: bool
) -> Certificate:
    from gotemplate.types import certificates

    try:
        text = certificates.sign(subject, key, issuer, authority=authority)
    except certificates.CertificateError as error:
        raise FunctionError(str(error)) from error
    return Certificate(text, certificates.write_key(key))


_FOR: Final = (STRING, LIST, LIST, INT)

FUNCTIONS: Final = (
    Function("genPrivateKey", gen_private_key, (STRING,), uses_rendering=True),
    Function("genCA", gen_ca, (STRING, INT), uses_rendering=True),
    Function("genCAWithKey", gen_ca_with_key, (STRING, INT, STRING), uses_rendering=True),
    Function("genSelfSignedCert", gen_self_signed, _FOR, uses_rendering=True),
    Function(
        "genSelfSignedCertWithKey", gen_self_signed_with_key, (*_FOR, STRING), uses_rendering=True
    ),
    Function("genSignedCert", gen_signed, (*_FOR, _CERTIFICATE), uses_rendering=True),
    Function(
        "genSignedCertWithKey",
        gen_signed_with_key,
        (*_FOR, _CERTIFICATE, STRING),
        uses_rendering=True,
    ),
    Function("buildCustomCert", build_custom_cert, (STRING, STRING), uses_rendering=True),
)
