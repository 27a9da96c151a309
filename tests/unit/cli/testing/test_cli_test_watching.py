"""`kubectl kudo test --watch`: which cases run again when files change."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from kudo_harness.suite import Suite, SuiteRequest, load_suite
from kudo_harness.watching import MOST_FILES, changes, only, watched

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
PACKAGES = ("web/tests/install", "web/tests/upgrade", "mail/tests/install")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder with two packages and their cases."""
    for case in PACKAGES:
        folder = tmp_path / case
        (folder / "more").mkdir(parents=True)
        (folder / "00-a.yaml").write_text(OBJECT)
        (folder.parents[1] / "templates").mkdir(exist_ok=True)
        (folder.parents[1] / "operator.yaml").write_text("name: a\n")
    (tmp_path / "kudo-test.yaml").write_text("apiVersion: kuttl.dev/v1beta1\nkind: TestSuite\n")
    return tmp_path


def suite_of(work: Path) -> Suite:
    dirs = (str(work / "web/tests"), str(work / "mail/tests"))
    return load_suite(SuiteRequest(config=work / "kudo-test.yaml", test_dirs=dirs))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("web/tests/install/00-a.yaml", ["web/tests/install"]),
        ("web/tests/install/more/values.yaml", ["web/tests/install"]),
        ("web/operator.yaml", ["web/tests/install", "web/tests/upgrade"]),
        ("web/templates/new.yaml", ["web/tests/install", "web/tests/upgrade"]),
        ("mail/params.yaml", ["mail/tests/install"]),
        ("kudo-test.yaml", list(PACKAGES)),
        ("README.md", []),
        ("web/.swp", []),
    ],
)
def test_cases_depend_on_their_files_and_on_their_package(
    work: Path, change: str, expected: list[str]
) -> None:
    files = watched(suite_of(work), work / "kudo-test.yaml")
    before = files.state()
    path = work / change
    path.write_text((path.read_text() if path.exists() else "") + "# changed\n")
    changed = files.changed(before, files.state())
    assert sorted(changed) == sorted(work / case for case in expected)


def test_a_file_that_is_gone_or_replaced_counts(work: Path) -> None:
    files = watched(suite_of(work), None)
    before = files.state()
    path = work / "web/tests/upgrade/00-a.yaml"
    found = path.stat()
    path.with_suffix(".new").write_text(OBJECT.replace("a}", "b}"))
    path.with_suffix(".new").rename(path)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert files.changed(before, files.state()) == {work / "web/tests/upgrade"}
    path.unlink()
    assert files.changed(before, files.state()) == {work / "web/tests/upgrade"}


def test_links_are_not_followed_round(work: Path) -> None:
    (work / "web/tests/install/self").symlink_to(work)
    files = watched(suite_of(work), None)
    assert len(files.state()) < 20 < MOST_FILES


def test_only_changed_cases_are_left(work: Path) -> None:
    suite = only(suite_of(work), {work / "mail/tests/install"})
    names = [(folder.path, [case.name for case in folder.cases]) for folder in suite.test_dirs]
    assert names == [(f"{work}/mail/tests", ["install"])]


def _change(
    work: Path, monkeypatch: pytest.MonkeyPatch, write: Callable[[int], None]
) -> frozenset[Path]:
    """Wait for changes that are made before each look; return the cases."""
    files = watched(suite_of(work), None)
    before = files.state()
    looks = 0

    async def look(seconds: float) -> None:
        nonlocal looks
        assert seconds > 0
        looks += 1
        write(looks)

    monkeypatch.setattr(asyncio, "sleep", look)
    return files.changed(before, asyncio.run(changes(files, before)))


def test_a_change_counts_once_nothing_changes_any_more(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = ["web/tests/install", "web/tests/upgrade"]

    def write(look: int) -> None:
        assert look <= len(cases) + 2
        if look <= len(cases):
            (work / cases[look - 1] / "00-a.yaml").write_text(OBJECT + "# new\n")

    assert _change(work, monkeypatch, write) == {work / case for case in cases}


def test_a_new_case_is_a_change(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(look: int) -> None:
        if look == 1:
            (work / "mail/tests/new").mkdir()

    assert _change(work, monkeypatch, write) <= {work / "mail/tests/install"}
