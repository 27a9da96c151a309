"""Writes the result of a run as JUnit XML, as JSON and in plain words."""

from kudo_harness.report.junit import junit_xml, report_json
from kudo_harness.report.result import (
    CaseResult,
    Failure,
    FolderResult,
    StepResult,
    SuiteResult,
    log_line,
    summary,
)

__all__ = [
    "CaseResult",
    "Failure",
    "FolderResult",
    "StepResult",
    "SuiteResult",
    "junit_xml",
    "log_line",
    "report_json",
    "summary",
]
