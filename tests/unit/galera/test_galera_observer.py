"""Restarts of pods: which were asked for, and which were not."""

from typing import cast

from kubeio.client import Client
from tests.galera.observer import Change, Node, Observer, changes
from tests.support.build import Json


def _node(name: str = "db-0", uid: str = "a", restarts: int = 0) -> Node:
    return Node(name, uid, restarts, "10.244.0.7", ready=True)


def _observer(*found: Change) -> Observer:
    # It sends no request before it runs.
    observer = Observer(cast("Client", None), "default", "db")
    observer.changes += found
    return observer


def test_a_pod_is_read() -> None:
    pod: Json = {
        "metadata": {"name": "db-0", "uid": "a"},
        "status": {
            "podIP": "10.244.0.7",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [
                {"restartCount": 1, "containerID": "containerd://4711"},
                {"restartCount": 2},
            ],
        },
    }
    assert Node.of(pod) == Node("db-0", "a", 3, "10.244.0.7", ready=True, containers=("4711",))
    pod["metadata"]["deletionTimestamp"] = "now"
    assert not Node.of(pod).ready


def test_a_pod_without_a_status_is_not_ready() -> None:
    pod = {"metadata": {"name": "db-0", "uid": "a"}}
    assert Node.of(pod) == Node("db-0", "a", 0, "", ready=False)


def test_what_stays_is_no_change() -> None:
    assert changes({"db-0": _node()}, [_node(), _node("db-1", "b")], 5.0) == []


def test_restarts_of_containers_are_counted() -> None:
    before = {"db-0": _node(restarts=1)}
    assert changes(before, [_node(restarts=3)], 5.0) == [Change(5.0, "db-0", False, 2)]


def test_another_pod_of_the_name_is_a_change_and_so_are_its_restarts() -> None:
    found = changes({"db-0": _node(restarts=4)}, [_node(uid="b", restarts=1)], 5.0)
    assert found == [Change(5.0, "db-0", True), Change(5.0, "db-0", False, 1)]


def test_a_plan_that_replaces_each_pod_once_asks_for_one_replacement_of_each() -> None:
    observer = _observer(
        Change(1, "db-0", replaced=True),
        Change(2, "db-1", replaced=True),
        Change(3, "db-1", replaced=True),
    )
    assert observer.unasked(0, 9, replaced=1) == 1
    assert observer.unasked(0, 9) == 3
    assert observer.unasked(0, 2, replaced=1) == 0


def test_restarts_of_containers_are_asked_for_by_nobody() -> None:
    observer = _observer(Change(1, "db-0", replaced=False, count=2))
    assert observer.unasked(0, 9, replaced=1) == 2


def test_restarts_of_a_pod_that_was_killed_do_not_count() -> None:
    observer = _observer(Change(1, "db-0", replaced=False), Change(1, "db-1", replaced=False))
    assert observer.unasked(0, 9, excused=["db-0"]) == 1


def test_sizes_begin_with_the_one_before() -> None:
    observer = _observer()
    observer.sizes += [(1, 3), (5, 4), (6, 5), (9, 4)]
    assert observer.sizes_between(4, 7) == [3, 4, 5]
    assert observer.sizes_between(7, 8) == [5]
    assert observer.sizes_between(0, 0.5) == []
