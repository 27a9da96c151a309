"""JSON schemas of `operator.yaml` and `params.yaml`, for editors.

They are stricter than KUDO, which ignores unknown keys, whatever the case of a key is, and turns
numbers into text: an editor should show a typing error as soon as it is made.
"""

from typing import Final

from pydantic import BaseModel

from kudo.api import CheckSpec, JobSpec, JsonObject, PipeFile, Task, TaskSpec
from kudo.api.task_kinds import KINDS
from kudo.api.task_kinds.kind import TaskKind
from kudo.packages.fields import Shape
from kudo.packages.model import PackageParameter, ParametersFile
from kudo.packages.short_form import INLINE, LISTED
from kudo.packages.written import WrittenOperatorFile, WrittenPlan, WrittenStep
from kudo.verification.run_parameters import NOT_OF_RUNS
from tools.package_files.fields import Field, fields, models

_DIALECT: Final = "http://json-schema.org/draft-07/schema#"
"""The one that editors and their language servers know best."""
_OF_RUNS: Final = (PackageParameter, WrittenOperatorFile)
_TYPES: Final = {
    "text": "string",
    "flag": "boolean",
    "integer": "integer",
    "number": "number",
}


def schemas() -> dict[str, JsonObject]:
    """Return the schemas by file name."""
    return {
        "operator.json": _schema(WrittenOperatorFile, "operator.yaml of a KUDO package"),
        "params.json": _schema(ParametersFile, "params.yaml of a KUDO package"),
    }


def _schema(root: type[BaseModel], title: str) -> JsonObject:
    definitions = {model.__name__: _mapping(model, root) for model in models(root)[1:]}
    return {
        "$schema": _DIALECT,
        "title": title,
        **_mapping(root, root),
        "definitions": dict(sorted(definitions.items())),
    }


def _mapping(model: type[BaseModel], root: type[BaseModel]) -> JsonObject:
    # In operator.yaml, parameters are those of runs.
    without = NOT_OF_RUNS.values() if (model, root) == _OF_RUNS else ()
    model_fields = [field for field in fields(model) if field.name not in without]
    schema: JsonObject = {
        "type": ["object", "null"] if model is TaskSpec else "object",
        "additionalProperties": False,
        # Fields of other programs.
        "patternProperties": {"^x-": {}},
        "properties": {field.name: _field(model, field) for field in model_fields},
    }
    required = [field.name for field in model_fields if field.required]
    return schema | ({"required": required} if required else {}) | _more(model)


def _field(model: type[BaseModel], field: Field) -> JsonObject:
    schema = {"description": field.description.replace("`", ""), **_value(field.shape)}
    if model is WrittenStep and field.name in INLINE:
        kind = KINDS[INLINE[field.name]]
        if not kind.sole:
            schema = {
                "description": schema["description"],
                **_inline(kind, listed=field.name in LISTED),
            }
    if field.choices:
        schema["enum"] = list(field.choices)
    if model is WrittenOperatorFile and field.name == "plans":
        schema["required"] = ["deploy"]
    if field.name == "enum":
        schema |= {"minItems": 1, "items": {"not": {"type": "null"}}}
    return schema


def _value(shape: Shape) -> JsonObject:
    match shape.kind:
        case "anything":
            return {}
        case "list":
            assert shape.below is not None
            return {"type": "array", "items": _value(shape.below)}
        case "map":
            assert shape.below is not None
            return {"type": "object", "additionalProperties": _value(shape.below)}
        case "mapping":
            assert shape.model is not None
            return {"$ref": f"#/definitions/{shape.model.__name__}"}
    limits = {"minimum": shape.minimum, "maximum": shape.maximum}
    return {
        "type": _TYPES[shape.kind],
        **{keyword: limit for keyword, limit in limits.items() if limit is not None},
    }


def _more(model: type[BaseModel]) -> JsonObject:
    """Return the rules between fields."""
    if model is Task:
        return {"allOf": [_of_kind(kind) for kind in KINDS]}
    if model is WrittenPlan:
        return {"oneOf": [{"required": ["phases"]}, {"required": ["steps"]}]}
    if model is WrittenStep:
        held = [["include"], *(["name", word] for word in ("tasks", *INLINE))]
        return {"oneOf": [{"required": names} for names in held]}
    if model is CheckSpec:
        return {"oneOf": [{"required": ["name"]}, {"required": ["selector"]}]}
    if model is JobSpec:
        programs = [{"required": [field]} for field in ("script", "command", "podTemplate")]
        return {"anyOf": programs, "not": {"required": ["script", "command"]}}
    if model is PipeFile:
        return {"oneOf": [{"required": ["file"]}, {"required": ["envFile"]}]}
    return {}


def _inline(kind: TaskKind, *, listed: bool) -> JsonObject:
    """Return the schema of a task that stands in a step."""
    spec: JsonObject = {
        "allOf": [
            {"$ref": f"#/definitions/{TaskSpec.__name__}"},
            {"propertyNames": {"enum": list(kind.fields)}},
        ]
    }
    if kind.needed:
        spec |= {"type": "object", "required": list(kind.needed)}
    if not listed:
        return spec
    return {"oneOf": [spec, {"type": "array", "items": {"type": "string"}}]}


def _of_kind(kind: str) -> JsonObject:
    """Return the rule that the spec of a task has the fields of its kind."""
    needed, allowed = KINDS[kind].needed, list(KINDS[kind].fields)
    spec: JsonObject = {"propertyNames": {"enum": allowed}}
    then: JsonObject = {"properties": {"spec": spec}}
    if needed:
        spec["required"] = list(needed)
        spec["type"] = "object"
        then["required"] = ["spec"]
    return {
        "if": {"required": ["kind"], "properties": {"kind": {"const": kind}}},
        "then": then,
    }
