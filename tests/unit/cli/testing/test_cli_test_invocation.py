"""`kubectl kudo test`: flags, suite file and cases, before anything runs."""

import string
from argparse import Namespace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_kudo.commands.test.invocation import CaseNamespaces, Prepared, prepare
from kubectl_kudo.commands.test.test import COMMAND
from kubeio.names import MAX_LABEL, is_subdomain
from kudo_harness.planning.plan import Where
from kudo_harness.suite import Granularity, ListMatching, ReportFormat
from tests.unit.cli.conftest import Cli

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
SUITE = "apiVersion: kudo.dev/v1alpha1\nkind: TestSuite\n"


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with two cases in `e2e`."""
    folder = tmp_path / "work"
    for case in ("install", "upgrade"):
        (folder / "e2e" / case).mkdir(parents=True)
        (folder / "e2e" / case / "00-a.yaml").write_text(OBJECT)
    monkeypatch.chdir(folder)
    return folder


def args_of(*argv: str) -> Namespace:
    return COMMAND.parser().parse(argv)


def prepared(*argv: str) -> Prepared:
    return prepare(args_of(*argv))


def cases(*argv: str) -> list[str]:
    return [case.name for one in prepared(*argv).suite.test_dirs for case in one.cases]


def test_folders_are_enough(work: Path) -> None:
    # BTO-64: KUDO 0.19 refused to run without a suite file.
    assert not (work / "kudo-test.yaml").exists()
    assert cases("e2e") == ["install", "upgrade"]


def test_without_file_and_folders_the_error_is_that_of_the_original(run: Cli) -> None:
    # BTO-64
    ran = run("test")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "Error: kudo-test.yaml not found, provide either --config or arguments indicating the "
        "tests to load\n"
    )


def test_a_file_without_folders_is_told(run: Cli, work: Path) -> None:
    (work / "kudo-test.yaml").write_text(SUITE)
    ran = run("test")
    assert ran.code == 5
    assert "no test directories provided, " in ran.err


@pytest.mark.parametrize(
    ("files", "argv", "expected"),
    [
        (["kudo-test.yaml", "kuttl-test.yaml"], ["e2e"], "kudo-test.yaml"),
        (["kuttl-test.yaml"], ["e2e"], "kuttl-test.yaml"),
        (["kudo-test.yaml", "own.yaml"], ["--config", "own.yaml", "e2e"], "own.yaml"),
        (["e2e/kudo-test.yaml"], ["e2e"], "e2e/kudo-test.yaml"),
        (["kudo-test.yaml", "e2e/kudo-test.yaml"], ["e2e"], "kudo-test.yaml"),
        (["e2e/kudo-test.yaml"], ["e2e", "."], None),
    ],
)
def test_the_suite_file_is_the_nearest(
    work: Path, files: list[str], argv: list[str], expected: str | None
) -> None:
    for name in files:
        (work / name).write_text(f"{SUITE}ignoreFiles: ['README*', '*-test.yaml']\n")
    found = prepared(*argv).file
    assert (found and str(found)) == expected


def test_suite_files_that_are_not_used_are_named(run: Cli, work: Path) -> None:
    (work / "more" / "other").mkdir(parents=True)
    (work / "more" / "other" / "00-a.yaml").write_text(OBJECT)
    (work / "e2e" / "kudo-test.yaml").write_text(SUITE)
    unused = prepared("e2e", "more").unused
    assert unused == (Path("e2e/kudo-test.yaml"),)


def test_folders_of_the_command_line_replace_those_of_the_file(work: Path) -> None:
    (work / "kudo-test.yaml").write_text(f"{SUITE}testDirs: [none]\n")
    assert cases("e2e") == ["install", "upgrade"]


@pytest.mark.parametrize(
    ("argv", "field", "value"),
    [
        ([], "parallel", 3),
        (["--parallel", "5"], "parallel", 5),
        (["--timeout", "2m"], "timeout", 120),
        (["--timeout=0"], "command_timeout", 0),
        (["--timeout=0"], "timeout", 7),
        ([], "skip_delete", True),
        (["--skip-delete=false"], "skip_delete", False),
        (["--skip-cluster-delete"], "skip_cluster_delete", True),
        (["--attach-control-plane-output"], "attach_control_plane_output", True),
        (["--artifacts-dir", "out"], "artifacts_dir", "out"),
        ([], "artifacts_dir", "of-file"),
        ([], "report_format", ReportFormat.XML),
        (["--report", "JSON"], "report_format", ReportFormat.JSON),
        (["--report", "Xml"], "report_format", ReportFormat.XML),
        (["--report-name", "mine"], "report_name", "mine"),
        (["--report-granularity", "test"], "report_granularity", Granularity.TEST),
        (["--suppress-log", "Events"], "suppress", frozenset({"events"})),
        (["--list-matching", "name"], "list_matching", ListMatching.NAME),
        (["-n", "shared"], "namespace", "shared"),
    ],
)
def test_flags_replace_what_the_file_says(
    work: Path, argv: list[str], field: str, value: object
) -> None:
    (work / "kudo-test.yaml").write_text(
        f"{SUITE}parallel: 3\ntimeout: 7\nskipDelete: true\nartifactsDir: of-file\n"
        "reportFormat: XML\n"
    )
    assert getattr(prepared("e2e", *argv).suite.options, field) == value


def test_folders_of_objects_may_be_given_several_times() -> None:
    # The help of KUDO 0.19 said --manifests-dir.
    options = prepared(
        "e2e", "--crd-dir", "crds", "--manifest-dir", "a,b", "--manifests-dir", "c"
    ).suite.options
    assert options.crd_dir is not None
    assert (options.crd_dir.value, [one.value for one in options.manifest_dirs]) == (
        *("crds", ["a", "b", "c"]),
    )


def test_cases_are_selected_by_a_part_of_their_name() -> None:
    assert cases("e2e", "--test", "up") == ["upgrade"]


def test_variables_and_labels_reach_the_files(work: Path) -> None:
    (work / "e2e" / "install" / "00-a.yaml").unlink()
    (work / "e2e" / "install" / "00-a.gotmpl.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Vars.names | first }}'}\n"
    )
    (work / "e2e" / "install" / "00-b.yaml").write_text(
        f"{OBJECT}---\napiVersion: kuttl.dev/v1beta1\nkind: TestFile\n"
        "testRunSelector: {matchLabels: {nodes: real}}\n"
    )
    argv = ("e2e", "--test", "install", "--template-var", "names=[x, y]")

    def applied(*more: str) -> list[object]:
        step = prepared(*argv, *more).suite.test_dirs[0].cases[0].steps[0]
        return [one.value["metadata"] for one in step.objects.apply]

    assert applied() == [{"name": "x"}]
    assert applied("--test-run-labels", "os=any,nodes=real") == [{"name": "x"}, {"name": "a"}]


@pytest.mark.parametrize(
    ("argv", "where"),
    [
        ([], Where.CURRENT),
        (["--context", "other"], Where.GIVEN),
        (["--start-control-plane"], Where.OWN),
        (["--start-kind"], Where.OWN),
        # BTO-65: KUDO 0.19 accepted the flag, and ignored it.
        (["--start-kudo"], Where.OWN),
        (["--start-control-plane=false"], Where.CURRENT),
    ],
)
def test_flags_say_where_the_suite_runs(argv: list[str], where: Where) -> None:
    assert prepared("e2e", *argv).plan.where is where


@pytest.mark.parametrize(
    ("argv", "code", "text"),
    [
        (["--config", "none.yaml"], 255, "cannot read the suite file none.yaml: no such file"),
        (["e2e", "--test", "("], 2, 'invalid argument "(" for "--test" flag'),
        (["e2e", "--test", "none"], 5, "no case in e2e has a name that matches none"),
        (["e2e", "--parallel", "0"], 2, "must be 1 to 64"),
        (["e2e", "--timeout", "soon"], 2, '"soon" for "--timeout" flag'),
        (["e2e", "--report", "csv"], 2, "must be json or xml"),
        (["e2e", "--report-granularity", "all"], 2, "must be step or test"),
        (["e2e", "--report", "xml", "--report-name", "../x"], 255, 'cannot have the name "../x"'),
        (["e2e", "--suppress-log", "all"], 2, "only events can be suppressed"),
        (["e2e", "--template-var", "x"], 2, '--template-var "x" is not of the form name=value'),
        (["e2e", "--template-var", "x={"], 2, "--template-var x: not valid YAML"),
        (["e2e", "--test-run-labels", "=x"], 2, '"=x" is not of the form name=value'),
        (["e2e", "-n", "No"], 2, 'the namespace name "No" is not valid'),
        (["e2e", "--kudo"], 2, "unknown flag: --kudo"),
        (["e2e/install"], 5, "is a case itself"),
        (["none"], 5, "none cannot be read"),
    ],
)
def test_what_is_wrong_with_the_command_line_is_told(
    run: Cli, argv: list[str], code: int, text: str
) -> None:
    ran = run("test", *argv)
    assert (ran.code, ran.out) == (code, "")
    assert text in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("before", [(), ("-n", "No")])
def test_global_flags_may_stand_before_the_verb(run: Cli, before: tuple[str, ...]) -> None:
    # BTO-66: the parser of KUDO 0.19's harness failed on them.
    after = () if before else ("-n", "No")
    ran = run(*before, "--test=install", "test", "e2e", *after)
    assert (ran.code, ran.out) == (2, "")
    assert 'the namespace name "No" is not valid' in ran.err


@pytest.mark.parametrize("group", ["kudo.dev/v1alpha1", "kudo.dev/v1beta1", "kuttl.dev/v1beta1"])
def test_suites_of_all_api_groups_are_read(work: Path, group: str) -> None:
    # BTO-66: KUDO 0.19 knew only its own group, kuttl of today only kuttl.dev.
    suite = f"apiVersion: {group}\nkind: TestSuite\nparallel: 2\ntestDirs: [e2e]\n"
    (work / "kudo-test.yaml").write_text(suite)
    assert prepared().suite.options.parallel == 2


@pytest.mark.parametrize("name", ["Install_Web.v2", "ä", "-", "a" * 200, "a" * 47 + "_b"])
def test_the_namespace_of_a_case_has_a_valid_name(name: str) -> None:
    found = CaseNamespaces()(name)
    assert found.startswith("kudo-test-")
    assert len(found) <= MAX_LABEL
    assert is_subdomain(found)


@given(st.text(), st.text(string.ascii_lowercase + string.digits, min_size=4, max_size=4))
def test_the_namespace_of_any_folder_has_a_valid_name(name: str, random: str) -> None:
    found = CaseNamespaces(lambda: random)(name)
    assert len(found) <= MAX_LABEL
    assert is_subdomain(found)
    assert found.endswith(f"-{random}")
    assert "." not in found


def test_two_cases_of_one_name_have_two_namespaces() -> None:
    randoms = iter(["aaaa", "aaaa", "bbbb"])
    namespaces = CaseNamespaces(lambda: next(randoms))
    assert [namespaces("x"), namespaces("x")] == ["kudo-test-x-aaaa", "kudo-test-x-bbbb"]


def test_templates_know_the_namespace_of_their_case(work: Path) -> None:
    (work / "e2e" / "install" / "00-a.yaml").unlink()
    (work / "e2e" / "install" / "00-a.gotmpl.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Namespace }}'}\n"
    )
    case = prepared("e2e", "--test", "install").suite.test_dirs[0].cases[0]
    assert case.steps[0].objects.apply[0].value["metadata"] == {"name": case.namespace}
    assert case.namespace.startswith("kudo-test-install-")


def test_no_name_of_a_file_changes_the_colours_of_a_terminal(run: Cli, work: Path) -> None:
    case = work / "e2e" / "\033[31mred"
    case.mkdir()
    (case / "00-a.yaml").write_text("a: [\n")
    ran = run("test", "e2e")
    assert ran.code == 5
    assert "\\x1b[31mred/00-a.yaml:" in ran.err
    assert "\033" not in ran.err
