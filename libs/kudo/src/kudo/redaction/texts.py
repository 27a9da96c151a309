"""Removes secrets from texts: what looks like one, and values that are known to be one.

Also finds which parameters the templates of a package put into Secrets, and redacts such templates.
They are read as text: what cannot be parsed or rendered is what diagnostics are for.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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


_DOCUMENT: Final = re.compile(r"^---.*$", re.MULTILINE)
_SECRET: Final = re.compile(r"""^[ \t-]*["']?kind["']?[ \t]*:[ \t]*["']?Secret\b""", re.MULTILINE)
_PARAMETER: Final = re.compile(
    r"\.(?:Run)?Params(?:\.([A-Za-z_][A-Za-z0-9_]*)|[ \t]+\"([^\"]{1,256})\")"
)
_ASSIGNMENT: Final = re.compile(r"\{\{[^{}]{0,1024}:=[^{}]{0,1024}\}\}")
_DATA: Final = re.compile(r"""^([ \t]*)["']?(?:data|stringData)["']?[ \t]*:(.*)$""")
_FIELD: Final = re.compile(r"""^([ \t]*(?:"[^"]*"|'[^']*'|[^\s:#{}]+)[ \t]*:)[ \t]+(\S.*)$""")
_BLOCKS: Final = frozenset({"|", "|-", "|+", ">", ">-", ">+"})
_QUOTES: Final = "\"'"


def parameters_of_secrets(templates: Mapping[str, object]) -> frozenset[str]:
    """Return the parameters, those of runs too, that documents of the kind Secret use."""
    parameters: set[str] = set()
    for text in templates.values():
        for part in _secrets_in(str(text)):
            parameters |= {field or argument for field, argument in _PARAMETER.findall(part)}
    return frozenset(parameters)


def _secrets_in(text: str) -> Iterator[str]:
    documents = [part for part in _DOCUMENT.split(text) if _SECRET.search(part)]
    yield from documents
    if documents:
        # A Secret may use a variable that another document has set.
        yield from _ASSIGNMENT.findall(text)


def redact_template(text: str, secret: Callable[[str], str]) -> str:
    """Return a template without the values that it writes into Secrets; expressions stay.

    Args:
        text: The template.
        secret: Called with each value; returns what takes its place.
    """
    parts = re.split(r"(^---.*$)", text, flags=re.MULTILINE)
    return "".join(_without_data(part, secret) if _SECRET.search(part) else part for part in parts)


def _without_data(document: str, secret: Callable[[str], str]) -> str:
    return "\n".join(_redacted_lines(document.split("\n"), secret))


def _redacted_lines(lines: Iterable[str], secret: Callable[[str], str]) -> Iterator[str]:
    data: int | None = None  # indentation of `data:`, while inside it
    for line in lines:
        indentation = len(line) - len(line.lstrip())
        is_text = bool(line.strip()) and not line.lstrip().startswith(("#", "{{"))
        if data is not None and is_text and indentation <= data:
            data = None
        if data is None:
            match = _DATA.match(line)
            if match:
                data = len(match[1])
            if match and match[2].strip() and "{{" not in match[2]:
                line = f"{line[: match.start(2)]} {secret(match[2].strip())}"
            yield line
        else:
            yield _redacted_field(line, secret) if is_text else line


def _redacted_field(line: str, secret: Callable[[str], str]) -> str:
    field = _FIELD.match(line)
    if "{{" in line or (field and field[2].strip() in _BLOCKS):
        return line
    if field:
        return f"{field[1]} {secret(field[2].strip().strip(_QUOTES))}"
    # The name of a field with its value below, or a line of such a value.
    text = line.strip()
    if text.endswith(":"):
        return line
    return f"{line[: len(line) - len(line.lstrip())]}{secret(text)}"
