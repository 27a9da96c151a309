"""What is a secret: fields of Secrets, names of fields and variables, and values that are known.

Everything that is logged, reported or bundled asks this module.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final
from urllib.parse import quote, quote_plus

from kudo.api import names

SECRET_FIELDS: Final = frozenset({"data", "stringData"})
"""Fields of a Secret that hold its values."""
COPIES: Final = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", names.ANNOTATION_LAST_APPLIED}
)
"""Annotations that contain the object once more."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# Characters of a name that are looked at.
_LONGEST: Final = 256

# Parts of names without separators, as in `dbpassword`; before `key` a text may have one.
_ANYWHERE: Final = (
    *("password", "passwd", "passphrase", "secret", "token", "credential"),
    *("apikey", "accesskey", "privatekey", "signingkey", "encryptionkey"),
)
_WORDS: Final = frozenset({"pwd", "pass", "passwds", "jwt", "htpasswd"})
# Words that Kubernetes uses for other things, as in `topologyKey`.
_WORDS_OF_USERS: Final = frozenset({"key", "keys", "auth", "pin", "salt"})
# Last words of names of fields that say where a secret is, or what it is like.
_REFERENCES: Final = frozenset(
    {
        *("name", "names", "namespace", "ref", "refs", "reference", "references", "selector"),
        *("file", "files", "path", "paths", "dir", "mount", "policy"),
        *("seconds", "ttl", "expiration", "expiry", "timeout", "length", "size", "count"),
        *("type", "kind", "version", "enabled", "required", "mode"),
    }
)

NAMED: Final = "|".join((*(re.sub("key$", "[-_]?key", part) for part in _ANYWHERE), r"\bpwd"))
"""Pattern of such a part in a text."""
NOT_REFERENCED: Final = rf"(?!s?[-_]?(?:{'|'.join(sorted(_REFERENCES))})\b)"
"""Pattern of what does not follow it: the last word of a reference."""

MARK: Final = "(redacted)"
MOST_VALUES: Final = 500
"""Each of them is looked for in every line of every log."""

# Characters. What is shorter occurs everywhere by chance; it is redacted only in its place.
_SHORTEST: Final = 4
# Characters from which on a value is replaced inside words, too.
_LONG: Final = 8
_MOST_LINES: Final = 100
_LINE: Final = re.compile(r"[^\r\n]+")
_COMMON: Final = frozenset(
    {
        *("true", "false", "null", "none", "default", "enabled", "disabled", "required"),
        *("localhost", "127.0.0.1", "0.0.0.0", "admin", "root", "user", "username", "postgres"),  # noqa: S104
        *("prefer", "require", "disable", "info", "debug", "Opaque", "test", "production"),
    }
)
_CERTIFICATE: Final = "-----BEGIN CERTIFICATE-----"
_PRIVATE: Final = "PRIVATE KEY-----"


def is_secret(obj: Mapping[str, object]) -> bool:
    """Return whether an object is a Secret, in whatever version."""
    api_version = obj.get("apiVersion")
    return obj.get("kind") == "Secret" and "/" not in str(api_version)


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


class KnownValues:
    """Collects secret values, and replaces them in texts.

    Args:
        public: Names that stay readable although a secret is the same, such as that of the
            namespace.

    Attributes:
        overflow: Whether there were more than `MOST_VALUES`; the rest is not looked for.
    """

    def __init__(self, public: Iterable[str] = ()) -> None:
        self.overflow = False
        self._public = _COMMON | set(public)
        self._values: set[str] = set()
        self._forms: tuple[str, ...] | None = None
        self._words: re.Pattern[str] | None = None

    def __contains__(self, value: str) -> bool:
        return value in self._values

    @property
    def longest(self) -> int:
        """Return the length of the longest form of a value."""
        return max(map(len, self.forms()), default=0)

    def make_public(self, names: Iterable[str]) -> None:
        """Keep these names readable; to be called before values are added."""
        self._public |= set(names)

    def add(self, value: str) -> None:
        """Add a secret value; of one with several lines, each line as well.

        Private keys are found line by line by what they look like, and certificates are no secret:
        the configuration of a webhook contains one.
        """
        if _PRIVATE not in value and _CERTIFICATE in value:
            return
        self._add(value.strip())
        lines = _LINE.findall(value)
        if len(lines) > 1 and _PRIVATE not in value:
            for line in lines[:_MOST_LINES]:
                if len(line.strip()) >= _LONG:
                    self._add(line.strip())

    def replace(self, text: str) -> str:
        """Return the text with a mark in the place of each value."""
        for form in self.forms():
            if form in text:
                text = text.replace(form, MARK)
        return self._words.sub(MARK, text) if self._words else text

    def _add(self, value: str) -> None:
        if len(value) < _SHORTEST or value in self._public or value in self._values:
            return
        if value == MARK:
            # What is collected may be redacted already.
            return
        if len(self._values) >= MOST_VALUES:
            self.overflow = True
            return
        self._values.add(value)
        self._forms = None

    def forms(self) -> tuple[str, ...]:
        """Return what is looked for, the longest first: a value may be part of another one."""
        if self._forms is None:
            long = [value for value in self._values if len(value) >= _LONG]
            short = [value for value in self._values if len(value) < _LONG]
            forms = {form for value in long for form in _forms_of(value)}
            forms |= {_encoded(value) for value in short}
            self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
            if short:
                ordered = sorted(short, key=lambda word: (-len(word), word))
                alternatives = "|".join(map(re.escape, ordered))
                self._words = re.compile(f"(?<![A-Za-z0-9])(?:{alternatives})(?![A-Za-z0-9])")
        return self._forms


WITHHELD: Final = "(the text is withheld, since it may have the value of a secret parameter)"
_CUT: Final = " ... "
_IN_FORMS: Final = 64 * 1024
"""Characters of values, the shortest first, that are looked for in other forms as well."""
_BESIDE: Final = 4
"""Characters beside a cut that show which value was cut."""


class Confidential:
    """Keeps values of secret parameters out of texts, however short or common they are.

    What `KnownValues` leaves, since it would be replaced by chance, withholds the whole text: to
    replace a short value would tell which one it is.

    Args:
        values: The values.
    """

    def __init__(self, values: Iterable[str]) -> None:
        kept = {value.strip() for value in values}
        # Of a value of several lines, such as a private key, a text may quote one.
        lines = {
            line[0].strip()
            for value in kept
            for line in islice(_LINE.finditer(value), _MOST_LINES)
            if len(line[0].strip()) >= _LONG
        }
        self._values = frozenset((kept | lines) - {""})
        self._known = KnownValues()
        left = _IN_FORMS
        for value in sorted(self._values, key=lambda value: (len(value), value)):
            left -= len(value)
            if left < 0:
                # To write it in all forms would hold the event loop for too long.
                break
            self._known.add(value)

    def __bool__(self) -> bool:
        return bool(self._values)

    def has(self, text: str) -> bool:
        """Return whether a text has a value in any form."""
        return bool(self._values) and self.cleaned(text) != text

    def cleaned(self, text: str) -> str:
        """Return a text without the values."""
        if not self._values or not text:
            return text
        parts = self._known.replace(text).split(MARK)
        if any(value in part for part in parts for value in self._values):
            return WITHHELD
        # A message that is too long was cut in its middle, and a value with it.
        before, *after = text.split(_CUT)
        for part in after:
            if self._is_part(before[-_BESIDE:]) or self._is_part(part[:_BESIDE]):
                return WITHHELD
            before = part
        return MARK.join(parts)

    def _is_part(self, text: str) -> bool:
        return bool(text) and any(text in form for form in (*self._values, *self._known.forms()))


def _forms_of(value: str) -> Iterator[str]:
    yield value
    # JSON, URLs and base64 write it in other characters.
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield quote(value, safe="")
    yield quote_plus(value)
    yield _encoded(value)
    # Of a text that contains the value, the base64 depends on the position modulo 3. At each the
    # first and the last character depend on what stands beside the value, and are left out.
    content = value.encode("utf-8", "surrogatepass")
    for before in range(3):
        padded = b"\0" * before + content
        padded += b"\0" * (-len(padded) % 3)
        first = -(-before * 8 // 6)
        last = (before + len(content)) * 8 // 6
        text = base64.b64encode(padded).decode()[first:last]
        yield text
        yield text.replace("+", "-").replace("/", "_")


def _encoded(value: str) -> str:
    return base64.b64encode(value.encode("utf-8", "surrogatepass")).decode().rstrip("=")
