"""Suite files as their authors write them, and the defaults of what they leave out."""

from pathlib import Path

import pytest

from kudo_harness.suite import Granularity, ListMatching, ReportFormat, Suite
from tests.unit.harness.suite.writing import GROUPS, INSTALL, load


def suite_with(root: Path, field: str) -> Suite:
    """Return a suite of one case whose file has the field in line 4."""
    text = f"apiVersion: kuttl.dev/v1beta1\nkind: TestSuite\ntestDirs: ['{root}/e2e']\n{field}\n"
    return load(root, {"e2e/a/00-a.yaml": INSTALL, "suite.yaml": text})


@pytest.mark.parametrize("group", GROUPS)
def test_every_field_of_a_suite_is_read(tmp_path: Path, group: str) -> None:
    suite = load(
        tmp_path,
        {
            "e2e/a/00-a.yaml": INSTALL,
            "suite.yaml": f"""
                apiVersion: {group}
                kind: TestSuite
                metadata: {{name: mine}}
                crdDir: crds
                manifestDirs: [manifests, other]
                testDirs: ['{tmp_path}/e2e']
                startControlPlane: false
                attachControlPlaneOutput: true
                startKIND: true
                startKUDO: true
                kindConfig: kind.yaml
                kindContext: mykind
                kindNodeCache: true
                kindContainers: [kudo:dev]
                skipDelete: true
                skipClusterDelete: true
                timeout: 90
                parallel: 2
                artifactsDir: out
                commands:
                - command: kubectl kudo init --wait
                  timeout: 5
                - script: make run
                  background: true
                reportFormat: XML
                reportName: mine
                reportGranularity: test
                namespace: fixed
                suppress: [events]
                ignoreFiles: ['README*', '*.md']
                listMatching: name
            """,
        },
    )
    options = suite.options
    assert (options.name, options.kind_context, options.namespace) == ("mine", "mykind", "fixed")
    assert options.crd_dir is not None
    assert (options.crd_dir.value, options.crd_dir.place.line) == ("crds", 4)
    assert [text.value for text in options.manifest_dirs] == ["manifests", "other"]
    assert options.start_control_plane is None
    assert options.start_kind is not None
    assert options.start_kind.line == 9
    assert options.start_kudo is not None
    assert options.kind_config is not None
    assert [text.value for text in options.kind_containers] == ["kudo:dev"]
    assert options.attach_control_plane_output
    assert options.kind_node_cache
    assert options.skip_delete
    assert options.skip_cluster_delete
    assert (options.timeout, options.command_timeout, options.parallel) == (90, 90, 2)
    assert (options.artifacts_dir, options.report_name) == ("out", "mine")
    assert [(one.command, one.script, one.background, one.timeout) for one in options.commands] == [
        ("kubectl kudo init --wait", "", False, 5),
        ("", "make run", True, 0),
    ]
    assert options.report_format is ReportFormat.XML
    assert options.report_granularity is Granularity.TEST
    assert options.suppress == {"events"}
    assert options.ignore_files == ("README*", "*.md")
    assert options.list_matching is ListMatching.NAME
    assert suite.warnings == ()


def test_a_suite_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    # BTO-64, BTO-66: directories are enough.
    suite = load(tmp_path, {"e2e/a/00-a.yaml": INSTALL})
    options = suite.options
    assert (options.timeout, options.command_timeout, options.parallel) == (30, 30, 8)
    assert (options.kind_context, options.report_name) == ("kind", "kuttl-report")
    assert options.report_format is None
    assert options.report_granularity is Granularity.STEP
    assert options.list_matching is ListMatching.POSITION
    assert options.ignore_files == ("README*",)


def test_a_timeout_of_0_is_the_default_for_steps_and_no_limit_for_commands(tmp_path: Path) -> None:
    suite = suite_with(tmp_path, "timeout: 0")
    assert (suite.options.timeout, suite.options.command_timeout) == (30, 0)


def test_more_parallel_cases_than_are_possible_are_a_warning(tmp_path: Path) -> None:
    suite = suite_with(tmp_path, "parallel: 1000")
    assert suite.options.parallel == 64
    (warning,) = suite.warnings
    assert str(warning).endswith(":4: 64 cases run at a time at most; write 64")


@pytest.mark.parametrize("text", ["json", "JSON", "Json"])
def test_the_format_of_a_report_may_have_any_case(tmp_path: Path, text: str) -> None:
    # BTO-66: XML in the file gave a report in JSON.
    suite = suite_with(tmp_path, f"reportFormat: {text}")
    assert suite.options.report_format is ReportFormat.JSON
