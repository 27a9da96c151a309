"""Asserts that no object of their kind can match, as the published schemas say."""

from collections.abc import Mapping
from typing import Any

import pytest

import goyaml
from kubeio.resource import Resource
from kudo_harness.checks.fields import Schemas, check_fields
from kudo_harness.findings import Findings
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.testing.suites import client_of, kinds_of
from tests.unit.harness.suite.writing import load

POTS = Resource("example.com", "v1", "Pot", "pots", namespaced=True)
SPEC = {
    "type": "object",
    "properties": {
        "cups": {"type": "integer"},
        "lid": {"type": "boolean"},
        "heat": {"type": "number"},
        "port": {"type": "string", "format": "int-or-string"},
        "size": {"oneOf": [{"type": "string"}, {"type": "number"}]},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "free": {"type": "object"},
        "kept": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "list": {"type": "array", "items": {"$ref": "#/components/schemas/item"}},
        "cycle": {"$ref": "#/components/schemas/cycle"},
        "gone": {"$ref": "#/components/schemas/none"},
    },
}
SCHEMAS = Schemas(
    {
        "pot": {
            "type": "object",
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": {"allOf": [{"$ref": "#/components/schemas/meta"}], "default": {}},
                "spec": SPEC,
            },
            "x-kubernetes-group-version-kind": [
                {"group": "example.com", "version": "v1", "kind": "Pot"}
            ],
        },
        "meta": {"type": "object", "properties": {"name": {"type": "string"}}},
        "item": {"type": "object", "properties": {"name": {"type": "string"}}},
        "cycle": {"$ref": "#/components/schemas/cycle"},
    }
)


def unlike(text: str) -> list[str]:
    value = goyaml.load(f"apiVersion: example.com/v1\nkind: Pot\n{text}")
    assert isinstance(value, Mapping)
    found = SCHEMAS.unlike(POTS, value)
    return [f"{'.'.join(map(str, one.path))} {one.text}; {one.advice}" for one in found]


@pytest.mark.parametrize(
    "text",
    [
        "metadata: {name: a}",
        "spec: {cups: 3, lid: true, heat: 1, port: 80, size: 3}",
        "spec: {cups: 3.0, heat: 1.5, port: http, size: 1Gi}",
        "spec: {labels: {a: b}, free: {a: [1]}, kept: {a: {b: c}}}",
        "spec: {list: [{name: a}, {}]}",
        "spec: {cups: null, list: null}",
        "spec: {cycle: {a: b}, gone: {a: b}}",
    ],
)
def test_what_the_schema_allows_is_fine(text: str) -> None:
    assert unlike(text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("spec: {cup: 3}", "spec.cup has no field cup; did you mean cups?"),
        ("zzz: 3", "zzz has no field zzz; "),
        ("metadata: {nam: a}", "metadata.nam has no field nam; did you mean name?"),
        ("spec: {list: [{name: a}, {nam: b}]}", "spec.list.1.nam has no field nam; did you mean "),
        ("spec: {cups: '3'}", 'spec.cups is of type integer, and the text "3" is not; '),
        ("spec: {cups: true}", "spec.cups is of type integer, and true is not; "),
        ("spec: {cups: 1.5}", "spec.cups is of type integer, and the number 1.5 is not; "),
        ("spec: {lid: 'yes'}", 'spec.lid is of type boolean, and the text "yes" is not; '),
        ("spec: {heat: hot}", 'spec.heat is of type number, and the text "hot" is not; '),
        ("spec: {labels: {a: 1}}", "spec.labels.a is of type string, and the number 1 is not; "),
        ("spec: {list: {name: a}}", "spec.list is of type array, and a mapping is not; "),
        ("spec: [1]", "spec is of type object, and a list is not; "),
    ],
)
def test_what_no_object_can_have_is_told(text: str, problem: str) -> None:
    (found,) = unlike(text)
    assert found.startswith(problem)


def test_a_kind_without_a_schema_is_not_checked() -> None:
    other = Resource("example.com", "v1", "Lid", "lids", namespaced=True)
    assert list(SCHEMAS.unlike(other, {"zzz": 1})) == []


async def test_without_published_schemas_nothing_is_told(api: FakeApi, tmp_path: Any) -> None:
    files = {"e2e/a/00-assert.yaml": "apiVersion: v1\nkind: Pod\nzzz: 1\n"}
    findings = Findings()
    async with client_of(api) as client:
        await check_fields(client, load(tmp_path, files), await kinds_of(api), findings)
    assert findings.kept == []
