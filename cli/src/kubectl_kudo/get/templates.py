"""The formats `jsonpath` and `custom-columns`; imported only when one of them is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_kudo.core.cells import NONE, printable
from kubectl_kudo.core.errors import CliError, UsageError
from kubectl_kudo.core.output import JsonObject
from kubectl_kudo.core.table import columns
from kubectl_kudo.jsonpath.evaluate import find
from kubectl_kudo.jsonpath.nodes import JsonPathError, Node, Path
from kubectl_kudo.jsonpath.parser import parse_path, parse_template
from kubectl_kudo.jsonpath.render import render, text_of

_OPENING, _CLOSING = "[({", "])}"


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A template over one object, or over a List of objects.

    Attributes:
        text: As it was given.
        nodes: What it consists of.
    """

    text: str
    nodes: tuple[Node, ...]

    @classmethod
    def read(cls, text: str) -> "JsonPath":
        """Parse the value of `-o jsonpath=`.

        Raises:
            UsageError: it is no template.
        """
        if not text:
            raise UsageError("jsonpath needs a template: -o jsonpath='{.metadata.name}'")
        try:
            return cls(text, parse_template(text))
        except JsonPathError as error:
            raise UsageError(f"cannot parse jsonpath {text}: {error}") from None

    def print(self, objects: Sequence[JsonObject], *, single: bool, headers: bool) -> str:
        """Return the text for one object, or for a List of them."""
        del headers
        listed: JsonObject = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        try:
            return render(self.nodes, objects[0] if single else listed)
        except JsonPathError as error:
            raise CliError(f"cannot evaluate jsonpath {self.text}: {error}") from None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `custom-columns`: its heading, and the path to its values."""

    heading: str
    path: Path

    @classmethod
    def read(cls, text: str) -> "Column":
        heading, colon, path = text.partition(":")
        if not (heading and colon and path):
            raise UsageError(
                f'unexpected custom-columns spec: "{text}", expected <header>:<json-path-expr>'
            )
        try:
            return cls(heading, parse_path(path))
        except JsonPathError as error:
            problem = f"cannot parse the path {path} of column {heading}: {error}"
            raise UsageError(problem) from None

    def cell(self, obj: JsonObject) -> str:
        try:
            found = find(self.path, obj)
        except JsonPathError as error:
            problem = f"cannot evaluate the path of column {self.heading}: {error}"
            raise CliError(problem) from None
        return printable(",".join(text_of(one) for one in found if one is not None)) or NONE


@dataclass(frozen=True, slots=True)
class CustomColumns:
    """A table of the user's columns."""

    columns: tuple[Column, ...]

    @classmethod
    def read(cls, text: str) -> "CustomColumns":
        """Parse the value of `-o custom-columns=`.

        Raises:
            UsageError: it names no columns, or a path is none.
        """
        if not text:
            raise UsageError("custom-columns needs columns: -o custom-columns=NAME:.metadata.name")
        return cls(tuple(map(Column.read, _split(text))))

    def print(self, objects: Sequence[JsonObject], *, single: bool, headers: bool) -> str:
        """Return the table, with a row for each object."""
        del single
        heading = [column.heading for column in self.columns]
        rows = [[column.cell(obj) for column in self.columns] for obj in objects]
        return columns([heading, *rows] if headers else rows)


def _split(text: str) -> list[str]:
    """Split at commas that are in no brackets and no quotes."""
    found, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth <= 0:
            found.append("")
            continue
        found[-1] += character
    return found
