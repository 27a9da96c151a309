"""The log of a run, its lines on a terminal, and its report."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from kubectl_kudo.commands.test.live import LiveLog, write_report
from kubectl_kudo.session.errors import CliError
from kudo_harness.report import CaseResult, Failure, FolderResult, StepResult, SuiteResult
from kudo_harness.running.log import TextLog, outcome
from kudo_harness.suite import Case, Suite, SuiteRequest, load_suite
from tests.support.terminals import screen as terminal

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def result(name: str, *, failed: bool = False, skipped: str = "") -> CaseResult:
    failure = Failure("a.yaml:3: ConfigMap a: .data.x: expected 1, actual 2") if failed else None
    return CaseResult(name, NOW, 2.5, (StepResult("0-a", 1.0, 1, failure),), skipped=skipped)


def case(name: str) -> Case:
    return Case(name, Path(name), steps=(), namespace=f"kudo-test-{name}-abcd")


def test_a_case_ends_with_a_line() -> None:
    rows = [
        (result("a"), "passed e2e/a (2.5 s)"),
        (result("a", skipped="the suite failed"), "NOT RUN e2e/a: the suite failed"),
        (
            result("a", failed=True),
            "FAILED e2e/a, step 0-a (2.5 s): a.yaml:3: ConfigMap a: .data.x: expected 1, actual 2",
        ),
    ]
    assert [(ended, outcome("e2e", ended)) for ended, _ in rows] == rows


def test_the_log_has_the_lines_of_kuttl() -> None:
    lines: list[str] = []
    log = TextLog(lines.append, now=lambda: NOW)
    log.case_started("e2e", case("install"))
    log.message("install", "0-a", "two\nlines")
    log.message("", "", "of the suite")
    log.case_ended("e2e", result("install"))
    assert "".join(lines) == (
        "logger.go:42: 03:04:05 | install | started: e2e/install in namespace "
        "kudo-test-install-abcd\n"
        "logger.go:42: 03:04:05 | install/0-a | two\n"
        "logger.go:42: 03:04:05 | install/0-a | lines\n"
        "logger.go:42: 03:04:05 | suite | of the suite\n"
        "logger.go:42: 03:04:05 | install | passed e2e/install (2.5 s)\n"
    )


class Screen:
    """A terminal of some size, and what is on it."""

    def __init__(self, columns: int = 80, rows: int = 60) -> None:
        self.stream = io.StringIO()
        self.size = columns, rows
        self.seconds = 0.0

    def log(self, total: int) -> LiveLog:
        return LiveLog(self.stream, total, clock=lambda: self.seconds, size=lambda: self.size)

    @property
    def lines(self) -> list[str]:
        screen = terminal.Screen(*self.size)
        screen.feed(self.stream.getvalue().replace("\n", "\r\n"))
        return screen.lines


def test_a_terminal_shows_a_line_for_each_case_that_runs() -> None:
    screen = Screen()
    log = screen.log(3)
    log.message("", "", "preparing")
    log.case_started("e2e", case("install"))
    log.case_started("e2e", case("upgrade"))
    log.message("install", "0-a", "running kubectl\nit says hello")
    screen.seconds = 7
    log.tick()
    assert screen.lines == [
        "preparing",
        "install  7s  0-a  it says hello",
        "upgrade  7s",
        "0 of 3 cases ended, 7s",
    ]
    log.case_ended("e2e", result("install"))
    assert screen.lines == [
        "preparing",
        "passed e2e/install (2.5 s)",
        "upgrade  7s",
        "1 of 3 cases ended, 7s",
    ]
    log.close()
    assert screen.lines == ["preparing", "passed e2e/install (2.5 s)"]


def test_the_last_lines_of_a_case_that_fails_stay() -> None:
    screen = Screen()
    log = screen.log(1)
    log.case_started("e2e", case("install"))
    for number in range(100):
        log.message("install", "0-a", f"line {number}")
    log.case_ended("e2e", result("install", failed=True))
    log.close()
    assert screen.lines[0] == "  line 60"
    assert screen.lines[39] == "  line 99"
    assert screen.lines[40].startswith("FAILED e2e/install, step 0-a (2.5 s): a.yaml:3: ")


def test_the_lines_fit_on_the_terminal() -> None:
    screen = Screen(columns=30, rows=8)
    log = screen.log(20)
    for number in range(20):
        log.case_started("e2e", case(f"case-with-a-long-name-{number}"))
        log.message(f"case-with-a-long-name-{number}", "0-a", "a long message " * 5)
    assert len(screen.lines) <= 6
    assert all(len(line) < 30 for line in screen.lines)
    assert screen.lines[-2:] == ["… 16 more", "0 of 20 cases ended, 0s"]


def test_no_output_of_a_command_moves_the_cursor() -> None:
    screen = Screen()
    log = screen.log(1)
    log.message("", "", "\033[2Jgone")
    log.case_started("e2e", case("a"))
    log.message("a", "0-a", "\033[31mred\a")
    log.case_ended("e2e", result("a", failed=True))
    written = screen.stream.getvalue()
    assert "\033[2J" not in written
    assert "\033[31m" not in written
    assert "\a" not in written


def suite_result() -> SuiteResult:
    cases = (result("a"), result("b", failed=True))
    return SuiteResult("s", NOW, 3.0, (FolderResult("e2e", NOW, 3.0, cases),))


def suite(work: Path, fields: str) -> Suite:
    (work / "e2e" / "a").mkdir(parents=True)
    (work / "e2e" / "a" / "00-a.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    )
    config = work / "suite.yaml"
    config.write_text(
        f"apiVersion: kuttl.dev/v1beta1\nkind: TestSuite\ntestDirs: ['{work}/e2e']\n{fields}"
    )
    return load_suite(SuiteRequest(config=config))


def test_no_report_is_written_unless_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = suite(tmp_path, "artifactsDir: out\n").options
    assert write_report(suite_result(), options) is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e2e", "suite.yaml"]


def test_a_report_is_written_to_the_artifacts(tmp_path: Path) -> None:
    fields = f"reportFormat: json\nreportName: mine\nartifactsDir: {tmp_path}/new/out\n"
    path = write_report(suite_result(), suite(tmp_path, fields).options)
    assert path == tmp_path / "new" / "out" / "mine.json"
    assert json.loads(path.read_text())["failures"] == 1
    assert [one.name for one in path.parent.iterdir()] == ["mine.json"]


def test_a_report_goes_to_the_working_directory_without_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = suite(tmp_path, "reportFormat: XML\nreportGranularity: test\n").options
    path = write_report(suite_result(), options)
    assert str(path) == "kuttl-report.xml"
    assert [one.get("name") for one in ET.parse("kuttl-report.xml").iter("testcase")] == ["a", "b"]


def test_a_report_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    options = suite(tmp_path, f"reportFormat: xml\nartifactsDir: {tmp_path}/file\n").options
    with pytest.raises(CliError, match=r"cannot write .*kuttl-report.xml: "):
        write_report(suite_result(), options)


def test_two_cases_of_one_name_have_two_lines() -> None:
    screen = Screen()
    log = screen.log(2)
    log.case_started("web", case("install"))
    log.case_started("mail", case("install"))
    log.case_ended("mail", result("install"))
    assert screen.lines == [
        "passed mail/install (2.5 s)",
        "install  0s",
        "1 of 2 cases ended, 0s",
    ]
