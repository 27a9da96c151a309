"""The fields of `operator.yaml` and `params.yaml`, read from the models that their contents become.

Names and descriptions are those of the models. What the models leave open, because files of KUDO
0.19 without it can still be read, stands in the tables here: which fields a new package needs,
which words a field takes, and which fields belong to a kind of task.
"""

import inspect
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Final, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from kudo.api import Maintainer, Phase, PipeFile, Plan, Step, Task, TaskSpec
from kudo.packages import OperatorFile, PackageParameter, ParameterGroup
from kudo.packages.plans import (
    PackageMaintainer,
    PackagePhase,
    PackagePipeFile,
    PackagePlan,
    PackageStep,
    PackageTask,
    PackageTaskSpec,
)
from kudo.tasks import KINDS

STRATEGIES: Final = ("serial", "parallel")
TYPES: Final = ("string", "integer", "number", "boolean", "array", "map")
API_VERSION_FIELD: Final = "apiVersion"


@dataclass(frozen=True, slots=True)
class ParametersFile:
    """`params.yaml`.

    Attributes:
        parameters: What users can set.
        groups: Groups of parameters, for lists and references; they change nothing else.
    """

    parameters: tuple[PackageParameter, ...] = ()
    groups: tuple[ParameterGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What a field holds.

    Attributes:
        kind: `text`, `flag`, `integer`, `anything`, `mapping`, `list` or `map`.
        below: Shape of the items of a list, and of the values of a map.
        model: The model of a mapping.
    """

    kind: str
    below: "Shape | None" = None
    model: type | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a mapping.

    Attributes:
        name: Its key in the file.
        attribute: Its name in the model.
        choices: The only words that it takes; empty if it takes others.
        required: Whether a package needs it.
    """

    name: str
    attribute: str
    shape: Shape
    description: str
    choices: tuple[str, ...]
    required: bool


_REQUIRED: Final[Mapping[type, frozenset[str]]] = {
    OperatorFile: frozenset({"name", "operatorVersion", "kubernetesVersion", "tasks", "plans"}),
    Task: frozenset({"name", "kind"}),
    PipeFile: frozenset({"kind", "key"}),
    Plan: frozenset({"phases"}),
    Phase: frozenset({"name", "steps"}),
    Step: frozenset({"name", "tasks"}),
    PackageParameter: frozenset({"name"}),
    ParameterGroup: frozenset({"name"}),
}
_CHOICES: Final[Mapping[tuple[type, str], tuple[str, ...]]] = {
    (Task, "kind"): tuple(KINDS),
    (PipeFile, "kind"): ("ConfigMap", "Secret"),
    (Plan, "strategy"): STRATEGIES,
    (Phase, "strategy"): STRATEGIES,
    (PackageParameter, "type"): TYPES,
}
_MODELS: Final[Mapping[type, type]] = {
    PackageMaintainer: Maintainer,
    PackagePhase: Phase,
    PackagePipeFile: PipeFile,
    PackagePlan: Plan,
    PackageStep: Step,
    PackageTask: Task,
    PackageTaskSpec: TaskSpec,
}
"""The API models, which describe their fields, of what packages are read into."""
_NAMES: Final[Mapping[tuple[type, str], str]] = {(ParameterGroup, "priority"): "prio"}
_NOT_IN_FILES: Final[frozenset[tuple[type, str]]] = frozenset({(PackageParameter, "has_default")})
# In a package, the task names what is to be installed; the model says what the cluster stores.
_DESCRIPTIONS: Final[Mapping[tuple[type, str], str]] = {
    (TaskSpec, "package"): "Path of a folder or archive, or name of an operator (KudoOperator).",
    (TaskSpec, "app_version"): "App version of the operator, if it is named (KudoOperator).",
    (TaskSpec, "operator_version"): "Version of the operator, if it is named (KudoOperator).",
    (TaskSpec, "instance_name"): "Name of the child; if absent, that of the parent, `-` and that "
    "of the operator (KudoOperator).",
}
_ATTRIBUTE: Final = re.compile(r"^    (\w+): (.+?)(?=^    \w+: |\Z)", re.DOTALL | re.MULTILINE)


def fields(model: type) -> tuple[Field, ...]:
    """Return the fields of a mapping, in the order of the model.

    Raises:
        LookupError: a field has no description.
    """
    found = tuple(_fields(model))
    if model in {OperatorFile, ParametersFile}:
        return (_api_version(), *found)
    return found


def models(root: type) -> tuple[type, ...]:
    """Return the model of a file, and those of the mappings in it, each before those in it."""
    found = [root]
    for field in fields(root):
        below = _model_of(field.shape)
        if below is not None:
            found += [model for model in models(below) if model not in found]
    return tuple(found)


def _api_version() -> Field:
    text = "`kudo.dev/v1beta1`, which is also meant if absent."
    choices = ("kudo.dev/v1beta1",)
    return Field(API_VERSION_FIELD, "", Shape("text"), text, choices, required=False)


def _fields(model: type) -> Iterator[Field]:
    descriptions = _descriptions(model)
    for attribute, hint in _hints(model).items():
        if (model, attribute) in _NOT_IN_FILES:
            continue
        name = _NAMES.get((model, attribute)) or to_camel(attribute)
        yield Field(
            name,
            attribute,
            _shape(hint),
            _DESCRIPTIONS.get((model, attribute)) or descriptions[attribute],
            _CHOICES.get((model, attribute), ()),
            name in _REQUIRED.get(model, ()),
        )


def _hints(model: type) -> dict[str, object]:
    if issubclass(model, BaseModel):
        return {name: field.annotation for name, field in model.model_fields.items()}
    assert is_dataclass(model)
    return get_type_hints(model)


def _descriptions(model: type) -> Mapping[str, str]:
    if issubclass(model, BaseModel):
        return {name: field.description or "" for name, field in model.model_fields.items()}
    _, _, attributes = (inspect.getdoc(model) or "").partition("\nAttributes:\n")
    return {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(attributes)}


def _shape(hint: object) -> Shape:
    """Return the shape of what a type hint allows, whether it may be absent or not."""
    if get_origin(hint) in {Union, types.UnionType}:
        (hint,) = (one for one in get_args(hint) if one is not type(None))
    if get_origin(hint) is tuple:
        return Shape("list", _shape(get_args(hint)[0]))
    if isinstance(get_origin(hint), type) and issubclass(get_origin(hint), Mapping):  # type: ignore[arg-type]
        return Shape("map", _shape(get_args(hint)[1]))
    plain = {str: "text", bool: "flag", int: "integer", object: "anything"}
    if isinstance(hint, type) and hint in plain:
        return Shape(plain[hint])
    if hasattr(hint, "__metadata__"):  # Annotated
        return _shape(get_args(hint)[0])
    assert isinstance(hint, type), hint
    return Shape("mapping", model=_MODELS.get(hint, hint))


def _model_of(shape: Shape) -> type | None:
    return shape.model or (_model_of(shape.below) if shape.below else None)
