"""Informers of kinds that become known at run time; each is started at its first use.

Invariants: one informer for each (resource, selector, metadata only), in the task group
that was passed in. A kind that may not be listed has no informer; for ``refusal_ttl`` seconds
``get`` raises the same error without a request, then it tries again. After a slow list, or another
error, ``get`` returns and the informer retries with backoff.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from kubeio.cache.informer import REFUSALS, Informer
from kubeio.cache.reflector import Status, Timing
from kubeio.cache.store import Delta, Indexer
from kubeio.client import Client
from kubeio.errors import KubeError
from kubeio.resource import Resource
from kubeio.types import Transform

_Key = tuple[str, str, str | None, bool]


@dataclass(slots=True)
class _Running:
    informer: Informer
    task: asyncio.Task[None]
    deadline: float


class Informers:
    """Starts informers on demand, and stops them.

    Args:
        task_group: runs them, and ends them when it is left.
        on_change: called at every change of every informer, with its resource.
        on_status: called at every change of phase, with the resource.
        sync_timeout: seconds from the start of an informer for which ``get`` waits until it has
            synced.
        refusal_ttl: seconds for which the error of a kind that may not be listed is cached.
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
        label_selector: str | None = None,
        metadata_only: bool = False,
        indexers: Mapping[str, Indexer] | None = None,
        transform: Transform | None = None,
    ) -> Informer:
        """Return the informer of a kind, started if necessary; ``has_synced`` may still be False.

        Indexers and transform are those of the first caller.

        Raises:
            Forbidden, NotFound, MethodNotAllowed: the kind may not be listed or is not served.
        """
        key = _key(resource, label_selector, metadata_only)
        until, refusal = self._refused.get(key, (0.0, None))
        if refusal is not None:
            if self._clock() < until:
                # Otherwise each raise would add its frames to the traceback of the cached error.
                raise refusal.with_traceback(None)
            del self._refused[key]
        running = self._running.get(key)
        if running is None:
            on_status = self._on_status
            informer = Informer(
                self._client,
                resource,
                label_selector=label_selector,
                metadata_only=metadata_only,
                indexers=indexers,
                transform=transform,
                on_status=None if on_status is None else partial(on_status, resource),
                timing=self._timing,
                clock=self._clock,
                rng=self._rng,
            )
            running = self._start(key, informer)
        # Counted from the start of the informer: once the time is over, no caller waits for a kind
        # that does not answer, however many there are and however often they ask.
        left = max(0.0, running.deadline - self._clock())
        try:
            await running.informer.wait_synced(left, fail_fast=True)
        except REFUSALS as error:
            self._refuse(key, running, error)
            raise
        except KubeError:
            # The informer keeps the error and retries in its own task.
            return running.informer
        return running.informer

    def find(
        self,
        resource: Resource,
        *,
        label_selector: str | None = None,
        metadata_only: bool = False,
    ) -> Informer | None:
        """Return a running informer, synced or not; None without one.

        Stops one whose kind may no longer be listed, since a right or its CRD was removed.
        """
        key = _key(resource, label_selector, metadata_only)
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
        label_selector: str | None = None,
        metadata_only: bool = False,
    ) -> KubeError | None:
        """Return the cached error of a kind that may not be listed or watched, None without one."""
        key = _key(resource, label_selector, metadata_only)
        _, refusal = self._refused.get(key, (0.0, None))
        return refusal

    def running(self) -> list[Informer]:
        """Return the running informers, synced or not; may be called from any thread."""
        # list() of a dict view is atomic under the GIL, so no other thread changes it meanwhile.
        return [entry.informer for entry in list(self._running.values())]

    def stop(self, resource: Resource) -> None:
        """Stop all informers of a resource, such as one whose CRD was deleted."""
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


def _key(resource: Resource, label_selector: str | None, metadata_only: bool) -> _Key:
    return resource.api_version, resource.plural, label_selector, metadata_only
