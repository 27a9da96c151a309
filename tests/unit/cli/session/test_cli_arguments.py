"""The command line: words, flags before and after them, and what is said about wrong ones."""

import pytest

from kubectl_kudo.catalogue import ROOT
from kubectl_kudo.session.arguments import Args, seconds
from kubectl_kudo.session.command import Command, find
from kubectl_kudo.session.errors import UsageError
from tests.unit.cli.conftest import Cli


def parsed(*argv: str) -> Args:
    node, rest = find(ROOT, argv)
    assert isinstance(node, Command)
    return node.parser().parse(rest)


def test_flags_may_stand_before_and_after_the_words() -> None:
    before = parsed("-n", "kitchen", "--instance", "tea", "plan", "--wait", "status")
    after = parsed("plan", "status", "--wait", "--instance=tea", "--namespace=kitchen")
    assert vars(before) == vars(after)
    assert (after.namespace, after.instance, after.wait) == ("kitchen", "tea", True)


def test_positional_arguments_may_stand_among_flags() -> None:
    args = parsed("install", "-p", "A=1", "./pot", "--parameter", "B=x=y", "--wait", "-nkitchen")
    assert args.arguments == ["./pot"]
    assert args.parameter == ["A=1", "B=x=y"]
    assert args.namespace == "kitchen"


def test_values_of_repeated_flags_are_not_split_at_commas() -> None:
    assert parsed("update", "-p", "PORTS=[80, 443]").parameter == ["PORTS=[80, 443]"]


def test_a_value_of_one_command_line_does_not_leak_into_the_next() -> None:
    assert parsed("update", "-p", "A=1").parameter == ["A=1"]
    assert parsed("update").parameter == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], True),
        (["--validate-install"], True),
        (["--validate-install=true"], True),
        (["--validate-install=false"], False),
        (["--validate-install=0"], False),
        (["--validate-install=false", "--validate-install"], True),
    ],
)
def test_switches_take_an_optional_truth_value(given: list[str], expected: bool) -> None:
    args = parsed("get", *given, "all")
    assert args.validate_install is expected
    assert args.arguments == ["all"]


def test_a_word_after_two_dashes_is_no_flag() -> None:
    assert parsed("install", "--wait", "--", "--pot").arguments == ["--pot"]


def test_defaults_are_those_of_the_original() -> None:
    args = parsed("install", "./pot")
    assert (args.wait, args.wait_time, args.validate_install) == (False, 300, True)
    assert (args.namespace, args.instance, args.request_timeout, args.v) == ("", "", 0, 0)


def test_times_are_seconds_or_durations() -> None:
    rows = [("0", 0), ("300", 300), ("90s", 90), ("5m", 300), ("1h1m1s", 3661)]
    assert [(text, seconds(text)) for text, _ in rows] == rows


@pytest.mark.parametrize("text", ["", "-1", "1.5", "soon", "5 m", "٣"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither a number of seconds"):
        seconds(text)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("get --every-namespace", "unknown flag: --every-namespace"),
        ("get --sort=name", "unknown flag: --sort"),
        ("get -B", "unknown shorthand flag: 'B' in -B"),
        ("--plan x get all", "unknown flag: --plan"),
        ("-v", "flag needs an argument: 'v' in -v"),
        ("update --instance", "flag needs an argument: --instance"),
        ("get -v loud", 'invalid argument "loud" for "-v, --v" flag: not a whole number'),
        (
            "install --wait=maybe",
            'invalid argument "maybe" for "--wait" flag: neither true nor false',
        ),
        ("install --wait-tme=5", "unknown flag: --wait-tme; did you mean --wait-time?"),
        ("version --Output json", "unknown flag: --Output; did you mean --output?"),
        ("version --brew", "unknown flag: --brew"),
    ],
)
def test_wrong_flags_are_named(run: Cli, line: str, text: str) -> None:
    ran = run(*line.split())
    assert (ran.code, ran.out, ran.err) == (2, "", f"Error: {text}\n")


# BTO-2: KUDO 0.19 printed the help of the group and ended with 0.
@pytest.mark.parametrize("group", ["plan", "package", "package list", "package add", "repo"])
def test_an_unknown_command_of_each_group_is_an_error(run: Cli, group: str) -> None:
    ran = run(*group.split(), "brew")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f'Error: unknown command "brew" for "kubectl-kudo {group}"\n')


def test_the_suggestions_of_a_group_are_in_the_error(run: Cli) -> None:
    ran = run("plan", "statsu", "--instance", "tea")
    assert ran.code == 2
    assert ran.err == (
        'Error: unknown command "statsu" for "kubectl-kudo plan"\n\n'
        "Did you mean this?\n\tstatus\n\n"
        "Run 'kubectl-kudo plan --help' for usage.\n"
    )


def test_there_are_several_ways_to_a_help(run: Cli) -> None:
    assert run() == run("--help") == run("help") == run("-h")
    assert run("plan") == run("plan", "--help") == run("help", "plan")
    assert run("get", "--help") == run("help", "get")


def test_required_flags_are_not_asked_for_when_help_is_wanted(run: Cli) -> None:
    assert run("uninstall", "-h").code == 0


def test_an_unusable_value_is_judged_where_it_is_read() -> None:
    with pytest.raises(UsageError):
        parsed("update", "--request-timeout", "fast")
