"""The output formats of `kubectl kudo get`: reading the value of `-o`, and printing objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubectl_kudo.core.cells import printable
from kubectl_kudo.core.errors import UsageError
from kubectl_kudo.core.output import JsonObject, many, one, without_bookkeeping
from kubectl_kudo.core.terminal import exact

if TYPE_CHECKING:  # few commands have a template
    from kubectl_kudo.get.templates import CustomColumns, JsonPath

_PLAIN = ("table", "wide", "tree", "json", "yaml", "name")
_USE = "use table, wide, tree, json, yaml, name, jsonpath=<template> or custom-columns=<spec>"


@dataclass(frozen=True, slots=True)
class Format:
    """How to print objects.

    Attributes:
        name: The format.
        template: Of `jsonpath` and `custom-columns`.
    """

    name: str
    template: "JsonPath | CustomColumns | None" = None


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
        from kubectl_kudo.get.templates import JsonPath

        return Format(name, JsonPath.read(argument))
    if name == "custom-columns":
        from kubectl_kudo.get.templates import CustomColumns

        return Format(name, CustomColumns.read(argument))
    raise UsageError(f'invalid output format "{printable(text)}": {_USE}')


def show_data(
    objects: Sequence[JsonObject], output: Format, *, single: bool, headers: bool
) -> None:
    """Print objects in one of the formats that are neither table nor tree.

    Args:
        objects: The objects.
        output: The format.
        single: Whether there is one object that was asked for by name: it is printed without a
            list.
        headers: Whether `custom-columns` has a first line.

    Raises:
        CliError: a template cannot be evaluated over these objects.
    """
    if output.template is not None:
        # A script may read a value as it is.
        exact(output.template.print(objects, single=single, headers=headers))
    elif output.name == "name":
        print("".join(f"{reference(obj)}\n" for obj in objects), end="")
    else:
        # Templates read managedFields as with kubectl, which leaves them out of JSON and YAML.
        shown = [without_bookkeeping(obj) for obj in objects]
        print(one(shown[0], output.name) if single else many(shown, output.name), end="")


def reference(obj: JsonObject) -> str:
    """Return how kubectl names an object, such as `instance.kudo.dev/web`."""
    group, _, _ = str(obj["apiVersion"]).rpartition("/")
    kind = ".".join(filter(None, (str(obj["kind"]).lower(), group)))
    return f"{kind}/{obj['metadata']['name']}"
