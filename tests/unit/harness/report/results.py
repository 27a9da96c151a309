"""Results of runs for tests."""

from datetime import UTC, datetime, timedelta

from kudo_harness.report import CaseResult, Failure, FolderResult, StepResult, SuiteResult

START = datetime(2026, 11, 23, 10, 0, 0, tzinfo=UTC)
PASSED = CaseResult(
    name="install",
    started=START,
    seconds=3.25,
    steps=(StepResult("0-install", 1.5, 2), StepResult("1-scale", 1.0, 1)),
)
FAILED = CaseResult(
    name="upgrade",
    started=START + timedelta(seconds=1),
    seconds=31.0,
    steps=(
        StepResult("0-install", 1.5, 2),
        StepResult(
            "1-upgrade",
            29.5,
            3,
            Failure("e2e/upgrade/01-assert.yaml:8: .status.phase: value mismatch", "kind: Pod\n"),
        ),
        StepResult("2-check", skipped="an earlier step failed"),
    ),
)
SKIPPED = CaseResult("backup", START, skipped="the run was interrupted")
BROKEN = CaseResult("restore", START, 0.5, failure=Failure("the namespace cannot be created"))


def run(
    *cases: CaseResult, failure: Failure | None = None, interrupted: bool = False
) -> SuiteResult:
    folder = FolderResult("e2e", START, 31.5, cases)
    folders = (folder,) if cases else ()
    return SuiteResult("mine", START, 33.125, folders, failure, interrupted)
