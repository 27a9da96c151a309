"""Shares that Instances have given up while they still have the object on record.

A Delete task leaves the entry to the end of its run, and the garbage collector the Inventories of a
deleted Instance. Without this memory each of two Instances that leave at the same time would keep
the object for the other one. What is forgotten keeps an object too long, and deletes none.
"""

from collections import OrderedDict
from typing import Final

from kudo.identity import InstanceIdentity
from kudo.objects.inventory.record import Place

MOST: Final = 20_000
"""Shares: about 5 MB."""


class LeftShares:
    """The shares that were given up last.

    Args:
        most: How many are remembered.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._shares: OrderedDict[tuple[str, Place], None] = OrderedDict()

    def __contains__(self, share: tuple[InstanceIdentity, Place]) -> bool:
        one, place = share
        return (one.uid, place) in self._shares

    def add(self, one: InstanceIdentity, place: Place) -> None:
        self._shares[one.uid, place] = None
        if len(self._shares) > self._most:
            self._shares.popitem(last=False)

    def discard(self, one: InstanceIdentity, place: Place) -> None:
        self._shares.pop((one.uid, place), None)
