"""Campaigns are run one by one, and the report holds those of the same sources."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from tools.campaigns import CAMPAIGNS, Campaign, Outcome, Tree, earlier, run, table, write

CLEAN = Tree("a" * 40, clean=True)
GREEN = Outcome("-m tests.bench", 0, 60.0, 30.0, [], ["1 of 1"])


def test_an_outcome_has_the_failures_the_last_lines_and_the_cpu_of_a_command(
    capfd: pytest.CaptureFixture[str],
) -> None:
    code = (
        "import os, sys; print('FAILED a.py::b', os.environ['DEEP'])\n"
        "sum(range(10**6)); sys.exit(3)"
    )
    outcome = run(Campaign("", ("-c", code), (("DEEP", "1"),)))
    assert (outcome.exit_code, outcome.failures) == (3, ["FAILED a.py::b 1"])
    assert outcome.last_lines == ["FAILED a.py::b 1"]
    assert outcome.command.startswith("DEEP=1 -c import os")
    assert outcome.cpu > 0
    assert capfd.readouterr().out == "FAILED a.py::b 1\n"


def test_a_report_keeps_what_was_run_for_the_same_sources(tmp_path: Path) -> None:
    report = tmp_path / ".kudo" / "campaigns.json"
    assert earlier(report, CLEAN) == {}
    write(report, CLEAN, {"bench": asdict(GREEN)})
    assert json.loads(report.read_text("utf-8"))["commit"] == CLEAN.commit
    assert list(earlier(report, CLEAN)) == ["bench"]


@pytest.mark.parametrize("tree", [Tree("b" * 40, clean=True), Tree(CLEAN.commit, clean=False)])
def test_a_report_of_other_sources_counts_for_nothing(tree: Tree, tmp_path: Path) -> None:
    report = tmp_path / "campaigns.json"
    write(report, CLEAN, {"bench": asdict(GREEN)})
    assert earlier(report, tree) == {}


def test_the_table_says_what_is_not_green() -> None:
    red = Outcome("", 1, 90.0, 12.0, ["FAILED a"], [])
    lines = list(table({"bench": GREEN, "faults": red}))
    assert [line.split("CPU")[1].strip() for line in lines] == ["green", "exit code 1"]


def test_every_campaign_is_a_module_that_exists() -> None:
    for campaign in CAMPAIGNS.values():
        assert campaign.arguments[0] == "-m"
        module = campaign.arguments[1]
        assert module == "pytest" or (Path(*module.split(".")) / "__main__.py").exists()
