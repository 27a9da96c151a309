"""Waiting against an API server: what is shown, lost watches and interrupts."""

from tests.unit.cli.conftest import Cli, complete
from tests.unit.cli.fake_api import FakeApi, interrupted


def test_a_lost_watch_is_told_and_taken_up_again(kudo: Cli, installed: FakeApi) -> None:
    complete(installed)
    installed.lost_watches = 2
    ran = kudo("update", "--instance", "tea", "-p", "CUPS=3", "--wait")
    assert ran.code == 0
    assert ran.err.count("lost the watch of instance kitchen/tea, trying again: ") >= 1
    assert "deploy.main.app COMPLETE" in ran.err
    # BTO-62: control sequences were written also where the output is no terminal.
    assert "\x1b" not in ran.out + ran.err


def test_who_may_not_watch_is_told_at_once(kudo: Cli, installed: FakeApi) -> None:
    installed.plan = "deploy"
    installed.refusals["GET", "instances"] = (403, "instances.kudo.dev is forbidden")
    ran = kudo("plan", "trigger", "--instance", "tea", "--name", "deploy", "--wait")
    assert ran.code == 4
    assert ran.err == "Error: instances.kudo.dev is forbidden\n"


def test_an_interrupt_while_waiting_ends_with_130_and_how_to_go_on(
    kudo: Cli, installed: FakeApi
) -> None:
    execution = {"planName": "deploy", "uid": "1"}
    installed.objects["instances", "tea"]["spec"]["planExecution"] = execution
    installed.script = [interrupted]
    ran = kudo("plan", "status", "--instance", "tea", "--wait")
    assert (ran.code, ran.out) == (130, "")
    assert "Stopped waiting for instance kitchen/tea. The plan goes on in the cluster." in ran.err
    assert "kubectl kudo plan cancel --instance tea -n kitchen" in ran.err
