"""Options of the run of a suite, and its log."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from kubectl_kudo.testing.running.interruption import Interruption
from kudo_harness.report import CaseResult, log_line
from kudo_harness.suite import Case, Step


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run that are not in the suite.

    Attributes:
        folder: Temporary folder of the run: its record, and kubeconfigs for steps.
        working_folder: Where the harness runs, and so the commands of the suite.
        environment: Environment of the harness.
        interruption: What ends the run early; None listens to signals during the run.
        wait_until_gone: Whether namespaces are waited for when they are deleted; never on a
            cluster that ends with the run.
    """

    folder: Path
    working_folder: Path
    environment: Mapping[str, str]
    interruption: Interruption | None = None
    wait_until_gone: bool = True


class RunLog(Protocol):
    """What is told while a suite runs. Texts may have several lines; secrets are left out."""

    def message(self, case: str, step: str, text: str) -> None:
        """Tell what happens; `case` is empty for the suite, `step` for the case itself."""

    def case_started(self, folder: str, case: Case) -> None:
        """Tell that a case begins."""

    def step_started(self, folder: str, case: Case, step: Step) -> None:
        """Tell that a step begins."""

    def case_ended(self, folder: str, result: CaseResult) -> None:
        """Tell how a case ended."""


@dataclass(frozen=True, slots=True)
class TextLog:
    """Writes messages as lines of kuttl's log; the rest is told by messages as well.

    Attributes:
        write: Takes lines, each with its end.
        suite: What lines of the suite have instead of the name of a case.
    """

    write: Callable[[str], object]
    suite: str = "suite"

    def message(self, case: str, step: str, text: str) -> None:
        self.write(log_line(datetime.now().astimezone(), case or self.suite, step, text))

    def case_started(self, folder: str, case: Case) -> None:
        del folder, case

    def step_started(self, folder: str, case: Case, step: Step) -> None:
        del folder, case, step

    def case_ended(self, folder: str, result: CaseResult) -> None:
        del folder, result
