"""Tells what there is instead of an object that does not exist."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kubectl_kudo.session.suggestions import closest
from kubectl_kudo.testing.failing.failed import FailedAssert
from kubectl_kudo.testing.failing.reading import first_page
from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import KubeError
from kubeio.resource import Resource
from kudo.api.problems import shown

JsonObject = dict[str, Any]

_MOST_NAMES: Final = 5
_MOST_KINDS: Final = 40
"""Kinds that are searched for the name: each takes one request."""
_AT_A_TIME: Final = 8


def absent_message(failed: FailedAssert, resource: Resource | None, namespace: str) -> str:
    """Return that an object does not exist, in one sentence."""
    scoped = resource is not None and not resource.namespaced
    where = "" if scoped else f" in namespace {failed.namespace(namespace)}"
    if failed.name:
        return f"{failed.kind} {failed.name} does not exist{where}"
    labels = ",".join(f"{key}={value}" for key, value in failed.labels.items())
    with_labels = f" with the labels {shown(labels, 200)}" if labels else ""
    return f"there is no {failed.kind}{with_labels}{where}"


async def others_of_kind(
    client: Client, failed: FailedAssert, resource: Resource, namespace: str
) -> list[str]:
    """Return the names of the kind that there are, nearest first."""
    where = failed.namespace(namespace) if resource.namespaced else None
    found = await first_page(client, resource, where, metadata_only=True)
    if not found:
        return [f"no {failed.kind} at all"]
    if failed.name:
        names = _nearest_first(failed.name, (str(one["metadata"]["name"]) for one in found))
        return [f"{failed.kind} {name}" for name in names[:_MOST_NAMES]] + _more(names)
    lines = [f"{failed.kind} {one['metadata']['name']}{_labels(one)}" for one in found]
    return lines[:_MOST_NAMES] + _more(lines)


async def elsewhere(
    client: Client, failed: FailedAssert, resource: Resource, namespace: str
) -> list[str]:
    """Return objects of the same name in other namespaces, and of other kinds in the same one."""
    if not failed.name:
        return []
    where = failed.namespace(namespace)
    in_others, of_others = await asyncio.gather(
        _in_other_namespaces(client, failed, resource, where),
        _of_other_kinds(client, failed, resource, where),
    )
    return in_others + of_others


async def _in_other_namespaces(
    client: Client, failed: FailedAssert, resource: Resource, namespace: str
) -> list[str]:
    if not resource.namespaced:
        return []
    selector = f"metadata.name={failed.name}"
    try:
        found = await first_page(
            client, resource, None, field_selector=selector, metadata_only=True
        )
    except KubeError:  # not everybody may read all namespaces
        return []
    others = [str(one["metadata"].get("namespace")) for one in found]
    return [
        f"{failed.kind} {failed.name} in namespace {one}" for one in others if one != namespace
    ][:_MOST_NAMES]


async def _of_other_kinds(
    client: Client, failed: FailedAssert, resource: Resource, namespace: str
) -> list[str]:
    kinds = _searched(await Discovery(client).all_resources(), resource)
    room = asyncio.Semaphore(_AT_A_TIME)

    async def has(kind: Resource) -> bool:
        selector = f"metadata.name={failed.name}"
        async with room:
            try:
                return bool(
                    await first_page(
                        client, kind, namespace, field_selector=selector, metadata_only=True
                    )
                )
            except KubeError:
                return False

    found = await asyncio.gather(*map(has, kinds))
    return [
        f"{kind.kind} {failed.name} ({kind.api_version})"
        for kind, there in zip(kinds, found, strict=True)
        if there
    ]


def _searched(resources: Iterable[Resource], own: Resource) -> Sequence[Resource]:
    """Return the kinds in which the name is looked for, those of workloads first."""
    found: dict[tuple[str, str], Resource] = {}
    for one in resources:
        usual = one.namespaced and one.verbs >= {"list", "create", "delete"}
        if usual and one.kind not in {own.kind, "Event"}:
            found.setdefault((one.group, one.kind), one)
    return sorted(found.values(), key=lambda one: (one.group not in {"", "apps"}, one.group))[
        :_MOST_KINDS
    ]


def _nearest_first(name: str, names: Iterable[str]) -> list[str]:
    known = sorted(names)
    near = closest(name, known, most=_MOST_NAMES)
    return [*near, *(one for one in known if one not in near)]


def _more(names: Sequence[str]) -> list[str]:
    more = len(names) - _MOST_NAMES
    return [f"and {more} more"] if more > 0 else []


def _labels(obj: JsonObject) -> str:
    labels = obj["metadata"].get("labels") or {}
    text = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    return f" (labels {shown(text, 200)})" if text else " (no labels)"
