"""Fingerprints of parameter values: they show changes, and reveal no secret."""

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

# Hex digits kept of the SHA-256: 64 bits tell a changed value from the same one.
_LENGTH = 16


def fingerprint(value: str) -> str:
    """Return the first hex digits of the SHA-256 of the value."""
    return _prefix(value.encode())


def fingerprint_of_object(value: dict[str, Any]) -> str:
    """Return the fingerprint of a JSON object, whatever the order of its members."""
    return _prefix(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def fingerprints(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the fingerprint of each value by parameter name, as `status.lastRun` keeps them."""
    return {name: fingerprint(parameters[name]) for name in sorted(parameters)}


def _prefix(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_LENGTH]
