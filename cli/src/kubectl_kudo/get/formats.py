"""The output formats of `kubectl kudo get`: parsing the value of `-o`, and printing objects."""

from collections.abc import Sequence
from dataclasses import dataclass

from kubectl_kudo.core.errors import CliError, UsageError
from kubectl_kudo.core.output import JsonObject, many, one
from kubectl_kudo.core.table import columns
from kubectl_kudo.get.cells import NONE, printable
from kubectl_kudo.jsonpath.evaluate import find
from kubectl_kudo.jsonpath.nodes import JsonPathError, Node, Path
from kubectl_kudo.jsonpath.parser import parse_path, parse_template
from kubectl_kudo.jsonpath.render import render, text_of

_PLAIN = ("table", "wide", "tree", "json", "yaml", "name")
_USE = "use table, wide, tree, json, yaml, name, jsonpath=<template> or custom-columns=<spec>"
_OPENING, _CLOSING = "[({", "])}"


@dataclass(frozen=True, slots=True)
class OwnColumn:
    """A column of `custom-columns`: its heading, and the path to its values."""

    heading: str
    path: Path


@dataclass(frozen=True, slots=True)
class Format:
    """How to print objects.

    Attributes:
        name: The format.
        argument: What was given after `=`.
        template: Of `jsonpath`.
        columns: Of `custom-columns`.
    """

    name: str
    argument: str = ""
    template: tuple[Node, ...] = ()
    columns: tuple[OwnColumn, ...] = ()


TABLE, TREE = Format("table"), Format("tree")


def read_format(text: str) -> Format:
    """Return the format that `-o` names.

    Raises:
        UsageError: there is no such format, or its template is invalid.
    """
    name, equals, argument = text.partition("=")
    if name in _PLAIN and not equals:
        return Format(name)
    if name == "jsonpath":
        if not argument:
            raise UsageError("jsonpath needs a template: -o jsonpath='{.metadata.name}'")
        try:
            return Format(name, argument, template=parse_template(argument))
        except JsonPathError as error:
            raise UsageError(f"cannot parse jsonpath {argument}: {error}") from None
    if name == "custom-columns":
        return Format(name, argument, columns=_own_columns(argument))
    raise UsageError(f'invalid output format "{printable(text)}": {_USE}')


def _own_columns(text: str) -> tuple[OwnColumn, ...]:
    if not text:
        raise UsageError("custom-columns needs columns: -o custom-columns=NAME:.metadata.name")
    return tuple(map(_own_column, _split(text)))


def _own_column(text: str) -> OwnColumn:
    heading, colon, path = text.partition(":")
    if not (heading and colon and path):
        raise UsageError(
            f'unexpected custom-columns spec: "{text}", expected <header>:<json-path-expr>'
        )
    try:
        return OwnColumn(heading, parse_path(path))
    except JsonPathError as error:
        raise UsageError(f"cannot parse the path {path} of column {heading}: {error}") from None


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


def as_data(objects: Sequence[JsonObject], output: Format, *, single: bool, headers: bool) -> str:
    """Return objects in one of the formats that are neither table nor tree.

    Args:
        objects: The objects.
        output: The format.
        single: Whether one object was asked for by name, and is printed without a list.
        headers: Whether `custom-columns` has a first line.

    Raises:
        CliError: a template cannot be evaluated over these objects.
    """
    match output.name:
        case "name":
            return "".join(f"{reference(obj)}\n" for obj in objects)
        case "jsonpath":
            whole = objects[0] if single and objects else _listed(objects)
            return _templated(output, whole)
        case "custom-columns":
            return _in_columns(objects, output, headers=headers)
        case _ if single and objects:
            return one(objects[0], output.name)
        case _:
            return many(objects, output.name)


def reference(obj: JsonObject) -> str:
    """Return how kubectl names an object, such as `instance.kudo.dev/web`."""
    group, _, _ = str(obj["apiVersion"]).rpartition("/")
    kind = ".".join(filter(None, (str(obj["kind"]).lower(), group)))
    return f"{kind}/{obj['metadata']['name']}"


def _listed(objects: Sequence[JsonObject]) -> JsonObject:
    return {"apiVersion": "v1", "kind": "List", "items": list(objects)}


def _templated(output: Format, value: JsonObject) -> str:
    try:
        return render(output.template, value)
    except JsonPathError as error:
        raise CliError(f"cannot evaluate jsonpath {output.argument}: {error}") from None


def _in_columns(objects: Sequence[JsonObject], output: Format, *, headers: bool) -> str:
    heading = [column.heading for column in output.columns]
    rows = [[_values(column, obj) for column in output.columns] for obj in objects]
    return columns([heading, *rows] if headers else rows)


def _values(column: OwnColumn, obj: JsonObject) -> str:
    try:
        found = find(column.path, obj)
    except JsonPathError as error:
        raise CliError(f"cannot evaluate the path of column {column.heading}: {error}") from None
    return printable(",".join(text_of(one) for one in found if one is not None)) or NONE
