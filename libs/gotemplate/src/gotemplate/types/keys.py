"""Private keys as Sprig makes, writes and reads them.

Keys come from the library `cryptography`, which has its own source of random bytes.
"""

import base64
import binascii
import re
from dataclasses import dataclass
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_der_private_key,
)

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
    if ":" in body:
        body = body.replace("\r\n", "\n").partition("\n\n")[2]
    try:
        return base64.b64decode("".join(body.split()), validate=True)
    except binascii.Error:
        return None


def generate_rsa(bits: int) -> rsa.RSAPrivateKey:
    """Generate an RSA key; 2048 bits take about 0.1 s, 4096 bits a second or several."""
    return rsa.generate_private_key(_EXPONENT, bits)


def generate(kind: str) -> PrivateKey | None:
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


def write(key: PrivateKey) -> str:
    """Encode a key as PEM, in the traditional form of its algorithm if there is one."""
    old = not isinstance(key, ed25519.Ed25519PrivateKey)
    form = PrivateFormat.TraditionalOpenSSL if old else PrivateFormat.PKCS8
    return key.private_bytes(Encoding.PEM, form, NoEncryption()).decode()


def read(text: str) -> PrivateKey:
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
