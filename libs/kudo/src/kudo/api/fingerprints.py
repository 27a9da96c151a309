"""Fingerprints of parameter values and applied objects: they show changes, and reveal no secret.

Digests of objects are read by whoever may read Inventories. A Secret may hold a short password that
a digest without a key would give away to guessing; hence the key of the installation, and no digest
without.
"""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, Final

import orjson

from kudo.api.known_secrets import is_secret
from kudo.api.setting import Setting

# Hex digits kept of the SHA-256: 64 bits tell a changed value from the same one.
_LENGTH = 16


def fingerprint(setting: Setting) -> str:
    """Return the first hex digits of the SHA-256 of a value, or of a reference to one.

    A value that a reference leads to has no fingerprint: it may be a short password.
    """
    return _prefix(setting.encode() if isinstance(setting, str) else setting.canonical)


def fingerprint_of_object(value: dict[str, Any]) -> str:
    """Return the fingerprint of a JSON object, whatever the order of its members."""
    return _prefix(orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def fingerprints(settings: Mapping[str, Setting]) -> dict[str, str]:
    """Return the fingerprint of each setting by parameter name, as `status.lastRun` keeps them."""
    return {name: fingerprint(settings[name]) for name in sorted(settings)}


def _prefix(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_LENGTH]


DIGITS: Final = 32
"""Hexadecimal digits of a digest: 128 bits."""


def keyed_fingerprint(key: bytes, uid: str, name: str, value: str) -> str:
    """Return the digest of the value of a secret parameter, which cannot be guessed from it.

    Args:
        key: Of the installation.
        uid: Of the Instance, so that equal values of two Instances do not show.
        name: Of the parameter, likewise.
        value: The value.
    """
    parts = [part.encode(errors="surrogatepass") for part in (uid, name, value)]
    # Each part after its length: no two lists of parts have the same bytes.
    content = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.digest(key, b"kudo.dev/secret-parameter\n" + content, "sha256").hex()[:DIGITS]


MOST_BYTES: Final = 1536 * 1024
"""Of the JSON of an object with a digest; etcd takes no larger one, unless it is told to."""
_SORTED_KEYS: Final = 20_000
"""So many keys are sorted in 4 ms; the 150,000 that a document can have would take 50."""


def digest_of(obj: dict[str, Any], key: bytes | None, *, confidential: bool = False) -> str:
    """Return the digest of an object, whatever the order of its members.

    It takes up to 6 ms for an object that can be stored, on the event loop. Of one with more than
    20,000 keys the order counts, which is that of its template.

    Args:
        obj: As its template gives it, without what KUDO adds: that changes with each run.
        key: Of the installation; None or empty if it has none.
        confidential: Whether it may have the value of a secret parameter, whatever its kind.

    Returns:
        Empty for a Secret, or what may have such a value, if there is no key, and for an object
        that is too large to be stored.
    """
    content = orjson.dumps(obj)
    if len(content) > MOST_BYTES:
        return ""
    # Each key is followed by these; in a text they may be, too.
    if content.count(b'":') <= _SORTED_KEYS:
        content = orjson.dumps(obj, option=orjson.OPT_SORT_KEYS)
    if not confidential and not is_secret(obj):
        return hashlib.sha256(content).hexdigest()[:DIGITS]
    return hmac.digest(key, content, "sha256").hex()[:DIGITS] if key else ""
