"""What a wait tells of the tasks that run: since when, how often they failed, the next try."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_kudo.reading.plan_view import Explanation
from kubectl_kudo.reading.run_progress import details
from kubectl_kudo.screens.picture import Picture
from kubectl_kudo.screens.progress import Lines
from tests.unit.cli.fake_api import status
from tests.unit.cli.reading.times import Times

JsonObject = dict[str, Any]
BEGAN = datetime(2030, 5, 6, 7, 0, 0, tzinfo=UTC)
NOW = BEGAN + timedelta(minutes=3, seconds=12)
PLANS = {"deploy": {"phases": [{"name": "main", "steps": [{"name": "app"}]}]}}


def instance(*tasks: JsonObject, message: str = "no water", **spec: Any) -> JsonObject:
    obj: JsonObject = {
        "metadata": {"name": "tea", "namespace": "kitchen"},
        "spec": {"planExecution": {"planName": "deploy", "uid": "1"}, **spec},
    }
    status("IN_PROGRESS", message=message)(obj)
    step_of(obj)["tasks"] = list(tasks)
    return obj


def step_of(obj: JsonObject) -> JsonObject:
    step: JsonObject = obj["status"]["planStatus"]["deploy"]["phases"][0]["steps"][0]
    return step


def task(**more: Any) -> JsonObject:
    return {"name": "pot", "status": "IN_PROGRESS", "startedAt": "2030-05-06T07:00:00Z", **more}


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (task(), "task pot for 3m12s"),
        (task(message="no water"), "task pot for 3m12s"),
        (task(message="no\x1b cup"), "task pot for 3m12s: no\\x1b cup"),
        (task(failures=1), "task pot for 3m12s, failed once"),
        (
            task(failures=4, nextAttemptAt="2030-05-06T07:03:20Z", message="refused"),
            "task pot for 3m12s, failed 4 times in a row, next try in 8s: refused",
        ),
        (
            task(failures=4, nextAttemptAt="2030-05-06T07:03:00Z"),
            "task pot for 3m12s, failed 4 times in a row, next try now",
        ),
        (task(suspendedSeconds=70), "task pot for 3m12s (70s of it suspended)"),
        (task(startedAt="yesterday"), "task pot"),
    ],
)
def test_a_task_that_runs_has_a_line(state: JsonObject, text: str) -> None:
    assert details(instance(state), NOW) == {"deploy.main.app": [Explanation(text)]}


@pytest.mark.parametrize(
    "state",
    [task(status="COMPLETE"), task(status="FATAL_ERROR"), {"name": "pot", "status": "PENDING"}],
)
def test_other_tasks_have_none(state: JsonObject) -> None:
    assert details(instance(state), NOW) == {}


def test_a_suspended_task_has_no_next_try() -> None:
    state = task(failures=2, nextAttemptAt="2030-05-06T07:03:20Z")
    found = details(instance(state, suspend=True), NOW)
    assert found["deploy.main.app"][0].text == "task pot for 3m12s, failed 2 times in a row"


def test_a_run_that_has_not_begun_has_no_tasks_of_the_one_before() -> None:
    obj = instance(task())
    obj["spec"]["planExecution"]["uid"] = "2"
    assert details(obj, NOW) == {}


def test_of_many_tasks_a_few_are_told_and_the_rest_is_counted() -> None:
    found = details(instance(*(task(name=f"t{number}") for number in range(5))), NOW)
    texts = [one.text.partition(" for")[0] for one in found["deploy.main.app"]]
    assert texts == ["task t0", "task t1", "task t2", "and 2 more tasks"]


@given(st.text(), st.text(), st.text())
def test_no_time_that_somebody_wrote_ends_a_wait(began: str, due: str, message: str) -> None:
    obj = instance(task(startedAt=began, nextAttemptAt=due, failures=3, message=message))
    for found in details(obj, NOW).values():
        assert all(one.text.isprintable() for one in found)


def test_lines_tell_each_failure_and_what_runs_after_a_minute_of_silence() -> None:
    stream, times = StringIO(), Times(BEGAN)
    lines = Lines(stream, clock=times.clock, now=times.now)
    lines.show(instance(task()))
    for _ in range(125):
        times.seconds += 1
        lines.tick()
    failed = task(failures=1, nextAttemptAt="2030-05-06T07:02:15Z")
    lines.show(instance(failed))
    lines.show(instance(failed))
    assert stream.getvalue() == (
        "  0.0s  deploy IN_PROGRESS\n"
        "  0.0s  deploy.main IN_PROGRESS\n"
        "  0.0s  deploy.main.app IN_PROGRESS (no water)\n"
        " 60.0s  deploy.main.app: task pot for 60s\n"
        "120.0s  deploy.main.app: task pot for 2m\n"
        "125.0s  deploy.main.app: task pot for 2m5s, failed once, next try in 10s\n"
    )


def test_lines_tell_the_pause_and_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    stream, times = StringIO(), Times(BEGAN)
    lines = Lines(stream, clock=times.clock, now=times.now)
    paused = instance(task(), suspend=True)
    paused["status"]["suspendedAt"] = "2030-05-06T07:00:00Z"
    lines.show(paused)
    times.seconds = 61
    lines.tick()
    lines.show(paused)
    lines.show(instance(task()))
    since = "suspended since 2030-05-06 07:00:00 (kubectl kudo resume --instance tea -n kitchen)"
    told = [line[8:] for line in stream.getvalue().splitlines()]
    assert [line for line in told if "suspended" in line] == [
        f"instance tea is {since}: what was sent is observed, nothing more is sent",
        f"still {since}",
        "instance tea is no longer suspended",
    ]


def test_lines_repeat_nothing_of_a_status_without_tasks() -> None:
    stream, times = StringIO(), Times(BEGAN)
    lines = Lines(stream, clock=times.clock, now=times.now)
    lines.show(instance())
    written = stream.getvalue()
    times.seconds = 600
    lines.tick()
    assert stream.getvalue() == written


def test_the_picture_has_tasks_below_their_step_and_counts_on() -> None:
    stream, times = StringIO(), Times(BEGAN)
    picture = Picture(stream, PLANS, clock=times.clock, now=times.now, size=lambda: (100, 30))
    picture.show(instance(task(), suspend=True))
    picture.explain({"deploy.main.app": [Explanation("event")]})
    times.seconds = 5
    picture.tick()
    drawn = stream.getvalue().split("\033[2K")[-1].splitlines()
    step = next(index for index, line in enumerate(drawn) if "Step app" in line)
    assert drawn[step + 1].strip() == "task pot for 5s"
    assert drawn[step + 2].strip() == "event"
    pause = "Suspended; the reconciler has not seen it yet (kubectl kudo resume --instance tea"
    assert any(line.startswith(pause) for line in drawn)
