"""Waiting against an API server: what is shown, lost watches and interrupts."""

import signal
import subprocess
import sys
from io import StringIO

import pytest

from tests.unit.cli.conftest import Cli, complete
from tests.unit.cli.fake_api import FakeApi, status


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_tree_is_drawn_again_and_again_and_stays(
    kudo: Cli, installed: FakeApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    complete(installed)
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 0
    drawn = terminal.getvalue().split("\033[J")
    assert "Plan deploy (serial strategy) [PENDING]" in drawn[1]
    assert "Plan deploy (serial strategy) [COMPLETE]" in drawn[-1]


def test_a_lost_watch_is_told_and_taken_up_again(kudo: Cli, installed: FakeApi) -> None:
    complete(installed)
    installed.lost_watches = 2
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 0
    assert ran.err.count("lost the watch of instance kitchen/tea, trying again: ") >= 1
    assert "deploy.main.app COMPLETE" in ran.err


def test_who_may_not_watch_is_told_at_once(kudo: Cli, installed: FakeApi) -> None:
    installed.plan = "deploy"
    installed.refusals["GET", "instances"] = (403, "instances.kudo.dev is forbidden")
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy", "--wait")
    assert ran.code == 4
    assert ran.err == "Error: instances.kudo.dev is forbidden\n"


def test_an_interrupt_while_waiting_ends_with_130_and_how_to_go_on(
    kudo: Cli, installed: FakeApi
) -> None:
    installed.objects["instances", "tea"]["spec"]["planExecution"] = {
        "planName": "deploy",
        "uid": "1",
    }
    installed.script = [status("IN_PROGRESS")]
    command = [sys.executable, "-m", "kubectl_kudo", "plan", "status", "--instance", "tea"]
    process = subprocess.Popen([*command, "--wait"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stderr is not None
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert b"deploy IN_PROGRESS" in first
    assert process.returncode == 130
    assert (out, b"Traceback" in err) == (b"", False)
    assert b"Stopped waiting for instance kitchen/tea. The plan goes on in the cluster." in err
    assert b"kubectl kudo plan cancel --instance tea -n kitchen" in err
