"""Writes a report as JUnit XML, with the elements of kuttl."""

from xml.etree import ElementTree as ET

from kudo_harness.report.result import SuiteResult
from kudo_harness.report.texts import seconds_text, timestamp_text, xml_text
from kudo_harness.report.tree import ReportCase, ReportSuite, report_tree
from kudo_harness.suite import Granularity


def junit_xml(result: SuiteResult, granularity: Granularity = Granularity.STEP) -> bytes:
    """Return the report of a run, in UTF-8."""
    tree = report_tree(result, granularity)
    root = ET.Element("testsuites", _attributes(name=tree.name, **_counts(tree)))
    if tree.cases:
        # Only suites have cases.
        own = ReportSuite("suite", tree.started, tree.seconds, tree.cases)
        root.append(_suite(own))
    root.extend(_suite(suite) for suite in tree.suites)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(suite: ReportSuite) -> ET.Element:
    timestamp = timestamp_text(suite.started)
    attributes = _attributes(name=suite.name, timestamp=timestamp, **_counts(suite))
    element = ET.Element("testsuite", attributes)
    element.extend(_case(case) for case in suite.cases)
    element.extend(_suite(inner) for inner in suite.suites)
    return element


def _case(case: ReportCase) -> ET.Element:
    attributes = _attributes(
        classname=case.classname,
        name=case.name,
        time=seconds_text(case.seconds),
        assertions=str(case.assertions),
    )
    element = ET.Element("testcase", attributes)
    if case.failure is not None:
        message = _attributes(message=case.failure.message, type="Failure")
        failure = ET.SubElement(element, "failure", message)
        failure.text = xml_text(case.failure.details or case.failure.message)
    elif case.skipped:
        ET.SubElement(element, "skipped", _attributes(message=case.skipped))
    return element


def _counts(suite: ReportSuite) -> dict[str, str]:
    return {
        "tests": str(suite.tests),
        "failures": str(suite.failures),
        "skipped": str(suite.skipped),
        "time": seconds_text(suite.seconds),
    }


def _attributes(**values: str) -> dict[str, str]:
    return {name: xml_text(value) for name, value in values.items()}
