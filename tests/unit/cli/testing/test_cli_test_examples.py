"""The suites of the packages under examples/, as far as they can be checked without a cluster."""

import re
from pathlib import Path

from kudo_harness.suite import Case, SuiteRequest, load_suite

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = ROOT / "examples"
PACKAGES = sorted(path.parent for path in EXAMPLES.rglob("operator.yaml"))
_INSTALLED = re.compile(r"kubectl kudo (?:install|upgrade) (\S+)")


def cases(labels: dict[str, str] | None = None) -> list[Case]:
    request = SuiteRequest(
        config=EXAMPLES / "kudo-test.yaml", test_dirs=(str(EXAMPLES),), labels=labels or {}
    )
    suite = load_suite(request)
    assert suite.warnings == ()
    return [case for folder in suite.test_dirs for case in folder.cases]


def test_each_package_is_installed_by_a_case_of_its_suite() -> None:
    installed = {
        (case.folder / match[1]).resolve()
        for case in cases()
        for step in case.steps
        for command in step.commands
        for match in _INSTALLED.finditer(f"{command.command}\n{command.script}")
    }
    assert sorted(installed) == PACKAGES


def test_names_of_cases_are_unique() -> None:
    names = [case.name for case in cases()]
    assert len(names) == len(set(names)) == 12


def test_what_needs_real_nodes_is_asserted_only_there() -> None:
    first, *_ = next(case for case in cases() if case.name == "pipe-page").steps
    real, *_ = next(case for case in cases({"nodes": "real"}) if case.name == "pipe-page").steps
    assert [one.value["kind"] for one in first.objects.asserts] == ["Instance", "Pod"]
    assert [one.value["kind"] for one in real.objects.errors] == ["Pod"]
    assert "Deployment" in [one.value["kind"] for one in real.objects.asserts]
