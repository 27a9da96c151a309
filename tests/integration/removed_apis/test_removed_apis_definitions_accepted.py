"""Upgraded definitions of custom resources: accepted, established, and nothing is pruned."""

from typing import Any

import pytest

from kubeio.client import Client
from kubeio.errors import Invalid
from kubeio.resource import Resource
from kudo.objects.removed_apis import modernized
from tests.integration.removed_apis.yesterday import definition
from tests.support.cluster.waiting import wait_until

Json = dict[str, Any]
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
)
STATUS = {"status": {}, "scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}}
EITHER = [{"type": "string"}, {"type": "integer"}]


def validated(**schema: Any) -> Json:
    return {"validation": {"openAPIV3Schema": schema}}


def field(schema: Any) -> Json:
    """Return a validation whose field `spec.a` has this schema."""
    return validated(properties={"spec": {"properties": {"a": schema, "b": {"type": "string"}}}})


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"subresources": STATUS},
        validated(),
        {**validated(type="object", required=["spec"]), "subresources": STATUS},
        validated(
            properties={
                "apiVersion": {"description": "of the object", "type": "string"},
                "kind": {},
                "metadata": {"properties": {"name": {"maxLength": 9}, "labels": {}}},
                "status": None,
            }
        ),
        validated(nullable=False, oneOf=[{"required": ["spec"]}, {"required": ["data"]}]),
        field({}),
        field(None),
        field({"oneOf": EITHER}),
        field({"anyOf": EITHER, "pattern": "^[0-9]+$"}),
        field({"type": "array"}),
        field({"items": {"properties": {"c": {"minimum": 1}}}}),
        field({"type": "object", "additionalProperties": True}),
        field({"additionalProperties": {"properties": {"c": {}}}}),
        field({"properties": {"c": {}}, "additionalProperties": {"type": "string"}}),
        field({"oneOf": [{"type": "string"}, {"type": "object"}], "properties": {"c": {}}}),
        field({"anyOf": [{"properties": {"unknown": {"enum": [1]}}}], "type": "object"}),
        field({"type": "object", "not": {"type": "object", "required": ["c"]}}),
        {
            "version": "v1",
            "versions": [
                {"name": "v1", "served": True, "storage": True},
                {"name": "v1alpha1", "served": False, "storage": False, "schema": None},
            ],
            "scope": "Cluster",
            "additionalPrinterColumns": [
                {"name": "Size", "type": "integer", "JSONPath": ".spec.size", "priority": 1}
            ],
        },
        {
            "preserveUnknownFields": False,
            **validated(type="object", properties={"spec": {"type": "string"}}),
            "conversion": {
                "strategy": "Webhook",
                "webhookClientConfig": {"url": "https://hooks.example.com/convert"},
            },
        },
    ],
)
@pytest.mark.parametrize("group", ["example.com", "sparkoperator.k8s.io"])
async def test_an_upgraded_definition_is_accepted(spec: Json, group: str, admin: Client) -> None:
    target = modernized(definition("cups", "Cup", group, **spec))
    assert target is not None
    await admin.apply(CRDS, target, field_manager="kudo", dry_run=True, field_validation="Strict")
    await admin.create(CRDS, target, dry_run=True, field_validation="Strict")


async def test_custom_resources_are_validated_and_kept_as_by_the_old_version(
    admin: Client, namespace: str
) -> None:
    old = definition(
        "mugs",
        "Mug",
        **validated(
            properties={
                "spec": {
                    "required": ["size"],
                    "properties": {
                        "size": {"type": "integer", "minimum": 1},
                        "port": {"oneOf": EITHER},
                        "handles": {"items": {"properties": {"side": {"type": "string"}}}},
                    },
                }
            }
        ),
    )
    target = modernized(old)
    assert target is not None
    await admin.apply(CRDS, target, field_manager="kudo")
    await wait_until(lambda: _established(admin, "mugs.example.com"), lambda: "the definition")

    mugs = Resource("example.com", "v1", "Mug", "mugs", namespaced=True)
    for number, port in enumerate(("http", 80)):
        spec = {
            "size": 3,
            "port": port,
            "colour": "red",
            "handles": [{"side": "left", "bent": True, "screws": [{"m": 3}]}],
        }
        mug = _mug(f"m{number}", spec=spec, data={"free": {"form": [1]}})
        created = await admin.apply(mugs, mug, namespace=namespace, field_manager="kudo")
        assert {"spec": created["spec"], "data": created["data"]} == {
            "spec": spec,
            "data": {"free": {"form": [1]}},
        }
    for wrong in ({"size": 0}, {}, {"size": 1, "handles": [{"side": 2}]}):
        with pytest.raises(Invalid):
            await admin.create(mugs, _mug("wrong", spec=wrong), namespace=namespace)


def _mug(name: str, **fields: Any) -> Json:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Mug",
        "metadata": {"name": name},
        **fields,
    }


async def _established(admin: Client, name: str) -> bool:
    # For a moment there is a status whose conditions are null.
    conditions = ((await admin.get(CRDS, name)).get("status") or {}).get("conditions") or []
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
