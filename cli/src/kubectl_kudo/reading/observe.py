"""Watches one Instance: its present state, then every change, across lost connections."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from kubectl_kudo.session.kinds import INSTANCES
from kubectl_kudo.session.output import JsonObject, talk
from kubeio.backoff import Backoff
from kubeio.client import Client
from kubeio.errors import ConnectionLost, Gone, KubeError, ServerError, TooManyRequests

_TRANSIENT = (ConnectionLost, Gone, ServerError, TooManyRequests)


async def observe(
    client: Client, namespace: str, name: str
) -> AsyncGenerator[JsonObject | None, None]:
    """Yield the Instance as it is and as it changes; None while there is none.

    Never ends by itself; close it. Changes between two connections may be missed, but not
    the state after them.

    Raises:
        KubeError: the API server returned an error that a retry does not change.
    """
    backoff, lost = Backoff(cap=5.0), False
    while True:
        failure: KubeError | None = None
        try:
            async with aclosing(_until_lost(client, namespace, name)) as states:
                async for state in states:
                    backoff.reset()
                    lost = False
                    yield state
        except _TRANSIENT as error:
            failure = error
            if not lost and not isinstance(error, Gone):
                talk(f"lost the watch of instance {namespace}/{name}, trying again: {error}")
            lost = True
        # Also after a watch that ended as planned: a proxy may end each of them at once.
        await asyncio.sleep(backoff.next(failure))


async def _until_lost(
    client: Client, namespace: str, name: str
) -> AsyncGenerator[JsonObject | None, None]:
    only = f"metadata.name={name}"
    found = await client.list(INSTANCES, namespace=namespace, field_selector=only)
    yield found.items[0] if found.items else None
    watch = client.watch(
        INSTANCES,
        namespace=namespace,
        field_selector=only,
        resource_version=found.resource_version,
    )
    async with aclosing(watch) as events:
        async for event in events:
            if event.type != "BOOKMARK":
                yield None if event.type == "DELETED" else event.object
