"""What is changed next of a child: an upgrade comes first, with what only the new version knows."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from kudo.admission.review import AdmissionRequest, Review, mutate
from kudo.api import Instance, JsonObject, OperatorVersion
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.kudo_operator import Child, ChildUpdate, differs, next_update, restart

OLD, NEW = ("ns", "op-1"), ("ns", "op-2")


def version(key: tuple[str, str], *names: str, immutable: Iterable[str] = ()) -> OperatorVersion:
    parameters = [{"name": name, "immutable": name in immutable} for name in names]
    metadata = {"namespace": key[0], "name": key[1]}
    plans: JsonObject = {name: {"phases": []} for name in ("deploy", "update", "upgrade")}
    return OperatorVersion.from_wire(
        {"metadata": metadata, "spec": {"parameters": parameters, "plans": plans}}
    )


def child(**parameters: str) -> Child:
    return Child("have", "ns", "c", "op", NEW, parameters)


def existing(key: tuple[str, str] = OLD, **parameters: str) -> Instance:
    namespace, name = key
    reference = {"name": name, **({} if namespace == "ns" else {"namespace": namespace})}
    return Instance.from_wire(
        {
            "metadata": {"name": "c", "namespace": "ns", "uid": "u"},
            "spec": {"operatorVersion": reference, "parameters": parameters},
        }
    )


BEFORE = version(OLD, "KEPT", "GONE")
AFTER = version(NEW, "KEPT", "ADDED")


def changed(
    desired: Child,
    stored: Mapping[str, Any],
    *,
    owned: Iterable[str] | None = None,
    before: OperatorVersion | None = BEFORE,
    after: OperatorVersion = AFTER,
) -> ChildUpdate:
    mine = stored if owned is None else owned
    return next_update(desired, existing(**stored), frozenset(mine), before, after)


def test_without_an_upgrade_everything_is_sent_at_once() -> None:
    found = next_update(child(KEPT="2"), existing(NEW, KEPT="1", X="y"), {"KEPT"}, AFTER, AFTER)
    assert found == ChildUpdate(NEW, {"KEPT": "2"}, last=True)


UPGRADES: dict[str, tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, str], bool]] = {
    # wanted, stored, sent first, last
    "nothing else changes": ({"KEPT": "1"}, {"KEPT": "1"}, {"KEPT": "1"}, True),
    "a value changes": ({"KEPT": "2"}, {"KEPT": "1"}, {"KEPT": "1"}, False),
    "a value is dropped": ({}, {"KEPT": "1"}, {"KEPT": "1"}, False),
    "a value is set that both versions know": ({"KEPT": "2"}, {}, {}, False),
    "a value comes that only the new version knows": (
        {"KEPT": "1", "ADDED": "a"},
        {"KEPT": "1"},
        {"KEPT": "1", "ADDED": "a"},
        True,
    ),
    "both": (
        {"KEPT": "2", "ADDED": "a"},
        {"KEPT": "1", "GONE": "g"},
        {"KEPT": "1", "ADDED": "a"},
        False,
    ),
    "a parameter goes with its version": (
        {"KEPT": "1"},
        {"KEPT": "1", "GONE": "g"},
        {"KEPT": "1"},
        True,
    ),
    "a value that no version declares stays": ({"X": "1"}, {"X": "1"}, {"X": "1"}, True),
}


def test_an_upgrade_goes_before_what_changes_beside_it(subtests: pytest.Subtests) -> None:
    for case in UPGRADES:
        with subtests.test(case=case):
            desired, stored, sent, last = UPGRADES[case]
            assert changed(child(**desired), stored) == ChildUpdate(NEW, sent, last=last)


@pytest.mark.parametrize("case", UPGRADES)
def test_what_goes_first_is_admitted_and_what_follows_is_too(case: str) -> None:
    desired, stored, _sent, _last = UPGRADES[case]
    versions = {OLD: BEFORE, NEW: AFTER}
    seen, steps = existing(**stored), 0
    while steps < 3:
        steps += 1
        update = next_update(
            child(**desired), seen, seen.parameters, versions[seen.operator_version_key], AFTER
        )
        after = existing(update.version, **dict[str, Any](update.parameters))
        request = AdmissionRequest("UPDATE", "ns", "c", after.to_wire(), seen.to_wire())
        answer = mutate(Review.of(request), versions, fresh_uid=lambda: "fresh")
        assert answer.problems == ()
        seen = after
        if update.last:
            break
    assert (seen.operator_version_key, seen.parameters) == (NEW, desired)
    assert steps <= 2


def test_what_others_have_set_is_left_to_them() -> None:
    found = changed(child(KEPT="2"), {"KEPT": "1", "THEIRS": "x"}, owned=())
    assert found == ChildUpdate(NEW, {}, last=False)


def test_without_the_old_version_nothing_is_removed_by_the_upgrade() -> None:
    found = changed(child(ADDED="a"), {"KEPT": "1"}, before=None)
    assert found == ChildUpdate(NEW, {"KEPT": "1", "ADDED": "a"}, last=False)


def test_what_becomes_immutable_is_changed_before() -> None:
    after = version(NEW, "KEPT", "ADDED", immutable=["KEPT"])
    desired = child(KEPT="2", ADDED="a")
    first = changed(desired, {"KEPT": "1", "GONE": "g"}, after=after)
    assert first == ChildUpdate(OLD, {"KEPT": "2", "GONE": "g"}, last=False)

    second = next_update(desired, existing(KEPT="2", GONE="g"), {"KEPT", "GONE"}, BEFORE, after)
    assert second == ChildUpdate(NEW, {"KEPT": "2", "ADDED": "a"}, last=True)


def test_what_was_immutable_or_is_as_wanted_goes_with_the_upgrade(
    subtests: pytest.Subtests,
) -> None:
    for immutable_before in [False, True]:
        with subtests.test(immutable_before=immutable_before):
            before = version(OLD, "KEPT", immutable=["KEPT"] if immutable_before else [])
            after = version(NEW, "KEPT", immutable=["KEPT"])
            found = changed(child(KEPT="1"), {"KEPT": "1"}, before=before, after=after)
            assert found == ChildUpdate(NEW, {"KEPT": "1"}, last=True)


def test_what_was_immutable_already_is_left_to_the_rules() -> None:
    before, after = (version(key, "KEPT", immutable=["KEPT"]) for key in (OLD, NEW))
    found = changed(child(KEPT="2"), {"KEPT": "1"}, before=before, after=after)
    assert found == ChildUpdate(NEW, {"KEPT": "1"}, last=False)


def test_a_file_that_sets_what_the_new_version_dropped_is_refused_before_anything_is_sent() -> None:
    with pytest.raises(FatalTaskError) as caught:
        changed(child(GONE="g", KEPT="1"), {"GONE": "g"})
    assert caught.value.reason == "TaskRenderingError"
    assert str(caught.value) == (
        "the parameter file of task have sets GONE, and op-2 no longer declares it; "
        "remove it from the file"
    )


# Whether it changes anything


def test_a_change_is_told_from_none() -> None:
    table: list[tuple[Instance, set[str], bool]] = [
        (existing(NEW, A="1"), {"A"}, False),
        (existing(NEW, A="1", THEIRS="x"), {"A"}, False),
        (existing(NEW, A="1"), set(), False),
        (existing(NEW, A="2"), {"A"}, True),
        (existing(NEW), set(), True),
        (existing(NEW, A="1", B="1"), {"A", "B"}, True),
        (existing(OLD, A="1"), {"A"}, True),
        (existing(("library", "op-2"), A="1"), {"A"}, True),
    ]
    for stored, owned, result in table:
        assert differs(stored, ChildUpdate(NEW, {"A": "1"}, last=True), owned) is result


# Running a plan again


def test_a_run_that_a_parent_starts_is_the_same_however_often_it_is_made() -> None:
    obj = {"metadata": {"uid": "child"}}
    first = restart(obj, "deploy", "run")
    assert first["planName"] == "deploy"
    assert first["status"] == "NEVER_RUN"
    assert restart(obj, "deploy", "run") == first
    assert restart(obj, "deploy", "other run")["uid"] != first["uid"]
    assert restart({"metadata": {"uid": "other"}}, "deploy", "run")["uid"] != first["uid"]
