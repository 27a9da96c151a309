"""The report of a run: its text, and what makes it fail."""

import pytest

from tests.galera.table import PlanFigures, Report

_ROWS = (
    "rows: 12 tried, 10 acknowledged, 0 lost, 1 committed without an answer; "
    "checksums of the nodes: equal"
)


def _passed() -> Report:
    report = Report(tried=12, acknowledged=10, unsure=1, checksums=True)
    report.plans = [
        PlanFigures("scale 5", 61.4, 1.25, [3, 4, 5], ["reconciler", "webhook"], 0),
        PlanFigures("deploy", 40.0, None, [], [], 0),
    ]
    return report


def test_the_report_is_a_table_and_a_line_of_rows() -> None:
    report = _passed()
    report.notes.append("a note")
    assert report.lines() == [
        "plan     seconds  longest gap  sizes  kills                unasked restarts",
        "scale 5  61       1.2 s        3 4 5  reconciler, webhook  0",
        "deploy   40       -            -      -                    0",
        _ROWS,
        "a note",
    ]
    assert report.problems() == []


@pytest.mark.parametrize(
    ("field", "value", "problem"),
    [
        ("lost", 2, "2 acknowledged rows are lost"),
        ("acknowledged", 0, "no row was acknowledged"),
        ("checksums", False, "the nodes have different rows"),
        ("checksums", None, "the rows of the nodes were not compared"),
    ],
)
def test_each_gate_fails_the_run(field: str, value: object, problem: str) -> None:
    report = _passed()
    setattr(report, field, value)
    assert report.problems() == [problem]


def test_restarts_that_nobody_asked_for_fail_the_run() -> None:
    report = _passed()
    report.plans.append(PlanFigures("check", 3.0, 0.1, [3], [], 2))
    assert report.problems() == ["2 restarts that nobody asked for"]
