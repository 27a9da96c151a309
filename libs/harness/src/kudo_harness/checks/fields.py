"""Finds asserts on fields that no object of their kind has, as far as schemas are published.

These are warnings: a schema may be incomplete, and a suite of others runs all the same.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final
from urllib.parse import parse_qsl

from kubeio.client import Client
from kubeio.errors import KubeError
from kubeio.resource import Resource
from kudo.api.problems import shown_name
from kudo_harness.checks.kinds import Kinds
from kudo_harness.findings import Findings, did_you_mean
from kudo_harness.matching import path_text
from kudo_harness.suite import Document, Suite
from kudo_harness.suite.documents import Path

Schema = Mapping[str, Any]

_FREE: Final = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string")
_MOST_REFERENCES: Final = 5
"""References that lead to one schema; more are a cycle."""
_SECONDS: Final = 20.0
_MOST_GROUPS: Final = 20
"""Group versions whose schemas are read: each takes a request of up to some megabytes."""
_MOST_OF_ONE: Final = 3
"""Warnings about one document."""
_Asserted = tuple[Resource, Document]


@dataclass(frozen=True, slots=True)
class Unlike:
    """A value of an assert that no object of its kind can have.

    Attributes:
        path: Where it is.
        about: What the text is about: the value, or the mapping that has no such field.
        text: Why not, in words.
        advice: What may be meant; may be empty.
    """

    path: Path
    about: Path
    text: str
    advice: str = ""


async def check_fields(client: Client, suite: Suite, kinds: Kinds, findings: Findings) -> None:
    """Note fields of asserts and errors that no object of their kind has.

    Checks nothing where schemas cannot be read: they are an addition.

    Args:
        client: The connection.
        suite: The suite.
        kinds: The kinds of the cluster.
        findings: Where fields are noted, as warnings with file and line.
    """
    by_version: dict[str, list[_Asserted]] = defaultdict(list)
    for resource, document in _asserted(suite, kinds):
        by_version[resource.api_version].append((resource, document))
    try:
        async with asyncio.timeout(_SECONDS):
            paths = await published_paths(client) if by_version else {}
            # One after the other: some are megabytes, and this check is only an addition.
            for version in [version for version in by_version if paths.get(version)][:_MOST_GROUPS]:
                schemas = await schemas_at(client, paths[version])
                for resource, document in by_version[version]:
                    unlike = islice(schemas.unlike(resource, document.value), _MOST_OF_ONE)
                    _note(resource, document, unlike, findings)
    except (KubeError, TimeoutError, AttributeError, TypeError):
        # An aggregated API server may answer with any JSON.
        return


def _asserted(suite: Suite, kinds: Kinds) -> Iterator[_Asserted]:
    for step in (step for case in suite.cases for step in case.steps):
        # Another cluster has other schemas.
        if step.options is not None and (step.options.kubeconfig or step.options.context):
            continue
        for document in (*step.objects.asserts, *step.objects.errors):
            resource = kinds.find(document.value["apiVersion"], document.value["kind"])
            if resource is not None:
                yield resource, document


def _note(kind: Resource, document: Document, unlike: Iterable[Unlike], findings: Findings) -> None:
    for difference in unlike:
        about = f"{path_text(difference.about)} of {kind.kind}" if difference.about else kind.kind
        advice = f"; {difference.advice}" if difference.advice else ""
        message = f"{about} {difference.text}, so this can never match{advice}"
        findings.warning("UnlikeSchema", message, document.place(*difference.path))


@dataclass(frozen=True, slots=True)
class Schemas:
    """The schemas of one group version."""

    by_name: Mapping[str, Schema]

    def unlike(self, kind: Resource, value: Mapping[str, object]) -> Iterator[Unlike]:
        """Yield what an object has that its kind cannot have; nothing if that is not known."""
        schema = self._of_kind(kind)
        if schema is not None:
            yield from self._compare(schema, value, ())

    def _of_kind(self, kind: Resource) -> Schema | None:
        identity = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        for schema in self.by_name.values():
            if identity in schema.get("x-kubernetes-group-version-kind", ()):
                return schema
        return None

    def _compare(self, schema: Schema, value: object, path: Path) -> Iterator[Unlike]:
        schema = self._resolved(schema)
        free = any(schema.get(key) for key in _FREE) or schema.get("format") == "int-or-string"
        # null in an assert is no value of the type; a schema without a type takes any value.
        if value is None or free or "type" not in schema:
            return
        kind = schema["type"]
        if not _is_of(kind, value):
            yield Unlike(path, path, f"is of type {kind}, and {_shown(value)} is not")
        elif isinstance(value, Mapping):
            yield from self._mapping(schema, value, path)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._compare(schema.get("items") or {}, item, (*path, index))

    def _mapping(self, schema: Schema, value: Mapping[str, object], path: Path) -> Iterator[Unlike]:
        properties = schema.get("properties") or {}
        others = schema.get("additionalProperties")
        # A mapping without a schema may have any field.
        if not properties and not others:
            return
        for key, item in value.items():
            if key in properties:
                yield from self._compare(properties[key], item, (*path, key))
            elif isinstance(others, Mapping):
                yield from self._compare(others, item, (*path, key))
            elif not others:
                advice = did_you_mean(key, properties)
                yield Unlike((*path, key), path, f"has no field {shown_name(key)}", advice)

    def _resolved(self, schema: Schema) -> Schema:
        for _ in range(_MOST_REFERENCES):
            # OpenAPI allows nothing beside $ref: Kubernetes wraps it in allOf to add a default.
            parts: Sequence[Schema] = schema.get("allOf") or ()
            reference = schema.get("$ref") or (parts[0].get("$ref") if len(parts) == 1 else None)
            if not reference:
                break
            schema = self.by_name.get(str(reference).rpartition("/")[2]) or {}
        return schema


async def published_paths(client: Client) -> dict[str, str]:
    """Return the path of the schemas of each group version, such as `apps/v1`.

    Raises:
        KubeError: the API server does not publish them, or did not answer.
    """
    index = await client.raw("GET", "/openapi/v3")
    return {
        name.removeprefix("apis/").removeprefix("api/"): str(entry.get("serverRelativeURL") or "")
        for name, entry in (index.get("paths") or {}).items()
    }


async def schemas_at(client: Client, url: str) -> Schemas:
    """Return the schemas of a group version.

    Raises:
        KubeError: the API server did not answer.
    """
    path, _, query = url.partition("?")
    document = await client.raw("GET", path, query=dict(parse_qsl(query)))
    return Schemas((document.get("components") or {}).get("schemas") or {})


def _is_of(kind: object, value: object) -> bool:
    match kind:
        case "object":
            return isinstance(value, Mapping)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            whole = isinstance(value, float) and value.is_integer()
            return whole or (isinstance(value, int) and not isinstance(value, bool))
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
    return True


def _shown(value: object) -> str:
    match value:
        case str():
            return f'the text "{shown_name(value)}"'
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case Mapping():
            return "a mapping"
    return "a list"
