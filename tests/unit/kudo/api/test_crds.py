"""The CustomResourceDefinitions: fresh, structural, and with every field of the original."""

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from goyaml import load
from kudo.api import ExecutionStatus, JsonObject
from kudo.api.crds import definitions, files, main

_definitions = functools.cache(definitions)
_ROOT = Path(__file__).parents[4]
_FOLDERS = ("crds", "charts/kudo/files/crds")
_OF_INIT = _ROOT / "cli/src/kubectl_kudo/manifests/crds.yaml"

_REFERENCE = ["apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid"]
_FIELDS = {
    "operators": {
        "spec.description": "string",
        "spec.kudoVersion": "string",
        "spec.kubernetesVersion": "string",
        "spec.maintainers[].name": "string",
        "spec.maintainers[].email": "string",
        "spec.url": "string",
        "spec.namespaceManifest": "string",
        "status": "object",
    },
    "operatorversions": {
        "spec.version": "string",
        "spec.appVersion": "string",
        "spec.templates{}": "string",
        "spec.tasks[].name": "string",
        "spec.tasks[].kind": "string",
        "spec.tasks[].spec.resources[]": "string",
        "spec.tasks[].spec.parameter": "string",
        "spec.tasks[].spec.pod": "string",
        "spec.tasks[].spec.pipe[].file": "string",
        "spec.tasks[].spec.pipe[].envFile": "string",
        "spec.tasks[].spec.pipe[].kind": "string",
        "spec.tasks[].spec.pipe[].key": "string",
        "spec.tasks[].spec.package": "string",
        "spec.tasks[].spec.instanceName": "string",
        "spec.tasks[].spec.appVersion": "string",
        "spec.tasks[].spec.operatorVersion": "string",
        "spec.tasks[].spec.parameterFile": "string",
        "spec.tasks[].spec.wantErr": "boolean",
        "spec.tasks[].spec.fatal": "boolean",
        "spec.tasks[].spec.done": "boolean",
        "spec.parameters[].displayName": "string",
        "spec.parameters[].name": "string",
        "spec.parameters[].description": "string",
        "spec.parameters[].required": "boolean",
        "spec.parameters[].default": "string",
        "spec.parameters[].trigger": "string",
        "spec.parameters[].value-type": "string",
        "spec.parameters[].immutable": "boolean",
        "spec.parameters[].enum[]": "string",
        "spec.plans{}.strategy": "string",
        "spec.plans{}.phases[].name": "string",
        "spec.plans{}.phases[].strategy": "string",
        "spec.plans{}.phases[].steps[].name": "string",
        "spec.plans{}.phases[].steps[].tasks[]": "string",
        "spec.connectionString": "string",
        "status": "object",
    }
    | {f"spec.operator.{name}": "string" for name in _REFERENCE}
    | {f"spec.upgradableFrom[].{name}": "string" for name in _REFERENCE},
    "instances": {
        "spec.parameters{}": "string",
        "spec.planExecution.planName": "string",
        "spec.planExecution.uid": "string",
        "spec.planExecution.status": "string",
        "status.planStatus{}.name": "string",
        "status.planStatus{}.status": "string",
        "status.planStatus{}.message": "string",
        "status.planStatus{}.lastUpdatedTimestamp": "string",
        "status.planStatus{}.uid": "string",
        "status.planStatus{}.phases[].name": "string",
        "status.planStatus{}.phases[].status": "string",
        "status.planStatus{}.phases[].message": "string",
        "status.planStatus{}.phases[].steps[].name": "string",
        "status.planStatus{}.phases[].steps[].status": "string",
        "status.planStatus{}.phases[].steps[].message": "string",
        "status.conditions[].type": "string",
        "status.conditions[].status": "string",
        "status.conditions[].reason": "string",
        "status.conditions[].message": "string",
        "status.conditions[].lastTransitionTime": "string",
        "status.conditions[].observedGeneration": "integer",
    }
    | {f"spec.operatorVersion.{name}": "string" for name in _REFERENCE},
}


def _schema(plural: str) -> JsonObject:
    schema: JsonObject = _definitions()[plural]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def _at(schema: JsonObject, path: str) -> JsonObject:
    for part in path.split("."):
        schema = schema["properties"][part.rstrip("[]{}")]
        if part.endswith("[]"):
            schema = schema["items"]
        if part.endswith("{}"):
            schema = schema["additionalProperties"]
    return schema


def _nodes(schema: JsonObject, path: str = "") -> Iterator[tuple[str, JsonObject]]:
    yield path, schema
    for name, field in schema.get("properties", {}).items():
        yield from _nodes(field, f"{path}.{name}")
    if "items" in schema:
        yield from _nodes(schema["items"], f"{path}[]")
    if "additionalProperties" in schema:
        yield from _nodes(schema["additionalProperties"], f"{path}{{}}")


_NODES = [(crd, path, node) for crd in _FIELDS for path, node in _nodes(_schema(crd))]


def test_the_files_in_the_repository_are_what_the_models_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    folders = [str(_ROOT / folder) for folder in _FOLDERS]
    assert main([*folders, "--check"]) == 0, "run `make crds`"
    assert capsys.readouterr().out == ""
    of_init = yaml.safe_load_all(_OF_INIT.read_text())
    assert _specs(of_init) == _specs(_definitions().values())


def _specs(crds: Iterable[JsonObject]) -> JsonObject:
    return {crd["metadata"]["name"]: crd["spec"] for crd in crds}


def test_stale_and_missing_files_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    both = [str(first), str(second)]
    assert main(both) == 0
    (first / "operators.yaml").write_text("stale")
    (second / "instances.yaml").unlink()
    capsys.readouterr()
    assert main([*both, "--check"]) == 1
    stale = [f"stale: {path}" for path in (first / "operators.yaml", second / "instances.yaml")]
    assert capsys.readouterr().out.splitlines() == stale
    assert main(both) == 0
    assert main([*both, "--check"]) == 0


def test_the_files_are_the_definitions_as_yaml() -> None:
    read = {name: load(text) for name, text in files().items()}
    assert read == {f"{plural}.yaml": crd for plural, crd in _definitions().items()}


def test_every_field_of_the_original_is_there() -> None:
    for crd in _FIELDS:
        assert {path: _at(_schema(crd), path)["type"] for path in _FIELDS[crd]} == _FIELDS[crd]


def test_fields_that_the_original_writes_as_null_may_be_null() -> None:
    table = [
        ("operatorversions", "spec.plans"),
        ("operatorversions", "spec.tasks[].spec.resources"),
        ("operatorversions", "spec.tasks[].spec.pipe"),
        ("operatorversions", "spec.plans{}.phases"),
        ("instances", "status.planStatus{}.lastUpdatedTimestamp"),
    ]
    for crd, path in table:
        assert _at(_schema(crd), path)["nullable"] is True


def test_schemas_are_structural() -> None:
    for crd, path, node in _NODES:
        assert isinstance(node["type"], str), (crd, path)
        unstructured = {"$ref", "anyOf", "allOf", "oneOf", "title", "default", "$defs"}
        assert not node.keys() & unstructured, (crd, path)
        assert not {"properties", "additionalProperties"} <= node.keys(), (crd, path)


def test_only_conditions_and_sources_of_parameters_require_or_restrict_anything() -> None:
    restricting = {"required", "enum", "minLength", "minItems"}
    found = [(crd, path) for crd, path, node in _NODES if node.keys() & restricting]
    # The original had no parametersFrom.
    new = (".status.conditions[]", ".spec.parametersFrom[]")
    assert [one for one in found if not one[1].startswith(new)] == []


def test_only_conditions_durations_accounts_and_one_reference_have_a_pattern() -> None:
    # The original had no durations, accounts and outputs, so what is stored breaks none of these. A
    # reference that breaks its pattern is to what no API server can have stored.
    patterns = {path for _, path, node in _NODES if "pattern" in node}
    reference = {f"spec.operatorVersion.{field}" for field in ("name", "namespace")}
    assert {path.removeprefix(".") for path in patterns} >= reference
    others = {
        path.rpartition(".")[2] for path in patterns if path.removeprefix(".") not in reference
    }
    durations = {"timeout", "progressDeadline", "planTimeout"}
    sources = {"name", "key"}
    assert others == {"type", "reason", "serviceAccountName", "outputs[]"} | durations | sources


_BOUNDS = {"maxItems", "maxProperties", "maxLength"}


def test_a_status_is_bounded_by_what_it_is_computed_from_alone() -> None:
    # A bound here would stop the reconciler from writing how an Instance is.
    bounded = [path for _, path, node in _NODES if _BOUNDS & node.keys()]
    assert {path.split("[]")[0] for path in bounded if path.startswith(".status")} == {
        ".status.conditions"
    }


def test_what_can_be_many_or_long_is_bounded() -> None:
    table: list[tuple[str, str, JsonObject]] = [
        ("instances", "spec.parameters", {"maxProperties": 2000}),
        ("instances", "spec.parameters{}", {"maxLength": 262144}),
        ("instances", "spec.planExecution.planName", {"maxLength": 253}),
        ("operators", "spec.maintainers", {"maxItems": 100}),
        ("operatorversions", "spec.parameters", {"maxItems": 2000}),
        ("operatorversions", "spec.parameters[].default", {"maxLength": 262144}),
        ("operatorversions", "spec.parameters[].enum", {"maxItems": 1000}),
        ("operatorversions", "spec.templates", {"maxProperties": 1000}),
        ("operatorversions", "spec.templates{}", {"maxLength": 1048576}),
        ("operatorversions", "spec.tasks", {"maxItems": 1000}),
        ("operatorversions", "spec.tasks[].spec.resources", {"maxItems": 1000}),
        ("operatorversions", "spec.tasks[].spec.pipe", {"maxItems": 100}),
        ("operatorversions", "spec.plans", {"maxProperties": 200}),
        ("operatorversions", "spec.plans{}.phases", {"maxItems": 200}),
        ("operatorversions", "spec.plans{}.phases[].steps", {"maxItems": 500}),
        ("operatorversions", "spec.plans{}.phases[].steps[].tasks", {"maxItems": 500}),
        ("operatorversions", "spec.upgradableFrom", {"maxItems": 500}),
    ]
    for crd, path, bound in table:
        assert {key: _at(_schema(crd), path).get(key) for key in bound} == bound


def test_every_list_and_map_of_a_spec_is_bounded() -> None:
    unbounded = [
        f"{crd}{path}"
        for crd, path, node in _NODES
        if path.startswith(".spec")
        and (node["type"] == "array" or "additionalProperties" in node)
        and not _BOUNDS & node.keys()
    ]
    assert unbounded == []


def test_rules_are_few_and_none_is_on_a_field_without_bounds() -> None:
    ruled = [(crd, path) for crd, path, node in _NODES if "x-kubernetes-validations" in node]
    assert ruled == [
        ("instances", ""),
        ("instances", ".spec.parametersFrom[]"),
        ("instances", ".spec.planExecution"),
    ]


def test_a_rule_passes_what_is_stored_and_says_what_to_do(subtests: pytest.Subtests) -> None:
    for rule in [
        rule for _, _, node in _NODES for rule in node.get("x-kubernetes-validations", ())
    ]:
        with subtests.test(rule=rule):
            assert rule["optionalOldSelf"] is True
            assert "oldSelf" in rule["rule"].rpartition("||")[2]
            assert "; " in rule["message"]
            path = rule.get("fieldPath", ".status").removeprefix(".")
            under = _schema("instances")
            parent = under if path.startswith("spec.") else _at(under, "spec.planExecution")
            assert _at(parent, path)["type"] == "string"


def test_the_statuses_of_the_rule_are_those_of_plans() -> None:
    rule, *_ = _at(_schema("instances"), "spec.planExecution")["x-kubernetes-validations"]
    listed = rule["rule"].partition("[")[2].partition("]")[0]
    assert {name.strip(" '") for name in listed.split(",")} == {"", *ExecutionStatus}


def test_conditions_are_those_of_kubernetes() -> None:
    condition = _at(_schema("instances"), "status.conditions[]")
    desired = {"type", "status", "reason", "message", "lastTransitionTime"}
    assert set(condition["required"]) == desired
    assert condition["properties"]["status"]["enum"] == ["True", "False", "Unknown"]
    assert condition["properties"]["message"]["maxLength"] == 32768
    reason = condition["properties"]["reason"]
    assert (reason["minLength"], reason["maxLength"]) == (1, 1024)
    generation = condition["properties"]["observedGeneration"]
    assert (generation["format"], generation["minimum"]) == ("int64", 0)


def test_names_are_the_original_ones_and_a_short_one(subtests: pytest.Subtests) -> None:
    table = [
        ("operators", "Operator", "kop"),
        ("operatorversions", "OperatorVersion", "kov"),
        ("instances", "Instance", "ki"),
    ]
    for plural, kind, short_name in table:
        with subtests.test(plural=plural, kind=kind, short_name=short_name):
            crd = _definitions()[plural]
            assert crd["metadata"]["name"] == f"{plural}.kudo.dev"
            assert crd["spec"]["scope"] == "Namespaced"
            assert crd["spec"]["names"] == {
                "kind": kind,
                "listKind": f"{kind}List",
                "plural": plural,
                "singular": kind.lower(),
                "shortNames": [short_name],
                "categories": ["kudo"],
            }


def test_only_instances_have_a_status_subresource() -> None:
    versions = {plural: crd["spec"]["versions"][0] for plural, crd in _definitions().items()}
    assert [plural for plural, version in versions.items() if "subresources" in version] == [
        "instances"
    ]
    assert all(
        (v["name"], v["served"], v["storage"]) == ("v1beta1", True, True) for v in versions.values()
    )


def test_kubectl_get_shows_what_people_look_for(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, list[str]]] = [
        ("operators", ["URL", "Age", "Description"]),
        ("operatorversions", ["Operator", "Version", "App Version", "Age"]),
        (
            "instances",
            ["Operator Version", "Last Plan", "Plan Status", "Scheduled", "Ready", "Age", "Reason"],
        ),
    ]
    for plural, columns in table:
        with subtests.test(plural=plural, columns=columns):
            printed = _definitions()[plural]["spec"]["versions"][0]["additionalPrinterColumns"]
            assert [column["name"] for column in printed] == columns
            for column in printed:
                path = column["jsonPath"].split("[?")[0].removeprefix(".")
                if not path.startswith("metadata."):
                    _at(_schema(plural), path)


def test_kubectl_explain_has_a_text_for_each_field() -> None:
    # The API server describes metadata itself; items of lists and maps are no fields.
    assert [
        f"{crd}{path}"
        for crd, path, node in _NODES
        if path and not path.endswith(("[]", "{}")) and path != ".metadata"
        and not node.get("description", "").endswith(".")
    ] == []  # fmt: skip
