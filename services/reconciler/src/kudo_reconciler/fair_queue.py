"""Fair queue of ready keys: round-robin over namespaces, with a limit on keys in use per namespace.

Invariants: the next key of a namespace waits for one key at most of each other namespace, however
many keys wait there; of one namespace no more keys than the limit are taken and not given back;
within a namespace keys come in the order in which they were put, those put with `first` before the
rest. Each call takes constant time, however many keys wait.
"""

import sys
from collections import deque
from dataclasses import dataclass, field

from kudo_reconciler.keys import Key

_IN_A_ROW = 15
"""So many keys go before the rest of their namespace; then one of the rest is taken."""


@dataclass(slots=True)
class _Namespace:
    """The keys of one namespace.

    Attributes:
        first: Ready keys that go before the rest.
        rest: The other ready keys.
        taken: How many keys were taken and not given back.
        in_a_row: How many keys of `first` were taken while others waited in `rest`.
        listed: Whether the namespace is in the order of those to take from.
    """

    first: deque[Key] = field(default_factory=deque)
    rest: deque[Key] = field(default_factory=deque)
    taken: int = 0
    in_a_row: int = 0
    listed: bool = False

    @property
    def ready(self) -> bool:
        return bool(self.first or self.rest)

    def next(self) -> Key:
        # Without the limit, waiting runs that are reconciled again and again would keep new ones
        # from ever starting.
        if self.first and (not self.rest or self.in_a_row < _IN_A_ROW):
            self.in_a_row = self.in_a_row + 1 if self.rest else 0
            return self.first.popleft()
        self.in_a_row = 0
        return self.rest.popleft()


class FairQueue:
    """Ready keys of many namespaces; the caller puts a key once until it has been given back.

    Args:
        limit: How many keys of one namespace may be taken at the same time; at least 1.
    """

    def __init__(self, *, limit: int = sys.maxsize) -> None:
        self._limit = limit
        self._namespaces: dict[str, _Namespace] = {}
        self._order: deque[str] = deque()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def ready(self) -> dict[str, int]:
        """Return how many keys of each namespace are ready."""
        return {name: len(own.first) + len(own.rest) for name, own in self._namespaces.items()}

    def taken(self) -> dict[str, int]:
        """Return how many keys of each namespace were taken and not given back."""
        return {name: own.taken for name, own in self._namespaces.items()}

    def put(self, key: Key, *, first: bool = False) -> None:
        """Add a ready key; `first` puts it before those of its namespace that are not."""
        own = self._namespaces.setdefault(key.namespace, _Namespace())
        (own.first if first else own.rest).append(key)
        self._length += 1
        self._list(key.namespace, own)

    def take(self) -> Key | None:
        """Return the next key, None if none is ready or all that are belong to full namespaces."""
        if not self._order:
            return None
        namespace = self._order.popleft()
        own = self._namespaces[namespace]
        own.listed = False
        own.taken += 1
        self._length -= 1
        key = own.next()
        self._list(namespace, own)
        return key

    def give_back(self, key: Key) -> None:
        """Return a taken key, which is no longer in use."""
        own = self._namespaces[key.namespace]
        own.taken -= 1
        if own.taken or own.ready:
            self._list(key.namespace, own)
        else:
            del self._namespaces[key.namespace]

    def _list(self, namespace: str, own: _Namespace) -> None:
        """Add the namespace to the round-robin order, if anything of it may be taken."""
        if own.ready and not own.listed and own.taken < self._limit:
            own.listed = True
            self._order.append(namespace)
