"""The record of what an Instance has applied, and its form in Inventories."""

from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio.names import is_subdomain
from kudo.api import Inventory
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.record import (
    MOST_OBJECTS,
    Entry,
    Place,
    Record,
    inventory_name,
    inventory_of,
    owner_of,
    read_entries,
    shards,
)
from tests.unit.kudo.objects.inventory.entries import ONE, config_map, entry, record

ROLE = Place("rbac.authorization.k8s.io", "ClusterRole", "", "system:reader of things")
FULL = Entry(
    Place("apps", "Deployment", "ns", "web"),
    version="v1",
    resource="deployments",
    plan="deploy",
    task="app",
    digest="0" * 32,
    uid="u-web",
    retained=True,
    adopted=True,
    orphaned_by="run-1",
    leaving=True,
)
WIRE = {
    "group": "apps",
    "version": "v1",
    "kind": "Deployment",
    "resource": "deployments",
    "namespace": "ns",
    "name": "web",
    "uid": "u-web",
    "plan": "deploy",
    "task": "app",
    "digest": "0" * 32,
    "orphanedBy": "run-1",
    "retained": True,
    "adopted": True,
    "leaving": True,
}
NAMES = st.text("abc-.0", min_size=1, max_size=6).filter(lambda name: name not in {".", ".."})
ENTRIES = st.builds(
    Entry,
    st.builds(
        Place, st.sampled_from(["", "apps"]), st.just("A"), st.sampled_from(["", "ns"]), NAMES
    ),
    st.just("v1"),
    st.just("as"),
    NAMES,
    NAMES,
    NAMES,
    NAMES,
    st.booleans(),
    st.booleans(),
    NAMES,
    st.booleans(),
)


def named(*names: str) -> Record:
    return record(*map(entry, names))


def read(objects: Any, namespace: str = "ns") -> tuple[tuple[Entry, ...], int]:
    return read_entries({"metadata": {"namespace": namespace}, "objects": objects})


# Places and entries


def test_a_place_is_shown_by_its_kind_and_name() -> None:
    table: list[tuple[Place, str]] = [
        (config_map("a"), "ConfigMap ns/a"),
        (Place("", "Namespace", "", "n"), "Namespace n"),
    ]
    for place, text in table:
        assert str(place) == text


def test_an_entry_has_the_api_version_of_its_object() -> None:
    assert (entry("a").api_version, FULL.api_version) == ("v1", "apps/v1")


def test_a_cluster_scoped_object_is_a_share() -> None:
    assert entry(ROLE).cluster_scoped
    assert not entry("a").cluster_scoped


# Merging


def test_an_entry_replaces_that_of_its_object() -> None:
    known = record(entry("a", orphaned_by="run-1"), entry("b"))
    after = known.merged([entry("a", "update", "other")])
    assert list(after) == [entry("a", "update", "other"), entry("b")]


def test_the_uid_is_kept_where_it_is_left_open() -> None:
    assert record(entry("a", uid="u-1")).merged([entry("a", task="b")]).get(config_map("a")) == (
        entry("a", task="b", uid="u-1")
    )


@pytest.mark.parametrize(
    ("before", "uid", "adopted"),
    [
        pytest.param("u-1", "", True, id="before the answer"),
        pytest.param("u-1", "u-1", True, id="the same object"),
        pytest.param("", "u-1", True, id="its uid was not known"),
        pytest.param("u-1", "u-2", False, id="another object in its place"),
    ],
)
def test_an_adopted_object_stays_one(before: str, uid: str, adopted: bool) -> None:
    known = record(entry("a", uid=before, adopted=True))
    (after,) = known.merged([entry("a", uid=uid)])
    assert after.adopted is adopted


def test_an_object_may_be_adopted_again() -> None:
    (after,) = record(entry("a", uid="u-1")).merged([entry("a", uid="u-2", adopted=True)])
    assert after.adopted


def test_a_share_that_is_given_up_stays_on_record_until_it_is_applied_again() -> None:
    before = record(entry(ROLE, uid="u"), entry("a"))
    after = before.leaving([ROLE, config_map("a"), config_map("none")])
    assert [(one.shared, one.leaving) for one in after] == [(False, True), (False, False)]
    assert after.leaving([ROLE]) is after
    assert before.entries[ROLE].shared
    assert not after.covers(entry(ROLE))
    (again, _) = after.merged([entry(ROLE)])
    assert again == before.entries[ROLE]


def test_a_record_never_changes() -> None:
    before = named("a")
    before.merged([entry("b")])
    before.without([config_map("a")])
    assert list(before) == [entry("a")]
    with pytest.raises(TypeError):
        before.entries[config_map("b")] = entry("b")  # type: ignore[index]
    with pytest.raises(TypeError):
        Record().entries[config_map("b")] = entry("b")  # type: ignore[index]


def test_what_is_removed_is_gone() -> None:
    after = record(entry("a"), entry("b"), complete=True).without([config_map("a"), ROLE])
    assert after == record(entry("b"), complete=True)
    assert (after.get(config_map("a")), len(after)) == (None, 1)


def test_the_merged_record_is_as_complete_as_before() -> None:
    assert record(complete=True).merged([entry("a")]).complete
    assert not record().merged([entry("a")]).complete


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(entry("a"), True, id="without uid"),
        pytest.param(entry("a", uid="u-2"), True, id="another uid"),
        pytest.param(entry("a", task="other"), False, id="another task"),
        pytest.param(entry("a", digest="1"), False, id="other content"),
        pytest.param(entry("a", retained=True), False, id="now retained"),
        pytest.param(entry("b"), False, id="not on record"),
    ],
)
def test_what_a_record_covers(asked: Entry, expected: bool) -> None:
    assert record(entry("a", uid="u-1", adopted=True)).covers(asked) is expected


def test_another_digest_alone_may_be_good_enough() -> None:
    known, place = record(entry("a", digest="1")), config_map("a")
    assert known.covers(entry("a", digest="2"), [place])
    assert not known.covers(entry("a", digest="2", task="other"), [place])
    assert not known.covers(entry("a", digest="2"), [config_map("b")])
    assert not record().covers(entry("a", digest="2"), [place])


def test_entries_that_are_on_record_as_they_are_are_not_copied() -> None:
    known = record(entry("a", uid="u-1", adopted=True))
    (after,) = known.merged([entry("a")])
    assert after is known.get(config_map("a"))


def test_an_orphan_that_is_applied_again_is_not_covered() -> None:
    assert not record(entry("a", orphaned_by="run-1")).covers(entry("a"))


# Names


def test_the_name_tells_instance_uid_and_number() -> None:
    assert inventory_name(ONE, 2) == "db.0a1b2c3d.2"


@given(
    st.from_regex(
        r"[a-z0-9]([-a-z0-9]{0,5}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?){0,6}",
        fullmatch=True,
    ).filter(lambda name: len(name) <= 253),
    st.uuids(),
)
def test_the_name_is_one_that_objects_can_have(name: str, uid: Any) -> None:
    assert is_subdomain(inventory_name(InstanceIdentity("ns", name, str(uid)), 1234))


def test_long_names_are_cut_and_stay_different(subtests: pytest.Subtests) -> None:
    for cut in [".", "-", "a"]:
        with subtests.test(cut=cut):
            # The character before which the name is cut must not end a part of the name.
            one, other = (f"{'x' * 190}{cut}{'y' * 60}{end}" for end in "12")
            found = {inventory_name(InstanceIdentity("ns", name, "u"), 0) for name in (one, other)}
            assert len(found) == 2
            assert all(is_subdomain(name) and len(name) < 253 for name in found)


# Shards


def sizes(found: list[tuple[Entry, ...]]) -> list[int]:
    return list(map(len, found))


def many(count: int, start: int = 0) -> Record:
    return named(*(f"a{number}" for number in range(start, start + count)))


def test_a_record_is_split() -> None:
    table: dict[int, list[int]] = {
        0: [],
        1: [1],
        500: [500],
        501: [500, 1],
        1000: [500, 500],
    }
    assert {count: sizes(shards(many(count))) for count in table} == table


def test_an_entry_stays_where_it_is() -> None:
    before = [[config_map("b")], [config_map("a")]]
    assert shards(named("a", "b", "c"), before) == [(entry("b"), entry("c")), (entry("a"),)]


def test_what_is_gone_makes_room_for_what_is_new() -> None:
    before = [[config_map(f"a{n}") for n in range(500)], [config_map("b")]]
    known = many(499).merged([entry("b"), entry("c"), entry("d")])
    first, second = shards(known, before)
    assert (len(first), first[-1], second) == (500, entry("c"), (entry("b"), entry("d")))


def test_shards_may_become_empty() -> None:
    assert shards(Record(), [[config_map("a")], [config_map("b")]]) == [(), ()]


def test_a_shard_that_is_too_full_gives_some_away() -> None:
    before = [[config_map(f"a{n}") for n in range(600)], []]
    assert sizes(shards(many(600), before)) == [500, 100]


@given(
    st.lists(ENTRIES, max_size=12).map(lambda found: record(*found)),
    st.lists(st.lists(ENTRIES.map(lambda one: one.place), max_size=6), max_size=4),
)
def test_each_entry_is_in_one_shard(known: Record, before: list[list[Place]]) -> None:
    found = list(chain(*shards(known, [*before, [one.place for one in known][:2]])))
    assert len(found) == len(known)
    assert record(*found) == known


# In Inventory objects


def test_an_inventory_is_owned_by_its_instance() -> None:
    stored = inventory_of(ONE, 0, [FULL], complete=True)
    assert stored == {
        "apiVersion": "kudo.dev/v1beta1",
        "kind": "Inventory",
        "metadata": {
            "name": "db.0a1b2c3d.0",
            "namespace": "ns",
            "labels": {"kudo.dev/instance": "db"},
            "ownerReferences": [
                {
                    "apiVersion": "kudo.dev/v1beta1",
                    "kind": "Instance",
                    "name": "db",
                    "uid": ONE.uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "complete": True,
        "objects": [WIRE],
    }
    assert owner_of(stored["metadata"]) == ONE


def test_the_model_has_every_field() -> None:
    stored = inventory_of(ONE, 0, [FULL, entry(ROLE)], complete=True)
    assert Inventory.from_wire(stored).to_wire() == stored


def test_only_the_first_inventory_says_that_the_record_is_complete() -> None:
    assert "complete" not in inventory_of(ONE, 1, [], complete=True)
    assert "complete" not in inventory_of(ONE, 0, [], complete=False)


def test_a_name_too_long_for_a_label_is_none() -> None:
    long = InstanceIdentity("ns", "x" * 64, "u")
    assert inventory_of(long, 0, [], complete=False)["metadata"]["labels"] == {}


@given(st.lists(ENTRIES, max_size=6))
def test_what_is_written_is_read_again(entries: list[Entry]) -> None:
    assert read(inventory_of(ONE, 0, entries, complete=False)["objects"]) == (tuple(entries), 0)


def test_what_would_not_be_read_again_is_not_written(subtests: pytest.Subtests) -> None:
    for plan in ["p" * 254, "p\n"]:
        with subtests.test(plan=plan):
            stored = inventory_of(ONE, 0, [entry("a", plan), entry("b")], complete=False)
            assert read(stored["objects"]) == ((entry("b"),), 0)


# What somebody wrote by hand


def test_an_inventory_of_nobody() -> None:
    table: list[dict[str, Any]] = [
        {},
        {"ownerReferences": None},
        {"ownerReferences": [{"apiVersion": "kudo.dev/v1beta1", "kind": "Instance"}]},
        {"ownerReferences": [{"apiVersion": "v1", "kind": "Instance", "controller": True}]},
        {
            "ownerReferences": [
                {"apiVersion": "kudo.dev/v1beta1", "kind": "Operator", "controller": True}
            ]
        },
    ]
    for metadata in table:
        assert owner_of({"namespace": "ns", **metadata}) is None


@pytest.mark.parametrize("objects", [None, "x", 3, {}, []])
def test_an_inventory_without_objects(objects: Any) -> None:
    assert read(objects) == ((), 0)


def test_an_entry_that_no_plan_can_have_made_is_left_out(subtests: pytest.Subtests) -> None:
    table: list[dict[str, Any]] = [
        {"namespace": "other"},
        {"name": ""},
        {"name": "."},
        {"name": ".."},
        {"name": "a/b"},
        {"name": "a%2fb"},
        {"name": "a\nb"},
        {"name": "\x1b[2J"},
        {"name": "a" * 254},
        {"name": 3},
        {"kind": ""},
        {"kind": "A/B"},
        {"kind": "Ä"},
        {"resource": ""},
        {"resource": "pods/exec"},
        {"resource": ".."},
        {"resource": "Pods"},
        {"version": ""},
        {"version": ".."},
        {"version": "v1/../v2"},
        {"version": "V1"},
        {"group": ".."},
        {"group": "a/b"},
        {"plan": "\x1b]0;"},
        {"task": "a\tb"},
        {"group": "kudo.dev", "kind": "Inventory", "resource": "inventories"},
        {"group": "kudo.dev", "kind": "Anything"},
    ]
    for fields in table:
        with subtests.test(fields=fields):
            entries, ignored = read([WIRE, {**WIRE, **fields}])
            assert (entries, ignored) == ((FULL,), 1)


@pytest.mark.parametrize("item", [None, 3, "x", [], {}])
def test_what_is_no_entry_is_left_out(item: Any) -> None:
    assert read([item, WIRE]) == ((FULL,), 1)


def test_an_entry_that_is_rare_is_read(subtests: pytest.Subtests) -> None:
    table: list[Place] = [
        Place("example.com", "Dash-Ed", "ns", "a"),
        Place("kudo.dev", "Instance", "ns", "child"),
        ROLE,
    ]
    for place in table:
        with subtests.test(place=place):
            one = Entry(place, "v1alpha1", "dash-eds", "deploy", "app")
            assert read(inventory_of(ONE, 0, [one], complete=False)["objects"]) == ((one,), 0)


def test_marks_are_true_or_not_there() -> None:
    odd = {**WIRE, "retained": "true", "adopted": 1, "plan": ["deploy"], "uid": None}
    ((one,), ignored) = read([odd])
    assert (one.retained, one.adopted, one.plan, one.uid, ignored) == (False, False, "", "", 0)


def test_no_more_are_read_than_an_inventory_can_have() -> None:
    entries, ignored = read([{**WIRE, "name": f"a{n}"} for n in range(MOST_OBJECTS + 7)])
    assert (len(entries), ignored) == (MOST_OBJECTS, 7)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(list(WIRE)), below),
)


@given(JSON)
def test_nothing_is_raised_whatever_an_inventory_contains(objects: Any) -> None:
    entries, ignored = read(objects)
    assert len(entries) + ignored == (len(objects) if isinstance(objects, list) else 0)


def test_entries_share_their_texts() -> None:
    ((one, other), _) = read([{**WIRE, "name": n, "task": "".join(["a", "pp"])} for n in "ab"])
    assert one.task is other.task
    assert one.place.kind is other.place.kind
