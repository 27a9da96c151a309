"""`__complete`: what could stand in the place of the last word (BTO-3: no names, no scripts)."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.imports import imported

NO_SPACE, NO_FILES, FOLDERS = 2, 4, 16


def offered(run: Cli, *words: str) -> tuple[list[str], int]:
    """Return the candidates without descriptions, and the directive."""
    ran = run("__complete", *words)
    assert (ran.code, ran.err) == (0, "")
    *lines, directive = ran.out.splitlines()
    assert directive.startswith(":")
    return [line.partition("\t")[0] for line in lines], int(directive[1:])


# Commands and flags


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["pl"], ["plan"]),
        (["plan", "t"], ["trigger"]),
        (["-n", "kitchen", "plan", "t"], ["trigger"]),
        (["help", "plan", "t"], ["trigger"]),
        (["package", "list", "pa"], ["parameters", "params"]),
        (["repo", "rm"], []),
        (["brew", ""], []),
        (["plan", "brew", ""], []),
        (["version", ""], []),
        (["install", "--wait"], ["--wait", "--wait-time"]),
        (["install", "--wait", "--wait"], ["--wait-time"]),
        (["update", "-p", "A=1", "--param"], ["--parameter", "--parameter-file"]),
        (["plan", "--names"], ["--namespace"]),
        (["version", "-o", ""], ["json", "yaml"]),
        (["version", "--output="], ["--output=json", "--output=yaml"]),
        (["version", "--output=y"], ["--output=yaml"]),
        (["install", "--dry-run", "s"], ["server"]),
        (["install", "--wait-time", ""], []),
        (["install", "--operator-version", ""], []),
        (["get", "o"], ["objects", "operators", "operatorversions"]),
        (["get", "--", "o"], ["objects", "operators", "operatorversions"]),
        (["get", "--", "-"], []),
        (["get", "all", "-o", "j"], ["json"]),
        (["describe", ""], ["instance"]),
        (["describe", "instance", "tea", ""], []),
        (["package", "verify", "-o", "s"], ["sarif"]),
        (["completion", "p"], ["powershell"]),
    ],
)
def test_words_that_need_no_cluster(run: Cli, words: list[str], expected: list[str]) -> None:
    assert offered(run, *words) == (expected, NO_FILES)


@pytest.mark.parametrize(
    ("words", "directive"),
    [
        (["install", "./"], 0),
        (["install", "/"], 0),
        (["package", "docs", ""], 0),
        (["update", "-P", ""], 0),
        (["--kubeconfig", ""], 0),
        (["--home", ""], FOLDERS),
        (["repo", "serve", ""], FOLDERS),
        (["package", "create", "x", "--destination="], FOLDERS),
    ],
)
def test_files_and_folders_are_left_to_the_shell(
    run: Cli, words: list[str], directive: int
) -> None:
    assert offered(run, *words) == ([], directive)


def test_words_import_no_client_and_no_models() -> None:
    lines = [["__complete", *words] for words in ([""], ["package", "add", ""])]
    check = f"assert not any(main(argv) for argv in {lines})"
    loaded = imported(f"from kubectl_kudo.__main__ import main; {check}")
    assert loaded.isdisjoint({"aiohttp", "kubeio.client", "kudo.api.base", "pydantic"})


# Names


def test_names_of_the_cluster(kudo: Cli, pot: FakeApi) -> None:
    instances = (["tea"], NO_FILES)
    assert offered(kudo, "plan", "status", "--instance", "") == instances
    assert offered(kudo, "plan", "status", "--instance", "t") == instances
    assert offered(kudo, "plan", "status", "--instance=") == (["--instance=tea"], NO_FILES)
    assert offered(kudo, "-n", "default", "plan", "status", "--instance", "") == ([], NO_FILES)
    assert offered(kudo, "-n", "k") == (["kitchen"], NO_FILES)
    assert offered(kudo, "--context", "") == (["other", "test"], NO_FILES)
    assert offered(kudo, "--context=other", "plan", "status", "--instance", "") == ([], NO_FILES)
    assert offered(kudo, "plan", "status", "") == instances
    assert offered(kudo, "plan", "status", "tea", "") == ([], NO_FILES)
    assert offered(kudo, "describe", "instance", "") == instances
    assert offered(kudo, "get", "instance", "") == instances
    assert offered(kudo, "get", "instances", "tea", "") == ([], NO_FILES)
    assert offered(kudo, "get", "operators", "") == (["teapot"], NO_FILES)
    assert offered(kudo, "get", "operatorversions", "") == (["teapot-2.1.0-0.3.0"], NO_FILES)
    assert offered(kudo, "get", "all", "") == ([], NO_FILES)
    described = kudo("__complete", "update", "--instance", "").out
    assert described == "tea\tteapot-2.1.0-0.3.0\n:4\n"


def test_a_name_beyond_the_first_page_is_offered(kudo: Cli, pot: FakeApi) -> None:
    """The namespaces of a large cluster need more than one page, and `kitchen` is in the second."""
    for number in range(700):
        pot.add("namespaces", {"metadata": {"name": f"home-{number}"}})
    assert offered(kudo, "-n", "k") == (["kitchen"], NO_FILES)
    names, _ = offered(kudo, "-n", "h")
    assert len(names) == 500


@pytest.mark.parametrize("named", [("--instance", "tea"), ("tea",)])
def test_plans_and_parameters_of_an_instance(
    kudo: Cli, pot: FakeApi, named: tuple[str, ...]
) -> None:
    trigger = ("plan", "trigger", *named)
    assert offered(kudo, *trigger, "--name", "") == (["brew", "cleanup", "deploy"], NO_FILES)
    assert offered(kudo, *trigger, "--name", "b") == (["brew"], NO_FILES)
    # Those of the plan, which declares none.
    assert offered(kudo, *trigger, "--name", "brew", "-p", "") == ([], NO_FILES)
    update = ("update", *named, "-p")
    names = ["CUPS=", "POT=", "SIZE=", "TEA="]
    assert offered(kudo, *update, "") == (names, NO_FILES | NO_SPACE)
    assert offered(kudo, *update, "SIZE=") == (["SIZE=large", "SIZE=small"], NO_FILES)
    assert offered(kudo, *update, "SIZE=s") == (["SIZE=small"], NO_FILES)
    assert offered(kudo, *update, "CUPS=") == ([], NO_FILES)
    assert offered(kudo, "update", "--instance", "none", "-p", "") == ([], NO_FILES)


def test_an_installation_names_an_instance_that_does_not_exist_yet(kudo: Cli, pot: FakeApi) -> None:
    assert offered(kudo, "install", "./teapot", "--instance", "") == ([], NO_FILES)


def test_plans_and_parameters_of_a_package(run: Cli, package: Path) -> None:
    names = ["CUPS=", "SIZE=", "TEA="]
    assert offered(run, "install", str(package), "-p", "") == (names, NO_FILES | NO_SPACE)
    assert offered(run, "package", "render", str(package), "--plan", "") == (["deploy"], NO_FILES)
    broken = (["package", "render", str(package / "none"), "--plan", ""], NO_FILES)
    assert offered(run, *broken[0]) == ([], NO_FILES)


def test_names_of_repositories_and_their_packages(
    run: Cli, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dist").mkdir()
    assert run("package", "create", str(package), "-d", "dist", "--skip-verify").code == 0
    url = f"file://{tmp_path}/dist"
    assert run("repo", "index", "dist", "--url", url).code == 0
    assert run("repo", "add", "own", url).code == 0
    assert "first-operator" in offered(run, "install", "")[0]
    assert run("repo", "context", "own").code == 0
    assert offered(run, "repo", "context", "") == (["builtin", "own"], NO_FILES)
    assert offered(run, "repo", "rm", "own", "builtin", "") == ([], NO_FILES)
    assert offered(run, "install", "--repo", "") == (["builtin", "own"], NO_FILES)
    assert offered(run, "install", "") == (["teapot"], 0)
    assert offered(run, "search", "te") == (["teapot"], NO_FILES)
    assert offered(run, "install", "teapot", "-p", "S") == (["SIZE="], NO_FILES | NO_SPACE)
    assert offered(run, "install", "--repo", "none", "") == ([], NO_FILES)


# Failures


@pytest.mark.parametrize(
    "words",
    [
        ["plan", "status", "--instance", ""],
        ["plan", "status", "--instance", "../x", "--context", "none", "-n", ""],
        ["update", "--request-timeout", "soon", "--instance", ""],
    ],
)
def test_without_a_cluster_nothing_is_offered_and_nothing_is_said(
    run: Cli, words: list[str]
) -> None:
    assert offered(run, *words) == ([], NO_FILES)


def test_a_denial_is_not_told(kudo: Cli, pot: FakeApi) -> None:
    pot.refusals["GET", "instances"] = (403, "instances is forbidden")
    assert offered(kudo, "plan", "status", "--instance", "") == ([], NO_FILES)


def test_a_cluster_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = tmp_path / "config"
        config.write_text(
            f"clusters: [{{name: c, cluster: {{server: 'http://127.0.0.1:{silent.getsockname()[1]}'"
            "}}]\ncontexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n"
        )
        done = subprocess.run(
            [sys.executable, "-m", "kubectl_kudo", "__complete", "-n", ""],
            env={**os.environ, "KUBECONFIG": str(config)},
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        )
    assert (done.stdout, done.stderr) == (":4\n", "")


def test_what_holds_the_process_is_given_up_as_well(tmp_path: Path) -> None:
    # Nobody writes to it, so opening it never returns.
    (tmp_path / "repository").mkdir()
    os.mkfifo(tmp_path / "repository" / "repositories.yaml")
    done = subprocess.run(
        [sys.executable, "-m", "kubectl_kudo", "__complete", "repo", "context", ""],
        env={**os.environ, "KUDO_HOME": str(tmp_path)},
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == (":4\n", "")
