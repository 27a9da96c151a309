"""Findings: what is wrong with a suite, with file and line, and what to do."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from typing import Final

from kudo.api.problems import shown_name

MOST_FINDINGS: Final = 200
"""Findings that are kept; more are counted. A broken generator writes thousands of alike files."""


class Severity(StrEnum):
    ERROR = "error"
    """Nothing runs."""
    WARNING = "warning"
    """It runs, but probably not as its author intended."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file.

    Attributes:
        file: Path, as messages show it.
        line: From 1; 0 is the file as a whole.
        column: From 1; 0 is the line as a whole.
    """

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        severity: Whether the suite can run all the same.
        reason: One CamelCase word.
        message: One sentence: what is wrong and what to do.
        place: Where.
    """

    severity: Severity
    reason: str
    message: str
    place: Place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class SuiteInvalid(Exception):
    """A suite that cannot run.

    Attributes:
        findings: Everything that was found, by file and line; warnings included.
        dropped: Number of findings that were counted and not kept.
    """

    def __init__(self, findings: Iterable[Finding], dropped: int = 0) -> None:
        self.findings = tuple(findings)
        self.dropped = dropped
        lines = [str(finding) for finding in self.findings]
        if dropped:
            lines.append(f"and {dropped} more problems like these")
        super().__init__("\n".join(lines))


@dataclass(slots=True)
class Findings:
    """Collects findings while a suite is read, so that one reading tells all of them."""

    kept: list[Finding] = field(default_factory=list)
    dropped: int = 0
    failed: bool = False

    def error(self, reason: str, message: str, place: Place) -> None:
        self.failed = True
        self._add(Finding(Severity.ERROR, reason, message, place))

    def warning(self, reason: str, message: str, place: Place) -> None:
        self._add(Finding(Severity.WARNING, reason, message, place))

    def sorted(self) -> tuple[Finding, ...]:
        """Return the findings by file and line."""
        return tuple(sorted(self.kept, key=lambda finding: finding.place))

    def check(self) -> tuple[Finding, ...]:
        """Return the warnings.

        Raises:
            SuiteInvalid: there are errors.
        """
        if self.failed:
            raise SuiteInvalid(self.sorted(), self.dropped)
        return self.sorted()

    def _add(self, finding: Finding) -> None:
        if len(self.kept) < MOST_FINDINGS:
            self.kept.append(finding)
        else:
            self.dropped += 1


_COMPARED: Final = 100
"""Characters of a name that are compared: the time grows with their number."""


def closest(name: str, names: Iterable[str], *, most: int = 1) -> list[str]:
    """Return the names that look like another one, whatever their case, the most similar first."""
    by_lower_case = {other.lower(): other for other in names}
    similar = get_close_matches(name[:_COMPARED].lower(), by_lower_case, n=most)
    return [by_lower_case[other] for other in similar]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `did you mean NAME?`; empty if no name looks like the unknown one."""
    similar = closest(name, names)
    return f"did you mean {shown_name(similar[0])}?" if similar else ""
