"""Finds which parameters the templates of a package put into Secrets, and redacts such templates.

Templates are read as text: what cannot be parsed or rendered is what diagnostics are for.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

_DOCUMENT: Final = re.compile(r"^---.*$", re.MULTILINE)
_SECRET: Final = re.compile(r"""^[ \t-]*["']?kind["']?[ \t]*:[ \t]*["']?Secret\b""", re.MULTILINE)
_PARAMETER: Final = re.compile(
    r"\.Params\.([A-Za-z_][A-Za-z0-9_]*)|\.Params[ \t]+\"([^\"]{1,256})\""
)
_ASSIGNMENT: Final = re.compile(r"\{\{[^{}]{0,1024}:=[^{}]{0,1024}\}\}")
_DATA: Final = re.compile(r"""^([ \t]*)["']?(?:data|stringData)["']?[ \t]*:(.*)$""")
_FIELD: Final = re.compile(r"""^([ \t]*(?:"[^"]*"|'[^']*'|[^\s:#{}]+)[ \t]*:)[ \t]+(\S.*)$""")
_BLOCKS: Final = frozenset({"|", "|-", "|+", ">", ">-", ">+"})
_QUOTES: Final = "\"'"


def parameters_of_secrets(templates: Mapping[str, object]) -> frozenset[str]:
    """Return the parameters that documents of the kind Secret use in these templates."""
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
