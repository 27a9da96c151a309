"""`kubectl kudo test --clean`: which runs it cleans up after."""

import json
import os
import tempfile
from pathlib import Path

import pytest

from kudo_harness.running.record import NAME, process_started
from tests.unit.cli.conftest import Cli


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def record(folder: Path, process: int = 0) -> Path:
    """Write the record of a run that made nothing."""
    folder.mkdir(parents=True)
    entry = {"process": process, "started": process_started(process) if process else ""}
    (folder / NAME).write_text(json.dumps(entry) + "\n")
    return folder


def test_all_runs_that_have_ended_are_cleaned(run: Cli, temporary: Path) -> None:
    first, second = record(temporary / "kudo-test-a" / "1"), record(temporary / "kudo-test-a" / "2")
    ran = run("test", "--clean")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "".join(
        f"deleting what is left of the run with the folder {one}\n" for one in (first, second)
    )
    assert list(temporary.iterdir()) == []
    assert run("test", "--clean").out == "nothing is left of any run\n"


def test_a_run_that_has_not_ended_is_left_alone(run: Cli, temporary: Path) -> None:
    folder = record(temporary / "kudo-test-a" / "1", os.getpid())
    assert run("test", "--clean").out == "nothing is left of any run\n"
    ran = run("test", "--clean", str(folder))
    assert ran.code != 0
    assert "still runs" in ran.err
    assert (folder / NAME).exists()


def test_a_folder_of_somebody_else_is_not_used(run: Cli, temporary: Path, tmp_path: Path) -> None:
    # Its kubeconfig could start a program.
    elsewhere = record(tmp_path / "elsewhere")
    (temporary / "kudo-test-link").symlink_to(elsewhere)
    assert run("test", "--clean").out == "nothing is left of any run\n"
    assert (elsewhere / NAME).exists()


def test_a_folder_can_be_named_as_it_was_printed_or_above_it(run: Cli, temporary: Path) -> None:
    for argument in ("kudo-test-a", "kudo-test-a/1"):
        record(temporary / "kudo-test-a" / "1")
        assert run("test", "--clean", str(temporary / argument)).code == 0
        assert list(temporary.iterdir()) == []


def test_a_folder_of_another_name_stays(run: Cli, tmp_path: Path) -> None:
    folder = record(tmp_path / "mine")
    (folder / "file").write_text("")
    assert run("test", "--clean", str(folder)).code == 0
    assert [path.name for path in folder.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("content", "text"),
    [(None, "has no record of a run"), ("{}\nno\n", "cannot read what the run")],
)
def test_what_is_no_record_is_told(
    run: Cli, tmp_path: Path, content: str | None, text: str
) -> None:
    if content is not None:
        (tmp_path / NAME).write_text(content)
    ran = run("test", "--clean", str(tmp_path))
    assert ran.code != 0
    assert text in ran.err
    assert "Traceback" not in ran.err
