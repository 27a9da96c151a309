"""Findings of checks: severity, code, message, place, advice, and the edit that mends it.

A code never changes, since tools select by it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from goyaml import decode
from kudo.api.problems import Problem, path_text
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE, PackageFiles
from kudo.packages.source import Named, Path

_FOLDER: Final = "templates"


class Severity(StrEnum):
    ERROR = "error"
    """The package does not work, or not always."""
    WARNING = "warning"
    """It works, but probably not as its author intended."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a package something is wrong.

    Attributes:
        file: Path of the file in the package; before it the folder of a dependency.
        path: The field in `operator.yaml` or `params.yaml`.
        line: From 1; 0 while it is not known, or if the file as a whole is at fault.
        column: From 1, in characters; 0 if it is not known.
    """

    file: str
    path: Path = ()
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        if self.path:
            return f"{self.file}: {path_text(self.path)}"
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def field(self) -> str:
        """The field as text; empty if the place is none."""
        return path_text(self.path)

    @property
    def position(self) -> str:
        """The place as compilers and editors write it: `operator.yaml:12:3`."""
        return ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement in the text of a file.

    Attributes:
        file: Path of the file in the package.
        start, end: Offsets in its characters; equal where text is inserted.
        text: The new text.
        summary: What the edit does.
    """

    file: str
    start: int
    end: int
    text: str
    summary: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found; the field of its problem is never empty.

    Attributes:
        severity: Whether the package can work.
        problem: The code as `reason`, the message, and the place as text.
        place: The place.
        suggestion: What to do, as a sentence without a full stop; empty if the message says it.
        edit: What `--fix` does about it; None if nobody but the author can know.
        tolerated: Whether KUDO 0.19 installed and ran such packages, and plans run here as well.
            `package verify` fails at such an error; `install`, `upgrade`, `package create` and
            `repo index` warn of it.
    """

    severity: Severity
    problem: Problem
    place: Place = field(default=Place(""))
    suggestion: str = ""
    edit: Edit | None = None
    tolerated: bool = False

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR

    @property
    def ends(self) -> bool:
        """Whether commands that install or publish the package end at it."""
        return self.is_error and not self.tolerated

    @property
    def code(self) -> str:
        return self.problem.reason


def error(
    reason: str, message: str, place: Place, suggestion: str = "", edit: Edit | None = None
) -> Finding:
    problem = Problem(reason, message, str(place))
    return Finding(Severity.ERROR, problem, place, suggestion, edit)


def tolerated(
    reason: str, message: str, place: Place, suggestion: str = "", edit: Edit | None = None
) -> Finding:
    """Return an error of a package that can be installed and run all the same."""
    return replace(error(reason, message, place, suggestion, edit), tolerated=True)


def softened(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings with warnings instead of tolerated errors."""
    return tuple(
        replace(finding, severity=Severity.WARNING) if finding.tolerated else finding
        for finding in findings
    )


def warning(
    reason: str, message: str, place: Place, suggestion: str = "", edit: Edit | None = None
) -> Finding:
    problem = Problem(reason, message, str(place))
    return Finding(Severity.WARNING, problem, place, suggestion, edit)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the suggestion for a name that is not defined; empty if no known one is close."""
    from difflib import get_close_matches

    close = get_close_matches(name, [*names], n=1)
    return f'did you mean "{close[0]}"?' if close else ""


def place_of(field: str) -> Place:
    """Return the place of a problem of reading a package, whose field is `file:line`."""
    file, _, line = field.rpartition(":")
    return Place(file, line=int(line)) if file and line.isdecimal() else Place(field)


def in_operator(*path: str | int | Named) -> Place:
    """Return a place in `operator.yaml`."""
    return Place(OPERATOR_FILE, path)


def in_parameters(*path: str | int | Named) -> Place:
    """Return a place in `params.yaml`."""
    return Place(PARAMETERS_FILE, path)


def at_task(name: str, *path: str | int | Named, occurrence: int = 0) -> Place:
    return in_operator("tasks", Named(name, occurrence), *path)


def at_plan(name: str, *path: str | int | Named) -> Place:
    return in_operator("plans", name, *path)


def at_parameter(name: str, *path: str | int | Named, occurrence: int = 0) -> Place:
    return in_parameters("parameters", Named(name, occurrence), *path)


def at_group(name: str, *path: str | int | Named, occurrence: int = 0) -> Place:
    return in_parameters("groups", Named(name, occurrence), *path)


def at_template(name: str, line: int = 0, column: int = 0) -> Place:
    """Return a place in a template; line 0 is the file as a whole."""
    path = name if name.startswith(_FOLDER) else f"{_FOLDER}/{name}"
    return Place(path, line=line, column=column)


def at_script(path: str, line: int = 0, column: int = 0) -> Place:
    """Return a place in a script; line 0 is the file as a whole."""
    return Place(path, line=line, column=column)


OF_NEW_INSTANCES: Final = frozenset({"DeployPlanMissing"})
"""Codes of what an upgrade does not need, which runs another plan if there is one."""

CODES: Final[Mapping[str, str]] = {
    "ApplyPolicyInvalid": "An object cannot have the annotation kudo.dev/apply-policy as it is.",
    "CheckInvalid": "An expression of a Check task cannot be evaluated.",
    "CircularDependency": "Packages depend on each other in a circle.",
    "CleanupNotManual": "A parameter triggers the plan cleanup, so changing it is denied.",
    "ConditionAlwaysTrue": "A condition is a parameter whose text is true even if it says false.",
    "ConditionInvalid": "A condition (when) cannot be evaluated.",
    "DefaultUnquoted": "A default without quotes is read as another text than it is written.",
    "DeletionPolicyUnknown": "The annotation kudo.dev/deletion-policy of an object is misspelt.",
    "DependencyAmbiguous": "Two dependencies have the same version and differ.",
    "DependencyLimit": "A package depends on too much.",
    "DependencyOutside": "An archive lacks a dependency that is beside the folder it is made of.",
    "DependencyUnresolved": "A dependency cannot be found or read.",
    "DependencyVersion": "A task asks for another version than the package at its path has.",
    "DeployPlanMissing": "There is no plan deploy.",
    "DocumentIgnored": "A file has a second document, and only the first one is read.",
    "FieldUnknown": "A field of operator.yaml or params.yaml does not exist, and is ignored.",
    "FragmentUnused": "No plan includes a fragment.",
    "InvalidName": "The name or version of the operator cannot be used in names of objects.",
    "InvalidPlan": "The objects of Pipe tasks would have no name, or the same one.",
    "KeyDuplicate": "A key of a mapping is given twice; only the last one counts.",
    "KindDefinedTooLate": "A task applies a CRD and a resource of its kind.",
    "KudoVersionTooLow": "The kudoVersion names a KUDO that cannot read the package.",
    "LabelNotText": "A label or annotation is a number, a boolean or a list, which needs quotes.",
    "NameDuplicate": "Tasks, phases or steps have the same name.",
    "NamespaceManifestInvalid": "The namespaceManifest is not one Namespace.",
    "NamespaceNotAllowed": "A template other than the namespaceManifest makes a Namespace.",
    "NamespaceOverridden": "A template sets a namespace, which that of the Instance replaces.",
    "ObjectDuplicate": "A plan applies the same object from two templates.",
    "ObjectNameInvalid": "An object of this kind cannot have this name.",
    "OutputUnavailable": "Outputs of a task are used where they are not known.",
    "OutputUnknown": "Outputs are used of a task that does not declare them.",
    "PackageIncomplete": "A package lacks operator.yaml or params.yaml.",
    "PackageInvalid": "A file of a package cannot be read.",
    "PackageNotFound": "There is no package at a path.",
    "PackageTooLarge": "A package exceeds a limit, or is larger than what the API server stores.",
    "PackageUnreadable": "A package cannot be opened.",
    "PackageUnsafe": "A package has links, devices, or paths that leave it.",
    "ParameterBoundInvalid": "A bound of a parameter can never hold, or is of another type.",
    "ParameterDuplicate": "Parameters have the same name, but for upper and lower case.",
    "ParameterGroupInvalid": "The name of a group is invalid or not unique.",
    "ParameterInvalid": "A parameter cannot be used as it is declared, or a value not be set.",
    "ParameterNameInvalid": "The name of a parameter contains a character that it may not.",
    "ParameterRequired": "A child gets no value for a parameter that it requires.",
    "ParameterText": "A parameter lacks a text for people (--param-checks).",
    "ParameterTooLarge": "The value of a parameter exceeds a limit.",
    "ParameterTypeUnknown": "The type of a parameter does not exist.",
    "ParameterUnknown": "A template, Toggle task or parameter file uses an undeclared parameter.",
    "ParameterUnused": "Nothing uses a parameter.",
    "PhaseEmpty": "A phase has no steps, so it does nothing.",
    "PipeKeyDuplicate": "Pipe tasks of a plan have the same key.",
    "PlanEmpty": "A plan has no phases, so it does nothing.",
    "PlanUnknown": "A parameter triggers a plan that does not exist.",
    "PodTemplateOverridden": "A Job task replaces a field of its podTemplate.",
    "RefusedByDefault": "A pod would be refused by what Job tasks set unless they are told.",
    "RemovedAPIVersion": "An object is in an API version that Kubernetes no longer serves.",
    "ResourceUnmarshalError": "The podTemplate of a Job task is no pod.",
    "ResourceValidationError": "A pod of a Pipe task cannot hand its files on, or no Job be made.",
    "RunParameterSecret": "The name of a parameter of a run sounds like a secret, which it is not.",
    "RunParameterUnknown": "A run parameter is used in a plan that does not declare it.",
    "ScriptUnused": "No task runs a script.",
    "SecretExposed": "A secret parameter is used where its value would be seen.",
    "StepEmpty": "A step has no tasks, so it does nothing.",
    "StrategyUnknown": "A strategy is neither serial nor parallel.",
    "TaskBuildError": "A task lacks what its kind needs.",
    "TaskRenderingError": "A template cannot be rendered, or not to Kubernetes objects.",
    "TaskUnknown": "A step names a task that does not exist.",
    "TaskUnused": "No step names a task.",
    "TemplateDuplicate": "Two files have the same name as templates.",
    "TemplateEmpty": "A template that a task applies is empty.",
    "TemplateFileName": "A file is a template, or is none, against its name or folder.",
    "TemplateInvalid": "The syntax of a template is wrong.",
    "TemplateUnknown": "A task names a template or script that does not exist.",
    "TemplateUnused": "No task names a template.",
    "TerminationMessageNotShown": (
        "The annotation kudo.dev/show-termination-message has no effect as it is."
    ),
    "TextUnquoted": "A text without quotes is read as a number or boolean of another spelling.",
    "TimeLimitInvalid": "A time limit is no duration of more than zero.",
    "TimeLimitUnreachable": "A time limit never passes, since another one passes before it.",
    "TimeLimitUnused": "A time limit is of a task that nothing runs, or that never waits.",
    "ToggleNotBoolean": "The parameter of a Toggle task is no boolean.",
    "TooManyObjects": "A task or a plan has more objects than it may.",
    "VariableUnknown": "A template uses a variable that does not exist.",
    "VersionInvalid": "A version is not a semantic version.",
    "VersionMissing": "A version that is required is missing.",
}


def edits_of(findings: Iterable[Finding]) -> tuple[Edit, ...]:
    """Return the edits of findings, each once; of two that overlap the first."""
    edits: list[Edit] = []
    for finding in findings:
        edit = finding.edit
        if edit is not None and not any(_overlap(edit, other) for other in edits):
            edits.append(edit)
    return tuple(edits)


def apply(files: PackageFiles, edits: Iterable[Edit]) -> Mapping[str, str]:
    """Return the new texts by the path of the file; what is not edited stays as it is written."""
    texts: dict[str, str] = {}
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = texts.get(edit.file, "") or decode(files.files[edit.file])
        texts[edit.file] = text[: edit.start] + edit.text + text[edit.end :]
    return texts


def _overlap(left: Edit, right: Edit) -> bool:
    if left.file != right.file:
        return False
    if left.start == right.start:
        return True
    first, second = sorted((left, right), key=lambda edit: edit.start)
    return second.start < first.end
