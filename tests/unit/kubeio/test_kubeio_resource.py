"""Paths of resources, and the small readers of object metadata."""

import pytest

from kubeio.errors import InvalidPath
from kubeio.resource import Resource, name_of, namespace_of, split_api_version
from kubeio.types import copy_json, resource_version

POD = Resource("", "v1", "Pod", "pods", namespaced=True)
NODE = Resource("", "v1", "Node", "nodes", namespaced=False)
DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments", namespaced=True)


@pytest.mark.parametrize(
    ("resource", "where", "path"),
    [
        (POD, (), "/api/v1/pods"),
        (POD, ("ns",), "/api/v1/namespaces/ns/pods"),
        (POD, ("ns", "p"), "/api/v1/namespaces/ns/pods/p"),
        (POD, ("ns", "p", "status"), "/api/v1/namespaces/ns/pods/p/status"),
        (POD, ("ns", "p", "proxy/a b"), "/api/v1/namespaces/ns/pods/p/proxy/a%20b"),
        (NODE, (), "/api/v1/nodes"),
        (NODE, (None, "n"), "/api/v1/nodes/n"),
        (NODE, ("ignored", "n"), "/api/v1/nodes/n"),
        (DEPLOYMENT, ("ns", "d"), "/apis/apps/v1/namespaces/ns/deployments/d"),
        (NODE, (None, "system:node"), "/api/v1/nodes/system:node"),
        (NODE, (None, "a b?c=1#ü"), "/api/v1/nodes/a%20b%3Fc%3D1%23%C3%BC"),
    ],
)
def test_paths_are_built_and_quoted(
    resource: Resource, where: tuple[str | None, ...], path: str
) -> None:
    assert resource.path(*where) == path


@pytest.mark.parametrize("bad", ["", ".", "..", "a%2fb", "\ud800"])
def test_segments_that_would_change_the_path_are_refused(bad: str) -> None:
    with pytest.raises(InvalidPath, match="the name in an API path"):
        POD.path("ns", bad)
    with pytest.raises(InvalidPath, match="the namespace in an API path"):
        POD.path(bad, "p")
    with pytest.raises(InvalidPath, match="the subresource in an API path"):
        POD.path("ns", "p", f"proxy/{bad}")


@pytest.mark.parametrize("bad", ["a/b", "pods/x", "v1/namespaces/other/pods", "A", "a?b", ""])
def test_a_kind_in_another_form_than_that_of_kubernetes_is_refused(bad: str) -> None:
    for resource, part in (
        (Resource(f"{bad}/", "v1", "Kind", "kinds", namespaced=False), "group"),
        (Resource("apps", bad, "Kind", "kinds", namespaced=False), "version"),
        (Resource("apps", "v1", "Kind", bad, namespaced=False), "resource"),
    ):
        with pytest.raises(InvalidPath, match=f"the {part} in an API path"):
            resource.path()


def test_a_namespaced_object_needs_its_namespace() -> None:
    with pytest.raises(ValueError, match="namespaced"):
        POD.path(None, "p")


def test_a_subresource_needs_an_object() -> None:
    with pytest.raises(ValueError, match="needs a name"):
        POD.path("ns", None, "status")


def test_resources_name_themselves() -> None:
    assert (POD.api_version, POD.name) == ("v1", "pods")
    assert (DEPLOYMENT.api_version, DEPLOYMENT.name) == ("apps/v1", "deployments.apps")


def test_api_versions_split_into_group_and_version() -> None:
    assert split_api_version("v1") == ("", "v1")
    assert split_api_version("apps/v1") == ("apps", "v1")


def test_object_metadata_is_read_where_present() -> None:
    assert name_of({"metadata": {"name": "n"}}) == "n"
    assert namespace_of({"metadata": {"namespace": ""}}) is None
    with pytest.raises(ValueError, match=r"Pod without metadata\.name"):
        name_of({"kind": "Pod"})


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), ("0", 0), ("", None), ("x", None), (7, None), ("²", None)]
)
def test_only_decimal_resource_versions_are_numbers(text: object, number: int | None) -> None:
    assert resource_version({"metadata": {"resourceVersion": text}}) == number


def test_copies_share_nothing() -> None:
    original = {"a": [1, {"b": None}]}
    copied = copy_json(original)
    copied["a"][1]["b"] = 2
    assert original == {"a": [1, {"b": None}]}
