"""The scripts of `completion`: in bash itself, on a terminal; the others by what they contain."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.terminals.terminal import Terminal, on_terminal
from tests.unit.cli.conftest import Cli

_PROMPT = "ready> "


@pytest.mark.parametrize(("shell", "program"), [("bash", "bash"), ("kubectl", "sh")])
def test_scripts_have_no_errors_of_syntax(run: Cli, shell: str, program: str) -> None:
    script = run("completion", shell).out
    subprocess.run([program, "-n"], input=script, check=True, text=True)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a folder with a `kubectl-kudo` that runs this source."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "kubectl-kudo"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kubectl_kudo "$@"\n')
    program.chmod(0o755)
    return folder


def test_what_kubectl_runs_answers_as_the_plugin_does(run: Cli, programs: Path) -> None:
    script = programs / "kubectl_complete-kudo"
    script.write_text(run("completion", "kubectl").out)
    script.chmod(0o755)
    done = subprocess.run(
        [script, "plan", "t"],
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == run("__complete", "plan", "t").out


class Bash:
    """Bash on a pseudo-terminal, with the script loaded."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._unread = ""

    def press(self, keys: str) -> None:
        self._terminal.press(keys)

    def shows(self, text: str) -> None:
        """Read until a text is shown.

        Raises:
            AssertionError: it is not.
        """
        while text not in self._unread:
            found = self._terminal.read()
            assert found, f"not shown: {text!r}; shown: {self._unread!r}"
            self._unread += found
        self._unread = self._unread.partition(text)[2]


@contextmanager
def bash(script: Path, programs: Path, folder: Path) -> Iterator[Bash]:
    rc = folder / "rc"
    rc.write_text(
        f"PS1='{_PROMPT}'\nbind 'set enable-bracketed-paste off'\n"
        f"bind 'set show-all-if-ambiguous on'\nbind 'set page-completions off'\n"
        f"source {shlex.quote(str(script))}\n"
    )
    environment = {
        "HOME": str(folder),
        "PATH": f"{programs}:{os.environ['PATH']}",
        "TERM": "dumb",
        "KUDO_HOME": str(folder / "kudo"),
    }
    argv = ["bash", "--noprofile", "--rcfile", str(rc), "-i"]
    with on_terminal(argv, folder=folder, environment=environment) as terminal:
        shell = Bash(terminal)
        shell.shows(_PROMPT)
        yield shell


@pytest.fixture
def shell(run: Cli, programs: Path, package: Path, tmp_path: Path) -> Iterator[Bash]:
    """Yield bash in a folder with the package `teapot`."""
    (tmp_path / "script").write_text(run("completion", "bash").out)
    (tmp_path / "file-of-values").touch()
    with bash(tmp_path / "script", programs, tmp_path) as found:
        yield found


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("plan tri\t", "plan trigger "),
        ("version -o j\t", "version -o json "),
        # A package and its parameters: no blank after the =, values after it.
        ("install ./tea\t", "install ./teapot/"),
        ("install ./teapot -p CU\t2", "install ./teapot -p CUPS=2"),
        ("install ./teapot -p SIZE=sm\t", "install ./teapot -p SIZE=small "),
        # Files and folders are what bash makes of them.
        ("update -P file-\t", "update -P file-of-values "),
        ("package verify --home=tea\t", "package verify --home=teapot/"),
        # Nothing is offered, no file either.
        ("plan status file-\tx", "plan status file-\ax"),
    ],
)
def test_bash_completes(shell: Bash, keys: str, shown: str) -> None:
    shell.press(f"kubectl-kudo {keys}")
    shell.shows(f"kubectl-kudo {shown}")


def test_bash_lists_what_there_is_to_choose_from(shell: Bash) -> None:
    shell.press("kubectl-kudo plan \t\t")
    for word in ("cancel", "history", "status", "trigger", "wait"):
        shell.shows(word)


def test_bash_completes_in_the_middle_of_a_line(shell: Bash) -> None:
    behind = " -o json"
    shell.press(f"kubectl-kudo versi{behind}")
    shell.shows(f"versi{behind}")
    shell.press("\x1b[D" * len(behind) + "\t")
    shell.shows(f"on{behind}")


@pytest.mark.parametrize(
    ("directive", "order"), [(4, ("main.a", "main.z")), (36, ("main.z", "main.a"))]
)
def test_bash_keeps_the_order_of_an_answer_that_has_one(
    run: Cli, tmp_path: Path, directive: int, order: tuple[str, str]
) -> None:
    program = tmp_path / "kubectl-kudo"
    program.write_text(f"#!/bin/sh\nprintf 'main.z\\nmain.a\\n:{directive}\\n'\n")
    program.chmod(0o755)
    (tmp_path / "script").write_text(run("completion", "bash").out)
    with bash(tmp_path / "script", tmp_path, tmp_path) as shell:
        shell.press("kubectl-kudo x \t\t")
        for word in order:
            shell.shows(word)
