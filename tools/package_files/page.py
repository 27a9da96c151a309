"""docs/package-files.md: the tables of all fields of `operator.yaml` and `params.yaml`."""

from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel

from kudo.api import CheckSpec, JobSpec, Maintainer, PipeFile, Task, TaskSpec
from kudo.api.parameter import InnermostValue, InnerValue, NestedValue
from kudo.api.task_kinds import KINDS
from kudo.packages.fields import Shape
from kudo.packages.model import PackageParameter, ParameterGroup, ParametersFile
from kudo.packages.written import (
    WrittenOperatorFile,
    WrittenPhase,
    WrittenPlan,
    WrittenStep,
)
from tools.package_files.fields import Field, fields, models

_INTRODUCTION: Final = """\
<!-- Generated from the models by `make reference`; do not edit. -->
# The files of a package

All fields of `operator.yaml` and `params.yaml`. [Writing packages](authoring.md) shows how to
write them, [Plans](plans.md) what tasks do, [Templates](templates.md) what templates see. Fields in
bold are needed. `kubectl kudo package verify` finds what is missing, and fields that are not listed
here; those whose names begin with `x-` are for other programs.

An editor that knows JSON schemas completes and checks both files with
[operator.json](schemas/operator.json) and [params.json](schemas/params.json):
[In an editor](authoring.md#in-an-editor).
"""
_VALUE: Final = "items, properties.NAME"
_TITLES: Final = {
    WrittenOperatorFile: "operator.yaml",
    Maintainer: "maintainers[]",
    Task: "tasks[]",
    TaskSpec: "tasks[].spec",
    PipeFile: "tasks[].spec.pipe[]",
    JobSpec: "tasks[].spec.job",
    CheckSpec: "tasks[].spec.check",
    WrittenPlan: "plans.NAME",
    WrittenPhase: "plans.NAME.phases[]",
    WrittenStep: "plans.NAME.phases[].steps[]",
    ParametersFile: "params.yaml",
    PackageParameter: "parameters[]",
    NestedValue: _VALUE,
    InnerValue: _VALUE,
    InnermostValue: _VALUE,
    ParameterGroup: "groups[]",
}
_KINDS: Final = """\
Each kind of task has its own fields:

| Kind | Needs | Can have | |
|---|---|---|---|
"""
_VALUES: Final = """\
What the values of an array or a map are; `items` and `properties` go three levels deep.
"""
_WORDS: Final = {
    "text": "text",
    "flag": "true or false",
    "integer": "integer",
    "number": "number",
    "anything": "any",
}


def page() -> str:
    """Return the text of the page."""
    parts = [_INTRODUCTION]
    for root in (WrittenOperatorFile, ParametersFile):
        # The same definition at each level has one section.
        first = {_TITLES[model]: model for model in reversed(models(root))}
        parts += [
            "\n".join(_section(model, top=model is root))
            for model in models(root)
            if first[_TITLES[model]] is model
            # Plans have parameters as well, which are described with those of params.yaml.
            and (root is ParametersFile or model not in models(ParametersFile))
        ]
    return "\n".join(parts)


def _section(model: type[BaseModel], *, top: bool) -> Iterator[str]:
    yield f"{'##' if top else '###'} {_TITLES[model]}"
    yield ""
    if model is NestedValue:
        yield _VALUES
    yield "| Field | Holds | Meaning |"
    yield "|---|---|---|"
    yield from map(_row, fields(model))
    yield ""
    if model is TaskSpec:
        yield _KINDS + "\n".join(map(_kind_row, KINDS))
        yield ""


def _row(field: Field) -> str:
    name = f"**`{field.name}`**" if field.required else f"`{field.name}`"
    return f"| {name} | {_holds(field)} | {field.description} |"


def _holds(field: Field) -> str:
    if field.choices:
        return ", ".join(f"`{word}`" for word in field.choices)
    return _shape(field.shape)


def _shape(shape: Shape) -> str:
    match shape.kind:
        case "list":
            assert shape.below is not None
            return f"list of {_shape(shape.below)}"
        case "map":
            assert shape.below is not None
            below = _shape(shape.below)
            return "mapping" if shape.below.kind == "anything" else f"{below} by name"
        case "mapping":
            assert shape.model is not None
            title = _TITLES[shape.model]
            return f"[{title}](#{_anchor(title)})"
    limits = [
        f"{word} {limit}"
        for word, limit in (("from", shape.minimum), ("up to", shape.maximum))
        if limit is not None
    ]
    return " ".join([_WORDS[shape.kind], *limits])


def _anchor(title: str) -> str:
    """Return the anchor of a heading, as Sphinx and others make it."""
    return "".join(
        character
        for character in title.lower().replace(" ", "-")
        if character.isalnum() or character in "-_"
    )


def _kind_row(name: str) -> str:
    kind = KINDS[name]
    return f"| {name} | {_names(kind.needed)} | {_names(kind.optional)} | {kind.does} |"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
