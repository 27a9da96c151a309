"""The fields of `operator.yaml` and `params.yaml`, read from the models that their contents become.

Names and descriptions are those of the models. What the models leave open, because files of KUDO
0.19 without it can still be read, stands in the tables here: which fields a new package needs,
which words a field takes, and which fields belong to a kind of task.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import BaseModel

from kudo.api import CheckSpec, Phase, PipeFile, Plan, Step, Task, TaskSpec
from kudo.api.names import API_VERSION
from kudo.api.parameter import InnermostValue
from kudo.api.task_kinds import KINDS
from kudo.packages.fields import FileField, Shape, fields_of
from kudo.packages.model import OperatorFile, PackageParameter, ParameterGroup, ParametersFile
from kudo.packages.written import WrittenOperatorFile, WrittenPlan, WrittenStep
from kudo.parameters.formats import FORMATS
from kudo.parameters.types import TYPES

_Value = TypeVar("_Value")
STRATEGIES: Final = ("serial", "parallel")


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a mapping.

    Attributes:
        choices: The only words that it takes; empty if it takes others.
        required: Whether a package needs it.
    """

    name: str
    shape: Shape
    description: str
    choices: tuple[str, ...]
    required: bool


_REQUIRED: Final[Mapping[type, frozenset[str]]] = {
    WrittenOperatorFile: frozenset({"name", "operatorVersion", "kubernetesVersion", "plans"}),
    Task: frozenset({"name", "kind"}),
    PipeFile: frozenset({"kind", "key"}),
    CheckSpec: frozenset({"apiVersion", "kind", "until"}),
    Plan: frozenset({"phases"}),
    Phase: frozenset({"name", "steps"}),
    Step: frozenset({"name", "tasks"}),
    # Of these, it depends on the other fields.
    WrittenPlan: frozenset(),
    WrittenStep: frozenset(),
    PackageParameter: frozenset({"name"}),
    ParameterGroup: frozenset({"name"}),
    InnermostValue: frozenset(),
}
_CHOICES: Final[Mapping[tuple[type, str], tuple[str, ...]]] = {
    (OperatorFile, "apiVersion"): (API_VERSION,),
    (ParametersFile, "apiVersion"): (API_VERSION,),
    (Task, "kind"): tuple(KINDS),
    (PipeFile, "kind"): ("ConfigMap", "Secret"),
    (Plan, "strategy"): STRATEGIES,
    (Phase, "strategy"): STRATEGIES,
    (PackageParameter, "type"): tuple(TYPES),
    (PackageParameter, "format"): tuple(FORMATS),
    (PackageParameter, "onChange"): ("run",),
    (InnermostValue, "type"): tuple(TYPES),
    (InnermostValue, "format"): tuple(FORMATS),
}
# In a package, the task names what is to be installed; the model says what the cluster stores.
_DESCRIPTIONS: Final[Mapping[tuple[type, str], str]] = {
    (TaskSpec, "package"): "Path of a folder or archive, or name of an operator (KudoOperator).",
    (TaskSpec, "appVersion"): "App version of the operator, if it is named (KudoOperator).",
    (TaskSpec, "operatorVersion"): "Version of the operator, if it is named (KudoOperator).",
    (TaskSpec, "instanceName"): "Name of the child; if absent, that of the parent, `-` and that "
    "of the operator (KudoOperator).",
}


def fields(model: type[BaseModel]) -> tuple[Field, ...]:
    """Return the fields of a mapping, in the order of the model."""
    return tuple(_field(model, field) for field in fields_of(model))


def models(root: type[BaseModel]) -> tuple[type[BaseModel], ...]:
    """Return the model of a file, and those of the mappings in it, each before those in it."""
    models_below = [root]
    for field in fields(root):
        below = _model_of(field.shape)
        if below is not None:
            models_below += [model for model in models(below) if model not in models_below]
    return tuple(models_below)


def _field(model: type[BaseModel], field: FileField) -> Field:
    return Field(
        field.name,
        field.shape,
        _of(model, _DESCRIPTIONS, field.name) or field.description,
        _of(model, _CHOICES, field.name) or (),
        field.name in next((_REQUIRED[base] for base in model.__mro__ if base in _REQUIRED), ()),
    )


def _of(model: type, table: Mapping[tuple[type, str], _Value], name: str) -> _Value | None:
    """Return what a table has of a field of a model, or of the model that it is a form of."""
    return next((table[base, name] for base in model.__mro__ if (base, name) in table), None)


def _model_of(shape: Shape) -> type[BaseModel] | None:
    return shape.model or (_model_of(shape.below) if shape.below else None)
