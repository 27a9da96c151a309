"""The forms of names, as the API server has them: DNS labels and subdomains, path segments."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeio.errors import InvalidPath
from kubeio.names import (
    MAX_LABEL,
    MAX_SUBDOMAIN,
    Part,
    api_version_fault,
    is_label,
    is_label_1035,
    is_path_segment,
    is_subdomain,
    name_fault,
)
from kubeio.resource import Resource


@pytest.mark.parametrize("name", ["a", "0", "kafka-0.1.0", "a.b.c", "a--b", "x" * MAX_SUBDOMAIN])
def test_a_name_of_labels_with_dots_between_is_a_subdomain(name: str) -> None:
    assert is_subdomain(name)


@pytest.mark.parametrize(
    "name",
    ["", "A", "a_b", "-a", "a-", ".a", "a.", "a..b", "a.-b", "a-.b", "é", "a\n", "../a", "a/b"],
)
def test_a_name_with_another_character_or_a_label_that_ends_with_a_hyphen_is_none(
    name: str,
) -> None:
    assert not is_subdomain(name)


def test_only_the_whole_has_a_greatest_length() -> None:
    assert is_subdomain(f"{'a' * 200}.b")
    assert not is_subdomain("a" * (MAX_SUBDOMAIN + 1))


@pytest.mark.parametrize("name", ["a", "0a", "a-0", "x" * MAX_LABEL])
def test_a_namespace_is_a_label(name: str) -> None:
    assert is_label(name)
    assert name_fault("namespace", name) == ""


@pytest.mark.parametrize("name", ["", "a.b", "A", "-a", "a_b", "a\n", "x" * (MAX_LABEL + 1)])
def test_what_is_no_label_is_no_namespace(name: str) -> None:
    assert not is_label(name)
    assert "cannot be the namespace" in name_fault("namespace", name)


def test_a_version_and_a_resource_begin_with_a_letter() -> None:
    assert is_label_1035("v1beta1")
    assert not is_label_1035("1v")


@pytest.mark.parametrize("name", ["a", "system:node", "Upper_Case", "...", "a b", "ü", "a?b#c"])
def test_a_name_is_a_path_segment(name: str) -> None:
    assert is_path_segment(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/", "a%2fb", "%", "\ud800"])
def test_what_would_lead_elsewhere_is_no_path_segment(name: str) -> None:
    assert not is_path_segment(name)


@pytest.mark.parametrize(
    "text", ["v1", "v1beta1", "apps/v1", "rbac.authorization.k8s.io/v1", "kudo.dev/v1beta1"]
)
def test_an_api_version_is_a_version_or_a_group_and_a_version(text: str) -> None:
    assert api_version_fault(text) == ""


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "version ''"),
        ("/", "group ''"),
        ("/v1", "group ''"),
        ("apps/", "version ''"),
        ("V1", "version 'V1'"),
        ("a/..", "version '..'"),
        ("../v1", "group '..'"),
        ("a_b/v1", "group 'a_b'"),
        ("apps/v1?watch=1", "version 'v1?watch=1'"),
        ("kudo.dev/v1beta1/operatorversions", "group 'kudo.dev/v1beta1'"),
        ("kudo.dev%2fv1beta1/v1", "group 'kudo.dev%2fv1beta1'"),
    ],
)
def test_the_fault_of_an_api_version_names_the_part(text: str, part: str) -> None:
    what, _, value = part.partition(" ")
    fault = api_version_fault(text)
    assert fault.startswith(f"{text!r} is not an API version: {value} cannot be the {what} in")
    assert "use at most" in fault


def test_messages_quote_only_the_beginning_of_a_long_name() -> None:
    assert len(name_fault("name", "/" * 100_000)) < 300
    assert len(api_version_fault("/" * 100_000)) < 500


_TEXT = st.text(alphabet="av1./%-:?#_ A\ud800ü\n", max_size=12)


@given(_TEXT, _TEXT, _TEXT, _TEXT, _TEXT, _TEXT)
def test_a_path_that_is_made_leads_where_its_parts_say(
    group: str, version: str, plural: str, namespace: str, name: str, subresource: str
) -> None:
    resource = Resource(group, version, "Kind", plural, namespaced=True)
    try:
        path = resource.path(namespace, name, subresource)
    except InvalidPath:
        parts: list[tuple[Part, str]] = [
            ("group", group or "core"),
            ("version", version),
            ("resource", plural),
            ("namespace", namespace),
            ("name", name),
            ("subresource", subresource),
        ]
        assert any(name_fault(part, text) for part, text in parts)
        return
    prefix = ["apis", group] if group else ["api"]
    expected = [*prefix, version, "namespaces", namespace, plural, name, *subresource.split("/")]
    assert unquote(path).split("/") == ["", *expected]
    assert not {"?", "#"} & {*path}
