"""Decides what has to be renewed at a given time, and which authorities are trusted; it is pure.

A reason to renew is for people and metrics; None if nothing has to be renewed.
"""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Literal

from cryptography import x509

from kudo_webhook.certificates.authority import Lifetimes, Pair, issued_by, pem

Reason = Literal[
    "missing",  # or damaged
    "expired",
    "not valid yet",
    "outlives its configuration",
    "renewal",
    "other names",
    "other authority",
]

_AUTHORITY_SHARE = 0.8
_LEAF_SHARE = 2 / 3


def authority_due(pair: Pair | None, now: datetime, lifetimes: Lifetimes) -> Reason | None:
    """Return why a new authority has to be made."""
    if pair is None:
        return "missing"
    longest = lifetimes.authority + lifetimes.backdating
    return _due(pair.certificate, now, longest, _AUTHORITY_SHARE)


def leaf_due(
    pair: Pair | None,
    authority: Pair,
    names: frozenset[str],
    now: datetime,
    lifetimes: Lifetimes,
) -> Reason | None:
    """Return why a new serving certificate has to be made.

    More names than are needed do no harm: while replicas with different settings replace each
    other, they would otherwise replace each other's certificate for ever.
    """
    if pair is None:
        return "missing"
    if not issued_by(pair.certificate, authority.certificate):
        return "other authority"
    if not names <= pair.names:
        return "other names"
    return _due(pair.certificate, now, lifetimes.leaf + lifetimes.backdating, _LEAF_SHARE)


def valid(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether a certificate is valid now: not expired, and not only in the future."""
    return certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc


def _due(
    certificate: x509.Certificate, now: datetime, longest: timedelta, part: float
) -> Reason | None:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        return "expired"
    if now < begin:
        return "not valid yet"
    if end > now + longest:
        return "outlives its configuration"
    return "renewal" if now >= begin + part * (end - begin) else None


Trust = frozenset[x509.Certificate]

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)


def read_bundle(bundle: bytes) -> Trust:
    """Return the certificates of a caBundle; unreadable parts are skipped."""
    certificates = (_read(block) for block in _BLOCK.findall(bundle))
    return frozenset(certificate for certificate in certificates if certificate is not None)


def write_bundle(trusted: Iterable[x509.Certificate]) -> bytes:
    """Return the caBundle of these certificates, newest first; equal sets give equal bytes."""
    ordered = sorted(
        frozenset(trusted),
        key=lambda certificate: (-certificate.not_valid_before_utc.timestamp(), pem(certificate)),
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
    living = (
        certificate
        for certificate in held
        if now <= certificate.not_valid_after_utc + lifetimes.backdating
    )
    former = (certificate for certificate in living if not replaced or _signs(certificate, leaf))
    return frozenset((authority.certificate, *former))


def trusts(held: Trust, leaf: Pair, now: datetime) -> bool:
    """Whether the leaf verifies now against these authorities."""
    return valid(leaf.certificate, now) and any(_signs(certificate, leaf) for certificate in held)


def _signs(authority: x509.Certificate, leaf: Pair | None) -> bool:
    return leaf is not None and issued_by(leaf.certificate, authority)


def _read(block: bytes) -> x509.Certificate | None:
    try:
        return x509.load_pem_x509_certificate(block)
    except ValueError:
        return None
