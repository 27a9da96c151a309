"""Decides what has to be renewed at a given time; pure functions.

The result is a reason for people and metrics, or None if nothing has to be renewed.
"""

from datetime import datetime, timedelta
from typing import Literal

from cryptography import x509

from kudo_webhook.certificates.built_in.authority import Pair, issued_by
from kudo_webhook.certificates.built_in.lifetimes import Lifetimes

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


def authority_due(found: Pair | None, now: datetime, lifetimes: Lifetimes) -> Reason | None:
    """Return why a new authority has to be made."""
    if found is None:
        return "missing"
    longest = lifetimes.authority + lifetimes.backdating
    return _due(found.certificate, now, longest, _AUTHORITY_SHARE)


def leaf_due(
    found: Pair | None,
    authority: Pair,
    names: frozenset[str],
    now: datetime,
    lifetimes: Lifetimes,
) -> Reason | None:
    """Return why a new serving certificate has to be made.

    More names than are needed do no harm: while replicas with different settings replace each
    other, they would otherwise replace each other's certificate for ever.
    """
    if found is None:
        return "missing"
    if not issued_by(found.certificate, authority.certificate):
        return "other authority"
    if not names <= found.names:
        return "other names"
    return _due(found.certificate, now, lifetimes.leaf + lifetimes.backdating, _LEAF_SHARE)


def valid(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether a certificate is valid now: not expired, and not only in the future."""
    return certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc


def _due(
    certificate: x509.Certificate, now: datetime, longest: timedelta, share: float
) -> Reason | None:
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    if now > end:
        return "expired"
    if now < begin:
        return "not valid yet"
    if end > now + longest:
        return "outlives its configuration"
    return "renewal" if now >= begin + share * (end - begin) else None
