"""Names the pod that an unhealthy object waits for, from the caches that watches keep up to date.

No object is requested: the kinds are those that make an Instance Ready, which are watched anyway.
The one exception is a pod whose termination message is shown, and unknown when its Job has failed.
An account that may not get them learns no causes: if there is one to be told, a review asks.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from kubeio.client import Client
from kubeio.errors import ApiError, ConnectionLost
from kubeio.resource import DEPLOYMENTS, PODS, REPLICA_SETS
from kudo.api import JsonObject
from kudo.objects.health import (
    cause_of,
    has_pods,
    telling_pods,
    termination_message,
    unready_pods,
)
from kudo_reconciler.common.keys import Key
from kudo_reconciler.objects.observer import Observer

_HOLD_SECONDS: Final = 30.0
"""How long a cause stays while its pod is not ready. A status is written for each change of it, and
a container that crashes changes its state all the time."""
_LONG_SECONDS: Final = 30.0
"""Time after which also a pod counts that is only starting. No reconcile is scheduled for it: the
next event, or the recheck of the run, names it."""


@dataclass(frozen=True, slots=True)
class NamedCause:
    """The cause that a message names.

    Attributes:
        pod: uid of its pod; empty if it names none.
        text: The cause; empty if the object has none.
        at: Since when, in seconds of the event loop.
    """

    pod: str = ""
    text: str = ""
    at: float = 0.0


@dataclass
class WaitingObject:
    """What is remembered of an object that is not healthy, during a run.

    Attributes:
        since: Since when it is not, in seconds of the event loop.
        named: The cause that was told last.
    """

    since: float
    named: NamedCause = NamedCause()


@dataclass(frozen=True, slots=True)
class Causes:
    """Finds causes."""

    observer: Observer

    async def text_of(
        self, obj: JsonObject, waiting: WaitingObject, key: Key, now: float, *, client: Client
    ) -> str:
        """Return why an object of an Instance is not healthy; empty if its pods do not tell.

        Args:
            obj: The object.
            waiting: What is remembered of it; updated.
            key: The Instance.
            now: Seconds of the event loop.
            client: Acts as the account of the Instance.
        """
        unready: list[JsonObject] = []
        if has_pods(obj):
            replica_sets = self.observer.of_instance(REPLICA_SETS, key)
            unready = unready_pods(obj, self.observer.of_instance(PODS, key), replica_sets)
        if unready and not await self._may_tell(obj, key, client):
            unready = []
        named = waiting.named
        is_held = named.text and now - named.at < _HOLD_SECONDS
        if is_held and any(pod["metadata"]["uid"] == named.pod for pod in unready):
            return named.text
        cause = cause_of(obj, unready, patient=now - waiting.since >= _LONG_SECONDS)
        if cause is None:
            waiting.named = NamedCause()
        elif (cause.pod, cause.text) != (named.pod, named.text):
            waiting.named = NamedCause(cause.pod, cause.text, now)
        return waiting.named.text

    async def text_at_end(
        self, obj: JsonObject, waiting: WaitingObject, key: Key, now: float, *, client: Client
    ) -> str:
        """Return the same of an object that has failed for good: nothing is told of it later.

        If its pods show their termination messages, a text that was told before does not stay, and
        if no message is known, a pod is read: its last event may come after that of the Job.
        """
        pods = telling_pods(obj, self.observer.of_instance(PODS, key)) if has_pods(obj) else []
        if pods and await self._may_tell(obj, key, client):
            waiting.named = NamedCause()
            if not any(map(termination_message, pods)):
                await self._read(pods[0], client)
        return await self.text_of(obj, waiting, key, now, client=client)

    async def _read(self, pod: JsonObject, client: Client) -> None:
        """Read a pod into the cache, if that can be done now: without it there is a cause, too."""
        metadata = pod["metadata"]
        with suppress(ApiError, ConnectionLost):
            await self.observer.body(PODS, metadata["namespace"], metadata["name"], client=client)

    async def _may_tell(self, obj: JsonObject, key: Key, client: Client) -> bool:
        """Return whether the account may get what leads from an object to its pods."""
        kinds = (REPLICA_SETS, PODS) if obj["kind"] == DEPLOYMENTS.kind else (PODS,)
        for kind in kinds:
            if not await self.observer.may_tell(kind, key.namespace, client=client):
                return False
        return True
