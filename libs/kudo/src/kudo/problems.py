"""The vocabulary of errors: a `Problem` says what is wrong, where, and by which reason.

A reason is one CamelCase word. It is the same in admission denials, conditions, events, metrics
and the output of the command line, because users search for it.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        reason: CamelCase word of the vocabulary.
        message: One sentence for people: what was attempted and what they can do.
        field: JSON path of the field at fault (`spec.parameters[NAME]`), or file and line of a
            package (`templates/a.yaml:3`); empty where the whole object is at fault.
    """

    reason: str
    message: str
    field: str = ""

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message


class KudoError(Exception):
    """Root of the errors that this package raises."""


class InvalidInput(KudoError):
    """Input that cannot be used; carries every problem that was found, not only the first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
