"""Whatever a package or an Instance contains, no command writes it to a terminal as it is.

The command lines are made of the catalogue: each command, each of its flags, each format. A new
command or flag is tested without a line here.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from kubectl_kudo.__main__ import main
from kubectl_kudo.catalogue import ROOT
from kubectl_kudo.session.command import Command
from kubectl_kudo.session.terminal import clean
from tests.support.terminals.stream import TerminalStream
from tests.unit.cli import hostile
from tests.unit.cli.conftest import Cli, Ran
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.test_cli_catalogue import modules

_FORGED = (hostile.FORGED, hostile.SECOND)
COMMANDS = {command.name: command for command, _, _ in modules(ROOT)}

_PACKAGE = re.compile(r"folder|tgz")
_NOTHING = {
    "-i": "asks on stdin",
    "--watch": "does not end",
    "--start-control-plane": "starts programs",
    "--start-kind": "starts programs",
    "--start-kudo": "needs a cluster of its own",
}
"""Switches that are left out, and why."""
_FORMATS = ("json", "yaml", "sarif", "table", "wide", "tree", "name")
_NEEDED = (
    "--instance=tea",
    f"--name={hostile.PLAN}",
    "--parameter=CUPS=3",
    f"--parameter={hostile.REQUIRED}=x",
    "--wait-time=1",
    "--yes",
)
_FIXED = {
    "get": (["instances"], ["operators"], ["operatorversions"], ["all"], ["objects"]),
    "describe": (["instance", "tea"],),
    "repo serve": ([hostile.GIVEN],),  # it would serve a folder that exists
    "completion": (["bash"], [hostile.GIVEN]),
}


def positionals(command: Command, packages: list[str]) -> list[list[str]]:
    """Return the arguments to try."""
    if command.name in _FIXED:
        return [*_FIXED[command.name]]
    if _PACKAGE.search(command.arguments):
        return [[package] for package in packages]
    words = [word for word in command.arguments.split() if not word.startswith("-")]
    return [[hostile.GIVEN for _ in words]]


def flags_of(command: Command, *, all_of_them: bool) -> Iterator[list[str]]:
    """Yield flags one by one: each with a hostile value, or in each of the formats."""
    yield []
    for flag in command.flags:
        if flag.names[0] == "--output":
            yield from ([f"{flag.names[0]}={text}"] for text in _FORMATS)
        elif all_of_them and not _NOTHING.keys() & set(flag.names):
            yield [f"{flag.names[0]}={hostile.GIVEN}"] if flag.value else [flag.names[0]]


def needed(command: Command) -> list[str]:
    """Return the flags of every line of the command."""
    names = {name for flag in command.flags for name in flag.names}
    return [line for line in _NEEDED if line.partition("=")[0] in names]


def renew(api: FakeApi) -> None:
    """Store the Instance if it is not there yet, or not as it was."""
    if api.changes or not api.names("instances"):
        hostile.instance(api)
        api.changes.clear()


def check(ran: Ran, *, lines: bool = True) -> None:
    """Fail if something hostile was written."""
    for text in (ran.out, ran.err):
        assert clean(text) == text
        if lines:
            assert [one for one in text.split("\n") if one.startswith(_FORGED)] == [], text
    assert "internal error" not in ran.err


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_writes_what_a_terminal_would_act_on(
    name: str, kudo: Cli, api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[name]
    api.plan = hostile.PLAN
    packages = [str(one) for one in hostile.packages(tmp_path / "packages")]
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    for number, arguments in enumerate(positionals(command, packages)):
        for flags in flags_of(command, all_of_them=number == 0):
            renew(api)
            api.script = [hostile.ended]
            argv = [*name.split(), *needed(command), *flags, *arguments]
            ran = kudo(*argv)
            check(ran)
            if "--output=json" in flags and ran.out:
                json.loads(ran.out)
            if "--output=yaml" in flags:
                list(yaml.safe_load_all(ran.out.replace("...\n", "")))
        renew(api)
        check(kudo("-v", "9", *name.split(), *needed(command), *arguments), lines=False)


_SHOWING = {
    "get": (["instances"], ["all"], ["all", "-o=wide"], ["all", "-o=tree"], ["operators"]),
    "get objects": (["--instance=tea"], ["--instance=tea", "-o=wide"]),
    "describe": (["instance", "tea"],),
    "why": (["tea"], []),
    "plan status": (["tea"], ["tea", "--all"], ["tea", f"--plan={hostile.PLAN}"]),
    "plan history": (["tea"], ["tea", "-o=wide"]),
    "plan wait": (["tea"],),
    "rbac": (["tea"],),
}
_DRAWN = re.compile(r"\r?\x1b\[([0-9;]*m|[0-9]*[AK]|\?25[hl])")


_KEEPING = (
    ("search", ""),
    ("search", "", "--all-versions"),
    ("repo", "list"),
    ("package", "list", "tasks"),
    ("package", "list", "plans"),
    ("package", "list", "parameters"),
    ("package", "verify"),
)
"""Of these the ones of `package` get the folder of a package."""


def drawn(monkeypatch: pytest.MonkeyPatch, argv: list[str]) -> list[str]:
    """Run a command line on a terminal; return what stdout and stderr got."""
    terminal, errors = TerminalStream(), TerminalStream()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", terminal)
        patch.setattr("sys.stderr", errors)
        main(argv)
    return [terminal.getvalue(), errors.getvalue()]


def check_drawn(written: str, *, colours: bool) -> str:
    """Return the text without what rich drew, of which nothing acts on the terminal."""
    text = _DRAWN.sub("", written)
    assert clean(text) == text
    assert not [line for line in text.split("\n") if line.startswith(_FORGED)]
    assert "internal error" not in text
    assert colours or "\x1b[3" not in written
    return text


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("variables", [{"TERM": "xterm"}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_a_terminal_gets_texts_as_they_are_and_escapes_that_are_drawn(
    kudo: Cli,
    api: FakeApi,
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
    variables: dict[str, str],
) -> None:
    hostile.instance(api)
    runs = [{"plan": hostile.PLAN, "uid": str(uid), "status": "FATAL_ERROR",
             "cause": {"requestedBy": hostile.name("somebody")}} for uid in range(2)]  # fmt: skip
    api.objects["instances", "tea"]["status"]["history"] = runs
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"COLUMNS": str(columns), "LINES": "30", **variables}.items():
        monkeypatch.setenv(name, value)
    everything = ""
    for words, lines in _SHOWING.items():
        for arguments in lines:
            out, errors = drawn(monkeypatch, [*words.split(), *arguments])
            everything += check_drawn(out, colours=variables == {"TERM": "xterm"})
            check_drawn(errors, colours=variables == {"TERM": "xterm"})
    assert hostile.MARKUP in "".join(everything.split()).replace("│", "")


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("variables", [{"TERM": "xterm"}, {"NO_COLOR": "1"}])
@pytest.mark.parametrize("argv", _KEEPING, ids=" ".join)
def test_packages_and_repositories_reach_a_terminal_as_text(
    run: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    argv: tuple[str, ...],
    columns: int,
    variables: dict[str, str],
) -> None:
    hostile.repository(tmp_path / "kudo")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {
        "COLUMNS": str(columns),
        "LINES": "30",
        "TERM": "xterm",
        **variables,
    }.items():
        monkeypatch.setenv(name, value)
    everything = ""
    ends = [[str(path)] for path in hostile.packages(tmp_path / "packages")]
    for end in ends if argv[0] == "package" else [[]]:
        for written in drawn(monkeypatch, [*argv, *end]):
            everything += check_drawn(written, colours=variables == {"TERM": "xterm"})
    assert "FORGED" in everything
