"""caBundles: the authorities that the API server trusts now, and those that it has to trust."""

import re
from collections.abc import Iterable
from datetime import datetime

from cryptography import x509

from kudo_webhook.certificates.built_in.authority import Pair, issued_by, pem
from kudo_webhook.certificates.built_in.due import valid
from kudo_webhook.certificates.built_in.lifetimes import Lifetimes

Trust = frozenset[x509.Certificate]

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def read_bundle(bundle: bytes) -> Trust:
    """Return the certificates of a caBundle; unreadable parts are skipped."""
    found = (_read(block) for block in _BLOCK.findall(bundle))
    return frozenset(certificate for certificate in found if certificate is not None)


def write_bundle(trusted: Iterable[x509.Certificate]) -> bytes:
    """Return the caBundle of these certificates, newest first; equal sets give equal bytes."""
    ordered = sorted(
        frozenset(trusted), key=lambda one: (-one.not_valid_before_utc.timestamp(), pem(one))
    )
    return b"".join(map(pem, ordered))


def desired(
    authority: Pair, held: Trust, leaf: Pair | None, now: datetime, lifetimes: Lifetimes
) -> Trust:
    """Return the authorities to trust: the one in force, and former ones that may still be needed.

    Args:
        authority: The one in force.
        held: What the caBundles hold.
        leaf: The stored one.
        now: The time.
        lifetimes: The configured lifetimes.
    """
    made = authority.certificate.not_valid_before_utc + lifetimes.backdating
    replaced = now > made + lifetimes.overlap
    living = (one for one in held if now <= one.not_valid_after_utc + lifetimes.backdating)
    former = (one for one in living if not replaced or _signs(one, leaf))
    return frozenset((authority.certificate, *former))


def trusts(held: Trust, leaf: Pair, now: datetime) -> bool:
    """Whether the leaf verifies now against these authorities."""
    return valid(leaf.certificate, now) and any(_signs(one, leaf) for one in held)


def _signs(authority: x509.Certificate, leaf: Pair | None) -> bool:
    return leaf is not None and issued_by(leaf.certificate, authority)


def _read(block: bytes) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(block)
    except ValueError:
        return None
