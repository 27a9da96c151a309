"""Tells own writes from the changes of others, whichever comes first: answer or watch event.

An own write enqueues nothing. Its event often comes before its answer, so the events of an object
are held back while a write to it is in flight. The answer contains the resourceVersion of the own
write; all other versions are changes of others.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kubeio.cache.store import Delta
from kudo.api import JsonObject

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
