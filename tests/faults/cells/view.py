"""What the harness sees of the cluster, past the proxy and from before any plan starts.

It watches Instances and Jobs itself: an entry that is overwritten later, a Job that is deleted and
created again, are on record here.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kubeio.cache.informer import Informer
from kubeio.cache.store import Delta
from kubeio.client import Client
from tests.faults.cells.oracle import execution_of, without_run
from tests.support import instances
from tests.support.build import Json
from tests.support.cluster.resources import INSTANCES, JOBS


@dataclass
class View:
    """Instances as they are, and Jobs as they came."""

    instances: Informer
    jobs: Informer
    _created: defaultdict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    _names: dict[str, str] = field(default_factory=dict)
    _last: dict[str, Json] = field(default_factory=dict)
    _waiting: defaultdict[str, asyncio.Event] = field(
        default_factory=lambda: defaultdict(asyncio.Event)
    )

    @classmethod
    @asynccontextmanager
    async def of(cls, client: Client) -> AsyncIterator["View"]:
        """Yield a view that is up to date until the block is left."""
        view = cls(Informer(client, INSTANCES), Informer(client, JOBS))
        view.instances.add_handler(view._instance_changed)
        view.jobs.add_handler(view._job_changed)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one.run()) for one in (view.instances, view.jobs)]
            await view.instances.wait_synced(30)
            await view.jobs.wait_synced(30)
            yield view
            for task in tasks:
                task.cancel()

    def follow(self, namespace: str, name: str) -> None:
        """Say which Instance of a namespace is the one that the plans of its life are of."""
        self._names[namespace] = name

    def instance(self, namespace: str) -> Json | None:
        return self.instances.get(namespace, self._names[namespace])

    def last(self, namespace: str) -> Json:
        """Return the last that was seen of the Instance, also if it is gone."""
        return self._last.get(namespace, {"metadata": {}, "spec": {}})

    def jobs_of(self, namespace: str, uid: str) -> Counter[str]:
        """Return how often each Job was created under an execution uid."""
        return Counter(self._created[namespace, uid])

    async def until(self, namespace: str, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait for a condition on the Instance; return whether it came true in time."""
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._waiting[namespace].clear()
                    await self._waiting[namespace].wait()
        except TimeoutError:
            return condition()
        return True

    def _instance_changed(self, delta: Delta) -> None:
        metadata = delta.object["metadata"]
        namespace = metadata["namespace"]
        if self._names.get(namespace) == metadata["name"]:
            self._last[namespace] = delta.object
            self._waiting[namespace].set()

    def _job_changed(self, delta: Delta) -> None:
        metadata = delta.object["metadata"]
        replaced = delta.old is None or delta.old["metadata"]["uid"] != metadata["uid"]
        if delta.kind != "deleted" and replaced:
            key = (metadata["namespace"], execution_of(delta.object))
            self._created[key][without_run(metadata["name"])] += 1


def run_uid(instance: Json, plan: str) -> str:
    """Return the uid of the run of a plan that is scheduled, or else was last."""
    now = instances.scheduled(instance)
    if now.get("planName") == plan:
        return str(now.get("uid") or "")
    return str(instances.entry(instance, plan).get("uid") or "")
