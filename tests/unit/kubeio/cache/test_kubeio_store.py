"""What a store does with lists, events and own writes, in the orders in which they can come."""

from typing import Any

import pytest

from kubeio.cache.store import Delta, Store
from kubeio.types import JsonObject


def thing(name: str, version: int | str, *, uid: str = "u", **fields: Any) -> JsonObject:
    metadata = {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": metadata, **fields}


class Recorded:
    """A store, and what it told."""

    def __init__(self, **options: Any) -> None:
        self.changes: list[Delta] = []
        self.store = Store(self.changes.append, **options)

    @property
    def told(self) -> list[tuple[str, str, str]]:
        return [
            (one.kind, one.object["metadata"]["name"], one.object["metadata"]["resourceVersion"])
            for one in self.changes
        ]

    def list(self, version: int, *items: JsonObject, force: bool = False) -> None:
        self.store.begin_list()
        self.store.add_page(map(self.store.prepared, items), force=force)
        self.store.end_list(version, force=force)

    def versions(self) -> dict[str, str]:
        return {
            name: obj["metadata"]["resourceVersion"]
            for (_, name), obj in self.store.objects.items()
        }


def test_events_are_told_in_order_with_old_and_new() -> None:
    seen = Recorded()
    first, second, last = thing("a", 1), thing("a", 2), thing("a", 3)
    seen.store.put(first)
    seen.store.put(second)
    seen.store.remove(last)
    assert seen.changes == [
        Delta("added", first, None),
        Delta("updated", second, first),
        Delta("deleted", last, second),
    ]
    assert seen.store.objects == {}
    assert seen.store.highest == 3


def test_an_event_seen_before_is_not_told_again() -> None:
    seen = Recorded()
    seen.list(5, thing("a", 4))
    seen.store.put(thing("a", 4))
    assert seen.told == [("added", "a", "4")]


def test_managed_fields_are_dropped() -> None:
    seen = Recorded()
    obj = thing("a", 1)
    obj["metadata"]["managedFields"] = [{}]
    seen.store.put(obj)
    assert "managedFields" not in seen.store.objects["ns", "a"]["metadata"]


def test_a_deletion_during_a_disconnection_is_told_at_the_next_list() -> None:
    seen = Recorded()
    seen.list(5, thing("a", 1), thing("b", 2))
    seen.list(9, thing("b", 2))
    assert seen.told[2:] == [("deleted", "a", "1")]


def test_an_object_made_again_unseen_is_told_as_deleted_and_added() -> None:
    seen = Recorded()
    seen.list(5, thing("a", 1, uid="one"))
    seen.list(9, thing("a", 8, uid="two"))
    assert seen.told[1:] == [("deleted", "a", "1"), ("added", "a", "8")]
    assert seen.changes[2].old is None


def test_an_own_write_ahead_of_the_stream_is_taken_at_once() -> None:
    seen = Recorded()
    seen.list(10)
    assert seen.store.observe(thing("a", 12))
    assert seen.told == [("added", "a", "12")]
    assert seen.store.highest == 10


def test_a_state_whose_event_was_lost_is_taken_although_the_stream_has_passed_it() -> None:
    seen = Recorded()
    seen.list(10, thing("a", 5))
    assert seen.store.observe(thing("a", 10))
    assert seen.versions() == {"a": "10"}


def test_a_state_that_is_stored_already_is_no_news() -> None:
    seen = Recorded()
    seen.list(10, thing("a", 5))
    assert not seen.store.observe(thing("a", 5))
    assert not seen.store.observe(thing("a", 4))
    assert seen.told == [("added", "a", "5")]


def test_an_unknown_object_that_the_stream_has_passed_is_gone_again() -> None:
    seen = Recorded()
    seen.list(10)
    assert not seen.store.observe(thing("a", 10))
    assert seen.store.objects == {}


def test_a_late_answer_does_not_raise_the_dead() -> None:
    seen = Recorded()
    seen.store.put(thing("a", 11))
    seen.store.remove(thing("a", 12))
    assert not seen.store.observe(thing("a", 11))
    assert seen.store.objects == {}


def test_older_events_for_an_own_write_are_ignored() -> None:
    seen = Recorded()
    seen.list(10, thing("a", 5))
    seen.store.observe(thing("a", 13))
    seen.store.put(thing("a", 12))
    seen.store.put(thing("a", 13))
    assert seen.told == [("added", "a", "5"), ("updated", "a", "13")]
    assert seen.store.highest == 13


def test_the_deletion_of_a_predecessor_does_not_remove_an_own_write() -> None:
    seen = Recorded()
    seen.list(10, thing("a", 5, uid="one"))
    seen.store.observe(thing("a", 13, uid="two"))
    seen.store.remove(thing("a", 12, uid="one"))
    assert seen.versions() == {"a": "13"}
    assert seen.told == [("added", "a", "5"), ("deleted", "a", "5"), ("added", "a", "13")]


def test_a_list_older_than_an_own_write_does_not_undo_it() -> None:
    seen = Recorded()
    seen.list(10, thing("b", 5))
    seen.store.begin_list()
    seen.store.observe(thing("a", 13))
    seen.store.observe(thing("b", 14))
    seen.store.add_page([thing("b", 11)])
    seen.store.end_list(12)
    assert seen.versions() == {"a": "13", "b": "14"}


def test_a_list_newer_than_an_own_write_proves_its_deletion() -> None:
    seen = Recorded()
    seen.store.observe(thing("a", 13))
    seen.list(20)
    assert seen.told == [("added", "a", "13"), ("deleted", "a", "13")]


def test_bookmarks_count_as_progress() -> None:
    seen = Recorded()
    seen.store.reach(30)
    assert not seen.store.observe(thing("a", 30))
    assert seen.store.observe(thing("a", 31))


def test_progress_never_goes_back() -> None:
    seen = Recorded()
    seen.store.reach(30)
    seen.store.reach(20)
    seen.store.reach(None)
    seen.list(25)
    assert seen.store.highest == 30


def test_an_observed_deletion_hides_the_events_on_their_way() -> None:
    seen = Recorded()
    seen.list(10, thing("a", 5, uid="one"))
    assert seen.store.observe_deleted(thing("a", 5, uid="one"))
    seen.store.put(thing("a", 11, uid="one"))
    seen.store.remove(thing("a", 12, uid="one"))
    assert seen.told == [("added", "a", "5"), ("deleted", "a", "5")]
    seen.store.put(thing("a", 13, uid="two"))
    assert seen.versions() == {"a": "13"}


def test_an_observed_deletion_hides_late_answers_to_own_writes() -> None:
    seen = Recorded()
    seen.list(10, thing("a", 5, uid="one"))
    seen.store.observe_deleted(thing("a", 5, uid="one"))
    assert not seen.store.observe(thing("a", 11, uid="one"))


def test_a_wrongly_observed_deletion_is_put_right_by_the_next_list() -> None:
    seen = Recorded()
    seen.list(10, thing("a", 5))
    seen.store.observe_deleted(thing("a", 5))
    seen.list(11, thing("a", 5))
    assert seen.versions() == {"a": "5"}


def test_the_deletion_of_another_or_unknown_object_is_not_observed() -> None:
    seen = Recorded()
    seen.list(10, thing("a", 5, uid="one"))
    assert not seen.store.observe_deleted(thing("a", 5, uid="two"))
    assert not seen.store.observe_deleted(thing("b", 5))
    seen.store.put(thing("c", 11, uid=""))
    assert not seen.store.observe_deleted(thing("c", 11, uid=""))
    assert seen.versions() == {"a": "5", "c": "11"}


def test_a_forced_list_is_taken_although_it_is_older() -> None:
    seen = Recorded()
    seen.list(100, thing("a", 90), thing("b", 95))
    seen.list(50, thing("a", 40), force=True)
    assert seen.versions() == {"a": "40"}
    assert seen.store.highest == 50


def test_opaque_versions_are_taken_as_they_come() -> None:
    seen = Recorded()
    seen.store.put(thing("a", "x"))
    seen.store.put(thing("a", "w"))
    assert not seen.store.observe(thing("a", "y"))
    seen.store.begin_list()
    seen.store.end_list(None)
    assert seen.told == [("added", "a", "x"), ("updated", "a", "w"), ("deleted", "a", "w")]


def test_observed_objects_are_neither_changed_nor_kept() -> None:
    def halve(obj: JsonObject) -> JsonObject:
        del obj["spec"]["big"]
        return obj

    for transform in (None, halve):
        seen = Recorded(transform=transform)
        answer = thing("a", 12, spec={"big": 1})
        answer["metadata"]["managedFields"] = [{}]
        seen.store.observe(answer)
        assert answer["metadata"]["managedFields"] == [{}]
        assert answer["spec"] == {"big": 1}
        assert "managedFields" not in seen.store.objects["ns", "a"]["metadata"]


def test_transforms_shrink_what_is_stored_and_told() -> None:
    seen = Recorded(transform=lambda obj: {"metadata": obj["metadata"]})
    seen.store.put(thing("a", 1, spec={}))
    assert seen.store.objects["ns", "a"] == thing("a", 1)
    seen.store.remove(thing("a", 2, spec={}))
    assert seen.changes[1].object == thing("a", 2)


def test_indexes_follow_objects() -> None:
    seen = Recorded(indexers={"owner": lambda obj: obj.get("owners", ())})
    store = seen.store

    def names(key: str) -> list[str]:
        return [obj["metadata"]["name"] for obj in store.by_index("owner", key)]

    store.put(thing("a", 1, owners=["x", "y"]))
    store.put(thing("b", 2, owners=["x"]))
    assert (names("x"), names("y"), names("z")) == (["a", "b"], ["a"], [])
    store.put(thing("a", 3, owners=["y", "z"]))
    assert (names("x"), names("y"), names("z")) == (["b"], ["a"], ["a"])
    store.remove(thing("a", 4))
    store.put(thing("b", 5))
    assert (names("x"), names("y"), names("z")) == ([], [], [])


def test_an_unknown_index_is_an_error() -> None:
    with pytest.raises(KeyError):
        Recorded().store.by_index("nope", "x")


def test_the_store_has_changed_before_it_tells() -> None:
    sizes: list[int] = []
    store = Store(lambda _: sizes.append(len(store.objects)))
    store.put(thing("a", 1))
    store.remove(thing("a", 2))
    assert sizes == [1, 0]


def test_cluster_scoped_objects_have_an_empty_namespace() -> None:
    seen = Recorded()
    seen.store.put({"metadata": {"name": "n", "resourceVersion": "1"}})
    assert list(seen.store.objects) == [("", "n")]
