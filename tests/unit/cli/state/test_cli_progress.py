"""What is shown while somebody waits: lines into a pipe, a picture on a terminal."""

from io import StringIO
from typing import Any

from kubectl_kudo.state.progress import Lines, Picture
from kubectl_kudo.state.screen import Explanation
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


def picture(
    stream: StringIO, size: tuple[int, int] = (80, 24), clock: Clock | None = None
) -> Picture:
    return Picture(stream, PLANS, clock=clock or Clock(), size=lambda: size)


def test_the_picture_is_drawn_again_in_its_own_place() -> None:
    stream, clock = StringIO(), Clock()
    shown = picture(stream, clock=clock)
    shown.tick()
    assert stream.getvalue() == ""
    shown.show(instance())
    first = stream.getvalue()
    assert first.startswith('\r\033[JPlan(s) for "tea" in namespace "kitchen":\ntea (')
    assert first.endswith("elapsed time 0s\n")
    stream.truncate(0)
    stream.seek(0)
    clock.now += 3
    shown.tick()
    rows = first.count("\n")
    assert stream.getvalue() == f"\r\033[{rows}A" + first[1:].replace("time 0s", "time 3s")


def test_the_picture_can_be_wiped_or_left() -> None:
    stream = StringIO()
    shown = picture(stream)
    shown.show(instance())
    before = stream.getvalue()
    shown.close()
    assert stream.getvalue() == before
    shown.close(keep=False)
    assert stream.getvalue().endswith("A\033[J")


def test_the_picture_never_wraps_nor_leaves_the_screen() -> None:
    stream = StringIO()
    picture(stream, (24, 6)).show(instance())
    lines = stream.getvalue().removeprefix("\r\033[J").splitlines()
    plan = ["Plan deploy (serial", "  strategy) [PENDING]"]
    assert lines == ["… 2 more", *plan, "  … 2 more", "elapsed time 0s"]


def test_a_terminal_that_was_made_narrower_is_wiped_whole() -> None:
    stream, size = StringIO(), [80]
    shown = Picture(stream, PLANS, clock=Clock(), size=lambda: (size[0], 24))
    shown.show(instance())
    stream.truncate(0)
    stream.seek(0)
    size[0] = 40
    shown.tick()
    # Headline and label of 41 and 43 cells take two rows each by now.
    assert stream.getvalue().startswith("\r\033[8A\033[J")


def test_what_is_known_of_waited_objects_is_told_once() -> None:
    stream = StringIO()
    lines = Lines(stream, clock=Clock())
    for age in ("4s", "9s"):
        text = "Warning event of Pod tea-0: Failed: no\x1b[31m image"
        lines.explain({"deploy.main.app": [Explanation(text, age)]})
    assert stream.getvalue() == (
        "  0.0s  deploy.main.app: Warning event of Pod tea-0: Failed: no\\x1b[31m image\n"
    )
