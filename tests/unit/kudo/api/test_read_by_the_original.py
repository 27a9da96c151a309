"""KUDO 0.19 can decode what is stored: no field of it has another type, and new ones are ignored.

Its command line decodes lists of objects into the types of Go below; one field of another type, in
one object, fails the list. Go takes a field for one of these whatever the case of its letters.
"""

from pathlib import Path
from typing import Any, Final

import pytest

from kudo.api.crds import definitions
from kudo.packages.convert import to_objects
from kudo.packages.reader import read_package
from tests.support.build import Json
from tests.unit.kudo.packages import package_tree

EXAMPLES = Path(__file__).parents[4] / "examples"

Type = Any
"""`str`, `bool` or `int`; a list with the type of its items; `{"*": type}` for a map; a struct."""

REFERENCE: Final[Type] = dict.fromkeys(
    ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"), str
)
TASK: Final[Type] = {
    "name": str,
    "kind": str,
    "spec": {
        "resources": [str],
        "parameter": str,
        "pod": str,
        "pipe": [{"file": str, "envFile": str, "kind": str, "key": str}],
        "package": str,
        "instanceName": str,
        "appVersion": str,
        "operatorVersion": str,
        "parameterFile": str,
        "wantErr": bool,
        "fatal": bool,
        "done": bool,
    },
}
PARAMETER: Final[Type] = {
    **dict.fromkeys(("displayName", "name", "description", "default", "trigger"), str),
    "value-type": str,
    "required": bool,
    "immutable": bool,
    "enum": [str],
}
PLAN: Final[Type] = {
    "strategy": str,
    "phases": [{"name": str, "strategy": str, "steps": [{"name": str, "tasks": [str]}]}],
}
_STATUS: Final = {"name": str, "status": str, "message": str}
TYPES: Final[dict[str, Type]] = {
    "operators": {
        "spec": {
            **dict.fromkeys(("description", "kudoVersion", "kubernetesVersion", "url"), str),
            "namespaceManifest": str,
            "maintainers": [{"name": str, "email": str}],
        },
        "status": {},
    },
    "operatorversions": {
        "spec": {
            "operator": REFERENCE,
            "version": str,
            "appVersion": str,
            "templates": {"*": str},
            "tasks": [TASK],
            "parameters": [PARAMETER],
            "plans": {"*": PLAN},
            "connectionString": str,
            "upgradableFrom": [REFERENCE],
        },
        "status": {},
    },
    "instances": {
        "spec": {
            "operatorVersion": REFERENCE,
            "parameters": {"*": str},
            "planExecution": {"planName": str, "uid": str, "status": str},
        },
        "status": {
            "planStatus": {
                "*": {
                    **_STATUS,
                    "uid": str,
                    "lastUpdatedTimestamp": str,
                    "phases": [{**_STATUS, "steps": [_STATUS]}],
                }
            },
            "conditions": [
                {
                    **dict.fromkeys(("type", "status", "reason", "message"), str),
                    "lastTransitionTime": str,
                    "observedGeneration": int,
                }
            ],
        },
    },
}
_NAMES: Final = {str: "string", bool: "boolean", int: "integer"}


def faults_of_schema(schema: Json, expected: Type, path: str) -> list[str]:
    """Return where objects of a schema could have something that cannot be decoded."""
    if isinstance(expected, list):
        items = schema.get("items")
        return faults_of_schema(items, expected[0], path) if items else [f"{path} is no list"]
    if not isinstance(expected, dict):
        return [] if schema.get("type") == _NAMES[expected] else [f"{path} is no {expected}"]
    if "*" in expected:
        values = schema.get("additionalProperties")
        return faults_of_schema(values, expected["*"], path) if values else [f"{path} is no map"]
    if schema.get("type") != "object":
        return [f"{path} is no object"]
    fields = {name.casefold(): field for name, field in expected.items()}
    return [
        fault
        for name, below in schema.get("properties", {}).items()
        if name.casefold() in fields
        for fault in faults_of_schema(below, fields[name.casefold()], f"{path}.{name}")
    ]


def decoded(value: Any, expected: Type, path: str = "") -> Any:
    """Return what Go's JSON decoder makes of a value; fields that the type has not are dropped.

    Raises:
        TypeError: it has another type.
    """
    if value is None:
        return None
    kind: Any = type(expected) if isinstance(expected, list | dict) else expected
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{path}: {type(value)} is no {kind}")
    if isinstance(expected, list):
        return [decoded(item, expected[0], path) for item in value]
    if not isinstance(expected, dict):
        return value
    if "*" in expected:
        return {key: decoded(item, expected["*"], f"{path}.{key}") for key, item in value.items()}
    fields = {name.casefold(): name for name in expected}
    known = {fields[key.casefold()]: key for key in value if key.casefold() in fields}
    return {
        name: decoded(value[key], expected[name], f"{path}.{name}") for name, key in known.items()
    }


def decode(plural: str, obj: Json) -> Json:
    made: Json = decoded({k: obj[k] for k in ("spec", "status") if k in obj}, TYPES[plural])
    return made


@pytest.mark.parametrize("plural", TYPES)
def test_no_field_of_the_original_has_another_type(plural: str) -> None:
    version = definitions()[plural]["spec"]["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    assert faults_of_schema(schema, {**TYPES[plural], "metadata": {}}, plural) == []


JOBS = """\
name: db
operatorVersion: 1.0.0
kubernetesVersion: 1.30.0
kudoVersion: 0.20.0
plans:
  deploy:
    timeout: 1h
    steps:
      - name: backup
        when: params.ON == "true"
        job:
          script: scripts/backup.sh
          image: mariadb
          args: [full]
          env: [{name: A, value: b}]
          resources: {limits: {cpu: 1}}
          backoffLimit: 2
"""


def test_the_objects_of_all_examples_can_be_decoded(tmp_path: Path) -> None:
    own = package_tree.write(tmp_path, JOBS)
    (own / "params.yaml").write_text("parameters: [{name: 'ON', default: 'true'}]\n")
    (own / "scripts").mkdir()
    (own / "scripts" / "backup.sh").write_text("true\n")
    folders = [own, *sorted(path.parent for path in EXAMPLES.rglob("operator.yaml"))]
    assert len(folders) > 5
    for folder in folders:
        objects = to_objects(read_package(folder), "ns")
        for plural, made in (
            ("operators", objects.operator),
            ("operatorversions", objects.operator_version),
            ("instances", objects.instance),
        ):
            wire = made.to_wire()
            read = decode(plural, wire)
            # What the original knows of it, it knows as it is.
            assert decode(plural, read) == read
            assert read["spec"].keys() <= wire["spec"].keys()


def test_a_task_of_a_new_kind_is_one_without_anything_to_the_original() -> None:
    job = {"script": "scripts/a.sh", "resources": {"limits": {}}, "args": ["a"]}
    stored = {"spec": {"tasks": [{"name": "t", "kind": "Job", "spec": {"job": job}}]}}
    assert decode("operatorversions", stored) == {
        "spec": {"tasks": [{"name": "t", "kind": "Job", "spec": {}}]}
    }


def test_what_the_original_cannot_decode_is_found() -> None:
    with pytest.raises(TypeError, match="resources"):
        decode("operatorversions", {"spec": {"tasks": [{"spec": {"Resources": {"cpu": 1}}}]}})
    schema = {"type": "object", "properties": {"Resources": {"type": "object"}}}
    assert faults_of_schema(schema, {"resources": [str]}, "spec") == ["spec.Resources is no list"]
