"""The reference of `operator.yaml` and `params.yaml`: true, complete, and good for the examples."""

import json
from collections.abc import Mapping
from dataclasses import fields as attributes_of
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from pydantic import Field as ModelField

from kudo.api import Task, TaskSpec
from kudo.api.problems import Problem
from kudo.api.task_kinds import KINDS, FatalTaskError, check_task
from kudo.authoring.skeleton import NewPackage, skeleton
from kudo.packages.fields import Shape
from kudo.packages.files import PackageFiles
from kudo.packages.model import OperatorFile, ParametersFile
from kudo.packages.reader import parse_operator, parse_package, parse_parameters
from kudo.packages.written import WrittenOperatorFile
from kudo.verification.fields import fields_are_known
from tests.support.build import Json
from tests.support.json_schema import faults
from tools.package_files.__main__ import DOCS, files, main
from tools.package_files.fields import Field, fields, models
from tools.package_files.page import _shape
from tools.package_files.schemas import _value

EXAMPLES = DOCS.parent / "examples"
FILES = {"operator": "operator.yaml", "params": "params.yaml"}


def schema(name: str) -> Json:
    found: Json = json.loads((DOCS / "schemas" / f"{name}.json").read_text())
    return found


def sample(shape: Shape, field: Field) -> Any:
    """Return a value that differs from what the field is where it is absent."""
    match shape.kind:
        case "list":
            assert shape.below is not None
            return [sample(shape.below, field)]
        case "map":
            assert shape.below is not None
            return {"one": sample(shape.below, field)}
        case "mapping":
            assert shape.model is not None
            return {one.name: sample(one.shape, one) for one in fields(shape.model)}
        case "flag":
            return field.name != "required"
        case "integer":
            return 7
        case "number":
            return 0.5
    return field.choices[-1] if field.choices else f"{field.name}s"


def document(root: type) -> Json:
    return {field.name: sample(field.shape, field) for field in fields(root)}


def defaults(value: object, path: str) -> list[str]:
    """Return the attributes of models within a value that are as if nothing had been given."""
    if isinstance(value, Mapping):
        return [found for key, item in value.items() for found in defaults(item, f"{path}.{key}")]
    if isinstance(value, tuple):
        return [found for item in value for found in defaults(item, path)]
    if isinstance(value, BaseModel):
        plain = {name: field.default for name, field in type(value).model_fields.items()}
    elif hasattr(value, "__dataclass_fields__"):
        plain = {field.name: field.default for field in attributes_of(value)}  # type: ignore[arg-type]
    else:
        return []
    found = [f"{path}.{name}" for name, default in plain.items() if getattr(value, name) == default]
    for name in plain:
        found += defaults(getattr(value, name), f"{path}.{name}")
    return found


def test_the_committed_files_are_those_of_the_models(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""
    assert {path: (DOCS / path).read_text() for path in files()} == files()


def test_a_stale_file_is_named(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tools.package_files.__main__.DOCS", tmp_path)
        assert main(["--check"]) == 1
        assert [*tmp_path.iterdir()] == []
        assert "stale: docs/schemas/params.json\n" in capsys.readouterr().out
        assert main([]) == 0
        assert main(["--check"]) == 0


def test_every_field_is_described_and_read() -> None:
    problems: list[Problem] = []
    operator, _ = parse_operator(json.dumps(document(OperatorFile)).encode(), problems)
    assert defaults(operator, "operator") == []
    parameters, groups = parse_parameters(json.dumps(document(ParametersFile)).encode(), problems)
    assert defaults((parameters, groups), "params") == []
    assert problems == []
    every = [one for root in (WrittenOperatorFile, ParametersFile) for one in models(root)]
    assert [field.name for model in every for field in fields(model) if not field.description] == []


def test_verification_knows_the_same_fields() -> None:
    texts = {"operator.yaml": document(OperatorFile), "params.yaml": document(ParametersFile)}
    files_of = {name: json.dumps(text).encode() for name, text in texts.items()}
    known = parse_package(PackageFiles("p", files_of))
    assert [*fields_are_known(known)] == []
    for name, text in texts.items():
        wrong = {**files_of, name: json.dumps(misspelt(text)).encode()}
        found = [*fields_are_known(parse_package(PackageFiles("p", wrong)))]
        assert len(found) == count(text)


def misspelt(value: Any) -> Any:
    """Return a document with another name for every field, but the names of plans."""
    if isinstance(value, list):
        return [misspelt(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key if key in _READ else f"{key}9": misspelt(item) for key, item in value.items()}


def count(value: Any) -> int:
    """Return how many fields `misspelt` renames."""
    below = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    own = len(value.keys() - _READ) if isinstance(value, dict) else 0
    return own + sum(map(count, below))


_READ = {
    *("one", "apiVersion", "maintainers", "tasks", "spec", "pipe", "job", "check"),
    *("plans", "phases", "steps", "parameters", "groups", "items", "properties"),
}
"""The name of a plan in `sample`, and fields without which nothing below them would be checked."""


def test_the_kinds_of_tasks_are_those_that_run() -> None:
    needed = {"resources": ("a.yaml",), "parameter": "p", "pod": "a.yaml", "package": "p"}
    job = {"script": "scripts/a.sh", "image": "i"}
    pipe = ({"file": "/f", "kind": "Secret", "key": "k"},)
    check = {"apiVersion": "v1", "kind": "Pod", "name": "p", "until": "true"}
    known = {one for kind in KINDS.values() for one in kind.fields}
    assert known == {field.name for field in fields(TaskSpec)}
    for name, kind in KINDS.items():
        given = {
            one: {**needed, "pipe": pipe, "job": job, "check": check}[one] for one in kind.needed
        }
        # What is installed has a version, whether its task names one or not.
        found = TaskSpec.model_validate({"operatorVersion": "1.0.0", **given})
        check_task(Task(name="t", kind=name, spec=found))
    with pytest.raises(FatalTaskError, match="unknown task kind"):
        check_task(Task(name="t", kind="Other"))


@pytest.mark.parametrize("name", FILES)
def test_examples_and_new_packages_fit_the_schemas(name: str) -> None:
    found = sorted(EXAMPLES.rglob(FILES[name]))
    assert len(found) > 5
    texts = {str(path): path.read_text() for path in found}
    texts["package new"] = skeleton(NewPackage("web", app_version="2.0", url="u"))[FILES[name]]
    wrong = {path: faults(yaml.safe_load(text), schema(name)) for path, text in texts.items()}
    assert {path: fault for path, fault in wrong.items() if fault} == {}


OPERATOR = """
name: web
operatorVersion: "1.0.0"
kubernetesVersion: "1.25.0"
tasks:
- {name: app, kind: Apply, spec: {resources: [app.yaml]}}
plans: {deploy: {phases: [{name: main, steps: [{name: app, tasks: [app]}]}]}}
"""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("name: web", "nam: web", [".nam: additionalProperties", ".name: required"]),
        ('"1.0.0"', "0.10", [".operatorVersion: type"]),
        ("deploy:", "update:", [".plans.deploy: required"]),
        ("kind: Apply", "kind: Aply", [".tasks[0].kind: enum"]),
        ("resources: [app.yaml]", "wait: true", None),
        ("Apply, spec: {resources: [app.yaml]}", "Toggle", [".tasks[0].spec: required"]),
        ("Apply, spec: {resources: [app.yaml]}", "Dummy", []),
        ("name: web", "name: web\nx-own: kept", []),
        ("phases:", "strategy: paralel, phases:", [".plans.deploy.strategy: enum"]),
        ("steps:", "step:", None),
        (", tasks: [app]", "", [".plans.deploy.phases[0].steps[0]: oneOf"]),
        ("tasks: [app]", "apply: [app.yaml]", []),
        ("tasks: [app]", "apply: {resource: [app.yaml]}", None),
        ("tasks: [app]", "job: {script: scripts/a.sh, image: i}", []),
        ("tasks: [app]", "job: {podTemplate: a.yaml, script: scripts/a.sh}", []),
        ("tasks: [app]", "job: {image: i}", None),
        ("tasks: [app]", "job: {script: scripts/a.sh, command: [x]}", None),
        ("tasks: [app]", "job: {script: scripts/a.sh, imge: i}", None),
        (
            "Apply, spec: {resources: [app.yaml]}",
            "Job, spec: {job: {command: [x], keep: 11}}",
            None,
        ),
        ("{name: app, tasks: [app]}", "{include: app}", []),
        (
            "phases: [{name: main, steps: [{name: app, tasks: [app]}]}]",
            "steps: [{include: app}]",
            [],
        ),
    ],
)
def test_typing_errors_are_found(old: str, new: str, fault: list[str] | None) -> None:
    found = faults(yaml.safe_load(OPERATOR.replace(old, new, 1)), schema("operator"))
    assert found if fault is None else found == fault


@pytest.mark.parametrize(
    ("parameter", "fault"),
    [
        ("{name: A, triger: scale}", [".parameters[0].triger: additionalProperties"]),
        ("{name: A, type: int}", [".parameters[0].type: enum"]),
        ("{name: A, enum: [null]}", [".parameters[0].enum[0]: not"]),
        ("{name: A, required: 'no'}", [".parameters[0].required: type"]),
        ("{name: A, default: {a: [1]}, type: map}", []),
        ("{name: A, minimum: '1'}", [".parameters[0].minimum: type"]),
        ("{name: A, minimum: 0.5, maximum: 1}", []),
        ("{name: A, minLength: -1}", [".parameters[0].minLength: minimum"]),
        ("{name: A, format: mail}", [".parameters[0].format: enum"]),
        ("{name: A, secret: true, onChange: run}", []),
        ("{name: A, secret: true, onChange: restart}", [".parameters[0].onChange: enum"]),
        (
            "{name: A, items: {properties: {a: {items: {items: {type: string}}}}}}",
            [".parameters[0].items.properties.a.items.items: additionalProperties"],
        ),
    ],
)
def test_typing_errors_of_parameters_are_found(parameter: str, fault: list[str]) -> None:
    text = f"parameters: [{parameter}]"
    assert faults(yaml.safe_load(text), schema("params")) == fault


@pytest.mark.parametrize(
    ("field", "known"),
    [
        ("minLength: 3", True),
        ("hint: ask", True),
        ("trigger: deploy", False),
        ("immutable: false", False),
        ("secret: true", False),
        ("onChange: run", False),
    ],
)
def test_parameters_of_runs_have_the_fields_that_verification_allows(
    field: str, known: bool
) -> None:
    text = OPERATOR.replace("{phases:", f"{{parameters: [{{name: A, {field}}}], phases:")
    place = f".plans.deploy.parameters[0].{field.partition(':')[0]}"
    wanted = [] if known else [f"{place}: additionalProperties"]
    assert faults(yaml.safe_load(text), schema("operator")) == wanted


def test_a_pipe_file_is_one_or_the_other() -> None:
    pipe = "{file: /f, envFile: /e, kind: Secret, key: k}"
    kind = f"Pipe, spec: {{pod: p.yaml, pipe: [{pipe}]}}"
    text = OPERATOR.replace("Apply, spec: {resources: [app.yaml]}", kind)
    assert faults(yaml.safe_load(text), schema("operator")) == [".tasks[0].spec.pipe[0]: oneOf"]


class Cup(BaseModel):
    size: int | None = ModelField(None, json_schema_extra={"minimum": 1, "maximum": 5})
    sips: int | None = ModelField(None, json_schema_extra={"minimum": 0})


def test_the_bounds_of_integers_are_in_schemas_and_on_the_page() -> None:
    size, sips = (field.shape for field in fields(Cup))
    assert _value(size) == {"type": "integer", "minimum": 1, "maximum": 5}
    assert _value(sips) == {"type": "integer", "minimum": 0}
    assert [_shape(size), _shape(sips)] == ["integer from 1 up to 5", "integer from 0"]
