"""ResourceQuotas that hold at once."""

from collections.abc import Mapping

from kubeio.client import Client
from kubeio.resource import Resource
from tests.support.build import Json

QUOTAS = Resource("", "v1", "ResourceQuota", "resourcequotas", namespaced=True)


async def create_quota(
    client: Client, namespace: str, name: str, *, hard: Mapping[str, int], used: int = 0
) -> None:
    """Create a quota, each of whose resources is used so many times.

    The API server reads limits and use from the status. The controller manager would write it, but
    counts nothing for minutes while kinds come and go in the cluster, as they do in tests.
    """
    limits = {resource: str(number) for resource, number in hard.items()}
    quota: Json = {
        "apiVersion": QUOTAS.api_version,
        "kind": QUOTAS.kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": limits},
    }
    await client.create(QUOTAS, quota)
    status = {"hard": limits, "used": dict.fromkeys(limits, str(used))}
    await _patch(client, namespace, name, {"status": status}, "status")


async def change_quota(
    client: Client, namespace: str, name: str, *, hard: Mapping[str, int]
) -> None:
    """Change the limits of a quota, for the API server as well."""
    limits = {"hard": {resource: str(number) for resource, number in hard.items()}}
    await _patch(client, namespace, name, {"spec": limits}, None)
    await _patch(client, namespace, name, {"status": limits}, "status")


async def _patch(
    client: Client, namespace: str, name: str, patch: Json, subresource: str | None
) -> None:
    await client.merge_patch(QUOTAS, name, patch, namespace=namespace, subresource=subresource)
