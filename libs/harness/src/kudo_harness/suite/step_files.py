"""Names of the files and folders of a test case, as kuttl reads them, and which runs use them.

`NN-name.yaml` is applied, `NN-assert.yaml` must match and `NN-errors.yaml` must not; `-more` may
follow, and `.gotmpl.yaml` is a Go template. Everything with the same number is one step. A folder
`NN-name` holds the files of a step, whose names need no number there. A TestFile in a file chooses
the runs that use it, by a label selector.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kudo_harness.findings import Place
from kudo_harness.suite.fields import Fields

_FILE: Final = re.compile(r"(?:([0-9]{1,9})-)?([^-.]+)((?:-[^.]+)?)(\.gotmpl)?\.yaml")
_FOLDER: Final = re.compile(r"([0-9]{1,9})-([^-.]+)((?:-[^.]+)?)")
_LIKE_A_STEP: Final = re.compile(
    r"[0-9]+[-_ ].*\.ya?ml|(?:[0-9]+[-_ ]?)?(?:assert|errors)\.ya?ml", re.IGNORECASE
)
_YAML: Final = (".yaml", ".yml")


class Role(StrEnum):
    """What is done with the objects of a file."""

    APPLY = "apply"
    ASSERT = "assert"
    ERRORS = "errors"


@dataclass(frozen=True, slots=True)
class StepFile:
    """What the name of a file says.

    Attributes:
        index: Number of the step; None where the name has none.
        name: The name between number and suffix.
        role: What is done with its objects.
        template: Whether it is a Go template.
    """

    index: int | None
    name: str
    role: Role
    template: bool


def step_file(name: str) -> StepFile | None:
    """Return what the name of a file says; None if it is not the name of a step's file."""
    match = _FILE.fullmatch(name)
    if match is None:
        return None
    number, first, rest, template = match.groups()
    roles = {"assert": Role.ASSERT, "errors": Role.ERRORS}
    return StepFile(
        index=None if number is None else int(number),
        name=first + rest,
        role=roles.get(first.lower(), Role.APPLY),
        template=template is not None,
    )


def step_folder(name: str) -> StepFile | None:
    """Return what the name of a folder says; None if it holds no step."""
    match = _FOLDER.fullmatch(name)
    if match is None:
        return None
    number, first, rest = match.groups()
    return StepFile(index=int(number), name=first + rest, role=Role.APPLY, template=False)


def looks_like_a_step(name: str) -> bool:
    """Return whether a name that belongs to no step was probably meant to."""
    return bool(_LIKE_A_STEP.fullmatch(name))


def is_yaml(name: str) -> bool:
    return name.endswith(_YAML)


def is_template(name: str) -> bool:
    return name.endswith(".gotmpl.yaml")


class Operator(StrEnum):
    """Operators of a label selector, as of metav1.LabelSelector."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of a label selector."""

    key: str
    operator: Operator
    values: tuple[str, ...]

    def holds(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The fields of a TestFile.

    Attributes:
        selector: All must hold; none select every run.
        place: Where it is written.
    """

    selector: tuple[Requirement, ...]
    place: Place

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Return whether the file belongs to a run with these labels."""
        return all(requirement.holds(labels) for requirement in self.selector)


def file_options(fields: Fields) -> FileOptions:
    """Read the selector of a TestFile."""
    selector = Fields.of(
        fields.reading,
        ("testRunSelector",),
        fields.values.get("testRunSelector"),
        ("matchLabels", "matchExpressions"),
    )
    labels = selector.labels("matchLabels")
    requirements = [Requirement(key, Operator.IN, (value,)) for key, value in labels.items()]
    for n, item in enumerate(selector.items("matchExpressions")):
        requirement = _requirement(selector, n, item)
        if requirement is not None:
            requirements.append(requirement)
    return FileOptions(tuple(requirements), fields.place)


def _requirement(selector: Fields, n: int, value: object) -> Requirement | None:
    fields = Fields.of(
        selector.reading,
        (*selector.path, "matchExpressions", n),
        value,
        ("key", "operator", "values"),
    )
    key, operator = fields.text("key"), fields.choice("operator", Operator)
    values = tuple(text.value for text in fields.texts("values"))
    if not key or operator is None:
        fields.error("MissingField", "key and operator must be set")
        return None
    if bool(values) != (operator in {Operator.IN, Operator.NOT_IN}):
        what = "no values" if values else "at least one value"
        fields.error("InvalidField", f"the operator {operator} needs {what}", "values")
        return None
    return Requirement(key, operator, values)
