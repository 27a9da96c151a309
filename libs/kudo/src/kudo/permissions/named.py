"""Finds kinds in the text of a template that was not rendered, or not all of it.

A condition that is false now may be true with other values. Nothing is parsed: a document of a
template is no YAML before it is rendered.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kudo.permissions.model import Kind
from kudo.permissions.texts import is_kind

_DOCUMENT: Final = re.compile(r"^---", re.MULTILINE)
_FIELD: Final = re.compile(
    r"^([ \t]{0,40}(?:-[ \t]{1,8})?)(apiVersion|kind)[ \t]{0,8}:[ \t]{0,8}([^\n]{0,300})",
    re.MULTILINE,
)
_FLOW: Final = re.compile(
    r"""\{[ \t]{0,8}["']?apiVersion["']?[ \t]{0,8}:[ \t]{0,8}["']?([^"',}\n]{1,300})["']?"""
    r"""[ \t]{0,8},\s{0,80}["']?kind["']?[ \t]{0,8}:[ \t]{0,8}["']?([^"',}\n]{1,100})"""
)
"""An object in flow style, or of JSON."""
_ACTION: Final = "{{"


@dataclass(frozen=True, slots=True)
class Named:
    """What a text names.

    Attributes:
        kinds: Kinds that stand there as they are.
        computed: Whether another kind is computed by the template.
    """

    kinds: tuple[Kind, ...]
    computed: bool


def named_in(text: str) -> Named:
    """Return the kinds of the objects in a template's text."""
    pairs = [pair for document in _DOCUMENT.split(text) for pair in _pairs(document)]
    kinds = (Kind(*pair) for pair in pairs if is_kind(*pair))
    computed = any(_ACTION in text for pair in pairs for text in pair)
    return Named(tuple(dict.fromkeys(kinds)), computed)


def _pairs(document: str) -> Iterator[tuple[str, str]]:
    """Yield apiVersion and kind of each object: of the document, or of the items of its List."""
    yield from ((m[1].strip(), m[2].strip()) for m in _FLOW.finditer(document) if m[2] != "List")
    fields = [(len(m[1]), m[2], _value(m[3])) for m in _FIELD.finditer(document)]
    if not fields:
        return
    top = min(indent for indent, _, _ in fields)
    whole = [field for field in fields if field[0] == top]
    yield from _combined(whole)
    if any(name == "kind" and value == "List" for _, name, value in whole):
        below = [field for field in fields if field[0] != top]
        items = min((indent for indent, _, _ in below), default=0)
        yield from _combined([field for field in below if field[0] == items])


def _combined(fields: list[tuple[int, str, str]]) -> Iterator[tuple[str, str]]:
    """Yield neighbours: branches of a condition may name several kinds in one document."""
    versions = [value for _, name, value in fields if name == "apiVersion"]
    kinds = [value for _, name, value in fields if name == "kind"]
    if len(versions) == 1:
        yield from ((versions[0], kind) for kind in kinds if kind != "List")
    elif len(kinds) == 1:
        yield from ((version, kinds[0]) for version in versions if kinds[0] != "List")
    else:
        pairs = zip(versions, kinds, strict=False)
        yield from (pair for pair in pairs if pair[1] != "List")


def _value(text: str) -> str:
    return text.partition(" #")[0].strip().strip("\"'")
