"""Findings of checks: severity, problem and place."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from kudo.packages.files import OPERATOR_FILE, PARAMETERS_FILE
from kudo.problems import Problem

_FOLDER: Final = "templates"


class Severity(StrEnum):
    ERROR = "error"
    """The package does not work, or not always."""
    WARNING = "warning"
    """It works, but probably not as its author intended."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found; the field of its problem is never empty."""

    severity: Severity
    problem: Problem

    @property
    def is_error(self) -> bool:
        return self.severity is Severity.ERROR


def error(reason: str, message: str, place: str) -> Finding:
    return Finding(Severity.ERROR, Problem(reason, message, place))


def warning(reason: str, message: str, place: str) -> Finding:
    return Finding(Severity.WARNING, Problem(reason, message, place))


def in_operator(path: str) -> str:
    """Return a place in `operator.yaml`."""
    return f"{OPERATOR_FILE}: {path}"


def at_task(name: str) -> str:
    return in_operator(f"tasks[{name}]")


def at_plan(name: str) -> str:
    return in_operator(f"plans.{name}")


def at_parameter(name: str) -> str:
    return f"{PARAMETERS_FILE}: parameters[{name}]"


def at_group(name: str) -> str:
    return f"{PARAMETERS_FILE}: groups[{name}]"


def at_template(name: str, line: int = 0) -> str:
    """Return a place in a template; line 0 is the file as a whole."""
    path = name if name.startswith(_FOLDER) else f"{_FOLDER}/{name}"
    return f"{path}:{line}" if line else path
