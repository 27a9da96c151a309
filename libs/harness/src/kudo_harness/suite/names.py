"""Names of the files and folders of a test case, as kuttl reads them.

`NN-name.yaml` is applied, `NN-assert.yaml` must match and `NN-errors.yaml` must not; `-more` may
follow, and `.gotmpl.yaml` is a Go template. Everything with the same number is one step. A folder
`NN-name` holds the files of a step, whose names need no number there.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

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
