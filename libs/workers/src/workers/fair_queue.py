"""Fair queue between tenants, and the count of what each of them uses.

It depends on no processes, no event loop and no clock. Whoever takes an item counts it in a `Usage`
for as long as it is in use, so that one tenant never has more than its share.
"""

import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_IN_A_ROW = 15
"""So many items go before the rest of their tenant; then one of the rest is taken."""

T = TypeVar("T")


class Usage:
    """How much each tenant uses of something; tenants that use nothing are not kept.

    Args:
        limit: Of all tenants.
        tenant_limit: Of one tenant.

    Attributes:
        total: Of all tenants.
    """

    def __init__(self, limit: int = sys.maxsize, tenant_limit: int = sys.maxsize) -> None:
        self.total = 0
        self._limit, self._tenant_limit = limit, tenant_limit
        self._amounts: dict[str, int] = {}

    def __getitem__(self, tenant: str) -> int:
        return self._amounts.get(tenant, 0)

    def by_tenant(self) -> dict[str, int]:
        """Return how much each tenant uses."""
        return self._amounts.copy()

    def has_room(self, tenant: str) -> bool:
        """Return whether a tenant may use one more."""
        return self.total < self._limit and self[tenant] < self._tenant_limit

    def add(self, tenant: str, amount: int = 1) -> None:
        """Count that a tenant uses more; the limits are up to the caller."""
        self.total += amount
        used = self[tenant] + amount
        if used:
            self._amounts[tenant] = used
        else:
            # There may be very many tenants over time.
            self._amounts.pop(tenant, None)

    def remove(self, tenant: str, amount: int = 1) -> None:
        """Count that a tenant uses less."""
        self.add(tenant, -amount)


@dataclass(slots=True)
class _Items(Generic[T]):
    """The items of one tenant; dictionaries as ordered sets.

    Attributes:
        first: Items that go before the rest.
        rest: The other items.
        in_a_row: How many items of `first` were taken while others waited in `rest`.
    """

    first: OrderedDict[T, None] = field(default_factory=OrderedDict)
    rest: OrderedDict[T, None] = field(default_factory=OrderedDict)
    in_a_row: int = 0

    def next(self) -> T:
        # Without the limit, items that are put first again and again would keep the rest waiting
        # for ever.
        first = self.first and (not self.rest or self.in_a_row < _IN_A_ROW)
        self.in_a_row = self.in_a_row + 1 if first and self.rest else 0
        return (self.first if first else self.rest).popitem(last=False)[0]


class FairQueue(Generic[T]):
    """Items of many tenants; the next one is of the tenant that got one least recently.

    The next item of a tenant waits for one item at most of each other tenant, however many wait
    there. Each call takes constant time, however many wait; but `take` passes over tenants that may
    have none, of which there should be few: they have used their shares.

    Attributes:
        waiting: How many items wait.
    """

    def __init__(self) -> None:
        self.waiting = Usage()
        # The tenant whose turn is next comes first.
        self._tenants: OrderedDict[str, _Items[T]] = OrderedDict()

    def put(self, tenant: str, item: T, *, first: bool = False) -> None:
        """Add an item that does not wait yet, behind those of its tenant.

        Args:
            tenant: Whose it is.
            item: Something hashable.
            first: Whether it goes before those of its tenant that do not.
        """
        own = self._tenants.setdefault(tenant, _Items())
        (own.first if first else own.rest)[item] = None
        self.waiting.add(tenant)

    def take(self, may_have: Callable[[str], bool] = lambda _: True) -> T | None:
        """Remove and return the next item of the first tenant that may have one; None if none."""
        tenant = next(filter(may_have, self._tenants), None)
        if tenant is None:
            return None
        item = self._tenants[tenant].next()
        self._tenants.move_to_end(tenant)
        self._removed(tenant)
        return item

    def discard(self, tenant: str, item: T) -> bool:
        """Remove an item; return False if it does not wait."""
        own = self._tenants.get(tenant, _Items[T]())
        for items in (own.first, own.rest):
            if item in items:
                del items[item]
                self._removed(tenant)
                return True
        return False

    def _removed(self, tenant: str) -> None:
        self.waiting.remove(tenant)
        if not self.waiting[tenant]:
            del self._tenants[tenant]
