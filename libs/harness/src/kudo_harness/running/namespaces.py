"""Creates the namespaces of cases, once each, and reads their events.

A namespace is ready when pods can be created in it.
"""

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Final

from kubeio.client import Client
from kubeio.errors import AlreadyExists, Forbidden, KubeError
from kubeio.resource import EVENTS, NAMESPACES, SERVICE_ACCOUNTS
from kubeio.types import JsonObject
from kudo.api.task_errors import cause_in
from kudo_harness.running.clusters import Cluster
from kudo_harness.running.objects import create_recorded
from kudo_harness.running.record import Record
from kudo_harness.running.waiting import until

_ACCOUNT_SECONDS: Final = 60.0
_POLL: Final = 0.1
_ACCOUNT: Final = "default"

_Key = tuple[str, str]
"""Kubeconfig and name."""


class NamespaceNotReady(Exception):
    """A namespace has no default ServiceAccount in time."""


@dataclass(slots=True)
class Namespaces:
    """The namespaces of a run.

    Attributes:
        record: Where created ones are noted.
    """

    record: Record
    _ready: set[_Key] = field(default_factory=set)
    _locks: dict[_Key, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def ensure(self, cluster: Cluster, name: str, *, scope: str) -> str:
        """Create a namespace unless it is there, and return what was done as a line of the log.

        Cases that share a namespace wait for each other; one of them creates it.

        Args:
            cluster: Where.
            name: Its name.
            scope: What it is deleted with; one that was there before stays.

        Raises:
            KubeError: it cannot be created.
            NamespaceNotReady: it has no default ServiceAccount in time.
        """
        key = (str(cluster.kubeconfig), name)
        async with self._locks[key]:
            if key in self._ready:
                return ""
            created = await self._create(cluster, name, scope)
            await _account(cluster, name)
            self._ready.add(key)
            if created:
                return f"namespace {name} created"
            return f"namespace {name} exists, and stays after the run"

    async def _create(self, cluster: Cluster, name: str, scope: str) -> bool:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        try:
            await create_recorded(cluster, self.record, NAMESPACES, namespace, scope=scope)
        except AlreadyExists:
            return False
        except Forbidden:
            # Users may work in a namespace that they may not create.
            if await cluster.find(NAMESPACES, "", name) is None:
                raise
            return False
        return True


async def _account(cluster: Cluster, namespace: str) -> None:
    """Wait for the default ServiceAccount, without which no pod can be created.

    A cluster without controller manager creates none: there, the namespace `default` has none.
    """
    try:
        if not await _has_account(cluster, "default"):
            return
        async with asyncio.timeout(_ACCOUNT_SECONDS):
            await until(lambda: _has_account(cluster, namespace), every=_POLL)
    except Forbidden:
        return
    except TimeoutError:
        text = (
            f"namespace {namespace} has no default ServiceAccount after {_ACCOUNT_SECONDS:.0f} s; "
            "is the controller manager of the cluster down?"
        )
        raise NamespaceNotReady(text) from None


async def _has_account(cluster: Cluster, namespace: str) -> bool:
    return await cluster.find(SERVICE_ACCOUNTS, namespace, _ACCOUNT) is not None


_MOST: Final = 200
"""Events that are shown, the latest."""
_LONGEST: Final = 1000
"""Characters of a message."""


async def event_lines(client: Client, namespace: str) -> list[str]:
    """Return a line for each of the latest events of a namespace, in their order."""
    latest: list[JsonObject] = []
    total = 0
    try:
        async for page in client.pages(EVENTS, namespace=namespace):
            total += len(page.items)
            latest = sorted([*latest, *page.items], key=_moment)[-_MOST:]
    except KubeError as error:
        return [f"the events of namespace {namespace} cannot be read: {error}"]
    if not latest:
        return [f"no events in namespace {namespace}"]
    shown = f", the latest {_MOST} of {total}" if total > _MOST else ""
    return [f"events of namespace {namespace}{shown}:", *map(_line, latest)]


def _moment(event: JsonObject) -> str:
    time = event.get("lastTimestamp") or event.get("eventTime") or event.get("firstTimestamp")
    return str(time or event["metadata"].get("creationTimestamp") or "")


def _line(event: JsonObject) -> str:
    about: Any = event.get("involvedObject")
    about = about if isinstance(about, dict) else {}
    message = cause_in(str(event.get("message") or "")).strip()
    return (
        f"{_moment(event)}\t{event.get('type')}\t{about.get('kind')} {about.get('name')}\t"
        f"{event.get('reason')}\t{message[:_LONGEST]}"
    )
