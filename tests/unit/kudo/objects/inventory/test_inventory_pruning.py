"""Which orphans may be deleted, and in which order."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kudo.api import Instance, OperatorVersion
from kudo.api.identity import InstanceIdentity
from kudo.objects.inventory.orphans import (
    in_order,
    is_given_up,
    may_be_pruned,
    prunes,
    why_kept,
)
from kudo.objects.inventory.record import Entry, Place
from kudo.objects.sharing import MOST_LISTED, shared_by
from tests.unit.kudo.objects.inventory.entries import ONE, config_map, entry

OTHER = InstanceIdentity("ns", "other", "u-other")
ROLE = Place("rbac.authorization.k8s.io", "ClusterRole", "", "r")
DATA = [
    Place("", "PersistentVolumeClaim", "ns", "c"),
    Place("", "PersistentVolume", "", "v"),
    Place("", "Namespace", "", "n"),
    Place("apiextensions.k8s.io", "CustomResourceDefinition", "", "d.example.com"),
]


def ours(place: Place, **annotations: str) -> dict[str, Any]:
    """Return the metadata of a live object of the Instance."""
    if place.namespace:
        owner = {"kind": "Instance", "name": ONE.name, "uid": ONE.uid, "controller": True}
        return {"annotations": annotations, "ownerReferences": [owner]}
    return {"annotations": {"kudo.dev/shared-by": shared_by([ONE, OTHER]), **annotations}}


def why(one: Entry, metadata: Any = None, shared_with: InstanceIdentity | None = None) -> str:
    live = ours(one.place) if metadata is None else metadata
    return why_kept(one, live, ONE, shared_with=shared_with)


def test_the_instance_decides_before_its_version(subtests: pytest.Subtests) -> None:
    table: list[tuple[bool | None, bool | None, bool]] = [
        (None, None, False),
        (None, False, False),
        (None, True, True),
        (False, True, False),
        (True, None, True),
        (True, False, True),
    ]
    for own, of_version, expected in table:
        with subtests.test(own=own, of_version=of_version, expected=expected):
            instance = Instance.from_wire({"spec": {"prune": own}})
            version = OperatorVersion.from_wire({"spec": {"prune": of_version}})
            assert prunes(instance, version) is expected


def test_an_object_of_the_instance_alone_may_be_deleted() -> None:
    for place in [config_map("a"), ROLE]:
        assert why(entry(place)) == ""


def test_children_are_never_deleted(subtests: pytest.Subtests) -> None:
    for kind in ["Instance", "Operator", "OperatorVersion"]:
        with subtests.test(kind=kind):
            place = Place("kudo.dev", kind, "ns", "child")
            live = ours(place, **{"kudo.dev/prune": "true"})
            assert why(entry(place), live) == "objects of kudo.dev are never pruned"


def test_a_retained_object_stays() -> None:
    text = "kudo.dev/deletion-policy says retain"
    live = ours(config_map("a"), **{"kudo.dev/deletion-policy": "retain"})
    assert why(entry("a", retained=True)) == text
    assert why(entry("a"), live) == text


def test_what_another_instance_shares_stays() -> None:
    assert why(entry(ROLE), shared_with=OTHER) == "Instance ns/other shares it"


def test_an_instance_that_only_its_record_names_is_not_named() -> None:
    live = {"annotations": {"kudo.dev/shared-by": shared_by([ONE])}}
    assert why(entry(ROLE), live, shared_with=OTHER) == "another Instance shares it"


def test_what_was_adopted_stays() -> None:
    text = "it existed before the Instance applied it, and holds data"
    assert why(entry("a", adopted=True)) == text


FOREIGN = "it does not belong to the Instance any more"
OWNER = {"kind": "Instance", "name": ONE.name, "uid": ONE.uid}


@pytest.mark.parametrize(
    "live",
    [
        pytest.param({}, id="no owner"),
        pytest.param({"ownerReferences": None}, id="null"),
        pytest.param({"ownerReferences": [OWNER]}, id="not its controller"),
        pytest.param(
            {"ownerReferences": [{**OWNER, "uid": OTHER.uid, "controller": True}]},
            id="an Instance of another uid",
        ),
        pytest.param(
            {"annotations": {"kudo.dev/shared-by": shared_by([ONE])}}, id="a share is no owner"
        ),
    ],
)
def test_an_object_of_the_namespace_that_has_another_owner_stays(live: dict[str, Any]) -> None:
    assert why(entry("a"), live) == FOREIGN


@pytest.mark.parametrize(
    "live",
    [
        pytest.param({}, id="not shared"),
        pytest.param({"annotations": {"kudo.dev/shared-by": shared_by([OTHER])}}, id="by another"),
        pytest.param(
            {"labels": {"heritage": "kudo", "kudo.dev/instance": ONE.name}}, id="of KUDO 0.19"
        ),
        pytest.param(
            {"ownerReferences": [{**OWNER, "controller": True}]}, id="owners do not count"
        ),
    ],
)
def test_a_cluster_scoped_object_that_does_not_name_the_instance_stays(
    live: dict[str, Any],
) -> None:
    assert why(entry(ROLE), live) == FOREIGN


def test_of_many_sharers_the_record_tells() -> None:
    many = [InstanceIdentity("ns", f"one-{n}", f"u-{n}") for n in range(MOST_LISTED)]
    live = {"annotations": {"kudo.dev/shared-by": shared_by(many)}}
    assert why(entry(ROLE), live) == ""
    assert not is_given_up(entry(ROLE), live, ONE)


def test_an_object_that_the_instance_has_applied_is_its_own_whoever_is_listed() -> None:
    live = {"uid": "u", "annotations": {"kudo.dev/shared-by": shared_by([OTHER])}}
    for mine in (entry(ROLE, uid="u"), entry(ROLE, leaving=True)):
        assert why(mine, live) == ""
        assert not is_given_up(mine, live, ONE)
    assert why(entry(ROLE, uid="former"), live) == FOREIGN
    assert is_given_up(entry(ROLE, uid="former"), live, ONE)


def test_what_holds_data_stays_unless_it_says_that_it_may_go(subtests: pytest.Subtests) -> None:
    for place in DATA:
        with subtests.test(place=place):
            expected = 'its kind holds data; kudo.dev/prune: "true" on it permits the deletion'
            assert why(entry(place)) == expected
            assert why(entry(place), ours(place, **{"kudo.dev/prune": "yes"})) == expected
            assert why(entry(place), ours(place, **{"kudo.dev/prune": "true"})) == ""


def test_a_custom_resource_with_the_name_of_such_a_kind_holds_no_data() -> None:
    assert why(entry(Place("example.com", "Namespace", "ns", "a"))) == ""


def test_it_may_go_only_if_nothing_else_keeps_it() -> None:
    place = DATA[0]
    live = ours(place, **{"kudo.dev/prune": "true"})
    assert why(entry(place, retained=True), live)
    assert why(entry(place, adopted=True), live)
    assert why(entry(place), live, shared_with=OTHER)


KINDS = [
    ("scheduling.k8s.io", "PriorityClass"),
    ("", "Namespace"),
    ("", "ServiceAccount"),
    ("", "Secret"),
    ("", "ConfigMap"),
    ("", "PersistentVolumeClaim"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
    ("", "Service"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
    ("networking.k8s.io", "Ingress"),
    ("apiregistration.k8s.io", "APIService"),
    ("example.com", "Anything"),
]
INSTALLED = [entry(Place(group, kind, "ns", "x")) for group, kind in KINDS]


@given(st.permutations(INSTALLED))
def test_kinds_go_in_the_reverse_order_in_which_they_are_installed(entries: list[Entry]) -> None:
    assert list(in_order(entries)) == INSTALLED[::-1]


def test_of_one_kind_the_last_goes_first() -> None:
    same = [entry(name) for name in "abc"]
    assert list(in_order(same)) == same[::-1]


def test_a_kind_is_known_by_its_group() -> None:
    custom = entry(Place("serving.example.com", "Service", "ns", "x"))
    ingress = entry(Place("networking.k8s.io", "Ingress", "ns", "x"))
    assert in_order([custom, ingress]) == (custom, ingress)


def test_what_a_template_lets_prune() -> None:
    table: list[tuple[str, str, Any, bool]] = [
        ("", "ConfigMap", {}, True),
        ("", "ConfigMap", {"kudo.dev/deletion-policy": "retain"}, False),
        ("", "PersistentVolumeClaim", {}, False),
        ("", "PersistentVolumeClaim", {"kudo.dev/prune": "true"}, True),
        ("", "PersistentVolumeClaim", ["kudo.dev/prune"], False),
        ("kudo.dev", "Instance", {"kudo.dev/prune": "true"}, False),
    ]
    for group, kind, annotations, expected in table:
        assert may_be_pruned(group, kind, {"annotations": annotations}) is expected
