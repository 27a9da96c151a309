"""Informers for kinds that become known at run time, started when first asked for.

Invariants: one informer per (resource, namespace, selector, metadata only), running in the task
group that was passed in. A kind whose list is refused has no informer; asking again within
``refusal_ttl`` seconds gives the same refusal without a request, later it is tried anew. A list
that is slow, or fails in another way, holds nobody: its informer goes on trying with backoff.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kubeio.cache.informer import REFUSALS, Informer
from kubeio.cache.reflector import Status, Timing
from kubeio.cache.store import Delta, Indexer
from kubeio.client import Client
from kubeio.errors import KubeError
from kubeio.resource import Resource
from kubeio.types import Transform

_Key = tuple[str, str, str | None, str | None, bool]


@dataclass(slots=True)
class _Running:
    informer: Informer
    task: asyncio.Task[None]
    deadline: float


class Informers:
    """Gets or starts informers.

    Args:
        client: used by all of them.
        task_group: where they run; leaving it ends them.
        on_change: told of every change of every informer, with its resource.
        on_status: told of every change of phase, with the resource.
        sync_timeout: seconds after the start of an informer in which ``get`` waits for its first
            list.
        refusal_ttl: seconds for which a refusal is remembered.
        timing: of the lists and watches of all of them.
        clock: monotonic seconds.
        rng: source of jitter.
    """

    def __init__(
        self,
        client: Client,
        task_group: asyncio.TaskGroup,
        *,
        on_change: Callable[[Resource, Delta], None] | None = None,
        on_status: Callable[[Resource, Status], None] | None = None,
        sync_timeout: float = 1.0,
        refusal_ttl: float = 30.0,
        timing: Timing | None = None,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random | None = None,
    ) -> None:
        self._client = client
        self._group = task_group
        self._on_change = on_change
        self._on_status = on_status
        self._sync_timeout = sync_timeout
        self._refusal_ttl = refusal_ttl
        self._timing = timing
        self._clock = clock
        self._rng = rng
        self._running: dict[_Key, _Running] = {}
        self._refused: dict[_Key, tuple[float, KubeError]] = {}

    async def get(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        metadata_only: bool = False,
        indexers: Mapping[str, Indexer] | None = None,
        transform: Transform | None = None,
    ) -> Informer:
        """Return the informer of a kind, synced or not yet (``has_synced``), started if need be.

        The first caller's indexers and transform count.

        Raises:
            Forbidden, NotFound, MethodNotAllowed: the kind cannot be listed.
        """
        key = _key(resource, namespace, label_selector, metadata_only)
        self._raise_remembered(key)
        running = self._running.get(key)
        if running is None:
            informer = Informer(
                self._client,
                resource,
                namespace=namespace,
                label_selector=label_selector,
                metadata_only=metadata_only,
                indexers=indexers,
                transform=transform,
                on_status=self._status_hook(resource),
                timing=self._timing,
                clock=self._clock,
                rng=self._rng,
            )
            running = self._start(key, informer)
        # Counted from the start: of many who ask for a kind that does not answer, and of one who
        # asks again and again, none waits once this time is over.
        left = max(0.0, running.deadline - self._clock())
        try:
            await running.informer.wait_synced(left, fail_fast=True)
        except REFUSALS as refusal:
            self._refuse(key, running, refusal)
            raise
        except KubeError:
            # The informer keeps the error, and goes on trying beside its callers.
            return running.informer
        return running.informer

    def find(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        metadata_only: bool = False,
    ) -> Informer | None:
        """Return an informer that was started, synced or not; None if there is none.

        One that is refused by now, since a right or a CRD was taken away, is stopped.
        """
        key = _key(resource, namespace, label_selector, metadata_only)
        running = self._running.get(key)
        if running is None:
            return None
        if isinstance(running.informer.error, REFUSALS):
            self._refuse(key, running, running.informer.error)
            return None
        return running.informer

    def refusal(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        metadata_only: bool = False,
    ) -> KubeError | None:
        """Return why a kind could not be listed or watched when it was asked for last."""
        key = _key(resource, namespace, label_selector, metadata_only)
        _, refusal = self._refused.get(key, (0.0, None))
        return refusal

    def running(self) -> list[Informer]:
        """Return the informers that were started, synced or not; from any thread."""
        # One step of the interpreter makes the inner list, so nothing is started meanwhile.
        return [one.informer for one in list(self._running.values())]

    def stop(self, resource: Resource) -> None:
        """End all informers of a resource, such as one whose CRD is gone."""
        for key, running in tuple(self._running.items()):
            if key[:2] == (resource.api_version, resource.plural):
                self._stop(key, running)

    def _start(self, key: _Key, informer: Informer) -> _Running:
        if self._on_change is not None:
            on_change, resource = self._on_change, informer.resource
            informer.add_handler(lambda delta: on_change(resource, delta))
        name = f"informer {informer.resource.name}"
        task = self._group.create_task(informer.run(), name=name)
        running = _Running(informer, task, self._clock() + self._sync_timeout)
        self._running[key] = running
        return running

    def _stop(self, key: _Key, running: _Running) -> None:
        if self._running.get(key) is running:
            del self._running[key]
            running.task.cancel()

    def _refuse(self, key: _Key, running: _Running, refusal: KubeError) -> None:
        self._refused[key] = (self._clock() + self._refusal_ttl, refusal)
        self._stop(key, running)

    def _raise_remembered(self, key: _Key) -> None:
        until, refusal = self._refused.get(key, (0.0, None))
        if refusal is None:
            return
        if self._clock() < until:
            # Each raise would otherwise add its frames to an error that is raised many times.
            raise refusal.with_traceback(None)
        del self._refused[key]

    def _status_hook(self, resource: Resource) -> Callable[[Status], None] | None:
        if self._on_status is None:
            return None
        on_status = self._on_status
        return lambda status: on_status(resource, status)


def _key(
    resource: Resource, namespace: str | None, label_selector: str | None, metadata_only: bool
) -> _Key:
    return resource.api_version, resource.plural, namespace, label_selector, metadata_only
