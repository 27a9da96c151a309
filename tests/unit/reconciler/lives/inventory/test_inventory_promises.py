"""What records promise: a breach is noticed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kubeio.types import JsonObject
from kudo.api import names
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import Entry, Place
from tests.unit.reconciler.lives.inventory import promises
from tests.unit.reconciler.lives.inventory.promises import (
    OF_DELETIONS,
    OF_REST,
    OF_WRITES,
    AtRest,
    Deletion,
    RecordWrite,
)

ONE = InstanceIdentity("ns", "i", "uid-1")
OTHER = InstanceIdentity("ns", "j", "uid-2")
PLACE = Place("", "ConfigMap", "ns", "i-a")
CLAIM = Place("", "PersistentVolumeClaim", "ns", "i-v")
ROLE = Place("rbac.authorization.k8s.io", "ClusterRole", "", "r")


def entry(place: Place = PLACE, **fields: Any) -> Entry:
    return Entry(place, "v1", "things", "deploy", "one", **fields)


def orphan(place: Place = PLACE, **fields: Any) -> Entry:
    return entry(place, orphaned_by="r1", **fields)


def owned(uid: str = ONE.uid, **annotations: str) -> JsonObject:
    return {
        "ownerReferences": [{"uid": uid, "controller": True}],
        "annotations": {f"kudo.dev/{key.replace('_', '-')}": v for key, v in annotations.items()},
    }


def shared(*sharers: InstanceIdentity) -> JsonObject:
    named = ",".join(f"{one.namespace}/{one.name}/{one.uid}" for one in sharers)
    return {"annotations": {names.ANNOTATION_SHARED_BY: named}}


PRUNED = Deletion(ONE, PLACE, owned(), orphan())
ROLE_PRUNED = replace(PRUNED, place=ROLE, metadata=shared(ONE), entry=orphan(ROLE))
LEFT = replace(ROLE_PRUNED, entry=None, completed=False, permitted=False, deleting=True)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(PRUNED, id="an orphan"),
        pytest.param(ROLE_PRUNED, id="a share"),
        pytest.param(LEFT, id="a share of an Instance being deleted"),
        pytest.param(
            replace(PRUNED, place=CLAIM, metadata=owned(prune="true"), entry=orphan(CLAIM)),
            id="a claim that permits it",
        ),
    ],
)
def test_a_deletion_by_the_rules_breaks_no_promise(found: Deletion) -> None:
    for promise in OF_DELETIONS:
        promise(found)


BROKEN_BY_DELETIONS: list[tuple[Callable[[Deletion], None], Deletion]] = [
    (promises.nothing_of_others_is_deleted, replace(PRUNED, metadata=owned(OTHER.uid))),
    (promises.nothing_of_others_is_deleted, replace(PRUNED, metadata={})),
    (
        promises.nothing_of_others_is_deleted,
        replace(ROLE_PRUNED, metadata=shared(OTHER), entry=None),
    ),
    (
        promises.nothing_retained_is_deleted,
        replace(PRUNED, metadata=owned(deletion_policy="retain")),
    ),
    (
        promises.nothing_retained_is_deleted,
        replace(PRUNED, metadata=owned(retained_by="ns/i/op/uid-1")),
    ),
    (promises.nothing_shared_is_deleted, replace(ROLE_PRUNED, sharers=[OTHER])),
    (promises.nothing_shared_is_deleted, replace(LEFT, sharers=[OTHER])),
    (
        promises.nothing_that_was_applied_since_is_deleted,
        replace(PRUNED, applied_since=True),
    ),
    (promises.nothing_is_deleted_on_a_guess, replace(PRUNED, entry=None)),
    (promises.nothing_is_deleted_on_a_guess, replace(PRUNED, entry=entry())),
    (promises.nothing_is_deleted_on_a_guess, replace(PRUNED, completed=False)),
    (promises.nothing_is_pruned_unasked, replace(PRUNED, permitted=False)),
    (
        promises.nothing_that_holds_data_is_pruned,
        replace(PRUNED, place=CLAIM, entry=orphan(CLAIM)),
    ),
    (
        promises.nothing_that_existed_before_is_deleted,
        replace(PRUNED, entry=orphan(adopted=True)),
    ),
]


@pytest.mark.parametrize(("promise", "found"), BROKEN_BY_DELETIONS)
def test_a_deletion_against_the_rules_is_noticed(
    promise: Callable[[Deletion], None], found: Deletion
) -> None:
    with pytest.raises(AssertionError):
        promise(found)


def test_what_is_created_before_it_is_on_record_is_noticed() -> None:
    promises.what_is_created_is_on_record(PLACE, {PLACE})
    with pytest.raises(AssertionError):
        promises.what_is_created_is_on_record(PLACE, {ROLE})


WRITE = RecordWrite({PLACE: entry()}, {PLACE: entry(), ROLE: entry(ROLE)}, "r1")


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(WRITE, id="one more"),
        pytest.param(replace(WRITE, before=None), id="the first"),
        pytest.param(replace(WRITE, after={PLACE: orphan()}), id="an orphan"),
        pytest.param(replace(WRITE, before={PLACE: orphan()}), id="an orphan that is applied"),
    ],
)
def test_a_write_by_the_rules_breaks_no_promise(write: RecordWrite) -> None:
    for promise in OF_WRITES:
        promise(write)


BROKEN_BY_WRITES: list[tuple[Callable[[RecordWrite], None], RecordWrite]] = [
    (
        promises.a_write_says_something_new,
        replace(WRITE, after={PLACE: entry(uid="uid-of-a")}),
    ),
    (
        promises.what_a_run_has_applied_is_no_orphan_of_it,
        replace(WRITE, after={PLACE: orphan()}, applied={PLACE}),
    ),
    (
        promises.marks_are_only_taken_off_by_applying,
        replace(WRITE, before={PLACE: orphan()}, after={PLACE: replace(entry(), task="")}),
    ),
    (
        promises.marks_are_only_taken_off_by_applying,
        replace(WRITE, before={PLACE: orphan()}, after={PLACE: entry(orphaned_by="r2")}),
    ),
]


@pytest.mark.parametrize(("promise", "write"), BROKEN_BY_WRITES)
def test_a_write_against_the_rules_is_noticed(
    promise: Callable[[RecordWrite], None], write: RecordWrite
) -> None:
    with pytest.raises(AssertionError):
        promise(write)


def test_a_third_write_of_a_run_is_noticed() -> None:
    promises.a_run_writes_the_record_twice_at_most("r1", 2)
    with pytest.raises(AssertionError):
        promises.a_run_writes_the_record_twice_at_most("r1", 3)


def applied(run: str, plan: str = "deploy") -> JsonObject:
    metadata = owned()
    metadata["annotations"] |= {names.ANNOTATION_PLAN: plan, names.ANNOTATION_PLAN_UID: run}
    return {"metadata": metadata}


REST = AtRest(ONE, "r1", "deploy", {PLACE: entry()}, {PLACE: applied("r1")})
KEPT = replace(REST, objects={PLACE: applied("r0")}, entries={PLACE: orphan()}, prunes=False)


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(REST, id="all that is rendered"),
        pytest.param(KEPT, id="an orphan that nobody prunes"),
        pytest.param(
            replace(REST, objects={PLACE: applied("r0")}, elsewhere={PLACE}), id="another plan's"
        ),
        pytest.param(
            replace(KEPT, prunes=True, entries={PLACE: orphan(adopted=True)}), id="an adopted one"
        ),
        pytest.param(replace(REST, objects={}, excepted={PLACE}), id="what a user deleted"),
        pytest.param(
            replace(REST, objects={PLACE: applied("r0", "update")}), id="what another plan applied"
        ),
    ],
)
def test_what_is_left_by_the_rules_breaks_no_promise(found: AtRest) -> None:
    for promise in OF_REST:
        promise(found)


BROKEN_AT_REST: list[tuple[Callable[[AtRest], None], AtRest]] = [
    (promises.what_is_ours_is_on_record, replace(REST, entries={})),
    (promises.what_is_on_record_exists, replace(REST, objects={})),
    (promises.what_is_dropped_is_an_orphan, replace(REST, objects={PLACE: applied("r0")})),
    (promises.what_is_dropped_is_an_orphan, replace(REST, entries={PLACE: orphan()})),
    (promises.what_is_pruned_is_gone, replace(KEPT, prunes=True)),
]


@pytest.mark.parametrize(("promise", "found"), BROKEN_AT_REST)
def test_what_is_left_against_the_rules_is_noticed(
    promise: Callable[[AtRest], None], found: AtRest
) -> None:
    with pytest.raises(AssertionError):
        promise(found)


def test_every_promise_has_a_breach() -> None:
    assert {promise for promise, _ in BROKEN_BY_DELETIONS} == {*OF_DELETIONS}
    assert {promise for promise, _ in BROKEN_BY_WRITES} == {*OF_WRITES}
    assert {promise for promise, _ in BROKEN_AT_REST} == {*OF_REST}
