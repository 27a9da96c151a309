"""What a wait tells of the time limit that comes first."""

import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubectl_kudo.reading.run_progress import NextLimit, TimeLimits
from kubectl_kudo.screens.picture import Picture
from kubectl_kudo.screens.progress import Lines
from tests.unit.cli.conftest import VERSION, Cli, running
from tests.unit.cli.fake_api import FakeApi, status
from tests.unit.cli.imports import imported
from tests.unit.cli.reading.times import Times

JsonObject = dict[str, Any]
BEGAN = datetime(2030, 5, 6, 7, 0, 0, tzinfo=UTC)
NOW = BEGAN + timedelta(minutes=3, seconds=12)
SEVEN = "2030-05-06T07:00:00Z"


def version(
    plan: str = "", phase: str = "", step: str = "", task: str = "", deadline: str = ""
) -> JsonObject:
    """Return an OperatorVersion whose plan, phase, step and task have these limits."""
    steps = [{"name": "app", "tasks": ["pot"], **timeout(step)}]
    phases = [{"name": "main", "strategy": "serial", "steps": steps, **timeout(phase)}]
    own = {"progressDeadline": deadline} if deadline else {}
    tasks = [{"name": "pot", "kind": "Apply", "spec": {}, **timeout(task), **own}]
    plans = {"deploy": {"strategy": "serial", "phases": phases, **timeout(plan)}}
    return {"metadata": {"name": "pot-1"}, "spec": {"plans": plans, "tasks": tasks}}


def timeout(text: str) -> JsonObject:
    return {"timeout": text} if text else {}


def instance(**spec: Any) -> JsonObject:
    """Return an Instance whose plan, phase, step and task began at seven."""
    obj: JsonObject = {
        "metadata": {"name": "tea", "namespace": "kitchen"},
        "spec": {
            "operatorVersion": {"name": "pot-1"},
            "planExecution": {"planName": "deploy", "uid": "1"},
            **spec,
        },
    }
    status("IN_PROGRESS")(obj)
    for part in parts(obj):
        part["startedAt"] = SEVEN
    step(obj)["tasks"] = [{"name": "pot", "status": "IN_PROGRESS", "startedAt": SEVEN}]
    return obj


def parts(obj: JsonObject) -> Iterator[JsonObject]:
    entry = obj["status"]["planStatus"]["deploy"]
    yield from (entry, entry["phases"][0], step(obj))


def step(obj: JsonObject) -> JsonObject:
    found: JsonObject = obj["status"]["planStatus"]["deploy"]["phases"][0]["steps"][0]
    return found


def task(obj: JsonObject) -> JsonObject:
    found: JsonObject = step(obj)["tasks"][0]
    return found


@pytest.mark.parametrize(
    ("limits", "part", "text"),
    [
        ({"plan": "10m"}, "deploy", "times out in 6m49s (timeout 10m of plan deploy)"),
        ({"phase": "10m"}, "deploy.main", "times out in 6m49s (timeout 10m of phase main)"),
        ({"step": "10m"}, "deploy.main.app", "times out in 6m49s (timeout 10m of step main.app)"),
        ({"task": "10m"}, "deploy.main.app", "times out in 6m49s (timeout 10m of task pot)"),
        (
            {"deadline": "10m"},
            "deploy.main.app",
            "times out in 6m49s (progressDeadline 10m of task pot)",
        ),
        (
            {"plan": "20m", "step": "200s", "task": "5m"},
            "deploy.main.app",
            "times out in 9s (timeout 200s of step main.app)",
        ),
        ({"plan": "3m"}, "deploy", "its timeout of 3m has passed"),
        ({"step": "3m"}, "deploy.main.app", "its timeout of 3m has passed"),
        ({"task": "3m"}, "deploy.main.app", "task pot: its timeout of 3m has passed"),
        ({"deadline": "3m"}, "deploy.main.app", "task pot: its progressDeadline of 3m has passed"),
    ],
)
def test_the_limit_that_comes_first_is_told_at_what_it_is_a_limit_of(
    limits: dict[str, str], part: str, text: str
) -> None:
    upcoming = TimeLimits(version(**limits)).next(instance(), NOW)
    assert upcoming is not None
    assert (upcoming.part, upcoming.text) == (part, text)


def test_the_default_of_the_instance_is_named_and_read_anew() -> None:
    limits = TimeLimits(version())
    assert limits.next(instance(), NOW) is None
    limit = "timeout 5m of plan deploy, from spec.planTimeout"
    found = limits.next(instance(planTimeout="5m"), NOW)
    assert found == NextLimit("deploy", limit, f"times out in 109s ({limit})")
    found = limits.next(instance(planTimeout="1h"), NOW)
    assert found is not None
    assert found.text.startswith("times out in 56m (timeout 1h of plan deploy")


def test_no_more_is_left_than_the_whole_limit() -> None:
    upcoming = TimeLimits(version(plan="10m")).next(instance(), BEGAN - timedelta(seconds=30))
    assert upcoming is not None
    assert upcoming.text == "times out in 10m (timeout 10m of plan deploy)"


def test_progress_and_pauses_move_a_limit() -> None:
    obj = instance()
    task(obj)["progressedAt"] = "2030-05-06T07:03:00Z"
    upcoming = TimeLimits(version(deadline="5m")).next(obj, NOW)
    assert upcoming is not None
    assert upcoming.text.startswith("times out in 4m49s (")
    next(parts(obj))["suspendedSeconds"] = 60
    upcoming = TimeLimits(version(plan="5m")).next(obj, NOW)
    assert upcoming is not None
    assert upcoming.text.startswith("times out in 2m49s (")


def suspended(obj: JsonObject) -> None:
    obj["spec"]["suspend"] = True


def not_resumed_yet(obj: JsonObject) -> None:
    obj["status"]["suspendedAt"] = SEVEN


def scheduled_anew(obj: JsonObject) -> None:
    obj["spec"]["planExecution"]["uid"] = "2"


def upgraded(obj: JsonObject) -> None:
    obj["spec"]["operatorVersion"]["name"] = "pot-2"


def complete(obj: JsonObject) -> None:
    next(parts(obj))["status"] = "COMPLETE"


def without_status(obj: JsonObject) -> None:
    del obj["status"]


@pytest.mark.parametrize(
    "change",
    [suspended, not_resumed_yet, scheduled_anew, upgraded, complete, without_status],
)
def test_no_limit_comes_for_a_run_that_does_not_go_on(change: Any) -> None:
    obj = instance()
    change(obj)
    assert TimeLimits(version(plan="10m", step="5m")).next(obj, NOW) is None


@pytest.mark.parametrize(
    "unreadable", [{"plan": "soon"}, {"step": "0s"}, {"task": "-1m"}, {"plan": "1h", "phase": "x"}]
)
def test_limits_that_cannot_be_read_are_not_told(unreadable: dict[str, str]) -> None:
    assert TimeLimits(version(**unreadable)).next(instance(), NOW) is None


def test_neither_is_one_of_a_version_or_an_entry_that_cannot_be_read() -> None:
    broken = version(plan="10m")
    broken["spec"]["parameters"] = "none"
    assert TimeLimits(broken).next(instance(), NOW) is None
    obj = instance()
    next(parts(obj))["suspendedSeconds"] = "long"
    assert TimeLimits(version(plan="10m")).next(obj, NOW) is None
    assert TimeLimits().next(instance(planTimeout="5m"), NOW) is None


def test_a_plan_that_the_version_does_not_have_has_no_default() -> None:
    other = version(step="5m")
    other["spec"]["plans"] = {"brew": other["spec"]["plans"]["deploy"]}
    assert TimeLimits(other).next(instance(planTimeout="5m"), NOW) is None


@given(st.text(), st.text(), st.text())
def test_nothing_that_somebody_wrote_ends_a_wait(began: str, limit: str, name: str) -> None:
    obj, named = instance(planTimeout=limit), version(step="10m", task=limit)
    for part in (*parts(obj), task(obj)):
        part["startedAt"] = began
    step(obj)["name"] = name
    upcoming = TimeLimits(named).next(obj, NOW)
    assert upcoming is None or upcoming.text.isprintable()


# Where it is shown


def test_lines_tell_a_limit_once_and_after_a_minute_of_silence() -> None:
    stream, times = StringIO(), Times(BEGAN)
    limits = TimeLimits(version(plan="150s"))
    lines = Lines(stream, limits=limits, clock=times.clock, now=times.now)
    obj = instance()
    step(obj)["tasks"] = []
    lines.show(obj)
    lines.show(obj)
    for _ in range(180):
        times.seconds += 1
        lines.tick()
    limit = "timeout 150s of plan deploy"
    assert stream.getvalue() == (
        "  0.0s  deploy IN_PROGRESS\n"
        "  0.0s  deploy.main IN_PROGRESS\n"
        "  0.0s  deploy.main.app IN_PROGRESS\n"
        f"  0.0s  deploy: times out in 2m30s ({limit})\n"
        f" 60.0s  deploy: times out in 91s ({limit})\n"
        f"120.0s  deploy: times out in 31s ({limit})\n"
        "180.0s  deploy: its timeout of 150s has passed\n"
    )


def test_lines_tell_a_limit_that_comes_before_the_one_that_was_told() -> None:
    stream, times = StringIO(), Times(BEGAN)
    limits = TimeLimits(version(plan="20m", step="5m"))
    lines = Lines(stream, limits=limits, clock=times.clock, now=times.now)
    begun = instance()
    before = copy.deepcopy(begun)
    del step(before)["startedAt"]
    for obj in (before, begun, begun, before):
        lines.show(obj)
    told = [line[8:] for line in stream.getvalue().splitlines() if "times out" in line]
    assert told == [
        "deploy: times out in 20m (timeout 20m of plan deploy)",
        "deploy.main.app: times out in 5m (timeout 5m of step main.app)",
    ]


@pytest.mark.parametrize(
    ("limits", "above", "indent"),
    [
        ({"plan": "10m"}, "Plan deploy", 2),
        ({"phase": "10m"}, "Phase main", 4),
        ({"step": "10m"}, "Step app", 6),
    ],
)
def test_the_picture_has_it_below_what_it_is_a_limit_of_and_counts_on(
    limits: dict[str, str], above: str, indent: int
) -> None:
    stream, times = StringIO(), Times(BEGAN)
    found = version(**limits)
    picture = Picture(
        stream,
        found["spec"]["plans"],
        limits=TimeLimits(found),
        clock=times.clock,
        now=times.now,
        size=lambda: (100, 30),
    )
    obj = instance()
    step(obj)["tasks"] = []
    picture.show(obj)
    times.seconds = 11
    picture.tick()
    drawn = stream.getvalue().split("\033[2K")[-1].splitlines()
    row = next(index for index, line in enumerate(drawn) if above in line)
    assert drawn[row + 1].startswith(f"{' ' * indent}times out in 9m50s (timeout 10m of ")
    assert sum("times out" in line for line in drawn) == 1


def with_limits(api: FakeApi) -> None:
    """Limit the step that instance `tea` runs to ten minutes; it begins far in the future."""
    plan = api.objects["operatorversions", VERSION]["spec"]["plans"]["deploy"]
    plan["strategy"] = plan["phases"][0]["strategy"] = "serial"
    plan["phases"][0]["steps"][0] |= {"tasks": ["pot"], "timeout": "10m"}
    running(api)
    step(api.objects["instances", "tea"])["startedAt"] = "2999-05-06T07:00:00Z"


LINE = "deploy.main.app: times out in 10m (timeout 10m of step main.app)\n"


@pytest.mark.parametrize("argv", [("plan", "wait"), ("plan", "status", "--watch")])
def test_each_wait_tells_it(kudo: Cli, installed: FakeApi, argv: tuple[str, ...]) -> None:
    with_limits(installed)
    installed.script = [status("COMPLETE"), status("COMPLETE", done=True)]
    ran = kudo(*argv, "--instance", "tea")
    assert ran.code == 0
    assert ran.err.count(LINE) == 1


@pytest.mark.parametrize("code", [403, 404])
def test_a_wait_goes_on_without_limits_if_the_version_cannot_be_read(
    kudo: Cli, installed: FakeApi, code: int
) -> None:
    with_limits(installed)
    installed.refusals["GET", "operatorversions"] = (code, "operatorversions.kudo.dev: no")
    installed.script = [status("COMPLETE"), status("COMPLETE", done=True)]
    ran = kudo("plan", "wait", "--instance", "tea")
    assert ran.code == 0
    assert "times out" not in ran.err


def test_models_are_imported_only_for_a_run_that_has_limits() -> None:
    code = (
        "import json, sys; from datetime import UTC, datetime\n"
        "from kubectl_kudo.reading.run_progress import TimeLimits\n"
        f"version, instance = json.loads({json.dumps(json.dumps([version(), instance()]))})\n"
        "assert TimeLimits(version).next(instance, datetime.now(UTC)) is None\n"
        "assert not {'pydantic', 'kudo.api.base', 'kudo.plans.execution'} & {*sys.modules}\n"
        "instance['spec']['planTimeout'] = '1m'\n"
        "assert TimeLimits(version).next(instance, datetime.now(UTC))\n"
    )
    assert "kudo.plans.execution" in imported(code)
