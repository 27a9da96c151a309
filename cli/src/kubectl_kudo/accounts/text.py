"""Prints documents as YAML with comments: what needs each rule."""

import json
from collections.abc import Iterable, Iterator
from itertools import chain, repeat

from kubectl_kudo.accounts.objects import Document
from kubectl_kudo.core.cells import printable
from kudo.permissions import Rule
from kudo.readable_yaml import dump

_MOST_SOURCES = 10
_LONGEST = 500


def text_of(documents: Iterable[Document], notes: Iterable[str] = ()) -> str:
    """Return a stream of YAML documents; the notes are comments above them."""
    head = "".join(f"# Note: {printable(note, _LONGEST)}\n" for note in notes)
    return head + "".join(map(_document, documents))


def _document(document: Document) -> str:
    comments = "".join(f"# {printable(text, _LONGEST)}\n" for text in document.comments)
    rest = {key: value for key, value in document.object.items() if key != "rules"}
    rules = "".join(map(_rule, document.rules))
    return f"---\n{comments}{dump(rest)}" + (f"rules:\n{rules}" if rules else "")


def _rule(rule: Rule) -> str:
    # Texts of packages are in comments, too: `printable` keeps each in one line.
    comments = "".join(f"  # {printable(text, _LONGEST)}\n" for text in _sources(rule))
    # A list of JSON is one of YAML, and takes one line.
    fields = (f"{key}: {json.dumps(values)}" for key, values in rule.to_wire().items())
    return comments + "".join(map("{}{}\n".format, chain(["  - "], repeat("    ")), fields))


def _sources(rule: Rule) -> Iterator[str]:
    yield from rule.sources[:_MOST_SOURCES]
    more = len(rule.sources) - _MOST_SOURCES
    if more > 0:
        yield f"and {more} more"
