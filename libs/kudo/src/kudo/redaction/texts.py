"""Removes secrets from texts: what looks like one, and values that are known to be one."""

import re
from collections.abc import Iterator
from typing import Final

from kudo.api.known_secrets import MARK, NAMED, NOT_REFERENCED, KnownValues

# Every pattern has a fixed beginning and counted repetitions: lines come from programs that we do
# not know, and a pattern must not take quadratic time on any of them.
_NAMED: Final = re.compile(
    rf"((?:{NAMED}){NOT_REFERENCED}"
    r"[A-Za-z0-9_]{0,32}\\?[\"']?\s{0,4}(?:=>|[:=])\s{0,4})"
    r"(\\?\"[^\"\\]{1,4096}\\?\"?|'[^']{1,4096}'?|[^\s,;&\"'{}\[\]()\\]{1,4096})",
    re.IGNORECASE,
)
_FLAG: Final = re.compile(
    rf"((?<![A-Za-z0-9-])--?[a-z0-9-]{{0,32}}(?:{NAMED})[= ])"
    r"([^\s\"',]{1,4096})",
    re.IGNORECASE,
)
_SCHEME: Final = re.compile(
    r"\b(bearer|negotiate|basic(?= {1,4}(?-i:[a-z+/]{0,64}[A-Z0-9=])))( {1,4})[A-Z0-9._~+/=-]{6,}",
    re.IGNORECASE,
)
_JWT: Final = re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?")
_IN_URL: Final = re.compile(r"(://[^\s/:@?#]{0,128}:)([^\s/@?#]{1,256})@")
_CLOUD_KEY: Final = re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}")
_BEGIN: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_END: Final = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_NO_SECRETS: Final = frozenset(
    {
        *("", "true", "false", "null", "none", "nil", MARK),
        # What begins the text of a difference, as in `.data.token: value mismatch, expected: ...`.
        *("key", "no", "slice", "type", "value"),
    }
)
_LONGEST_KEY: Final = 1000
"""Lines of a private key; where its end is missing, lines after it are shown again."""


class Lines:
    """Removes what looks like a secret from one text, line by line: private keys have several."""

    def __init__(self) -> None:
        self._in_key = 0

    def redact(self, line: str) -> str:
        """Return the next line."""
        return without_patterns(self._without_keys(line))

    def _without_keys(self, line: str) -> str:
        if self._in_key:
            end = _END.search(line)
            if end is None:
                self._in_key -= 1
                return MARK
            self._in_key = 0
            return self._without_keys(line[end.end() :])
        begin = _BEGIN.search(line)
        if begin is None:
            return line
        end = _END.search(line, begin.end())
        if end is not None:
            return f"{line[: begin.start()]}{MARK}{self._without_keys(line[end.end() :])}"
        self._in_key = _LONGEST_KEY
        return f"{line[: begin.start()]}{MARK}"


def without_patterns(line: str) -> str:
    """Return a line without what looks like a secret: `password=...`, tokens, URLs with one."""
    line = _SCHEME.sub(rf"\1\2{MARK}", line)
    line = _NAMED.sub(_named, line)
    line = _FLAG.sub(rf"\1{MARK}", line)
    line = _JWT.sub(MARK, line)
    line = _IN_URL.sub(rf"\1{MARK}@", line)
    return _CLOUD_KEY.sub(MARK, line)


def _named(match: re.Match[str]) -> str:
    value = match[2]
    if value.strip("\\\"'").lower() in _NO_SECRETS:
        return match[0]
    if MARK.startswith(value) or value.startswith(("$", "{{", MARK[1:-1])):
        return match[0]  # a reference to a variable, an expression of a template
    quoted = value[:1] if value[:1] in "\"'" else ""
    return f"{match[1]}{quoted}{MARK}{quoted}"


def secrets_in(text: str) -> Iterator[str]:
    """Yield values that are surely secret: of assignments, of flags, passwords in URLs."""
    for match in _NAMED.finditer(text):
        if match[1].rstrip().endswith("=") and _named(match) != match[0]:
            yield match[2].strip("\\\"'")
    yield from (match[2] for match in _FLAG.finditer(text))
    yield from (match[2] for match in _IN_URL.finditer(text))


def redact_text(text: str, known: KnownValues) -> str:
    """Return a text of any number of lines without secrets."""
    lines = Lines()
    # Known values first: one may have several lines, or be replaced in part by a pattern.
    return "\n".join(lines.redact(line) for line in known.replace(text).split("\n"))
