"""What is shown while somebody waits: lines into a pipe, a picture on a terminal."""

from io import StringIO
from typing import Any

import pytest

from kubectl_kudo.reading.plan_view import Explanation
from kubectl_kudo.screens.picture import Picture
from kubectl_kudo.screens.progress import Lines
from tests.support.terminals.screen import Screen
from tests.unit.cli.fake_api import status

JsonObject = dict[str, Any]
PLANS = {"deploy": {"phases": [{"name": "main", "steps": [{"name": "app"}]}]}}


def instance(uid: str = "1") -> JsonObject:
    return {
        "metadata": {"name": "tea", "namespace": "kitchen"},
        "spec": {"planExecution": {"planName": "deploy", "uid": uid}},
    }


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_each_change_of_a_status_or_message_is_one_line() -> None:
    stream, clock = StringIO(), Clock()
    lines = Lines(stream, clock=clock)
    lines.show(instance())
    lines.show(status("PENDING")(instance()))
    lines.show(status("IN_PROGRESS", step="PENDING")(instance()))
    clock.now += 2.25
    lines.show(status("IN_PROGRESS", message="1 of 2 ready")(instance()))
    lines.show(status("IN_PROGRESS", message="2 of 2 ready")(instance()))
    lines.show(None)
    clock.now += 10
    lines.tick()
    lines.show(status("COMPLETE")(instance()))
    lines.close()
    assert stream.getvalue() == (
        "  0.0s  deploy IN_PROGRESS\n"
        "  2.2s  deploy.main IN_PROGRESS\n"
        "  2.2s  deploy.main.app IN_PROGRESS (1 of 2 ready)\n"
        "  2.2s  deploy.main.app IN_PROGRESS (2 of 2 ready)\n"
        " 12.2s  deploy COMPLETE\n"
        " 12.2s  deploy.main COMPLETE\n"
        " 12.2s  deploy.main.app COMPLETE\n"
    )


def test_a_new_run_of_the_same_plan_is_told_from_the_start() -> None:
    stream = StringIO()
    lines = Lines(stream, clock=Clock())
    lines.show(instance("1"))
    lines.show(status("COMPLETE")(instance("1")))
    lines.show(status("COMPLETE")(instance("2")))
    assert stream.getvalue().count("deploy COMPLETE\n") == 2


def test_what_was_over_before_is_not_told() -> None:
    stream = StringIO()
    lines = Lines(stream, clock=Clock())
    before = status("COMPLETE", done=True)(instance("1"))
    assert before is not None
    lines.show(before)
    lines.show(before)
    assert stream.getvalue() == ""
    before["spec"]["planExecution"] = {"planName": "deploy", "uid": "2"}
    lines.show(before)
    assert stream.getvalue() == ""
    lines.show(status("IN_PROGRESS", step="PENDING")(before))
    assert stream.getvalue() == "  0.0s  deploy IN_PROGRESS\n"


def test_a_run_that_is_being_started_again_is_told_once_only() -> None:
    stream = StringIO()
    lines = Lines(stream, clock=Clock())
    running = status("IN_PROGRESS")(instance("1"))
    assert running is not None
    running["spec"]["planExecution"]["uid"] = "2"
    lines.show(running)
    lines.show(status("IN_PROGRESS")(running))
    assert stream.getvalue().count("deploy IN_PROGRESS\n") == 1


class Shown(StringIO):
    """A terminal of some size, and what stands on it."""

    def __init__(self, columns: int = 80, rows: int = 24) -> None:
        super().__init__()
        self.screen = Screen(columns, rows)

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.screen.feed(text.replace("\n", "\r\n"))
        return len(text)

    def size(self) -> tuple[int, int]:
        return self.screen.columns, self.screen.rows


def picture(stream: Shown, clock: Clock | None = None) -> Picture:
    return Picture(stream, PLANS, clock=clock or Clock(), size=stream.size)


PICTURE = [
    'Plan(s) for "tea" in namespace "kitchen":',
    "tea ()",
    "\N{EN DASH} Plan deploy pending",
    "  \N{EN DASH} Phase main pending",
    "    \N{EN DASH} Step app pending",
]


def test_the_picture_is_drawn_again_in_its_own_place() -> None:
    stream, clock = Shown(), Clock()
    shown = picture(stream, clock)
    shown.tick()
    assert stream.screen.lines == [""]
    shown.show(instance())
    assert stream.screen.lines == [*PICTURE, "elapsed time 0s"]
    assert not stream.screen.has_cursor
    clock.now += 3
    shown.tick()
    assert stream.screen.lines == [*PICTURE, "elapsed time 3s"]
    stream.write("a warning\n")
    shown.tick()
    assert "a warning" not in stream.screen.lines[-1]


@pytest.mark.parametrize(("keep", "left"), [(True, [*PICTURE, "elapsed time 0s"]), (False, [""])])
def test_the_picture_can_be_wiped_or_left(keep: bool, left: list[str]) -> None:
    stream = Shown()
    shown = picture(stream)
    shown.show(instance())
    shown.close(keep=keep)
    assert stream.screen.lines == left
    assert stream.screen.has_cursor
    stream.write("next\n")
    assert stream.screen.lines == [*filter(None, left), "next"]


def test_the_picture_never_wraps_nor_leaves_the_screen() -> None:
    stream = Shown(20, 6)
    picture(stream).show(instance())
    assert stream.screen.scrolled == []
    assert "elapsed time 0s" in stream.screen.lines
    assert "\N{EN DASH} Plan deploy" in stream.screen.lines


def test_a_terminal_that_was_made_narrower_is_wiped_whole() -> None:
    stream = Shown()
    shown = picture(stream)
    shown.show(instance())
    narrow = Screen(30, 24)
    # Terminals wrap what stands on them: the headline of 41 cells takes two rows by now.
    narrow.feed("\r\n".join([*stream.screen.lines, ""]))
    stream.screen = narrow
    shown.tick()
    assert stream.screen.lines == [
        'Plan(s) for "tea" in',
        '  namespace "kitchen":',
        *PICTURE[1:],
        "elapsed time 0s",
    ]


def test_no_colours_are_drawn_where_none_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    stream = Shown()
    picture(stream).show(instance())
    assert stream.screen.colours == {"90", "0"}
    monkeypatch.setenv("NO_COLOR", "1")
    plain = Shown()
    picture(plain).show(instance())
    assert plain.screen.colours == set()
    assert plain.screen.lines == stream.screen.lines


def test_what_is_known_of_waited_objects_is_told_once() -> None:
    stream = StringIO()
    lines = Lines(stream, clock=Clock())
    for age in ("4s", "9s"):
        text = "Warning event of Pod tea-0: Failed: no\x1b[31m image"
        lines.explain({"deploy.main.app": [Explanation(text, age)]})
    assert stream.getvalue() == (
        "  0.0s  deploy.main.app: Warning event of Pod tea-0: Failed: no\\x1b[31m image\n"
    )
