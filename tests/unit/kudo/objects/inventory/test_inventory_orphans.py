"""Which objects on record no task applies any more."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import OperatorVersion, Orphan
from kudo.objects.inventory.orphans import MOST_IN_STATUS, Finished, in_status, orphans
from kudo.objects.inventory.record import Entry, Place, Record
from tests.unit.kudo.objects.inventory.entries import config_map, entry, record

RUN = "run-2"


def version(**plans: list[str]) -> OperatorVersion:
    """Return a version with plans of one step, which has these tasks."""
    return OperatorVersion.from_wire({"spec": {"plans": {p: plan(t) for p, t in plans.items()}}})


def plan(tasks: list[str]) -> dict[str, Any]:
    return {"phases": [{"name": "main", "steps": [{"name": "all", "tasks": tasks}]}]}


def finished(
    rendered: Mapping[str, frozenset[Place]] | None = None,
    plan: str = "deploy",
    unknown: frozenset[str] = frozenset(),
) -> Finished:
    return Finished(plan, RUN, rendered or {}, unknown)


def found(one: Entry, version: OperatorVersion, run: Finished) -> bool:
    return bool(orphans(record(one), version, run))


NOTHING = finished({"app": frozenset()})
VERSION = version(deploy=["app", "other"], update=["app"])


@pytest.mark.parametrize(
    ("one", "run", "expected"),
    [
        pytest.param(entry("a"), NOTHING, True, id="its task has run without it"),
        pytest.param(
            entry("a"), finished({"app": frozenset({config_map("a")})}), False, id="rendered again"
        ),
        pytest.param(
            entry("a"),
            finished({"app": frozenset(), "other": frozenset({config_map("a")})}),
            False,
            id="rendered by another task",
        ),
        pytest.param(entry("a"), finished({"other": frozenset()}), False, id="task has not run"),
        pytest.param(
            entry("a"),
            finished({"app": frozenset()}, unknown=frozenset({"app"})),
            False,
            id="one of its steps was taken over",
        ),
        pytest.param(
            entry("a"),
            finished({"app": frozenset()}, unknown=frozenset({"other"})),
            False,
            id="it may have moved to a step that was taken over",
        ),
        pytest.param(entry("a", "update"), NOTHING, False, id="of another plan"),
        pytest.param(entry("a", "update", "other"), NOTHING, False, id="other plan dropped task"),
        pytest.param(
            entry("a", "update", "other"),
            finished({"app": frozenset()}, plan="update"),
            True,
            id="its plan dropped the task",
        ),
        pytest.param(entry("a", "backup"), NOTHING, True, id="no such plan any more"),
        pytest.param(entry("a", "update", "gone"), NOTHING, True, id="no plan uses its task"),
        pytest.param(
            entry("a", "backup"),
            finished(unknown=frozenset({"app"})),
            False,
            id="plan is gone, but what its task rendered is not known",
        ),
        pytest.param(entry("a", "deploy", ""), NOTHING, False, id="task is not known"),
        pytest.param(entry("a", "", ""), NOTHING, False, id="adopted"),
        pytest.param(entry("a", orphaned_by="run-1"), NOTHING, False, id="an orphan before"),
    ],
)
def test_what_is_an_orphan(one: Entry, run: Finished, expected: bool) -> None:
    assert found(one, VERSION, run) is expected


def test_an_orphan_is_marked_with_the_run() -> None:
    assert orphans(record(entry("a")), VERSION, NOTHING) == (entry("a", orphaned_by=RUN),)


def test_a_version_without_plans_makes_everything_an_orphan() -> None:
    assert found(entry("a"), OperatorVersion(), NOTHING)


def test_steps_may_share_a_task() -> None:
    steps = [{"name": n, "tasks": [t]} for n, t in (("1", "x"), ("2", "app"))]
    shared = {"deploy": {"phases": [{"name": "p"}, {"name": "q", "steps": steps}]}}
    both = OperatorVersion.from_wire({"spec": {"plans": shared}})
    assert not found(entry("a"), both, finished({"x": frozenset()}))


PLANS = st.sampled_from(["deploy", "update", "backup", ""])
TASKS = st.sampled_from(["app", "db", "gone", ""])
PLACES = st.sampled_from([config_map(name) for name in "abcd"])
ENTRIES = st.builds(entry, PLACES, PLANS, TASKS, orphaned_by=st.sampled_from(["", "run-1"]))
RECORDS = st.lists(ENTRIES, max_size=8).map(lambda entries: record(*entries))
VERSIONS = st.dictionaries(
    st.sampled_from(["deploy", "update"]), st.lists(st.sampled_from(["app", "db"]))
).map(lambda plans: version(**plans))
RUNS = st.builds(
    Finished,
    st.sampled_from(["deploy", "update"]),
    st.just(RUN),
    st.dictionaries(st.sampled_from(["app", "db"]), st.frozensets(PLACES)),
    st.frozensets(st.sampled_from(["app", "db"])),
)


@given(RECORDS, VERSIONS, RUNS)
def test_only_what_is_certain_is_an_orphan(
    known: Record, of: OperatorVersion, run: Finished
) -> None:
    for one in orphans(known, of, run):
        before = known.entries[one.place]
        assert not before.orphaned_by
        assert one.orphaned_by == RUN
        assert one.plan
        assert one.task
        assert not run.unknown
        assert all(one.place not in places for places in run.rendered.values())
        # Nothing that a plan may still apply when it runs next, but for the one that has run.
        tasks = (
            {t for p in (of.plans[one.plan].phases or ()) for s in p.steps for t in s.tasks}
            if (one.plan in of.plans)
            else set()
        )
        assert one.task not in tasks or (one.plan == run.plan and one.task in run.rendered)


@given(RECORDS, VERSIONS, RUNS)
def test_orphans_on_record_are_not_found_again(
    known: Record, of: OperatorVersion, run: Finished
) -> None:
    assert orphans(known.merged(orphans(known, of, run)), of, run) == ()


@given(RECORDS, VERSIONS, RUNS)
def test_another_object_changes_nothing(known: Record, of: OperatorVersion, run: Finished) -> None:
    more = known.merged([entry("elsewhere", "", "")])
    assert orphans(more, of, run) == orphans(known, of, run)


# In the status


def test_the_status_names_no_orphans_where_there_are_none() -> None:
    assert in_status(record(entry("a"))) == ((), 0)


def test_the_status_names_an_orphan() -> None:
    role = Place("rbac.authorization.k8s.io", "ClusterRole", "", "r")
    known = record(
        entry("a", orphaned_by=RUN), entry("b"), entry(role, "", "", orphaned_by="run-1")
    )
    assert in_status(known) == (
        (
            Orphan(
                api_version="v1",
                kind="ConfigMap",
                namespace="ns",
                name="a",
                plan="deploy",
                task="app",
            ),
            Orphan(api_version="rbac.authorization.k8s.io/v1", kind="ClusterRole", name="r"),
        ),
        0,
    )


def test_the_status_names_only_the_first_orphans() -> None:
    known = record(*(entry(f"a{n:02}", orphaned_by=RUN) for n in range(MOST_IN_STATUS + 3)))
    named, more = in_status(known)
    assert ([one.name for one in named], more) == ([f"a{n:02}" for n in range(20)], 3)
