"""Writes a report as JSON, with the keys of kuttl."""

import json

from kudo_harness.report.result import SuiteResult
from kudo_harness.report.texts import seconds_text, timestamp_text
from kudo_harness.report.tree import ReportCase, ReportSuite, report_tree
from kudo_harness.suite import Granularity

JsonObject = dict[str, object]


def report_json(result: SuiteResult, granularity: Granularity = Granularity.STEP) -> str:
    """Return the report of a run. Times are texts, as in kuttl."""
    tree = report_tree(result, granularity)
    suites = [_suite(suite) for suite in tree.suites]
    if tree.cases:
        suites.insert(0, _suite(ReportSuite("suite", tree.started, tree.seconds, tree.cases)))
    whole = {"name": tree.name, **_counts(tree), "testsuite": suites}
    # A lone surrogate has no UTF-8: JSON writes it as an escape.
    return json.dumps(whole, indent=2, ensure_ascii=True) + "\n"


def _suite(suite: ReportSuite) -> JsonObject:
    found: JsonObject = {
        "name": suite.name,
        **_counts(suite),
        "timestamp": timestamp_text(suite.started),
    }
    if suite.cases:
        found["testcase"] = [_case(case) for case in suite.cases]
    if suite.suites:
        found["testsuite"] = [_suite(inner) for inner in suite.suites]
    return found


def _case(case: ReportCase) -> JsonObject:
    found: JsonObject = {
        "classname": case.classname,
        "name": case.name,
        "time": seconds_text(case.seconds),
        "assertions": case.assertions,
    }
    if case.failure is not None:
        text = case.failure.details or case.failure.message
        found["failure"] = {"message": case.failure.message, "type": "Failure", "text": text}
    elif case.skipped:
        found["skipped"] = {"message": case.skipped}
    return found


def _counts(suite: ReportSuite) -> JsonObject:
    return {
        "tests": suite.tests,
        "failures": suite.failures,
        "skipped": suite.skipped,
        "time": seconds_text(suite.seconds),
    }
