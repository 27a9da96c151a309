"""Tells own writes from the changes of others, whichever comes first: answer or watch event.

A write wakes nobody by what it did itself. Its event often comes before its answer, so what is seen
of an object is held back while a write to it is on the way. The answer says which version is ours;
all others are news.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kubeio.cache.store import Delta
from kudo.api import JsonObject

_HELD = 16
"""Changes. Of an object that changes more often while a write takes its time, the rest is told."""

_Key = TypeVar("_Key")


@dataclass(slots=True)
class _Flight:
    """The writes to an object that are on the way, and what was seen of it meanwhile."""

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
    """The own writes that are on the way.

    Attributes:
        news: Called with each change that is no own write.
    """

    news: Callable[[_Key, Delta], None]
    _flights: dict[_Key, _Flight] = field(default_factory=dict)

    @contextmanager
    def writing(self, key: _Key) -> Iterator[None]:
        """Hold back what is seen of an object until the write has been answered, or has failed."""
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

    def answered(self, key: _Key, answer: JsonObject) -> None:
        """Take note that a state of the object is an own write and nothing else."""
        self._flights[key].own.add(_version(answer))

    def deleted(self, key: _Key, uid: str) -> None:
        """Take note that the object of a uid was deleted by an own write.

        The answer names no version, and the event of the deletion has one of its own.
        """
        self._flights[key].deleted.add(uid)

    def changed(self, key: _Key, delta: Delta) -> None:
        """Take a change that the cache tells of."""
        flight = self._flights.get(key)
        if flight is None or len(flight.held) >= _HELD:
            self.news(key, delta)
        else:
            flight.held.append(delta)


def _version(obj: JsonObject) -> str:
    return str(obj["metadata"]["resourceVersion"])
