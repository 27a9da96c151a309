"""Fingerprints of parameter values: enough to see a change, not enough to read a secret."""

import hashlib
from collections.abc import Mapping

_LENGTH = 16
"""Hex digits kept of the SHA-256: 64 bits tell a changed value from the same one."""


def fingerprint(value: str) -> str:
    """Return the first hex digits of the SHA-256 of the value."""
    return hashlib.sha256(value.encode()).hexdigest()[:_LENGTH]


def fingerprints(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the fingerprint of each value by parameter name, as `status.lastRun` keeps them."""
    return {name: fingerprint(parameters[name]) for name in sorted(parameters)}
