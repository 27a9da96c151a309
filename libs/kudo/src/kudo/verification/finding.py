"""Findings of checks: severity, code, message, place, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from kudo.api.problems import Problem
from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE
from kudo.packages.source import Named, Path, path_text

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
        replace(one, severity=Severity.WARNING) if one.tolerated else one for one in findings
    )


def warning(
    reason: str, message: str, place: Place, suggestion: str = "", edit: Edit | None = None
) -> Finding:
    problem = Problem(reason, message, str(place))
    return Finding(Severity.WARNING, problem, place, suggestion, edit)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the suggestion for a name that is not defined; empty if no known one is close."""
    from difflib import get_close_matches

    close = get_close_matches(name, [*known], n=1)
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
