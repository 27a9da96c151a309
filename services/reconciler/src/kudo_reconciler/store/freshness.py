"""Which states of cached objects are own writes, and which are of this term of leadership.

An own write enqueues nothing. Its event often comes before its answer, so the events of an object
are held back while a write to it is in flight. The answer contains the resourceVersion of the own
write; all other versions are changes of others.

A state that was stored before this term may lack what the former leader wrote last: it is read live
before a run begins.
"""

import asyncio
import logging
import math
import random
from collections.abc import Callable, Collection, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kubeio.backoff import Backoff
from kubeio.cache.store import Delta
from kubeio.client import Client
from kubeio.errors import KubeError
from kubeio.types import parse_version, resource_version
from kudo.api import JsonObject
from kudo_reconciler.common.clock import loop_seconds
from kudo_reconciler.common.keys import INSTANCES, Key

log = logging.getLogger(__name__)

_HELD = 16
"""Number of changes. If an object changes more often during a write, the rest is not held back."""

_Key = TypeVar("_Key")


@dataclass(slots=True)
class _Flight:
    """The writes to an object that are in flight, and the changes received meanwhile."""

    writers: int = 0
    own: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)
    held: list[Delta] = field(default_factory=list)

    def is_own(self, delta: Delta) -> bool:
        metadata = delta.object["metadata"]
        gone = delta.kind == "deleted" and metadata.get("uid") in self.deleted
        return gone or _version(delta.object) in self.own


@dataclass
class OwnWrites(Generic[_Key]):
    """The own writes that are in flight.

    Attributes:
        news: Called with each change that is not an own write.
    """

    news: Callable[[_Key, Delta], None]
    _flights: dict[_Key, _Flight] = field(default_factory=dict)

    @contextmanager
    def writing(self, key: _Key) -> Iterator[None]:
        """Hold back the changes of an object until the write has been answered, or has failed."""
        flight = self._flights.setdefault(key, _Flight())
        flight.writers += 1
        try:
            yield
        finally:
            flight.writers -= 1
            if not flight.writers:
                del self._flights[key]
                for delta in flight.held:
                    if not flight.is_own(delta):
                        self.news(key, delta)

    def in_flight(self) -> Collection[_Key]:
        """Return the objects to which a write is in flight."""
        return self._flights.keys()

    def answered(self, key: _Key, answer: JsonObject) -> None:
        """Record that a state of the object is the result of an own write alone."""
        self._flights[key].own.add(_version(answer))

    def deleted(self, key: _Key, uid: str) -> None:
        """Record that the object of a uid was deleted by an own write.

        The answer contains no resourceVersion, and the event of the deletion has one of its own.
        """
        self._flights[key].deleted.add(uid)

    def changed(self, key: _Key, delta: Delta) -> None:
        """Process a change of the cache."""
        flight = self._flights.get(key)
        if flight is None or len(flight.held) >= _HELD:
            self.news(key, delta)
        else:
            flight.held.append(delta)


def _version(obj: JsonObject) -> str:
    return str(obj["metadata"]["resourceVersion"])


@dataclass(slots=True)
class Freshness:
    """Records when cached Instances were received, and which were stored in this term.

    A former leader may have ended a run that the cache still shows as scheduled, and its tasks must
    not run again. It sends nothing once this term has begun, so a state that was stored after that
    is newer than all of its writes. Own writes are in the cache as soon as they are answered.
    """

    _term: int | None = None
    _seen: dict[Key, float] = field(default_factory=dict)

    def forget_term(self) -> None:
        """Treat nothing as stored in this term until `begin_term` has returned."""
        self._term = None

    async def begin_term(self, client: Client, rng: random.Random) -> None:
        """Read the resourceVersion at which a term begins; retries until it succeeds."""
        backoff = Backoff(base=1.0, cap=60.0, rng=rng)
        while self._term is None:
            try:
                # The metadata of any one Instance: only the resourceVersion of the list is used.
                pages = client.pages(INSTANCES, limit=1, metadata_only=True)
                async with aclosing(pages):
                    self._term = parse_version((await anext(pages)).resource_version)
            except KubeError as error:
                log.debug(
                    "cannot read the resourceVersion of the term",
                    extra={"error": str(error)},
                )
            else:
                return
            await asyncio.sleep(backoff.next())

    def is_of_this_term(self, instance: JsonObject) -> bool:
        """Return whether this state of an Instance was stored after this term had begun."""
        version = resource_version(instance)
        return self._term is not None and version is not None and version > self._term

    def is_reached_by(self, version: int) -> bool:
        """Return whether a watch that has reached a resourceVersion has all of former leaders."""
        return self._term is not None and version >= self._term

    def changed(self, key: Key, delta: Delta) -> None:
        """Record that a state came into the cache, or that the Instance was deleted."""
        if delta.kind == "deleted":
            self._seen.pop(key, None)
        else:
            self._seen[key] = loop_seconds()

    def seen(self, key: Key) -> float:
        """Return when the cached state was received, in seconds of the event loop's clock."""
        return self._seen.get(key, math.inf)
