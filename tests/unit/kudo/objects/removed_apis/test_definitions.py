"""CustomResourceDefinitions of v1beta1: what belongs to each version, and what else v1 asks for."""

from typing import Any

import pytest

from kudo.objects.removed_apis import modernized

Json = dict[str, Any]
PRESERVE = "x-kubernetes-preserve-unknown-fields"
OPEN = {"openAPIV3Schema": {"type": "object", PRESERVE: True}}
NAMES = {"kind": "Cup", "plural": "cups"}


def crd(metadata: Json | None = None, **spec: Any) -> Json:
    return {
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "cups.example.com", **(metadata or {})},
        "spec": {"group": "example.com", "names": NAMES, **spec},
    }


def upgraded(source: Json) -> Json:
    target = modernized(source)
    assert target is not None
    assert target["apiVersion"] == "apiextensions.k8s.io/v1"
    return target


def spec_of(**spec: Any) -> Any:
    return upgraded(crd(**spec))["spec"]


def version(name: str = "v1", **fields: Any) -> Json:
    return {"name": name, "served": True, "storage": True, **fields}


def test_a_single_version_becomes_a_list_and_the_defaults_are_written_out() -> None:
    assert spec_of(version="v1") == {
        "group": "example.com",
        "names": NAMES,
        "scope": "Namespaced",
        "preserveUnknownFields": False,
        "versions": [version(schema=OPEN)],
    }


def test_version_beside_versions_only_named_the_first_of_them() -> None:
    versions = [version("v2", storage=False), version("v1")]
    spec = spec_of(version="v2", versions=versions, scope="Cluster")
    assert [v["name"] for v in spec["versions"]] == ["v2", "v1"]
    assert "version" not in spec
    assert spec["scope"] == "Cluster"


def test_what_held_for_all_versions_stands_in_each() -> None:
    column = {"name": "Size", "type": "string", "JSONPath": ".spec.size"}
    spec = spec_of(
        versions=[version("v1"), version("v2", storage=False)],
        validation={"openAPIV3Schema": {"type": "object"}},
        subresources={"status": {}},
        additionalPrinterColumns=[column],
    )
    fields = {
        "schema": OPEN,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Size", "type": "string", "jsonPath": ".spec.size"},
        ],
    }
    assert spec["versions"] == [version("v1", **fields), version("v2", storage=False, **fields)]
    assert not {"validation", "subresources", "additionalPrinterColumns"} & spec.keys()
    first, second = spec["versions"]
    assert all(first[name] is not second[name] for name in fields)


def test_what_a_version_says_itself_stays() -> None:
    columns = [{"name": "Age", "type": "date", "JSONPath": ".metadata.creationTimestamp"}]
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "string"}}}}
    found = spec_of(versions=[version(schema=schema, additionalPrinterColumns=columns)])
    assert found["versions"][0]["schema"]["openAPIV3Schema"]["properties"] == {
        "spec": {"type": "string"}
    }
    assert found["versions"][0]["additionalPrinterColumns"][0]["jsonPath"] == (
        ".metadata.creationTimestamp"
    )


def test_a_definition_that_prunes_keeps_its_schema_as_it_is() -> None:
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    spec = spec_of(
        version="v1", preserveUnknownFields=False, validation={"openAPIV3Schema": schema}
    )
    assert spec["versions"][0]["schema"] == {"openAPIV3Schema": schema}
    assert spec["preserveUnknownFields"] is False


def test_nothing_is_pruned_where_nothing_was_pruned(subtests: pytest.Subtests) -> None:
    for keep in [None, True]:
        with subtests.test(keep=keep):
            schema = {"properties": {"spec": {"properties": {"size": {"type": "string"}}}}}
            spec = spec_of(
                version="v1", preserveUnknownFields=keep, validation={"openAPIV3Schema": schema}
            )
            root = spec["versions"][0]["schema"]["openAPIV3Schema"]
            assert spec["preserveUnknownFields"] is False
            assert root[PRESERVE] is True
            assert root["properties"]["spec"][PRESERVE] is True


CLIENT = {"service": {"namespace": "n", "name": "s"}}


def test_a_conversion_webhook_is_a_mapping_of_its_own() -> None:
    table: list[tuple[Any, Any]] = [
        ({"strategy": "None"}, {"strategy": "None"}),
        (
            {"strategy": "Webhook", "webhookClientConfig": CLIENT},
            {
                "strategy": "Webhook",
                "webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v1beta1"]},
            },
        ),
        (
            {
                "strategy": "Webhook",
                "webhookClientConfig": CLIENT,
                "conversionReviewVersions": ["v1", "v1beta1"],
            },
            {
                "strategy": "Webhook",
                "webhook": {"clientConfig": CLIENT, "conversionReviewVersions": ["v1", "v1beta1"]},
            },
        ),
        (
            {"strategy": "Webhook"},
            {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1beta1"]}},
        ),
        ("Webhook", "Webhook"),
    ]
    for conversion, expected in table:
        assert spec_of(version="v1", conversion=conversion)["conversion"] == expected


APPROVAL = "api-approved.kubernetes.io"


def test_groups_that_look_like_those_of_kubernetes_say_that_they_are_unapproved(
    subtests: pytest.Subtests,
) -> None:
    table: list[tuple[Any, bool]] = [
        ("sparkoperator.k8s.io", True),
        ("k8s.io", True),
        ("apps.kubernetes.io", True),
        ("notk8s.io", False),
        ("example.com", False),
        (None, False),
    ]
    for group, annotated in table:
        with subtests.test(group=group, annotated=annotated):
            metadata = upgraded(crd(version="v1", group=group))["metadata"]
            text = metadata.get("annotations", {}).get(APPROVAL, "")
            assert text.startswith("unapproved") is annotated


def test_an_approval_that_is_there_stays() -> None:
    annotations = {APPROVAL: "https://example.com/review/1"}
    source = crd({"annotations": annotations}, version="v1", group="a.k8s.io")
    assert upgraded(source)["metadata"]["annotations"] == annotations


def test_a_field_that_is_not_understood_stays_for_the_api_server() -> None:
    table: list[tuple[str, Any]] = [
        ("versions", "v1"),
        ("versions", [1, None]),
        ("preserveUnknownFields", "no"),
        ("names", []),
        ("scope", 5),
    ]
    for field, value in table:
        assert spec_of(**{field: value})[field] == value


def test_a_schema_that_is_not_understood_stays_for_the_api_server() -> None:
    for schema in ["x", {"openAPIV3Schema": "x"}]:
        assert spec_of(versions=[version(schema=schema)])["versions"][0]["schema"] == schema
