"""What is upgraded is accepted by a real API server, without a field that it does not know."""

from typing import Any

import pytest

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import UnknownKind
from kudo.objects.removed_apis import modernized
from tests.integration.removed_apis.yesterday import UPGRADED

Json = dict[str, Any]


def _title(obj: Json) -> str:
    return f"{obj['apiVersion']}-{obj['kind']}-{obj['metadata']['name']}"


@pytest.mark.parametrize("source", UPGRADED, ids=_title)
async def test_an_upgraded_object_is_accepted(source: Json, admin: Client, namespace: str) -> None:
    discovery = Discovery(admin)
    with pytest.raises(UnknownKind):
        await discovery.for_object(source)
    target = modernized(source)
    assert target is not None
    resource = await discovery.for_object(target)
    where = namespace if resource.namespaced else None
    applied = await admin.apply(
        resource,
        target,
        namespace=where,
        field_manager="kudo",
        dry_run=True,
        field_validation="Strict",
    )
    created = await admin.create(
        resource, target, namespace=where, dry_run=True, field_validation="Strict"
    )
    assert applied["apiVersion"] == created["apiVersion"] == target["apiVersion"]
