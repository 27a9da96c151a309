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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
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
    ],
)
def test_variables_and_words_make_argv(text: str, expected: list[str]) -> None:
    assert argv(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kubectl get po", ["kubectl", "get", "po", "--namespace", "kuttl-test-a"]),
        ("kubectl get po -n other", ["kubectl", "get", "po", "-n", "other"]),
        ("kubectl get po -nother", ["kubectl", "get", "po", "-nother"]),
        ("kubectl --namespace other get po", ["kubectl", "--namespace", "other", "get", "po"]),
        ("kubectl --namespace=other get po", ["kubectl", "--namespace=other", "get", "po"]),
        (
            "kubectl exec p -- ls -n",
            ["kubectl", "exec", "p", "--namespace", "kuttl-test-a", "--", "ls", "-n"],
        ),
        (
            "kubectl get po --name-only",
            ["kubectl", "get", "po", "--name-only", "--namespace", "kuttl-test-a"],
        ),
    ],
)
def test_namespaced_adds_the_namespace_unless_it_is_there(text: str, expected: list[str]) -> None:
    assert argv(text, namespaced=True) == expected


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


@pytest.mark.parametrize(
    ("inherited", "expected"),
    [({"PATH": "/bin"}, "/suite/bin:/bin"), ({"PATH": ""}, "/suite/bin"), ({}, "/suite/bin")],
)
def test_an_empty_path_does_not_become_the_current_folder(
    inherited: Mapping[str, str], expected: str
) -> None:
    context = replace(CONTEXT, environment=inherited)
    assert process_of(replace(COMMAND, command="ls"), context).environment["PATH"] == expected


@pytest.mark.parametrize(
    ("own", "shared", "background", "expected"),
    [
        (0, 30, False, 30),
        (5, 30, False, 5),
        (-1, 30, False, None),
        (0, 0, False, None),
        (7, 0, False, 7),
        (5, 30, True, None),
    ],
)
def test_a_command_has_its_own_time_or_that_of_the_suite(
    own: int, shared: int, background: bool, expected: int | None
) -> None:
    command = replace(COMMAND, command="ls", timeout=own, background=background)
    process = process_of(command, replace(CONTEXT, timeout=shared))
    assert (process.seconds, process.background) == (expected, background)


def test_options_are_handed_on() -> None:
    command = replace(COMMAND, command="ls", ignore_failure=True, skip_log_output=True)
    process = process_of(command, CONTEXT)
    assert process.ignore_failure
    assert not process.log_output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$NONE", "nothing is left of the command once its variables are replaced"),
        ("# nothing", "nothing is left of the command"),
        ("echo $Q", "the quote ' is not closed; use script for a shell"),
    ],
)
def test_a_command_that_cannot_be_run_is_told_with_its_line(text: str, message: str) -> None:
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


@pytest.mark.parametrize(
    ("collector", "expected"),
    [
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
    ],
)
def test_collectors_are_commands(collector: Collector, expected: str) -> None:
    command = collecting_command(collector, CONTEXT.namespace)
    process = process_of(command, CONTEXT)
    before, bar, rest = expected.partition("|")
    selector, _, after = rest.partition("|")
    words = [*before.split(), selector, *after.split()] if bar else expected.split()
    assert list(process.argv) == words
    assert (process.ignore_failure, process.seconds, process.place) == (True, 30, PLACE)


@pytest.mark.parametrize("text", ["a b", 'a"b', "a\\b", "a'b", "#a", "app in (a,b)", "a\nb"])
def test_words_of_collectors_stay_whole(text: str) -> None:
    command = collecting_command(replace(COLLECTOR, selector=text), "ns")
    assert process_of(command, CONTEXT).argv[4] == text
