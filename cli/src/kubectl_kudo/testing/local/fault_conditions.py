"""Waits until an object is in the state that a fault waits for.

Watches it, so that a state which lasts only for milliseconds is seen.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, Final

from kubeio.client import Client
from kubeio.discovery import Discovery
from kubeio.errors import ConnectionLost, Gone, UnknownKind
from kubeio.resource import Resource
from kudo_harness.matching import best_match
from kudo_harness.suite import Document, ListMatching

_PAUSE: Final = 1.0
"""Seconds until the kind or a lost connection is tried again."""
_WATCH_SECONDS: Final = 60


async def await_match(
    client: Client, namespace: str, when: Document, lists: ListMatching
) -> AsyncGenerator[str, None]:
    """Yield why an object does not match yet, each time it changes; end when it matches."""
    discovery = Discovery(client)
    while True:
        try:
            resource = await discovery.resolve(*_kind(when))
            watched = _watched(client, resource, namespace, when, lists)
            async with aclosing(watched):
                async for problem in watched:
                    if not problem:
                        return
                    yield problem
        except UnknownKind as error:
            yield str(error)
        except Gone:
            continue
        except ConnectionLost as error:
            yield str(error)
        await asyncio.sleep(_PAUSE)


async def _watched(
    client: Client, resource: Resource, namespace: str, when: Document, lists: ListMatching
) -> AsyncGenerator[str, None]:
    """Yield how the object differs now and after each change; empty if it matches."""
    metadata: Any = when.value["metadata"]
    scope = (metadata.get("namespace") or namespace) if resource.namespaced else None
    named = f"metadata.name={metadata['name']}"
    listed = await client.list(resource, namespace=scope, field_selector=named)
    yield _difference(when, listed.items, lists)
    changes = client.watch(
        resource,
        namespace=scope,
        resource_version=listed.resource_version,
        field_selector=named,
        timeout_seconds=_WATCH_SECONDS,
    )
    async with aclosing(changes):
        async for change in changes:
            if change.type in {"ADDED", "MODIFIED"}:
                yield _difference(when, [change.object], lists)


def _difference(when: Document, found: list[dict[str, Any]], lists: ListMatching) -> str:
    match = best_match(when, found, lists)
    if match.holds:
        return ""
    if match.candidate is None:
        metadata: Any = when.value["metadata"]
        return f"{when.value['kind']} {metadata['name']} of when does not exist"
    return f"when does not match: {match.differences[0]}"


def _kind(when: Document) -> tuple[str, str]:
    return str(when.value["apiVersion"]), str(when.value["kind"])
