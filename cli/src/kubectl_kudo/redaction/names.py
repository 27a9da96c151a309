"""Tells by the name of a field, parameter or variable whether its value is a secret."""

import re
from typing import Final

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONGEST: Final = 256
"""Characters of a name that are looked at."""

_ANYWHERE: Final = (
    *("password", "passwd", "passphrase", "secret", "token", "credential"),
    *("apikey", "accesskey", "privatekey", "signingkey", "encryptionkey"),
)
"""Parts of names without separators, as in `dbpassword`."""
_WORDS: Final = frozenset({"pwd", "pass", "passwds", "jwt", "htpasswd"})
_WORDS_OF_USERS: Final = frozenset({"key", "keys", "auth", "pin", "salt"})
"""Words that Kubernetes uses for other things, as in `topologyKey`."""
_REFERENCES: Final = frozenset(
    {
        *("name", "names", "namespace", "ref", "refs", "reference", "references", "selector"),
        *("file", "files", "path", "paths", "dir", "mount", "policy"),
        *("seconds", "ttl", "expiration", "expiry", "timeout", "length", "size", "count"),
        *("type", "kind", "version", "enabled", "required", "mode"),
    }
)
"""Last words of names of fields that say where a secret is, or what it is like."""


def is_sensitive(name: str, *, of_user: bool = False) -> bool:
    """Return whether a value of this name is a secret.

    Args:
        name: As it stands, such as `DB_PASSWORD` or `apiKey`.
        of_user: Whether a user chose the name, as that of a parameter, an environment variable or
            a key of a ConfigMap. Then `key` alone is enough.
    """
    words = [word.lower() for word in _WORD.findall(name[:_LONGEST])]
    if not words or words[-1] in _REFERENCES:
        return False
    joined = "".join(words)
    if any(part in joined for part in _ANYWHERE) or not _WORDS.isdisjoint(words):
        return True
    return of_user and "public" not in words and not _WORDS_OF_USERS.isdisjoint(words)
