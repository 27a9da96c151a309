"""`update --edit` on a pseudo-terminal: the editor has the terminal, then the question does."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.examples import examples
from tests.support.terminals.terminal import Terminal, on_terminal
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

# It asks on the terminal, as an editor does, and ignores ctrl-C there.
EDITOR = """\
trap 'echo "still here"' INT
test -t 0 && test -t 1 || exit 8
echo "editing $1"
read -r value || read -r value
sed -i "s/^#CUPS.*/CUPS: $value/" "$1"
"""
# A shell that makes the terminal its controlling one, so that ctrl-C is a signal.
CONTROLLING = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'kubectl_kudo', *sys.argv[1:]])"
)


EXAMPLE = "update --instance web --edit"


class Typed:
    """What was shown, and keys to press once something is."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.shown = ""

    def until(self, text: str) -> None:
        while text not in self.shown:
            more = self.terminal.read()
            assert more, self.shown
            self.shown += more

    def to_the_end(self) -> int:
        while more := self.terminal.read():
            self.shown += more
        return self.terminal.end()


@contextmanager
def editing(folder: Path) -> Iterator[Typed]:
    script = folder / "my editor"
    script.write_text(EDITOR)
    environment = {**os.environ, "EDITOR": f"sh '{script}'", "TMPDIR": str(folder / "files")}
    environment.pop("KUBE_EDITOR", None)
    (folder / "files").mkdir()
    argv = [sys.executable, "-c", CONTROLLING, *EXAMPLE.replace("web", "tea").split()]
    with on_terminal(argv, environment=environment, size=(120, 24)) as terminal:
        yield Typed(terminal)
    assert list((folder / "files").iterdir()) == []


def test_it_is_the_example_of_the_help() -> None:
    assert EXAMPLE in examples("update")


def test_the_editor_the_question_and_the_answer(kudo: Cli, pot: FakeApi, tmp_path: Path) -> None:
    pot.plan = "deploy"
    with editing(tmp_path) as typed:
        typed.until("tea.yaml")
        # Of the editor, which goes on; so does the command.
        typed.terminal.press("\x03")
        typed.until("still here")
        typed.terminal.press("3\n")
        typed.until("Change this? [y/N] ")
        assert "CUPS: 2 (default) → 3; plan deploy would run" in typed.shown
        assert pot.writes() == []
        typed.terminal.press("y\n")
        assert typed.to_the_end() == 0, typed.shown
    assert "Instance tea was updated.\r\nCUPS: 2 (default) → 3; plan deploy runs" in typed.shown
    assert pot.objects["instances", "tea"]["spec"]["parameters"] == {"TEA": "mint", "CUPS": "3"}


def test_sigterm_ends_the_editor_and_the_command(kudo: Cli, pot: FakeApi, tmp_path: Path) -> None:
    with editing(tmp_path) as typed:
        typed.until("tea.yaml")
        os.kill(typed.terminal.process.pid, signal.SIGTERM)
        assert typed.to_the_end() == 143, typed.shown
    assert pot.writes() == []


def test_ctrl_c_at_the_question_ends_the_command(kudo: Cli, pot: FakeApi, tmp_path: Path) -> None:
    with editing(tmp_path) as typed:
        typed.until("tea.yaml")
        typed.terminal.press("3\n")
        typed.until("[y/N] ")
        typed.terminal.press("\x03")
        assert typed.to_the_end() == 130, typed.shown
    assert pot.writes() == []
