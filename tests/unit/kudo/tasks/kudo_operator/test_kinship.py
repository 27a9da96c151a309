"""Whose child an existing Instance is, and who its ancestors are."""

from collections.abc import Mapping

import pytest

from kudo.api import Instance, JsonObject
from kudo.api.task_kinds import FatalTaskError
from kudo.tasks.kudo_operator import Child, Kin, check_ancestors, kin_of, refusal

OURS = "kudo.dev/v1beta1"


def owner(name: str, uid: str, kind: str = "Instance", api_version: str = OURS) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": uid}


def instance(name: str, *owners: JsonObject, uid: str = "") -> Instance:
    metadata = {"name": name, "namespace": "ns", "uid": uid or name, "ownerReferences": [*owners]}
    return Instance.from_wire({"metadata": metadata})


PARENT = instance("parent")
CHILD = Child("have", "ns", "child", "op", ("ns", "op-1"), {})


def test_only_the_uid_of_an_owner_makes_a_child_ours() -> None:
    table: list[tuple[list[JsonObject], Kin]] = [
        ([owner("parent", "parent")], Kin.OURS),
        ([owner("other", "other"), owner("parent", "parent")], Kin.OURS),
        ([owner("parent", "earlier")], Kin.ORPHAN),
        ([], Kin.FOREIGN),
        ([owner("other", "other")], Kin.FOREIGN),
        ([owner("parent", "earlier"), owner("other", "other")], Kin.FOREIGN),
        ([owner("parent", "a", kind="Deployment", api_version="apps/v1")], Kin.FOREIGN),
        ([owner("parent", "a", api_version="example.org/v1")], Kin.FOREIGN),
        ([owner("parent", "a", kind="Operator")], Kin.FOREIGN),
    ]
    for owners, kin in table:
        assert kin_of(instance("child", *owners), PARENT) is kin


@pytest.mark.parametrize(
    ("owners", "whose"),
    [
        ([], "was not created by this Instance"),
        ([owner("other", "o"), owner("d", "d", kind="App")], "belongs to Instance other, App d"),
    ],
)
def test_the_refusal_says_whose_it_is_and_what_to_do(owners: list[JsonObject], whose: str) -> None:
    error = refusal(CHILD, instance("child", *owners))

    assert error.reason == "TaskEnhancementError"
    assert str(error) == (
        f"Instance ns/child exists and {whose}; delete it (kubectl kudo uninstall --instance child "
        "-n ns), or give task have another instanceName"
    )


# Ancestors


def family(*members: Instance) -> Mapping[str, Instance]:
    return {one.metadata.name: one for one in members}


def cycle_of(parent: Instance, known: Mapping[str, Instance]) -> str:
    """Return what is said of `child` as a child of `parent`; empty if nothing is wrong."""
    try:
        check_ancestors(CHILD, parent, lambda _namespace, name: known.get(name))
    except FatalTaskError as error:
        return f"{error.reason}: {error}"
    return ""


def test_an_instance_is_not_its_own_child() -> None:
    me = instance("child")
    assert cycle_of(me, {}) == (
        "CircularDependency: Instance ns/child would be a child of itself: child -> child; "
        "give task have another instanceName"
    )


def test_nor_the_child_of_its_descendant() -> None:
    top = instance("child")
    middle = instance("middle", owner("child", "child"))
    below = instance("below", owner("middle", "middle"))
    assert "child -> middle -> below -> child;" in cycle_of(below, family(top, middle, below))


def test_an_ancestor_by_its_second_parent_counts() -> None:
    below = instance("below", owner("other", "other"), owner("child", "child"))
    known = family(instance("other"), instance("child"), below)
    assert "child -> below -> child;" in cycle_of(below, known)


def test_any_other_name_is_no_ancestor() -> None:
    table: list[Mapping[str, Instance]] = [
        {},
        family(instance("top")),
        # An Instance of that name that is not the owner any more.
        family(instance("top", owner("child", "child")), instance("child", uid="later")),
        # Owners that own each other, which the API server does not rule out.
        family(instance("top", owner("below", "below")), instance("below", owner("top", "top"))),
    ]
    for known in table:
        assert cycle_of(instance("below", owner("top", "top")), known) == ""
