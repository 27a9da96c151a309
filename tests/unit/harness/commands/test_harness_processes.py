"""argv and environment of commands."""

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kudo_harness.commands import CommandInvalid, Context, collecting_command, process_of
from kudo_harness.findings import Place
from kudo_harness.suite import Collector, CollectorType, Command

PLACE = Place("e2e/a/00-a.yaml", 5)
COMMAND = Command(place=PLACE)
CONTEXT = Context(
    namespace="kuttl-test-a",
    kubeconfig=Path("/run/kubeconfig"),
    folder=Path("/suite/e2e/a"),
    environment={"PATH": "/usr/bin:/bin", "HOME": "/home/u", "WORDS": "x  y", "Q": "a'b"},
    programs=(Path("/suite/bin"),),
    timeout=30,
)
COLLECTOR = Collector(
    type=CollectorType.POD,
    pod="",
    namespace="",
    container="",
    selector="",
    tail=None,
    command="",
    place=PLACE,
)


def argv(text: str, *, namespaced: bool = False) -> list[str]:
    command = replace(COMMAND, command=text, namespaced=namespaced)
    return list(process_of(command, CONTEXT).argv)


def test_variables_and_words_make_argv() -> None:
    table: list[tuple[str, list[str]]] = [
        ("kubectl kudo install ./op", ["kubectl", "kudo", "install", "./op"]),
        ("ls -n $NAMESPACE", ["ls", "-n", "kuttl-test-a"]),
        ("ls ${HOME}/x", ["ls", "/home/u/x"]),
        ("echo $$NAMESPACE", ["echo", "$NAMESPACE"]),
        ("echo $NONE.", ["echo", "."]),
        # Variables are replaced before the words are split, as in kuttl.
        ("echo $WORDS", ["echo", "x", "y"]),
        ("echo '$WORDS'", ["echo", "x  y"]),
        ("cat $KUBECONFIG", ["cat", "/run/kubeconfig"]),
        ("echo $PATH", ["echo", "/suite/bin:/usr/bin:/bin"]),
        ("a | b", ["a", "|", "b"]),
    ]
    for text, expected in table:
        assert argv(text) == expected


def test_namespaced_adds_the_namespace_unless_it_is_there() -> None:
    table: dict[str, list[str]] = {
        "kubectl get po": ["kubectl", "get", "po", "--namespace", "kuttl-test-a"],
        "kubectl get po -n other": ["kubectl", "get", "po", "-n", "other"],
        "kubectl get po -nother": ["kubectl", "get", "po", "-nother"],
        "kubectl --namespace other get po": ["kubectl", "--namespace", "other", "get", "po"],
        "kubectl --namespace=other get po": ["kubectl", "--namespace=other", "get", "po"],
        "kubectl exec p -- ls -n": [
            "kubectl",
            "exec",
            "p",
            "--namespace",
            "kuttl-test-a",
            "--",
            "ls",
            "-n",
        ],
        "kubectl get po --name-only": [
            "kubectl",
            "get",
            "po",
            "--name-only",
            "--namespace",
            "kuttl-test-a",
        ],
    }
    assert {text: argv(text, namespaced=True) for text in table} == table


def test_a_script_is_for_the_shell_as_it_is() -> None:
    process = process_of(replace(COMMAND, script="echo $WORDS '$X' | cat\n"), CONTEXT)
    assert process.argv == ("sh", "-c", "echo $WORDS '$X' | cat\n")
    assert process.shown == "echo $WORDS '$X' | cat"


def test_logs_show_a_command_as_it_is_written() -> None:
    process = process_of(replace(COMMAND, command=" login --token $WORDS "), CONTEXT)
    assert process.shown == "login --token $WORDS"


def test_processes_get_namespace_kubeconfig_and_path() -> None:
    process = process_of(replace(COMMAND, command="ls"), CONTEXT)
    assert process.environment == {
        "HOME": "/home/u",
        "KUBECONFIG": "/run/kubeconfig",
        "NAMESPACE": "kuttl-test-a",
        "PATH": "/suite/bin:/usr/bin:/bin",
        "Q": "a'b",
        "WORDS": "x  y",
    }
    assert process.folder == Path("/suite/e2e/a")
    assert process.place == PLACE


def test_an_empty_path_does_not_become_the_current_folder(subtests: pytest.Subtests) -> None:
    table: list[tuple[Mapping[str, str], str]] = [
        ({"PATH": "/bin"}, "/suite/bin:/bin"),
        ({"PATH": ""}, "/suite/bin"),
        ({}, "/suite/bin"),
    ]
    for inherited, expected in table:
        with subtests.test(inherited=inherited, expected=expected):
            context = replace(CONTEXT, environment=inherited)
            assert (
                process_of(replace(COMMAND, command="ls"), context).environment["PATH"] == expected
            )


def test_a_command_has_its_own_time_or_that_of_the_suite(subtests: pytest.Subtests) -> None:
    table: list[tuple[int, int, bool, int | None]] = [
        (0, 30, False, 30),
        (5, 30, False, 5),
        (-1, 30, False, None),
        (0, 0, False, None),
        (7, 0, False, 7),
        (5, 30, True, None),
    ]
    for own, shared, background, expected in table:
        with subtests.test(own=own, shared=shared, background=background, expected=expected):
            command = replace(COMMAND, command="ls", timeout=own, background=background)
            process = process_of(command, replace(CONTEXT, timeout=shared))
            assert (process.seconds, process.background) == (expected, background)


def test_options_are_handed_on() -> None:
    command = replace(COMMAND, command="ls", ignore_failure=True, skip_log_output=True)
    process = process_of(command, CONTEXT)
    assert process.ignore_failure
    assert not process.log_output


def test_a_command_that_cannot_be_run_is_told_with_its_line(subtests: pytest.Subtests) -> None:
    table = [
        ("$NONE", "nothing is left of the command once its variables are replaced"),
        ("# nothing", "nothing is left of the command"),
        ("echo $Q", "the quote ' is not closed; use script for a shell"),
    ]
    for text, message in table:
        with subtests.test(text=text, message=message):
            with pytest.raises(CommandInvalid, match=message) as caught:
                argv(text)
            assert str(caught.value).startswith("e2e/a/00-a.yaml:5: ")


def test_a_process_can_be_started_as_it_is(tmp_path: Path) -> None:
    context = replace(CONTEXT, folder=tmp_path)
    command = replace(COMMAND, script='printf "%s %s" "$NAMESPACE" "$(pwd)"')
    process = process_of(command, context)
    ran = subprocess.run(
        process.argv, env=process.environment, cwd=process.folder, capture_output=True, check=True
    )
    assert ran.stdout.decode() == f"kuttl-test-a {tmp_path}"


def test_collectors_are_commands(subtests: pytest.Subtests) -> None:
    table: list[tuple[Collector, str]] = [
        (
            replace(COLLECTOR, pod="web-0"),
            "kubectl logs --prefix web-0 -n kuttl-test-a --all-containers --tail=-1",
        ),
        (
            replace(COLLECTOR, pod="web-0", namespace="other", container="main", tail=5),
            "kubectl logs --prefix web-0 -n other -c main --tail=5",
        ),
        (
            replace(COLLECTOR, selector="app in (a, b)"),
            "kubectl logs --prefix -l|app in (a, b)|-n kuttl-test-a --all-containers --tail=10",
        ),
        (
            replace(COLLECTOR, selector="app=web", tail=0),
            "kubectl logs --prefix -l app=web -n kuttl-test-a --all-containers --tail=0",
        ),
        (
            replace(COLLECTOR, type=CollectorType.EVENTS),
            "kubectl get events -n kuttl-test-a",
        ),
        (
            replace(COLLECTOR, type=CollectorType.EVENTS, pod="web-0", namespace="other"),
            "kubectl get events --field-selector involvedObject.name=web-0 -n other",
        ),
        (
            replace(COLLECTOR, type=CollectorType.COMMAND, command="kubectl get all -n $NAMESPACE"),
            "kubectl get all -n kuttl-test-a",
        ),
    ]
    for collector, expected in table:
        with subtests.test(collector=collector, expected=expected):
            command = collecting_command(collector, CONTEXT.namespace)
            process = process_of(command, CONTEXT)
            before, bar, rest = expected.partition("|")
            selector, _, after = rest.partition("|")
            words = [*before.split(), selector, *after.split()] if bar else expected.split()
            assert list(process.argv) == words
            assert (process.ignore_failure, process.seconds, process.place) == (True, 30, PLACE)


def test_words_of_collectors_stay_whole(subtests: pytest.Subtests) -> None:
    for text in ["a b", 'a"b', "a\\b", "a'b", "#a", "app in (a,b)", "a\nb"]:
        with subtests.test(text=text):
            command = collecting_command(replace(COLLECTOR, selector=text), "ns")
            assert process_of(command, CONTEXT).argv[4] == text
