"""The texts of errors that need no cluster, and the exit codes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_kudo import __main__ as entry
from kubectl_kudo.catalogue import ROOT
from kubectl_kudo.commands import version
from kubectl_kudo.session.command import Command, Group, find
from kubectl_kudo.session.errors import CliError, describe, listed
from kubeio.errors import ConfigError, ConnectionLost, error_from_status
from kudo.api.problems import InvalidInput, KudoError, Problem
from tests.unit.cli.conftest import Cli

NO_ARGUMENTS = "expecting no arguments provided for {}. Only named flags are accepted"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            "update --instance tea -p A -p =1 -p C=1",
            "could not parse parameters: parameter not set: A, parameter name can not be empty: =1",
        ),
        ("upgrade ./a", "please use --instance and specify instance name. It cannot be empty"),
        ("version x", NO_ARGUMENTS.format("version")),
        ("repo list x", NO_ARGUMENTS.format("repo list")),
    ],
)
def test_wrong_arguments_are_told_in_the_words_of_the_original(
    run: Cli, line: str, text: str
) -> None:
    ran = run(*line.split())
    assert (ran.code, ran.out, ran.err) == (2, "", f"Error: {text}\n")


NAMING = [
    "adopt",
    "diagnostics collect",
    "plan cancel",
    "plan history",
    "plan retry",
    "plan status",
    "plan trigger",
    "plan wait",
    "prune",
    "resume",
    "suspend",
    "uninstall",
    "update",
    "why",
]


def commands(group: Group) -> Iterator[Command]:
    for member in map(group.member, group.members):
        if isinstance(member, Group):
            yield from commands(member)
        else:
            yield member


def test_all_verbs_about_one_instance_but_those_that_take_a_package_name_it_by_position() -> None:
    assert sorted(one.name for one in commands(ROOT) if one.names_instance) == NAMING


@pytest.mark.parametrize("name", NAMING)
def test_an_instance_is_named_by_position_or_by_flag_and_once(name: str, run: Cli) -> None:
    command, _ = find(ROOT, name.split())
    assert isinstance(command, Command)
    for line in (["tea"], ["--instance", "tea"], ["tea", "--instance=tea"], ["tea", "tea"]):
        args = command.parser().parse(line)
        command.take_instance(args)
        assert (args.instance, args.arguments) == ("tea", [])
    ran = run(*name.split(), "brew", "--instance", "tea")
    assert ran.code == 2
    assert ran.err.startswith(f"Error: {name} takes one instance, not tea and brew")
    assert f"usage: kubectl-kudo {name} [instance] " in run(*name.split(), "--help").out


def test_who_names_a_plan_by_position_is_told_how_to_name_it(run: Cli) -> None:
    # BTO-8: arguments of the commands of plans were ignored, also the name of the plan.
    ran = run("plan", "trigger", "brew", "--instance", "tea")
    assert ran.err == (
        "Error: plan trigger takes one instance, not tea and brew; "
        "name the plan with --name=<planName>\n"
    )


def test_a_parameter_file_with_null_names_file_and_key(run: Cli, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("CUPS: null\n")
    ran = run("update", "--instance", "tea", "-P", str(tmp_path / "p.yaml"))
    assert f"parameter file {tmp_path}/p.yaml: CUPS has a null value" in ran.err


def test_a_bare_word_is_no_folder(run: Cli, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(package.parent)
    ran = run("install", "teapot")
    assert ran.err.startswith(
        "Error: failed to resolve operator package for: teapot getting teapot in index file:"
    )
    assert "for the folder of that name write ./teapot" in ran.err


def test_no_kubeconfig_is_an_error_with_a_hint(run: Cli) -> None:
    ran = run("get", "all")
    assert ran.code == 255
    assert ran.err.startswith("Error: cannot use the cluster's configuration: no kubeconfig: ")
    assert "--kubeconfig" in ran.err


def test_a_bug_is_told_in_a_line_and_its_traceback_from_v_9_on(
    run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by what")

    monkeypatch.setattr(version, "check_format", broken)
    ran = run("version")
    assert (ran.code, ran.out) == (255, "")
    assert ran.err == (
        "Error: internal error, please report it with the output of `-v 9`: "
        "ZeroDivisionError: by what\n"
    )
    assert "Traceback" not in run("version", "-v", "8").err
    traced = run("version", "-v", "9").err
    assert traced.startswith("Traceback")
    assert traced.endswith("ZeroDivisionError: by what\n")


def test_an_interrupt_ends_quietly_with_130(run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "_run", interrupted)
    ran = run("version")
    assert (ran.code, ran.out, ran.err) == (130, "", "")


def test_nobody_reading_on_is_no_reason_for_a_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "kubectl_kudo", "--help"],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (255, b"")


# describe


def denied(webhook: str) -> str:
    """Return the text for a denial of a webhook."""
    causes = [
        {"message": "port is immutable", "field": "spec.parameters[port]"},
        {"message": "cups: not a number", "field": "spec.parameters[cups]"},
        {"message": "and more"},
    ]
    text = f'admission webhook "{webhook}" denied the request: port is immutable'
    return (
        describe(error_from_status({"code": 403, "message": text, "details": {"causes": causes}}))
        or ""
    )


def test_a_denial_is_told_without_the_name_of_our_webhook_and_with_other_causes() -> None:
    told = "port is immutable\n  spec.parameters[cups]: cups: not a number\n  and more"
    assert denied("validate.instance-admission.kudo.dev") == told
    other = 'admission webhook "policy.example.org" denied the request: '
    assert denied("policy.example.org") == f"{other}{told}"


def test_long_texts_of_the_server_are_cut() -> None:
    text = describe(error_from_status({"code": 422, "message": "x" * 5000}))
    assert text == f"{'x' * 4000}… (1000 more characters)"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (CliError("no"), "no"),
        (KudoError("no"), "no"),
        (InvalidInput([Problem("R", "bad", "a.yaml:3")]), "a.yaml:3: bad"),
        (ConfigError("no such file", source="k"), "k: no such file"),
        (ConnectionLost("GET /: no"), "no answer from the API server: GET /: no"),
        (ExceptionGroup("g", [CliError("no")]), "no"),
        (ExceptionGroup("g", [CliError("no"), CliError("no")]), None),
        (ValueError("no"), None),
    ],
)
def test_expected_errors_have_a_text_and_others_none(
    error: BaseException, text: str | None
) -> None:
    found = describe(error)
    assert found == text or (text and found and found.endswith(text))


def test_one_problem_is_told_in_the_line_of_the_headline() -> None:
    problem = Problem("R", "bad")
    assert listed("cannot:", [problem]) == "cannot: bad"
    assert listed("cannot:", [problem, problem]) == "cannot:\n  bad\n  bad"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le"])
def test_a_parameter_file_is_read_in_the_encodings_of_windows(
    run: Cli, tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "p.yaml").write_bytes("CUPS: null\n".encode(encoding))
    ran = run("update", "--instance", "tea", "-P", str(tmp_path / "p.yaml"))
    without_mark = f"error reading from parameter file {tmp_path}/p.yaml: a NUL character at byte 1"
    expected = without_mark if encoding == "utf-16-le" else "CUPS has a null value"
    assert expected in ran.err
