"""docs/cli/ has a page for each command, and `--check` finds those that are stale."""

from pathlib import Path

import pytest

from kubectl_kudo.catalogue import ROOT
from kubectl_kudo.session.errors import ExitCode
from tools.command_pages import PAGES, commands, main, pages


def test_the_pages_of_the_repository_are_those_of_the_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--check"]) == 0
    assert capsys.readouterr().out == ""
    names = {command.name.replace(" ", "-") for command in commands(ROOT)}
    assert {path.stem for path in PAGES.iterdir()} == {*names, "README", "exit-codes"}


def test_a_page_has_what_the_help_has() -> None:
    written = pages()
    for command in commands(ROOT):
        text = written[f"{command.name.replace(' ', '-')}.md"]
        assert f"# kubectl kudo {command.name}\n" in text
        assert all(f"kubectl kudo {line}" in text for _, line in command.examples)
        assert all(f"`{', '.join(sorted(one.names, key=len))}" in text for one in command.flags)
        assert f"({command.name.replace(' ', '-')}.md)" in written["README.md"]


def test_every_exit_code_is_explained() -> None:
    text = pages()["exit-codes.md"]
    assert all(f"| {code.value} | {code.meaning} |" in text for code in ExitCode)


def test_stale_and_superfluous_pages_are_named_and_then_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.command_pages.PAGES", tmp_path)
    assert main([]) == 0
    (tmp_path / "get.md").write_text("old")
    (tmp_path / "gone.md").write_text("of a command that is gone")
    (tmp_path / "version.md").unlink()
    capsys.readouterr()
    assert main(["--check"]) == 1
    stale = sorted(line.split(";")[0] for line in capsys.readouterr().out.splitlines())
    assert stale == [f"stale: docs/cli/{name}.md" for name in ("get", "gone", "version")]
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert {path.name for path in tmp_path.iterdir()} == set(pages())
