"""Waiting on a pseudo-terminal: what stands on its screen while a plan runs, and when it ends."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from kubectl_kudo.session.errors import ExitCode
from kubectl_kudo.session.output import talk, warn
from kubectl_kudo.session.screen import Line, LiveView
from kubectl_kudo.session.terminal import cleaned_streams, without_colours
from tests.support.terminals.screen import Screen
from tests.support.terminals.stream import TerminalStream
from tests.support.terminals.terminal import Terminal, on_terminal
from tests.unit.cli.conftest import Cli
from tests.unit.cli.fake_api import FakeApi

JsonObject = dict[str, Any]
SIZE = 60, 15
REASON = (
    'statefulset "db" is not healthy: Waiting for 1 pods to be ready...; pod kitchen/db-0: '
    'container app: ImagePullBackOff: image "nope" cannot be pulled; check the name and tag of the '
    "image, and the pod's imagePullSecrets"
)
PULL = 'Failed to pull image "nope": not found'


@dataclass
class Shown:
    """A command line on a pseudo-terminal, and what stands on its screen."""

    terminal: Terminal
    screen: Screen

    def until(self, shown: Callable[[Screen], bool]) -> None:
        """Read until the screen is as expected."""
        while not shown(self.screen):
            assert self._read(), self.screen.lines

    def end(self) -> int:
        """Read to the end of the output, and return the exit code."""
        while self._read():
            pass
        return self.terminal.end()

    def _read(self) -> bool:
        found = self.terminal.read()
        self.screen.feed(found)
        return bool(found)


@contextmanager
def watched(*argv: str) -> Iterator[Shown]:
    with on_terminal([sys.executable, "-m", "kubectl_kudo", *argv], size=SIZE) as terminal:
        yield Shown(terminal, Screen(*SIZE))


@pytest.fixture
def tea(kudo: Cli, api: FakeApi) -> FakeApi:
    """Return a server with an instance of thirty plans; `main` is at its 25th step."""
    plans = {f"a-plan-{number}": plan(2) for number in range(29)} | {"main": plan(40)}
    api.add("operatorversions", {"metadata": {"name": "teapot-1"}, "spec": {"plans": plans}})
    api.add("instances", instance("IN_PROGRESS"))
    api.add(
        "events",
        {
            "metadata": {"name": "db-0.1", "namespace": "kitchen"},
            "involvedObject": {"kind": "Pod", "name": "db-0", "namespace": "kitchen"},
            "type": "Warning",
            "reason": "Failed",
            "message": PULL,
            "lastTimestamp": "2030-05-06T07:08:09Z",
        },
    )
    return api


def plan(steps: int) -> JsonObject:
    return {"phases": [{"name": "p", "steps": [{"name": f"s{step}"} for step in range(steps)]}]}


def instance(state: str, message: str = REASON) -> JsonObject:
    complete, pending = {"status": "COMPLETE"}, {"status": "PENDING"}
    steps = [*[complete] * 24, {"status": state, "message": message}, *[pending] * 15]
    named = [{"name": f"s{number}", **one} for number, one in enumerate(steps)]
    phase = {"name": "p", "status": state, "steps": named}
    execution = {"planName": "main", "uid": "1"}
    return {
        "metadata": {"name": "tea", "uid": "tea-uid"},
        "spec": {"operatorVersion": {"name": "teapot-1"}, "planExecution": execution},
        "status": {"planStatus": {"main": {"uid": "1", "status": state, "phases": [phase]}}},
    }


def test_the_running_step_its_reason_and_the_last_event_are_always_on_the_screen(
    tea: FakeApi,
) -> None:
    with watched("plan", "wait", "--instance", "tea") as terminal:
        terminal.until(lambda screen: "elapsed time" in screen.text)
        first = terminal.screen.text
        assert "… Plan main in progress" in first
        assert f"Step s24 in progress: {REASON}" in first
        assert "a-plan-1 (" not in first
        terminal.until(lambda screen: PULL in screen.text)
        assert "Warning event of Pod db-0" in terminal.screen.text
        assert REASON in terminal.screen.text
        assert max(map(len, terminal.screen.lines)) < SIZE[0]
        assert terminal.screen.scrolled == []

        tea.add("instances", instance("FATAL_ERROR", REASON))
        assert terminal.end() == ExitCode.PLAN_FAILED
        shown = terminal.screen.text
        start = "Error: instance kitchen/tea: plan main ended with FATAL_ERROR at main.p.s24: "
        assert (start + REASON).replace(" ", "") in shown.replace(" ", "")
        assert PULL.replace(" ", "") in shown.rpartition("Error: ")[2].replace(" ", "")


@pytest.mark.parametrize("colours", [True, False])
def test_a_warning_stands_above_the_picture_and_is_not_drawn_over(
    monkeypatch: pytest.MonkeyPatch, *, colours: bool
) -> None:
    # Both streams of a command end on one terminal.
    shown = TerminalStream()
    monkeypatch.setattr(sys, "stdout", shown)
    monkeypatch.setattr(sys, "stderr", shown)
    with cleaned_streams():
        if not colours:
            without_colours()
        view = LiveView(sys.stdout, lambda: SIZE)
        view.draw([Line("first"), Line("second")])
        warn("this is deprecated")
        talk("and a message")
        view.draw([Line("third")])
        view.close(keep=True)
    screen = Screen(*SIZE)
    screen.feed(shown.getvalue())
    assert screen.text == "Warning: this is deprecated and a message third"
    assert screen.has_cursor


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_picture_and_shows_the_cursor(
    tea: FakeApi, number: signal.Signals
) -> None:
    with watched("plan", "wait", "--instance", "tea") as terminal:
        terminal.until(lambda screen: "elapsed time" in screen.text)
        terminal.until(lambda screen: not screen.has_cursor)
        terminal.terminal.process.send_signal(number)
        assert terminal.end() == 128 + number
        assert terminal.screen.has_cursor
        everything = " ".join([*terminal.screen.scrolled, terminal.screen.text])
        assert "Step s24 in progress" in everything
        assert "Stopped waiting for instance kitchen/tea." in terminal.screen.text
