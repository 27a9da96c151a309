"""Which folders of cases a directory stands for."""

from pathlib import Path

import pytest

from kudo_harness.findings import SuiteInvalid
from kudo_harness.suite import SuiteRequest, load_suite
from kudo_harness.suite.files import FOLDERS, LEVELS
from tests.unit.harness.suite.writing import INSTALL, errors, write

STEP = "00-install.yaml"
OPERATOR = "name: web\n"


def found(root: Path, *files: str, given: str = "") -> dict[str, list[str]]:
    """Return the folders of cases below a directory, and the cases in each."""
    texts = {name: OPERATOR if name.endswith("operator.yaml") else INSTALL for name in files}
    write(root, texts)
    suite = load_suite(SuiteRequest(test_dirs=(str(root / given),)))
    return {
        str(Path(folder.path).relative_to(root)): [case.name for case in folder.cases]
        for folder in suite.test_dirs
    }


def test_folders_with_steps_are_cases_as_in_kuttl(tmp_path: Path) -> None:
    files = (f"a/{STEP}", "b/README.md", f"c/tests/d/{STEP}")
    assert found(tmp_path, *files) == {".": ["a", "b", "c"]}


def test_packages_are_looked_through_for_their_tests(tmp_path: Path) -> None:
    files = (
        "second/operator.yaml",
        f"second/tests/x/{STEP}",
        f"second/tests/x/tests/not-this/{STEP}",
        f"second/child/tests/y/{STEP}",
        "first/operator.yaml",
        f"first/tests/z/00-install/{STEP}",
        f"first/tests/w/{STEP}",
        f"first/conf.d/maps/10-not-a-test/{STEP}",
        f".hidden/tests/v/{STEP}",
        "third/tests/README.md",
    )
    assert found(tmp_path, *files) == {
        "first/tests": ["w", "z"],
        "second/child/tests": ["y"],
        "second/tests": ["x"],
    }


def test_a_package_stands_for_its_tests_whatever_its_templates_are_called(tmp_path: Path) -> None:
    files = ("web/operator.yaml", "web/templates/01-service.yaml", f"web/tests/x/{STEP}")
    assert found(tmp_path, *files, given="web") == {"web/tests": ["x"]}


def test_a_package_without_tests_has_no_case(tmp_path: Path) -> None:
    files = {"operator.yaml": OPERATOR, "templates/01-service.yaml": INSTALL}
    request = SuiteRequest(test_dirs=(str(tmp_path),))
    [error] = errors(tmp_path, files, request)
    assert "no case in" in error


def test_the_folder_of_a_case_is_not_looked_through(tmp_path: Path) -> None:
    request = SuiteRequest(test_dirs=(str(tmp_path / "a"),))
    [error] = errors(tmp_path, {f"a/{STEP}": INSTALL, f"a/b/tests/c/{STEP}": INSTALL}, request)
    assert "is a case itself" in error


def test_links_are_not_followed_to_other_tests(tmp_path: Path) -> None:
    write(tmp_path, {f"real/tests/x/{STEP}": INSTALL, "given/README.md": ""})
    (tmp_path / "given" / "around").symlink_to(tmp_path)
    suite = load_suite(SuiteRequest(test_dirs=(str(tmp_path / "given"),)))
    assert [case.steps for folder in suite.test_dirs for case in folder.cases] == [()]


def test_cases_are_looked_for_so_deep_and_in_so_many_folders(tmp_path: Path) -> None:
    deep = "/".join("d" for _ in range(LEVELS - 1))
    write(tmp_path, {f"deep/{deep}/tests/x/{STEP}": INSTALL})
    write(tmp_path, {f"deeper/{deep}/d/tests/x/{STEP}": INSTALL})
    assert found(tmp_path / "deep") == {f"{deep}/tests": ["x"]}
    assert list(found(tmp_path / "deeper")) == ["."]
    for number in range(FOLDERS):
        (tmp_path / "wide" / str(number)).mkdir(parents=True)
    with pytest.raises(SuiteInvalid, match=f"more than {FOLDERS} folders to look through"):
        load_suite(SuiteRequest(test_dirs=(str(tmp_path / "wide"),)))


def test_a_suite_file_may_name_such_a_directory(tmp_path: Path) -> None:
    text = f"apiVersion: kuttl.dev/v1beta1\nkind: TestSuite\ntestDirs: ['{tmp_path}']\n"
    write(tmp_path, {"kudo-test.yaml": text, f"web/tests/x/{STEP}": INSTALL})
    suite = load_suite(SuiteRequest(config=tmp_path / "kudo-test.yaml"))
    assert [folder.path for folder in suite.test_dirs] == [f"{tmp_path}/web/tests"]
