"""`kubectl apply` in memory: what it sends, and the words around what the API server says."""

import json
from collections.abc import Sequence
from typing import Final

from kubeio.client import Client
from kubeio.errors import AlreadyExists, ApiError
from kubeio.resource import Resource
from tests.support.apiserver.cluster import MemoryCluster
from tests.support.build import Json
from tests.support.cluster.commands import Done

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_QUERY: Final = {"fieldManager": "kubectl-client-side-apply", "fieldValidation": "Strict"}


async def applied(
    cluster: MemoryCluster, user: str, namespace: str, objects: Sequence[Json]
) -> Done:
    """Write objects one after the other; what is refused does not keep the others from it."""
    client, _ = cluster.client(user=user)
    shown: list[str] = []
    client.on_warning = lambda text: shown.append(f"Warning: {text}")
    errors = [await _refusal(client, _resource(cluster, obj), namespace, obj) for obj in objects]
    shown += filter(None, errors)
    return Done(int(any(errors)), "", "".join(f"{text}\n" for text in shown))


async def _refusal(client: Client, resource: Resource, namespace: str, obj: Json) -> str:
    """Write an object; return what kubectl says of its refusal, an empty text if there is none."""
    place = obj["metadata"].get("namespace", namespace) if resource.namespaced else None
    wanted = _annotated(obj, place)
    try:
        await client.raw("POST", resource.path(place), query=_QUERY, body=wanted)
    except AlreadyExists:
        return await _refusal_of_change(client, resource, place, wanted)
    except ApiError as error:
        return _text(error, 'error when creating "STDIN"')
    return ""


async def _refusal_of_change(
    client: Client, resource: Resource, namespace: str | None, wanted: Json
) -> str:
    """Patch what exists: with what is wanted, and without what was applied and is so no more.

    kubectl patches kinds that it has types of by their lists' keys. Nothing here applies a changed
    list, so a merge patch does for all.
    """
    name = wanted["metadata"]["name"]
    stored = await client.get(resource, name, namespace=namespace)
    annotations = stored["metadata"].get("annotations") or {}
    patch = _with_nulls(json.loads(annotations.get(_LAST_APPLIED, "{}")), wanted)
    try:
        await client.raw(
            "PATCH",
            resource.path(namespace, name),
            query=_QUERY,
            body=patch,
            content_type="application/merge-patch+json",
        )
    except ApiError as error:
        return _text(error, f'error when applying patch:\n{json.dumps(patch)}\nto: "STDIN"')
    return ""


def _with_nulls(before: Json, wanted: Json) -> Json:
    """Return a merge patch that makes `wanted` of an object and removes what was there before."""
    patch: Json = {key: None for key in before if key not in wanted}
    for key, value in wanted.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            value = _with_nulls(old, value)
        patch[key] = value
    return patch


def _text(error: ApiError, doing: str) -> str:
    if error.reason == "Invalid":
        kind, name = error.details.get("kind"), error.details.get("name")
        told = [f"{cause.field}: {cause.message}" for cause in error.causes]
        return f'The {kind} "{name}" is invalid: {", ".join(told)}'
    return f"Error from server ({error.reason}): {doing}: {error.message}"


def _resource(cluster: MemoryCluster, obj: Json) -> Resource:
    kind = cluster.server.registry.of_kind(obj["apiVersion"], obj["kind"])
    assert kind is not None, obj
    return Resource(kind.group, kind.version, kind.kind, kind.plural, kind.namespaced)


def _annotated(obj: Json, namespace: str | None) -> Json:
    """Return the object with what `kubectl apply` leaves on it."""
    place = {"namespace": namespace} if namespace else {}
    metadata = {"annotations": {}, **place, **obj["metadata"]}
    text = json.dumps({**obj, "metadata": metadata})
    annotations = {**metadata["annotations"], _LAST_APPLIED: text}
    return {**obj, "metadata": {**metadata, "annotations": annotations}}
