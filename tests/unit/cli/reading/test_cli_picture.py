"""The progress of a run on terminals of all sizes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kubectl_kudo.reading.plan_view import Explanation
from kubectl_kudo.screens.picture import fitted, rows_of
from kubectl_kudo.session.screen import cells, cut, wrapped

JsonObject = dict[str, Any]
LONG = (
    'statefulset "db" is not healthy: Waiting for 1 pods to be ready...; pod kitchen/db-0: '
    "container app: ImagePullBackOff: image cannot be pulled; "
)


def plan(steps: int, phases: int = 1) -> JsonObject:
    return {
        "phases": [
            {"name": f"p{phase}", "steps": [{"name": f"s{step}"} for step in range(steps)]}
            for phase in range(phases)
        ]
    }


def running(steps: int, at: int, message: str = LONG, phases: int = 1) -> JsonObject:
    """Return an Instance whose plan `main` is at a step, counted over all phases."""

    def state(number: int) -> JsonObject:
        if number == at:
            return {"status": "IN_PROGRESS", "message": message}
        return {"status": "COMPLETE" if number < at else "PENDING"}

    found = [
        {
            "name": f"p{phase}",
            "status": "IN_PROGRESS" if at // steps == phase else state(phase * steps)["status"],
            "steps": [{"name": f"s{step}", **state(phase * steps + step)} for step in range(steps)],
        }
        for phase in range(phases)
    ]
    entry = {"name": "main", "uid": "1", "status": "IN_PROGRESS", "phases": found}
    return {
        "metadata": {"name": "tea", "namespace": "kitchen"},
        "spec": {
            "operatorVersion": {"name": "teapot-1"},
            "planExecution": {"planName": "main", "uid": "1"},
        },
        "status": {"planStatus": {"main": entry, "zip": {"status": "COMPLETE"}}},
    }


def shown(
    obj: JsonObject, columns: int, height: int, explained: list[str] | None = None, **plans: Any
) -> list[str]:
    found = {"main.p0.s0": [Explanation(text, "4s") for text in explained or []]}
    return [line.text for line in fitted(rows_of(obj, plans, found), columns, height)]


def test_everything_is_shown_where_there_is_room() -> None:
    lines = shown(running(2, 0, "no"), 100, 20, ["event"], main=plan(2), a=plan(1), b=plan(1))
    assert lines == [
        'Plan(s) for "tea" in namespace "kitchen":',
        "tea (teapot-1)",
        "… Plan main in progress",
        "  … Phase p0 in progress",
        "    … Step s0 in progress: no",
        "      event (4s ago)",
        "    – Step s1 pending",  # noqa: RUF001
        "✓ Plan zip complete",
        "– Never run: a, b",  # noqa: RUF001
    ]


def test_what_is_far_from_the_step_is_left_out_and_counted() -> None:
    obj = running(10, 25, "waiting for pods", phases=5)
    lines = shown(obj, 80, 10, main=plan(10, 5))
    assert lines == [
        'Plan(s) for "tea" in namespace "kitchen":',
        "tea (teapot-1)",
        "… Plan main in progress",
        "  … 22 more",
        "  … Phase p2 in progress",
        "    … 4 more",
        "    ✓ Step s4 complete",
        "    … Step s5 in progress: waiting for pods",
        "    – Step s6 pending",  # noqa: RUF001
        "    … 26 more",
    ]


def test_a_reason_is_wrapped_and_not_cut_while_there_is_room() -> None:
    lines = shown(running(30, 3), 60, 8, main=plan(30))
    text = " ".join(line.strip() for line in lines)
    assert LONG.strip() in text
    assert max(map(len, lines)) < 60


def test_in_too_little_room_the_beginning_of_each_reason_stays() -> None:
    lines = shown(running(30, 3, LONG * 20), 60, 5, main=plan(30))
    assert len(lines) == 5
    assert lines[0] == "… Plan main in progress"
    assert lines[1].startswith('    … Step s3 in progress: statefulset "db"')
    assert lines[-1].endswith("…")


def test_more_running_steps_than_rows_are_counted() -> None:
    obj = running(9, 0, phases=1)
    for step in obj["status"]["planStatus"]["main"]["phases"][0]["steps"]:
        step["status"] = "ERROR"
    lines = shown(obj, 60, 4, main=plan(9))
    assert (len(lines), lines[-1]) == (4, "… 7 more")


def test_a_run_that_has_not_begun_shows_its_plan() -> None:
    obj = running(2, 0)
    obj["spec"]["planExecution"]["uid"] = "2"
    assert "    \N{EN DASH} Step s0 pending" in shown(obj, 80, 20, main=plan(2))


@given(
    message=st.text(max_size=300),
    columns=st.integers(21, 200),
    height=st.integers(1, 40),
    steps=st.integers(1, 12),
    at=st.integers(0, 11),
)
def test_the_screen_is_never_too_wide_nor_too_high(
    message: str, columns: int, height: int, steps: int, at: int
) -> None:
    obj = running(steps, min(at, steps - 1), message)
    lines = shown(obj, columns, height, [message], main=plan(steps), other=plan(1))
    assert len(lines) <= height
    assert all(cells(line) < columns for line in lines)
    assert all(line.isprintable() for line in lines)


def test_text_is_wrapped_by_cells() -> None:
    rows = [
        ("", 10, [""]),
        ("one two three", 20, ["one two three"]),
        ("one two three", 8, ["one two", "  three"]),
        ("abcdefghijklmnop", 8, ["abcdef", "  ghijkl", "  mnop"]),
        ("of host/name:tag@sha", 11, ["of host/", "  name:tag@", "  sha"]),
        ("日本語日本語", 8, ["日本語", "  日本語"]),
    ]
    assert [(text, width, wrapped(text, width, more="  ")) for text, width, _ in rows] == rows


def test_text_is_cut_by_cells() -> None:
    assert cut("日本語", 6) == "日本語"
    assert cut("日本語", 5) == "日本…"
    assert cut("cafe\u0301s", 5) == "cafe\u0301s"
