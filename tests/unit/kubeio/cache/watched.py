"""Informers that run against a fake API server, and what they tell."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kubeio.cache.informer import Informer
from kubeio.cache.reflector import Status, Timing
from kubeio.cache.store import Delta
from kubeio.client import Client
from kubeio.errors import KubeError
from tests.unit.kubeio.fake_api import WIDGET, FakeApi

FAST = Timing(backoff=(0.01, 0.05), steady=10.0)


class Watched:
    """A running informer and everything that it told."""

    def __init__(self, client: Client, **options: Any) -> None:
        self.changes: list[Delta] = []
        self.statuses: list[Status] = []
        options.setdefault("timing", FAST)
        self.informer = Informer(client, WIDGET, on_status=self.statuses.append, **options)
        self.informer.add_handler(self.changes.append)

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(one.kind, one.object["metadata"]["name"]) for one in self.changes]

    @property
    def errors(self) -> list[type[KubeError]]:
        return [type(one.error) for one in self.statuses if one.error is not None]

    def versions(self) -> dict[str, str]:
        return {
            obj["metadata"]["name"]: obj["metadata"]["resourceVersion"]
            for obj in self.informer.list()
        }


def truth(api: FakeApi) -> dict[str, str]:
    return {name: obj["metadata"]["resourceVersion"] for name, obj in api.objects.items()}


@asynccontextmanager
async def running(client: Client, *, synced: bool = True, **options: Any) -> AsyncIterator[Watched]:
    watched = Watched(client, **options)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(watched.informer.run())
        if synced:
            await watched.informer.wait_synced(5)
        yield watched
        task.cancel()
