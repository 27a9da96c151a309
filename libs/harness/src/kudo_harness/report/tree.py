"""The tree of suites and cases that reports in JUnit XML and JSON have in common, as of kuttl.

By step, each case is a suite and each of its steps a case of the report; by test, each case is one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from kudo_harness.report.result import CaseResult, Failure, FolderResult, StepResult, SuiteResult
from kudo_harness.report.texts import cut_details, cut_message
from kudo_harness.suite import Granularity


@dataclass(frozen=True, slots=True)
class ReportCase:
    """A case of a report."""

    classname: str
    name: str
    seconds: float
    assertions: int
    failure: Failure | None
    skipped: str


@dataclass(frozen=True, slots=True)
class ReportSuite:
    """A suite of a report; it has cases, or suites in it."""

    name: str
    started: datetime
    seconds: float
    cases: tuple[ReportCase, ...] = ()
    suites: tuple["ReportSuite", ...] = ()

    @property
    def all_cases(self) -> Iterator[ReportCase]:
        yield from self.cases
        for suite in self.suites:
            yield from suite.all_cases

    @property
    def tests(self) -> int:
        return sum(1 for _ in self.all_cases)

    @property
    def failures(self) -> int:
        return sum(case.failure is not None for case in self.all_cases)

    @property
    def skipped(self) -> int:
        return sum(bool(case.skipped) for case in self.all_cases)


def report_tree(result: SuiteResult, granularity: Granularity) -> ReportSuite:
    """Return the tree of a result, with texts of bounded length."""
    own = _outside("suite", "setup", result.seconds, result.failure)
    return ReportSuite(
        name=result.name,
        started=result.started,
        seconds=result.seconds,
        cases=own,
        suites=tuple(_folder(folder, granularity) for folder in result.folders),
    )


def _folder(folder: FolderResult, granularity: Granularity) -> ReportSuite:
    suite = ReportSuite(folder.path, folder.started, folder.seconds)
    if granularity is Granularity.STEP:
        return replace(suite, suites=tuple(_by_step(case) for case in folder.cases))
    return replace(suite, cases=tuple(_whole(folder.path, case) for case in folder.cases))


def _by_step(case: CaseResult) -> ReportSuite:
    own = _outside(case.name, "setup", case.seconds, case.failure)
    if case.skipped and not case.steps:
        own = (ReportCase(case.name, "setup", case.seconds, 0, None, case.skipped),)
    steps = tuple(_step(case.name, step) for step in case.steps)
    return ReportSuite(case.name, case.started, case.seconds, own + steps)


def _step(name: str, step: StepResult) -> ReportCase:
    return ReportCase(
        classname=name,
        name=f"step {step.title}",
        seconds=step.seconds,
        assertions=step.assertions,
        failure=_bounded(step.failure),
        skipped=step.skipped,
    )


def _whole(folder: str, case: CaseResult) -> ReportCase:
    title, failure = next(case.failures, ("", None))
    if failure is not None and title:
        failure = replace(failure, message=f"step {title}: {failure.message}")
    return ReportCase(
        classname=folder,
        name=case.name,
        seconds=case.seconds,
        assertions=sum(step.assertions for step in case.steps),
        failure=_bounded(failure),
        skipped=case.skipped,
    )


def _outside(
    classname: str, name: str, seconds: float, failure: Failure | None
) -> tuple[ReportCase, ...]:
    """Return a case for what failed outside of the steps, because only cases have failures."""
    if failure is None:
        return ()
    return (ReportCase(classname, name, seconds, 0, _bounded(failure), ""),)


def _bounded(failure: Failure | None) -> Failure | None:
    if failure is None:
        return None
    return Failure(cut_message(failure.message), cut_details(failure.details))
