"""Items of keyed lists that others have brought: which there are, and how they become ours."""

import json
from typing import Any

import pytest

from kudo.api import JsonObject
from kudo.objects.keyed_items import is_edit, items_beside, with_items_taken
from kudo.objects.managed_fields import Writer
from tests.unit.kudo.objects.test_managed_fields import V1, entry, metadata

PORT = {"port": 80, "protocol": "TCP"}
OTHER_PORT = {"port": 8080, "protocol": "TCP"}


def k(**key: object) -> str:
    return f"k:{json.dumps(key)}"


def ports(*keys: dict[str, Any]) -> JsonObject:
    return {"f:spec": {"f:ports": {k(**key): {".": {}, "f:port": {}} for key in keys}}}


def service(*ports: dict[str, Any], **metadata: Any) -> JsonObject:
    spec = {"ports": list(ports)}
    return {"apiVersion": V1, "kind": "Service", "metadata": metadata, "spec": spec}


def live(*entries: JsonObject, ports: list[dict[str, Any]]) -> JsonObject:
    return service(*ports, **metadata(*entries))


def test_edits_by_hand_are_those_of_kubectl() -> None:
    table = [
        ("kubectl-edit", "", True),
        ("kubectl-patch", "", True),
        ("kubectl-replace", "", True),
        ("kubectl-set", "", True),
        ("kubectl-edit", "scale", False),
        ("kubectl", "scale", False),
        ("kubectl-create", "", False),
        ("kubectl-client-side-apply", "", False),
        ("kubectl", "", False),
        ("sidecar-injector", "", False),
        ("kudo", "", False),
    ]
    for manager, subresource, edit in table:
        assert is_edit(Writer(manager, "Update", subresource)) is edit


def test_an_item_that_is_like_one_that_is_gone_was_edited(subtests: pytest.Subtests) -> None:
    table: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]], bool]] = [
        ("kubectl-edit", [PORT], [OTHER_PORT], True),
        ("a-controller", [PORT], [OTHER_PORT], False),
        ("kubectl-edit", [PORT], [PORT, OTHER_PORT], False),
        ("kubectl-edit", [{**PORT, "name": "http"}], [{**OTHER_PORT, "name": "http"}], True),
        ("kubectl-edit", [{**PORT, "name": "http"}], [{**OTHER_PORT, "name": "web"}], False),
        ("kubectl-edit", [{"port": 80}], [OTHER_PORT], True),
        ("kubectl-edit", [PORT, {**PORT, "port": 81}], [PORT, OTHER_PORT], True),
    ]
    for manager, before, after, edited in table:
        with subtests.test(manager=manager, before=before, after=after, edited=edited):
            found = live(
                entry("kudo", "Apply", ports(PORT)),
                entry(manager, fields=ports(OTHER_PORT)),
                ports=after,
            )
            [item] = items_beside(found, service(*before))
            assert str(item) == "spec.ports[port=8080,protocol=TCP]"
            assert item.edited is edited
            assert items_beside(found, service({"port": 8080})) == [], (
                "the protocol is the default one"
            )


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(metadata(entry("kudo", "Apply", ports(OTHER_PORT))), id="ours"),
        pytest.param(
            metadata(entry("kubectl-edit", fields=ports(OTHER_PORT), subresource="status")),
            id="of a subresource",
        ),
        pytest.param(
            metadata(entry("kubectl-edit", fields=ports(OTHER_PORT), api_version="apps/v0")),
            id="of another version",
        ),
        pytest.param(
            metadata(entry("kubectl-edit", fields={"f:spec": {"f:items": {k(a=1): {}}}})),
            id="in a list that the template lacks",
        ),
        pytest.param(
            metadata(entry("kubectl-edit", fields={"f:metadata": {"f:ports": {k(a=1): {}}}})),
            id="an owner",
        ),
        pytest.param(metadata(entry("kubectl-edit", fields={"k:[": 1, "f:spec": []})), id="broken"),
    ],
)
def test_nothing_else_is_beside(found: JsonObject) -> None:
    target = service(PORT) | {"metadata": {"ports": []}}
    assert items_beside(service(OTHER_PORT, **found), target) == []


def test_items_become_ours_and_all_else_stays() -> None:
    edited = ports(PORT, OTHER_PORT)
    edited["f:spec"]["f:replicas"] = {}
    found = [
        entry("kudo", "Apply", ports(PORT)),
        entry("kubectl-edit", fields=edited),
        entry("kubectl-patch", fields=ports(OTHER_PORT)),
        entry("controller", fields=ports(OTHER_PORT)),
    ]
    items = items_beside(live(*found, ports=[PORT, OTHER_PORT]), service(PORT, {"port": 1}))
    taken = with_items_taken(found, items, V1)
    left = ports(PORT)
    left["f:spec"]["f:replicas"] = {}
    assert taken == [
        entry("kudo", "Apply", ports(PORT, OTHER_PORT)),
        entry("kubectl-edit", fields=left),
        entry("controller", fields=ports(OTHER_PORT)),
    ]


def test_a_variable_of_a_container_of_the_template_is_told_with_its_container() -> None:
    variables: JsonObject = {"f:env": {k(name="DEBUG"): {".": {}}}}
    fields = {"f:spec": {"f:containers": {k(name="c"): variables}}}
    container = {"name": "c", "env": [{"name": "A", "value": "1"}]}
    target = {"apiVersion": V1, "spec": {"containers": [container]}}
    found = [entry("kudo", "Apply", {"f:spec": {"f:a": {}}}), entry("kubectl-set", fields=fields)]
    edited = {"name": "c", "env": [{"name": "DEBUG", "value": "1"}]}
    stored = {"metadata": metadata(*found), "spec": {"containers": [edited]}}
    [item] = items_beside(stored, target)
    assert str(item) == "spec.containers[name=c].env[name=DEBUG]"
    assert with_items_taken(found, [item], V1) == [
        entry("kudo", "Apply", {"f:spec": {"f:a": {}, "f:containers": {k(name="c"): variables}}})
    ]


def test_nothing_is_taken_where_we_have_applied_nothing_in_this_version(
    subtests: pytest.Subtests,
) -> None:
    for ours in [[], [entry("kudo", "Apply", {}, "apps/v0")]]:
        with subtests.test(ours=ours):
            found = [*ours, entry("kubectl-edit", fields=ports(OTHER_PORT))]
            items = items_beside(live(*found, ports=[OTHER_PORT]), service(PORT))
            assert items[0].edited
            assert with_items_taken(found, items, V1) is None
            assert with_items_taken([entry("kudo", "Apply", {})], [], V1) is None
