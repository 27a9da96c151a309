"""The CustomResourceDefinitions of KUDO, generated from the models of this package.

`python -m kudo.api.crds DIRECTORY...` writes them into each directory; with `--check` it only says
which are stale. The schemas are structural as Kubernetes requires: no references, no alternatives.
They have no defaults, and required fields only where the models have them, so that every object of
the original stays valid.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from goyaml import dump
from kudo.api.base import ApiObject
from kudo.api.instance import Instance
from kudo.api.inventory import Inventory
from kudo.api.names import GROUP, LABEL_INSTANCE, VERSION
from kudo.api.operatorversion import Operator, OperatorVersion
from kudo.api.wire import JsonObject

_HEADER: Final = "# Generated from the models by `python -m kudo.api.crds`; do not edit.\n"
# A structural schema has no references and no alternatives. A default would be written into the
# objects that are stored.
_DROPPED: Final = frozenset({"$defs", "$ref", "anyOf", "allOf", "default", "title"})
_READY: Final = '.status.conditions[?(@.type=="Ready")]'


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of `kubectl get`; those with a priority appear with `-o wide` only."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0

    def to_wire(self) -> JsonObject:
        column: JsonObject = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return column | ({"priority": self.priority} if self.priority else {})


@dataclass(frozen=True, slots=True)
class _Definition:
    """The parts of a definition besides its schema. Short names are shared by a whole cluster."""

    model: type[ApiObject]
    plural: str
    short_name: str
    columns: tuple[_Column, ...]
    status_subresource: bool = False
    in_category: bool = True
    """Whether `kubectl get kudo` lists it."""


_LABEL_OF_INSTANCE: Final = LABEL_INSTANCE.replace(".", r"\.")
_AGE: Final = _Column("Age", ".metadata.creationTimestamp", "date")
_KINDS: Final = (
    _Definition(
        Operator,
        "operators",
        "kop",
        (
            _Column("URL", ".spec.url"),
            _AGE,
            _Column("Description", ".spec.description", priority=1),
        ),
    ),
    _Definition(
        OperatorVersion,
        "operatorversions",
        "kov",
        (
            _Column("Operator", ".spec.operator.name"),
            _Column("Version", ".spec.version"),
            _Column("App Version", ".spec.appVersion"),
            _AGE,
        ),
    ),
    _Definition(
        Instance,
        "instances",
        "ki",
        (
            _Column("Operator Version", ".spec.operatorVersion.name"),
            _Column("Last Plan", ".status.lastRun.plan"),
            _Column("Plan Status", ".status.lastRun.status"),
            # Where no reconciler runs, this alone says that the columns before are of an older run.
            _Column("Scheduled", ".spec.planExecution.planName"),
            _Column("Ready", f"{_READY}.status"),
            _AGE,
            _Column("Reason", f"{_READY}.reason", priority=1),
        ),
        status_subresource=True,
    ),
    _Definition(
        Inventory,
        "inventories",
        "kinv",
        (_Column("Instance", f".metadata.labels.{_LABEL_OF_INSTANCE}"), _AGE),
        in_category=False,
    ),
)


def definitions() -> dict[str, JsonObject]:
    """Return the CustomResourceDefinitions by their plural names."""
    return {kind.plural: _definition(kind) for kind in _KINDS}


def files() -> dict[str, str]:
    """Return the generated YAML by file name."""
    return {f"{plural}.yaml": _HEADER + dump(crd) for plural, crd in definitions().items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the definitions, or with `--check` name those that are stale and return 1."""
    parser = argparse.ArgumentParser(prog="python -m kudo.api.crds", description=main.__doc__)
    parser.add_argument("directories", type=Path, nargs="+", metavar="directory")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    expected = files()
    stale = [
        (directory / name, text)
        for directory in options.directories
        for name, text in expected.items()
        if not (directory / name).is_file() or (directory / name).read_text("utf-8") != text
    ]
    for path, text in stale:
        if not options.check:
            path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{'stale' if options.check else 'written'}: {path}\n")
    return 1 if options.check and stale else 0


def _definition(kind: _Definition) -> JsonObject:
    name = kind.model.__name__
    version: JsonObject = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "additionalPrinterColumns": [column.to_wire() for column in kind.columns],
        "schema": {"openAPIV3Schema": _object_schema(kind.model)},
    }
    if kind.status_subresource:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": name,
                "listKind": f"{name}List",
                "plural": kind.plural,
                "singular": name.lower(),
                "shortNames": [kind.short_name],
                **({"categories": ["kudo"]} if kind.in_category else {}),
            },
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def _object_schema(model: type[ApiObject]) -> JsonObject:
    generated = model.model_json_schema(by_alias=True)
    schema = _structural(generated, generated["$defs"])
    properties = schema["properties"]
    properties["apiVersion"] = {
        "type": "string",
        "description": "Versioned schema of this representation of an object.",
    }
    properties["kind"] = {
        "type": "string",
        "description": "REST resource that this object represents.",
    }
    # The API server knows the schema of metadata and allows no other.
    properties["metadata"] = {"type": "object"}
    return schema


def _structural(schema: JsonObject, definitions: Mapping[str, JsonObject]) -> JsonObject:
    """Return `schema` with references resolved, and alternatives to null and titles left out."""
    merged = _referenced(schema, definitions)
    result = {key: value for key, value in merged.items() if key not in _DROPPED}
    if "properties" in result:
        result["properties"] = {
            name: _structural(field, definitions) for name, field in result["properties"].items()
        }
    if result.get("additionalProperties") is True:
        # `x-kubernetes-preserve-unknown-fields` says the same, and keeps what is in there.
        del result["additionalProperties"]
    for key in ("items", "additionalProperties"):
        if key in result:
            result[key] = _structural(result[key], definitions)
    return result


def _referenced(schema: JsonObject, definitions: Mapping[str, JsonObject]) -> JsonObject:
    """Return `schema` over what it refers to; its own keys win, for example descriptions.

    So do those of each of its properties, which may add a pattern to one of what it refers to.
    """
    targets = [*schema.get("allOf", ()), *schema.get("anyOf", ())]
    if "$ref" in schema:
        targets.append(definitions[schema["$ref"].rpartition("/")[2]])
    base: JsonObject = {}
    for target in targets:
        if target.get("type") != "null":
            base |= _referenced(target, definitions)
    # Own descriptions are of the field, those of the target of its type.
    merged = base | schema
    if "properties" in base and "properties" in schema:
        fields = {
            name: base["properties"].get(name, {}) | own
            for name, own in schema["properties"].items()
        }
        merged["properties"] = base["properties"] | fields
    return merged


if __name__ == "__main__":
    sys.exit(main())
