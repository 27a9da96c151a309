"""The catalogue: one module for each verb, imported when the command line names it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import kubectl_kudo
from kubectl_kudo.catalogue import ROOT
from kubectl_kudo.session.command import Command, Group
from tests.unit.cli.conftest import Cli
from tests.unit.cli.imports import imported


def modules(group: Group, *words: str) -> Iterator[tuple[Command, tuple[str, ...], str]]:
    """Yield each command with its words and its module."""
    for word, member in group.members.items():
        if isinstance(member, Group):
            yield from modules(member, *words, word)
        else:
            command = group.member(word)
            assert isinstance(command, Command)
            yield command, (*words, word), member.module


def test_each_command_stands_in_a_module_named_after_its_verb() -> None:
    found = list(modules(ROOT))
    assert [command.name for command, _, _ in found] == [" ".join(words) for _, words, _ in found]
    assert [module.split(".")[-1] for *_, module in found] == [words[-1] for _, words, _ in found]


def test_each_module_with_a_command_is_in_the_catalogue() -> None:
    package = Path(kubectl_kudo.__file__).parent
    defining = {
        ".".join(path.relative_to(package).with_suffix("").parts)
        for path in package.rglob("*.py")
        if "\nCOMMAND = " in path.read_text()
    }
    assert defining == {module for *_, module in modules(ROOT)}


def test_each_help_has_a_sentence_and_fits_into_100_columns(run: Cli) -> None:
    for _, words, _ in modules(ROOT):
        shown = run(*words, "--help").out
        usage, _, summary, *_ = shown.splitlines()
        assert usage.startswith(f"usage: kubectl-kudo {' '.join(words)}")
        assert summary.endswith("."), summary
        assert max(map(len, shown.partition("\nexamples:")[0].splitlines())) <= 100, words
        assert "--no-" not in shown.replace("--no-color", ""), words


@pytest.mark.parametrize(
    ("argv", "own"),
    [
        (["-n", "kitchen", "-v", "1", "plan", "wait", "--help"], {"commands.plan.wait"}),
        (["--help"], set()),
        (["package", "--help"], set()),
        (["package", "add", "--help"], set()),
        (["brew"], set()),
        (["__complete", "plan", ""], set()),
        (["__complete", "plan", "wait", "--"], {"commands.plan.wait"}),
    ],
)
def test_only_the_named_command_is_imported(argv: list[str], own: set[str]) -> None:
    loaded = imported(f"from kubectl_kudo.__main__ import main; main({argv!r})")
    commands = {f"kubectl_kudo.{module}" for *_, module in modules(ROOT)}
    # Completion knows the shells from the command that prints their scripts.
    commands.discard("kubectl_kudo.commands.completion")
    assert loaded & commands == {f"kubectl_kudo.{module}" for module in own}
